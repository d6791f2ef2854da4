package autoscaling

import (
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling/allocation"
	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file refuses configurations that a group could not launch with.

// checkLaunchable resolves everything that a configuration could launch and refuses it if a launch
// would be refused, as Auto Scaling does when a group is created or updated (UG
// ts-as-launch-template: the values in the launch template are only validated then).
func (r *requests) checkLaunchable(n *settings) error {
	if n.config.launchConfiguration != "" {
		if err := r.checkPlacementGroup(n); err != nil {
			return err
		}
		return r.checkConfigured(n)
	}
	base, err := r.sources.base(n.config)
	if err != nil {
		return badTemplate(err)
	}
	if err := r.checkPlacementGroup(n); err != nil {
		return err
	}
	if err := checkTemplate(base, n); err != nil {
		return err
	}
	for i, o := range n.config.alternatives() {
		if err := r.checkAlternative(n, base, i, o); err != nil {
			return err
		}
	}
	return nil
}

// checkAlternative refuses the i-th way to launch if no place of the group could launch it.
func (r *requests) checkAlternative(n *settings, base resolved, i int, o types.LaunchTemplateOverrides) error {
	template, err := r.sources.templateOf(o, base)
	if err != nil {
		return badTemplate(err)
	}
	if err := checkTemplate(template, n); err != nil {
		return err
	}
	instanceType := valOr(o.InstanceType, string(template.data.InstanceType))
	if req := requirementsOf(o, template); req != nil {
		if err := checkBaseline(req); err != nil {
			return err
		}
		matches := allocation.Matching(r.kernel.World().InstanceTypes, n.capacityUnit, req, i, r.compute.architectureOf(o, template))
		if len(matches) == 0 {
			return invalid("No instance types match the specified instance requirements.")
		}
		instanceType = matches[0].InstanceType
	}
	if instanceType == "" {
		return invalid("You must use a valid fully-formed launch template. The launch template must contain an instance type.")
	}
	if o.ImageId == nil && val(template.data.ImageId) == "" {
		return invalid("You must use a valid fully-formed launch template. The request must contain the parameter ImageId")
	}
	if err := r.dryRunAnywhere(n, launchRequest{template: template, instanceType: instanceType, imageID: val(o.ImageId), placementGroup: n.placementGroup}); err != nil {
		return badTemplate(err)
	}
	return nil
}

// dryRunAnywhere tries a launch in the places of the group until one allows it. That a zone does
// not offer the instance type is no reason to refuse a group that has others: the launch there
// fails and goes to the next zone (UG ts-as-instancelaunchfailure lists it among failed launches).
// That it is one where no zone of the group offers it is an inference.
func (r *requests) dryRunAnywhere(n *settings, request launchRequest) error {
	var first error
	for _, p := range n.placesOf(nil, nil) {
		request.place = p
		err := r.compute.dryRun(request)
		if err == nil || sim.AsError(err).Code != "Unsupported" {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// checkPlacementGroup: a cluster placement group lies in one zone (SDK
// CreateAutoScalingGroupInput.PlacementGroup). That the group exists is seen by the dry run.
func (r *requests) checkPlacementGroup(n *settings) error {
	if n.placementGroup != "" && len(n.zones) > 1 && r.compute.clusters(n.placementGroup) {
		return invalid("You cannot specify multiple Availability Zones and a cluster placement group (%s).", n.placementGroup)
	}
	return nil
}

// requirementsOf returns the attributes by which an override, or the template itself, chooses instance types.
func requirementsOf(o types.LaunchTemplateOverrides, t resolved) *ec2types.InstanceRequirementsRequest {
	if o.InstanceRequirements != nil {
		return ptr(shape.Convert[ec2types.InstanceRequirementsRequest](*o.InstanceRequirements))
	}
	if o.InstanceType == nil && t.data.InstanceType == "" {
		return t.data.InstanceRequirements
	}
	return nil
}

// checkTemplate refuses what Auto Scaling refuses of a template that EC2 would launch (reference
// 2.3 and 4(b)).
func checkTemplate(t resolved, n *settings) error {
	if err := checkMarket(t.data.InstanceMarketOptions, n.config.mixed != nil); err != nil {
		return err
	}
	if p := t.data.Placement; p != nil && (val(p.HostId) != "" || val(p.Affinity) == "host") {
		return invalid("You must use a valid fully-formed launch template. Dedicated Host id and affinity are not supported in an Auto Scaling group.")
	}
	// Code and message as users report them, hashicorp/terraform-provider-aws#4570: this is a check
	// of Auto Scaling's own, before EC2 is asked.
	if len(t.data.NetworkInterfaces) > 0 && len(t.data.SecurityGroupIds)+len(t.data.SecurityGroups) > 0 {
		return sim.Errorf("InvalidQueryParameter", "Invalid launch template: When a network interface is provided, the security groups must be a part of it.")
	}
	return checkInterfaces(t.data.NetworkInterfaces, n)
}

func checkMarket(m *ec2types.LaunchTemplateInstanceMarketOptionsRequest, mixed bool) error {
	switch {
	case m == nil:
	case m.MarketType == ec2types.MarketTypeSpot && mixed:
		return invalid("Incompatible launch template: the launch template must not specify Spot Instances when it is used with a mixed instances policy.")
	case m.MarketType == ec2types.MarketTypeCapacityBlock && mixed:
		return invalid("Incompatible launch template: Capacity Blocks cannot be used with a mixed instances policy.")
	case m.SpotOptions != nil && (m.SpotOptions.SpotInstanceType == ec2types.SpotInstanceTypePersistent || m.SpotOptions.ValidUntil != nil):
		return invalid("You must use a valid fully-formed launch template. Spot requests of an Auto Scaling group must be one-time and without ValidUntil.")
	}
	return nil
}

func checkInterfaces(interfaces []ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest, n *settings) error {
	devices := map[[2]int32]bool{}
	for _, i := range interfaces {
		device := [2]int32{val(i.NetworkCardIndex), val(i.DeviceIndex)}
		switch {
		case devices[device]:
			return invalid("You must use a valid fully-formed launch template. Each network interface requires a unique device index.")
		case val(i.NetworkInterfaceId) != "" && (n.max > 1 || len(n.zones) > 1 || len(n.subnets) > 0):
			return invalid("You must use a valid fully-formed launch template. A group that uses an existing network interface can have one instance, in one Availability Zone, and no subnets.")
		case len(interfaces) > 1 && val(i.AssociatePublicIpAddress):
			return invalid("You must use a valid fully-formed launch template. The associatePublicIPAddress parameter cannot be specified when launching with multiple network interfaces.")
		}
		devices[device] = true
	}
	return nil
}

// checkConfigured refuses settings that need a subnet if the group names none (SDK
// CreateLaunchConfigurationInput.AssociatePublicIpAddress and PlacementTenancy). The first message
// is quoted in ansible/ansible#34794, the second is an inference. A group is not refused for
// launches that EC2 would refuse: these fail (UG ts-as-instancelaunchfailure).
func (r *requests) checkConfigured(n *settings) error {
	l, err := r.configurations.find(&n.config.launchConfiguration)
	if err != nil {
		return err
	}
	switch {
	case len(n.subnets) > 0:
	case l.AssociatePublicIpAddress != nil:
		return invalid("AssociatePublicIpAddress field can not be specified without a subnet id")
	case l.PlacementTenancy != nil:
		return invalid("PlacementTenancy field can not be specified without a subnet id")
	}
	return nil
}

// checkWarmPool refuses configurations that a warm pool cannot hold (reference 2.3 and 4(b) WP1, WP2).
func (r *requests) checkWarmPool(c configuration, state types.WarmPoolState) error {
	t, err := r.sources.base(c)
	if err != nil {
		return badTemplate(err)
	}
	market := t.data.InstanceMarketOptions
	switch {
	case c.weighted():
		return invalid("You can't add a warm pool to an Auto Scaling group that has a mixed instances policy with weights.")
	case r.sources.attributeBased(c):
		return invalid("You can't add a warm pool to an Auto Scaling group that uses attribute-based instance type selection.")
	case c.mixed != nil && valOr(c.mixed.InstancesDistribution.OnDemandPercentageAboveBaseCapacity, 100) != 100:
		return invalid("You can't add a warm pool to an Auto Scaling group that has a mixed instances policy with Spot Instances.")
	case market != nil && market.MarketType == ec2types.MarketTypeSpot:
		return invalid("You can't add a warm pool to an Auto Scaling group that launches Spot Instances.")
	case market != nil && market.MarketType == ec2types.MarketTypeCapacityBlock:
		return invalid("You can't add a warm pool to an Auto Scaling group that uses Capacity Blocks.")
	case r.sources.usesParameterImage(c):
		return invalid("You can't add a warm pool to an Auto Scaling group whose launch template uses an AWS Systems Manager parameter instead of an AMI ID.")
	case state == types.WarmPoolStateHibernated && (t.data.HibernationOptions == nil || !val(t.data.HibernationOptions.Configured)):
		return invalid("The launch template must configure hibernation for a warm pool in Hibernated state.")
	}
	return nil
}
