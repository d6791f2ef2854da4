package ec2

import (
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

func instanceTags(i instance) []types.Tag { return i.api.Tags }

var instanceFilters = filterTable[instance]{
	"architecture":         func(i instance) []string { return enum(i.api.Architecture) },
	"availability-zone":    func(i instance) []string { return text(val(i.api.Placement).AvailabilityZone) },
	"availability-zone-id": func(i instance) []string { return text(val(i.api.Placement).AvailabilityZoneId) },
	"block-device-mapping.device-name": func(i instance) []string {
		return collect(i.api.BlockDeviceMappings, func(m types.InstanceBlockDeviceMapping) []string { return text(m.DeviceName) })
	},
	"block-device-mapping.volume-id": func(i instance) []string {
		return collect(i.api.BlockDeviceMappings, func(m types.InstanceBlockDeviceMapping) []string { return text(val(m.Ebs).VolumeId) })
	},
	"client-token":             func(i instance) []string { return text(i.api.ClientToken) },
	"dns-name":                 func(i instance) []string { return text(i.api.PublicDnsName) },
	"ebs-optimized":            func(i instance) []string { return boolean(i.api.EbsOptimized) },
	"hypervisor":               func(i instance) []string { return enum(i.api.Hypervisor) },
	"iam-instance-profile.arn": func(i instance) []string { return text(val(i.api.IamInstanceProfile).Arn) },
	"iam-instance-profile.id":  func(i instance) []string { return text(val(i.api.IamInstanceProfile).Id) },
	"image-id":                 func(i instance) []string { return text(i.api.ImageId) },
	"instance-id":              func(i instance) []string { return text(i.api.InstanceId) },
	"instance-lifecycle":       func(i instance) []string { return enum(i.api.InstanceLifecycle) },
	"instance-state-code":      func(i instance) []string { return number(i.api.State.Code) },
	"instance-state-name":      func(i instance) []string { return enum(i.stateName()) },
	"instance-type":            func(i instance) []string { return enum(i.api.InstanceType) },
	"instance.group-id": func(i instance) []string {
		return collect(i.api.SecurityGroups, func(g types.GroupIdentifier) []string { return text(g.GroupId) })
	},
	"instance.group-name": func(i instance) []string {
		return collect(i.api.SecurityGroups, func(g types.GroupIdentifier) []string { return text(g.GroupName) })
	},
	"ip-address":                     func(i instance) []string { return text(i.api.PublicIpAddress) },
	"key-name":                       func(i instance) []string { return text(i.api.KeyName) },
	"launch-index":                   func(i instance) []string { return number(i.api.AmiLaunchIndex) },
	"launch-time":                    func(i instance) []string { return instant(i.api.LaunchTime) },
	"metadata-options.http-endpoint": func(i instance) []string { return enum(i.api.MetadataOptions.HttpEndpoint) },
	"metadata-options.http-tokens":   func(i instance) []string { return enum(i.api.MetadataOptions.HttpTokens) },
	"metadata-options.http-put-response-hop-limit": func(i instance) []string { return number(i.api.MetadataOptions.HttpPutResponseHopLimit) },
	"metadata-options.instance-metadata-tags":      func(i instance) []string { return enum(i.api.MetadataOptions.InstanceMetadataTags) },
	"monitoring-state":                             func(i instance) []string { return enum(i.api.Monitoring.State) },
	"network-interface.network-interface-id": func(i instance) []string {
		return collect(i.api.NetworkInterfaces, func(n types.InstanceNetworkInterface) []string { return text(n.NetworkInterfaceId) })
	},
	"network-interface.subnet-id": func(i instance) []string {
		return collect(i.api.NetworkInterfaces, func(n types.InstanceNetworkInterface) []string { return text(n.SubnetId) })
	},
	"network-interface.vpc-id": func(i instance) []string {
		return collect(i.api.NetworkInterfaces, func(n types.InstanceNetworkInterface) []string { return text(n.VpcId) })
	},
	"network-interface.group-id": func(i instance) []string {
		return collect(i.api.NetworkInterfaces, func(n types.InstanceNetworkInterface) []string {
			return collect(n.Groups, func(g types.GroupIdentifier) []string { return text(g.GroupId) })
		})
	},
	"placement-group-name":     func(i instance) []string { return text(val(i.api.Placement).GroupName) },
	"platform":                 func(i instance) []string { return enum(i.api.Platform) },
	"platform-details":         func(i instance) []string { return text(i.api.PlatformDetails) },
	"private-dns-name":         func(i instance) []string { return text(i.api.PrivateDnsName) },
	"private-ip-address":       func(i instance) []string { return text(i.api.PrivateIpAddress) },
	"reservation-id":           func(i instance) []string { return []string{i.reservation} },
	"root-device-name":         func(i instance) []string { return text(i.api.RootDeviceName) },
	"root-device-type":         func(i instance) []string { return enum(i.api.RootDeviceType) },
	"spot-instance-request-id": func(i instance) []string { return text(i.api.SpotInstanceRequestId) },
	"state-reason-code":        func(i instance) []string { return text(val(i.api.StateReason).Code) },
	"subnet-id":                func(i instance) []string { return text(i.api.SubnetId) },
	"tenancy":                  func(i instance) []string { return enum(val(i.api.Placement).Tenancy) },
	"virtualization-type":      func(i instance) []string { return enum(i.api.VirtualizationType) },
	"vpc-id":                   func(i instance) []string { return text(i.api.VpcId) },
}.with(furtherInstanceFilters).with(instanceInterfaceFilters()).lacking("network-interface.outpost-arn", "requester-id")

// collect joins the values of the members of a list.
func collect[E any](list []E, read func(E) []string) []string {
	var values []string
	for _, e := range list {
		values = append(values, read(e)...)
	}
	return values
}

var instanceListing = listing[instance]{kind: instanceID, id: instance.id, filters: instanceFilters, tags: instanceTags, pages: commonPages}

func describeInstances(c *sim.Call, in *awsec2.DescribeInstancesInput) (*awsec2.DescribeInstancesOutput, error) {
	s, instances := stateOf(c.Region), instanceListing
	instances.filters = instances.filters.with(s.interfaces.filtersOf())
	found, next, err := instances.read(s.instances.VisibleAll(), query{in.InstanceIds, in.Filters, in.MaxResults, in.NextToken, in.DryRun})
	if err != nil {
		return nil, err
	}
	out := &awsec2.DescribeInstancesOutput{NextToken: next}
	place := map[string]int{}
	for _, i := range found {
		n, ok := place[i.reservation]
		if !ok {
			n = len(out.Reservations)
			place[i.reservation] = n
			out.Reservations = append(out.Reservations, types.Reservation{ReservationId: ptr(i.reservation), OwnerId: ptr(c.Account.ID)})
		}
		out.Reservations[n].Instances = append(out.Reservations[n].Instances, i.api)
	}
	return out, nil
}

var statusFilters = filterTable[instance]{
	"availability-zone":            instanceFilters["availability-zone"],
	"availability-zone-id":         instanceFilters["availability-zone-id"],
	"instance-state-code":          instanceFilters["instance-state-code"],
	"instance-state-name":          instanceFilters["instance-state-name"],
	"instance-status.reachability": func(i instance) []string { return enum(i.reachability(i.checks.instanceFails())) },
	"instance-status.status":       func(i instance) []string { return enum(i.status(i.checks.instanceFails())) },
	"system-status.reachability":   func(i instance) []string { return enum(i.reachability(i.checks.systemFails())) },
	"system-status.status":         func(i instance) []string { return enum(i.status(i.checks.systemFails())) },
	"operator.managed":             instanceFilters["operator.managed"],
	"operator.principal":           instanceFilters["operator.principal"],
}.lacking("application-status.status", "attached-ebs-status.status", "event.code", "event.description", "event.instance-event-id", "event.not-after", "event.not-before",
	"event.not-before-deadline")

// describeInstanceStatus shows running instances only, unless all are asked for (SDK,
// DescribeInstanceStatusInput.IncludeAllInstances).
func describeInstanceStatus(c *sim.Call, in *awsec2.DescribeInstanceStatusInput) (*awsec2.DescribeInstanceStatusOutput, error) {
	s := stateOf(c.Region)
	if len(in.InstanceIds) > 100 { // SDK, DescribeInstanceStatusInput.InstanceIds
		return nil, sim.Errorf("InvalidParameterValue", "At most 100 instance IDs may be specified.")
	}
	statuses := listing[instance]{kind: instanceID, id: instance.id, filters: statusFilters, pages: commonPages}
	chosen, err := selectByID(instanceID, s.instances.VisibleAll(), instance.id, in.InstanceIds)
	if err != nil {
		return nil, err
	}
	var shown []instance
	for _, i := range chosen {
		if val(in.IncludeAllInstances) || i.in(types.InstanceStateNameRunning) {
			shown = append(shown, i)
		}
	}
	if len(in.InstanceIds) > 0 && in.MaxResults != nil {
		return nil, invalidCombination("The parameter instancesSet cannot be used with the parameter maxResults")
	}
	found, next, err := statuses.read(shown, query{nil, in.Filters, in.MaxResults, in.NextToken, in.DryRun})
	if err != nil {
		return nil, err
	}
	out := &awsec2.DescribeInstanceStatusOutput{NextToken: next}
	for _, i := range found {
		out.InstanceStatuses = append(out.InstanceStatuses, types.InstanceStatus{
			InstanceId: i.api.InstanceId, AvailabilityZone: i.api.Placement.AvailabilityZone, AvailabilityZoneId: i.api.Placement.AvailabilityZoneId,
			InstanceState: i.api.State, Operator: i.api.Operator,
			InstanceStatus: i.summary(i.checks.instanceFails()), SystemStatus: i.summary(i.checks.systemFails()),
		})
	}
	return out, nil
}

func describeInstanceAttribute(c *sim.Call, in *awsec2.DescribeInstanceAttributeInput) (*awsec2.DescribeInstanceAttributeOutput, error) {
	s := stateOf(c.Region)
	found, err := selectByID(instanceID, s.instances.VisibleAll(), instance.id, []string{val(in.InstanceId)})
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	if in.Attribute == "" {
		return nil, missingParameter("attribute")
	}
	show, known := instanceAttributes[in.Attribute]
	if !known {
		return nil, invalidValue("attribute", in.Attribute, "The simulation does not have this attribute.")
	}
	out := &awsec2.DescribeInstanceAttributeOutput{InstanceId: found[0].api.InstanceId}
	show(found[0], out)
	return out, nil
}

// instanceAttributes says how each attribute is shown.
var instanceAttributes = map[types.InstanceAttributeName]func(instance, *awsec2.DescribeInstanceAttributeOutput){
	types.InstanceAttributeNameUserData: func(i instance, out *awsec2.DescribeInstanceAttributeOutput) {
		out.UserData = &types.AttributeValue{Value: optional(i.encodedData)}
	},
	types.InstanceAttributeNameDisableApiTermination: func(i instance, out *awsec2.DescribeInstanceAttributeOutput) {
		out.DisableApiTermination = &types.AttributeBooleanValue{Value: ptr(i.keepAlive)}
	},
	types.InstanceAttributeNameDisableApiStop: func(i instance, out *awsec2.DescribeInstanceAttributeOutput) {
		out.DisableApiStop = &types.AttributeBooleanValue{Value: ptr(i.keepRunning)}
	},
	types.InstanceAttributeNameInstanceInitiatedShutdownBehavior: func(i instance, out *awsec2.DescribeInstanceAttributeOutput) {
		behavior := i.shutdown
		if behavior == "" {
			// SDK, RunInstancesInput.InstanceInitiatedShutdownBehavior: "Default: stop"
			behavior = types.ShutdownBehaviorStop
		}
		out.InstanceInitiatedShutdownBehavior = &types.AttributeValue{Value: ptr(string(behavior))}
	},
	types.InstanceAttributeNameInstanceType: func(i instance, out *awsec2.DescribeInstanceAttributeOutput) {
		out.InstanceType = &types.AttributeValue{Value: ptr(string(i.api.InstanceType))}
	},
	types.InstanceAttributeNameRootDeviceName: func(i instance, out *awsec2.DescribeInstanceAttributeOutput) {
		out.RootDeviceName = &types.AttributeValue{Value: i.api.RootDeviceName}
	},
	types.InstanceAttributeNameBlockDeviceMapping: func(i instance, out *awsec2.DescribeInstanceAttributeOutput) {
		out.BlockDeviceMappings = i.api.BlockDeviceMappings
	},
	types.InstanceAttributeNameGroupSet: func(i instance, out *awsec2.DescribeInstanceAttributeOutput) {
		out.Groups = i.api.SecurityGroups
	},
	types.InstanceAttributeNameEbsOptimized: func(i instance, out *awsec2.DescribeInstanceAttributeOutput) {
		out.EbsOptimized = &types.AttributeBooleanValue{Value: i.api.EbsOptimized}
	},
	types.InstanceAttributeNameSourceDestCheck: func(i instance, out *awsec2.DescribeInstanceAttributeOutput) {
		out.SourceDestCheck = &types.AttributeBooleanValue{Value: i.api.SourceDestCheck}
	},
	types.InstanceAttributeNameEnclaveOptions: func(i instance, out *awsec2.DescribeInstanceAttributeOutput) {
		out.EnclaveOptions = i.api.EnclaveOptions
	},
	types.InstanceAttributeNameEnaSupport: func(i instance, out *awsec2.DescribeInstanceAttributeOutput) {
		out.EnaSupport = &types.AttributeBooleanValue{Value: i.api.EnaSupport}
	},
}
