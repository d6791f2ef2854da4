package ec2

import (
	"encoding/base64"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

func stateChange(i instance, before types.InstanceStateName, s *state) types.InstanceStateChange {
	now, _ := s.instances.Get(i.id())
	return types.InstanceStateChange{InstanceId: i.api.InstanceId, PreviousState: instanceState(before), CurrentState: now.api.State}
}

// terminateInstances terminates the instances of every zone in which none is protected; one that is
// protected keeps all of its zone, and the request fails (SDK, TerminateInstances: "if you specify
// multiple instances across multiple Availability Zones, and one or more of the specified instances
// are enabled for termination protection, …"). Terminating twice succeeds.
func terminateInstances(c *sim.Call, in *awsec2.TerminateInstancesInput) (*awsec2.TerminateInstancesOutput, error) {
	s := stateOf(c.Region)
	found, err := s.instances.named(in.InstanceIds)
	if err != nil {
		return nil, err
	}
	kept := map[string]bool{}
	var refusal error
	for _, i := range found {
		if i.keepAlive && !i.in(types.InstanceStateNameShuttingDown, types.InstanceStateNameTerminated) {
			kept[val(i.api.Placement.AvailabilityZone)] = true
			refusal = sim.Errorf("OperationNotPermitted", "The instance '%s' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again.", i.id())
		}
	}
	if val(in.DryRun) && refusal == nil {
		return nil, dryRun()
	}
	out := &awsec2.TerminateInstancesOutput{}
	for _, i := range found {
		if val(in.DryRun) || kept[val(i.api.Placement.AvailabilityZone)] {
			continue
		}
		before := s.instances.terminate(i, userInitiated)
		out.TerminatingInstances = append(out.TerminatingInstances, stateChange(i, before, s))
	}
	if refusal != nil {
		return nil, refusal
	}
	return out, nil
}

func stopInstances(c *sim.Call, in *awsec2.StopInstancesInput) (*awsec2.StopInstancesOutput, error) {
	s := stateOf(c.Region)
	found, err := s.instances.named(in.InstanceIds)
	if err != nil {
		return nil, err
	}
	for _, i := range found {
		if err := refuseStop(i, val(in.Hibernate)); err != nil {
			return nil, err
		}
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	out := &awsec2.StopInstancesOutput{}
	for _, i := range found {
		if i.in(types.InstanceStateNameRunning, types.InstanceStateNamePending) {
			why := userInitiated
			if val(in.Hibernate) {
				why = hibernated
			}
			s.instances.stop(i, why)
		}
		out.StoppingInstances = append(out.StoppingInstances, stateChange(i, i.stateName(), s))
	}
	return out, nil
}

func refuseStop(i instance, hibernate bool) error {
	switch {
	case i.in(types.InstanceStateNameShuttingDown, types.InstanceStateNameTerminated):
		return sim.Errorf("IncorrectInstanceState", "This instance '%s' is not in a state from which it can be stopped.", i.id())
	case i.keepRunning:
		return sim.Errorf("OperationNotPermitted", "The instance '%s' may not be stopped. Modify its 'disableApiStop' instance attribute and try again.", i.id())
	case i.api.InstanceLifecycle == types.InstanceLifecycleTypeSpot:
		// User Guide, "Stop a Spot Instance": only instances of a persistent request can be
		// stopped; launches here are one-time.
		return sim.Errorf("UnsupportedOperation", "You can't stop the Spot Instance '%s' because it is associated with a one-time Spot Instance request. You can only stop Spot Instances associated with persistent Spot Instance requests.", i.id())
	case hibernate && !val(i.api.HibernationOptions.Configured):
		return sim.Errorf("UnsupportedHibernationConfiguration", "The instance '%s' is not enabled for hibernation.", i.id())
	}
	return nil
}

func startInstances(c *sim.Call, in *awsec2.StartInstancesInput) (*awsec2.StartInstancesOutput, error) {
	s := stateOf(c.Region)
	found, err := s.instances.named(in.InstanceIds)
	if err != nil {
		return nil, err
	}
	for _, i := range found {
		if !i.in(types.InstanceStateNameStopped, types.InstanceStateNameRunning, types.InstanceStateNamePending) {
			return nil, sim.Errorf("IncorrectInstanceState", "The instance '%s' is not in a state from which it can be started.", i.id())
		}
		if i.in(types.InstanceStateNameStopped) {
			if err := s.instances.roomToStart(i); err != nil {
				return nil, err
			}
		}
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	out := &awsec2.StartInstancesOutput{}
	for _, i := range found {
		if i.in(types.InstanceStateNameStopped) {
			s.instances.restart(i)
		}
		out.StartingInstances = append(out.StartingInstances, stateChange(i, i.stateName(), s))
	}
	return out, nil
}

// rebootInstances leaves the state as it is; the node in the instance boots again.
func rebootInstances(c *sim.Call, in *awsec2.RebootInstancesInput) (*awsec2.RebootInstancesOutput, error) {
	s := stateOf(c.Region)
	found, err := s.instances.named(in.InstanceIds)
	if err != nil {
		return nil, err
	}
	for _, i := range found {
		if !i.in(types.InstanceStateNameRunning) {
			return nil, sim.Errorf("IncorrectInstanceState", "The instance '%s' is not in the 'running' state.", i.id())
		}
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	for _, i := range found {
		i.life++
		i.booted, i.checks = false, i.checks.rebooted()
		s.instances.Put(i.id(), i)
		s.instances.later(s.kernel.Behavior().InstanceTimes.Boot, i, s.instances.boot)
	}
	return &awsec2.RebootInstancesOutput{}, nil
}

func modifyInstanceAttribute(c *sim.Call, in *awsec2.ModifyInstanceAttributeInput) (*awsec2.ModifyInstanceAttributeOutput, error) {
	s := stateOf(c.Region)
	found, err := s.instances.named([]string{val(in.InstanceId)})
	if err != nil {
		return nil, err
	}
	i := found[0]
	if i.in(types.InstanceStateNameTerminated) {
		return nil, sim.Errorf("IncorrectInstanceState", "The instance '%s' is terminated.", i.id())
	}
	i, err = changeAttributes(s, i, in)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	s.instances.Put(i.id(), i)
	if primary, ok := s.interfaces.primaryOf(i); ok {
		// An instance has the attributes groupSet and sourceDestCheck of its primary interface
		// (SDK, ModifyInstanceAttributeInput).
		primary.Groups, primary.SourceDestCheck = i.api.SecurityGroups, i.api.SourceDestCheck
		s.interfaces.store(primary)
	}
	return &awsec2.ModifyInstanceAttributeOutput{}, nil
}

func changeAttributes(s *state, i instance, in *awsec2.ModifyInstanceAttributeInput) (instance, error) {
	if err := spellOut(in); err != nil {
		return i, err
	}
	if (in.InstanceType != nil || in.UserData != nil || in.EbsOptimized != nil) && !i.in(types.InstanceStateNameStopped) {
		return i, sim.Errorf("IncorrectInstanceState", "The instance '%s' is not in the 'stopped' state.", i.id())
	}
	if in.DisableApiTermination != nil {
		i.keepAlive = val(in.DisableApiTermination.Value)
	}
	if in.DisableApiStop != nil {
		i.keepRunning = val(in.DisableApiStop.Value)
	}
	if in.InstanceInitiatedShutdownBehavior != nil {
		i.shutdown = types.ShutdownBehavior(val(in.InstanceInitiatedShutdownBehavior.Value))
		if err := checkEnum("instanceInitiatedShutdownBehavior", i.shutdown, i.shutdown.Values()); err != nil {
			return i, err
		}
	}
	if in.SourceDestCheck != nil {
		i.api.SourceDestCheck = ptr(val(in.SourceDestCheck.Value))
	}
	i, err := changeStopped(s, i, in)
	if err != nil {
		return i, err
	}
	return changeGroups(s, i, in.Groups)
}

// spellOut turns the older form of the request, which names one attribute with a value, into the
// newer one (API reference, ModifyInstanceAttribute), and refuses what the simulation cannot
// change.
func spellOut(in *awsec2.ModifyInstanceAttributeInput) error {
	switch in.Attribute {
	case "":
	case types.InstanceAttributeNameDisableApiTermination:
		in.DisableApiTermination = &types.AttributeBooleanValue{Value: ptr(val(in.Value) == "true")}
	case types.InstanceAttributeNameDisableApiStop:
		in.DisableApiStop = &types.AttributeBooleanValue{Value: ptr(val(in.Value) == "true")}
	case types.InstanceAttributeNameInstanceType:
		in.InstanceType = &types.AttributeValue{Value: in.Value}
	default:
		return sim.Errorf("UnsupportedInstanceAttribute", "The simulation can't modify the attribute '%s'.", in.Attribute)
	}
	if in.BlockDeviceMappings != nil || in.Kernel != nil || in.Ramdisk != nil || in.SriovNetSupport != nil || in.EnaSupport != nil || in.EnclaveOptions != nil {
		return sim.Errorf("UnsupportedInstanceAttribute", "The simulation can't modify this attribute.")
	}
	return nil
}

// changeStopped changes what only a stopped instance lets change.
func changeStopped(s *state, i instance, in *awsec2.ModifyInstanceAttributeInput) (instance, error) {
	if in.EbsOptimized != nil {
		i.api.EbsOptimized = ptr(val(in.EbsOptimized.Value))
	}
	if in.UserData != nil {
		i.userData = string(in.UserData.Value)
		i.encodedData = base64.StdEncoding.EncodeToString(in.UserData.Value)
	}
	if in.InstanceType != nil {
		if s.kernel.World().InstanceType(val(in.InstanceType.Value)) == nil {
			return i, sim.Errorf("InvalidInstanceAttributeValue", "Invalid value '%s' for InstanceType.", val(in.InstanceType.Value))
		}
		i.api.InstanceType = types.InstanceType(val(in.InstanceType.Value))
	}
	return i, nil
}

func changeGroups(s *state, i instance, ids []string) (instance, error) {
	if len(ids) == 0 {
		return i, nil
	}
	subnet, _ := s.subnets.Get(val(i.api.SubnetId))
	groups, err := s.groups.forInterface(ids, nil, subnet, true)
	if err != nil {
		return i, err
	}
	views := shape.Clone(i.api.NetworkInterfaces)
	views[0].Groups = groups
	i = i.showing(views)
	return i, nil
}

func modifyInstanceMetadataOptions(c *sim.Call, in *awsec2.ModifyInstanceMetadataOptionsInput) (*awsec2.ModifyInstanceMetadataOptionsOutput, error) {
	s := stateOf(c.Region)
	found, err := s.instances.named([]string{val(in.InstanceId)})
	if err != nil {
		return nil, err
	}
	i := found[0]
	change := types.InstanceMetadataOptionsRequest{
		HttpEndpoint: in.HttpEndpoint, HttpProtocolIpv6: in.HttpProtocolIpv6, HttpPutResponseHopLimit: in.HttpPutResponseHopLimit,
		HttpTokens: in.HttpTokens, InstanceMetadataTags: in.InstanceMetadataTags,
	}
	check := &launch{state: s, extraTags: i.api.Tags}
	check.in.MetadataOptions = &change
	for _, rule := range []func(*launch) error{ruleEnums, ruleMetadata} {
		if err := rule(check); err != nil {
			return nil, err
		}
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	options := shape.Clone(*i.api.MetadataOptions)
	shape.Overlay(&options, shape.Convert[types.InstanceMetadataOptionsResponse](change))
	i.api.MetadataOptions = &options
	s.instances.Put(i.id(), i)
	return &awsec2.ModifyInstanceMetadataOptionsOutput{InstanceId: i.api.InstanceId, InstanceMetadataOptions: &options}, nil
}
