package autoscaling

import (
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file is all that Auto Scaling asks of EC2.

// resolved is a launch template version, as it is at this moment, or a launch configuration.
type resolved struct {
	id, name      string
	number        int
	configuration *types.LaunchConfiguration // nil for a launch template
	data          ec2types.RequestLaunchTemplateData
}

// base returns what a configuration launches before its overrides.
func (s *service) base(c configuration) (resolved, error) {
	if c.launchConfiguration == "" {
		return s.resolve(c.specification())
	}
	l, err := s.findConfiguration(&c.launchConfiguration)
	if err != nil {
		return resolved{}, err
	}
	return resolved{configuration: l, data: launchData(l)}, nil
}

func (s *service) resolve(spec *types.LaunchTemplateSpecification) (resolved, error) {
	named := ec2.LaunchTemplateSpec{ID: val(spec.LaunchTemplateId), Name: val(spec.LaunchTemplateName), Version: val(spec.Version)}
	if named.ID != "" {
		named.Name = ""
	}
	v, err := ec2.ResolveLaunchTemplate(s.region, named)
	if err != nil {
		return resolved{}, err
	}
	return resolved{id: v.ID, name: v.Name, number: int(v.Number), data: v.Data}, nil
}

// launchRequest is one instance to be launched.
type launchRequest struct {
	template     resolved
	instanceType string // empty for the template's
	imageID      string // empty for the template's
	place        place
	market       ec2types.MarketType // empty for the template's
	maxPrice     string
	tags         []ec2types.Tag
	groupName    string

	placementGroup string // the group's; empty for the template's
	reservation    string // the id of a Capacity Reservation to launch into; empty for the template's
}

func (l launchRequest) ec2() ec2.LaunchRequest {
	r := ec2.LaunchRequest{
		Template: ec2.LaunchTemplateSpec{ID: l.template.id, Version: itoa(l.template.number)}, Count: 1,
		InstanceType: l.instanceType, ImageID: l.imageID, SubnetID: l.place.subnet, Zone: l.place.zone,
		Market: l.market, MaxPrice: l.maxPrice, Tags: l.tags, PlacementGroup: l.placementGroup,
		ReservationID: l.reservation,
	}
	if l.template.configuration != nil {
		r.Template, r.Data = ec2.LaunchTemplateSpec{}, &l.template.data
	}
	if l.groupName != "" {
		r.SystemTags = []ec2types.Tag{{Key: ptr(groupNameTag), Value: ptr(l.groupName)}}
	}
	return r
}

// groupNameTag is the tag that Auto Scaling puts on every instance (UG ec2-auto-scaling-tagging).
const groupNameTag = "aws:autoscaling:groupName"

func (s *service) dryRun(l launchRequest) error { return ec2.CheckLaunch(s.region, l.ec2()) }

func (s *service) launch(l launchRequest) (ec2.Instance, error) {
	launched, err := ec2.LaunchInstances(s.region, l.ec2())
	if err != nil {
		return ec2.Instance{}, err
	}
	return launched[0], nil
}

func (s *service) terminate(id string) { ec2.TerminateInstances(s.region, id) }

// instanceState returns the state of an instance; one that can no longer be described is terminated.
func (s *service) instanceState(id string) ec2types.InstanceStateName {
	i, ok := ec2.LookupInstance(s.region, id)
	if !ok {
		return ec2types.InstanceStateNameTerminated
	}
	return i.State.Name
}

// watchInstances has a group reconciled when an instance of its own changes its state.
func (s *service) watchInstances() {
	ec2.OnInstanceChange(s.region, func(i ec2.Instance) {
		if g := s.member[val(i.InstanceId)]; g != nil {
			s.wake(g, 0)
		}
	})
}

// clusters reports whether a placement group has the strategy cluster.
func (s *service) clusters(placementGroup string) bool {
	p, ok := ec2.LookupPlacementGroup(s.region, placementGroup)
	return ok && p.Strategy == ec2types.PlacementStrategyCluster
}

type subnetInfo struct{ zone, vpc string }

func (s *service) subnet(id string) (subnetInfo, bool) {
	subnet, ok := ec2.LookupSubnet(s.region, id)
	return subnetInfo{zone: val(subnet.AvailabilityZone), vpc: val(subnet.VpcId)}, ok
}

// lacksCapacity reports whether a launch failed for a reason that another zone or instance type may not have.
func lacksCapacity(err error) bool {
	switch sim.AsError(err).Code {
	case "InsufficientInstanceCapacity", "InsufficientFreeAddressesInSubnet", "Unsupported", "SpotMaxPriceTooLow", "InsufficientHostCapacity",
		"InsufficientReservedInstanceCapacity", "MaxSpotInstanceCountExceeded", "UnfulfillableCapacity", "InstanceLimitExceeded",
		"VcpuLimitExceeded", "ReservationCapacityExceeded":
		return true
	}
	return false
}
