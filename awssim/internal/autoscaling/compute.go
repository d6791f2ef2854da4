package autoscaling

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling/allocation"
	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// compute asks EC2 for what Auto Scaling does with instances.
type compute struct {
	region *sim.Region
}

// launchRequest is one instance to be launched.
type launchRequest struct {
	template     resolved
	instanceType string // empty for the template's
	imageID      string // empty for the template's
	place        allocation.Place
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
		InstanceType: l.instanceType, ImageID: l.imageID, SubnetID: l.place.Subnet, Zone: l.place.Zone,
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

func (c compute) dryRun(l launchRequest) error { return ec2.CheckLaunch(c.region, l.ec2()) }

func (c compute) launch(l launchRequest) (ec2.Instance, error) {
	launched, err := ec2.LaunchInstances(c.region, l.ec2())
	if err != nil {
		return ec2.Instance{}, err
	}
	return launched[0], nil
}

func (c compute) terminate(id string) { ec2.TerminateInstances(c.region, id) }

// state returns the state of an instance; one that can no longer be described is terminated.
func (c compute) state(id string) ec2types.InstanceStateName {
	i, ok := ec2.LookupInstance(c.region, id)
	if !ok {
		return ec2types.InstanceStateNameTerminated
	}
	return i.State.Name
}

// runs reports whether an instance runs or is about to.
func (c compute) runs(m *member) bool {
	state := c.state(m.id)
	return state == ec2types.InstanceStateNameRunning || state == ec2types.InstanceStateNamePending
}

// clusters reports whether a placement group has the strategy cluster.
func (c compute) clusters(placementGroup string) bool {
	p, ok := ec2.LookupPlacementGroup(c.region, placementGroup)
	return ok && p.Strategy == ec2types.PlacementStrategyCluster
}

// architectureOf returns the architecture of the image that an override is launched with; "" for an
// image that EC2 does not know, or that a parameter names.
func (c compute) architectureOf(o types.LaunchTemplateOverrides, t resolved) ec2types.ArchitectureValues {
	image, known := ec2.LookupImage(c.region, valOr(o.ImageId, val(t.data.ImageId)))
	if !known {
		return ""
	}
	return image.Architecture
}

type subnetInfo struct{ zone, vpc string }

func (c compute) subnet(id string) (subnetInfo, bool) {
	subnet, ok := ec2.LookupSubnet(c.region, id)
	return subnetInfo{zone: val(subnet.AvailabilityZone), vpc: val(subnet.VpcId)}, ok
}

// subnetPlaces reads a VPCZoneIdentifier.
func (c compute) subnetPlaces(list string) ([]subnetPlace, error) {
	var places []subnetPlace
	vpc := ""
	for _, id := range strings.Split(list, ",") {
		id = strings.TrimSpace(id)
		subnet, ok := c.subnet(id)
		if !ok {
			return nil, invalid("The subnet ID '%s' does not exist", id)
		}
		if vpc != "" && subnet.vpc != vpc {
			return nil, invalid("Subnets must belong to a single VPC")
		}
		vpc = subnet.vpc
		p := subnetPlace{id: id, zone: subnet.zone}
		if slices.Contains(places, p) {
			return nil, invalid("VPCZoneIdentifier contains duplicate subnet %s", id)
		}
		places = append(places, p)
	}
	return places, nil
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
