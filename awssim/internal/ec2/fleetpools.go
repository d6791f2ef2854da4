package ec2

import (
	"cmp"
	"math"
	"slices"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// pool is a capacity pool of a fleet, an instance type in a zone, with the launch that one override
// makes there.
type pool struct {
	template *LaunchTemplateVersion
	override types.FleetLaunchTemplateOverridesRequest
	in       awsec2.RunInstancesInput
	kind     *world.InstanceType // nil if there is no such type
	zone     string              // "" if the launch would fail before it is known
	weight   float64             // units of one instance
}

// fleetPools lists the pools of a request, in its order; a config without overrides has one. No
// pool may be there twice: "the fleet configuration contains duplicate instance pools" is EC2's
// answer, also to two subnets of one zone
// (https://github.com/github-aws-runners/terraform-aws-github-runner/issues/5297; User Guide,
// "Quotas for EC2 Fleet and Spot Fleet": a fleet "can't span different subnets from the same
// Availability Zone"). That this holds across configs too is an inference.
func fleetPools(s *state, request *awsec2.CreateFleetInput, templates []*LaunchTemplateVersion) ([]*pool, error) {
	type place struct{ kind, zone string }
	var pools []*pool
	seen := map[place]bool{}
	for i, config := range request.LaunchTemplateConfigs {
		overrides := config.Overrides
		if len(overrides) == 0 {
			overrides = make([]types.FleetLaunchTemplateOverridesRequest, 1)
		}
		for _, override := range overrides {
			if override.InstanceType == "" && templates[i].Data.InstanceRequirements != nil {
				return nil, sim.Errorf("Unsupported", "The simulation has no attribute-based instance type selection for fleets.")
			}
			p := newPool(s, templates[i], override, config.LaunchTemplateSpecification.LaunchTemplateSpecificationUserData)
			p.in.TagSpecifications = mergeTagSpecifications(p.in.TagSpecifications, request.TagSpecifications)
			if at := (place{string(p.in.InstanceType), p.zone}); p.zone != "" {
				if seen[at] {
					return nil, invalidFleet("The fleet configuration contains duplicate instance pools.")
				}
				seen[at] = true
			}
			pools = append(pools, p)
		}
	}
	return pools, nil
}

// newPool lays the override over the template: each member that is given replaces the template's,
// as with RunInstances. Of user data, the config's replaces the template's
// (https://github.com/getmoto/moto/pull/10245).
func newPool(s *state, template *LaunchTemplateVersion, override types.FleetLaunchTemplateOverridesRequest, userData *string) *pool {
	over := shape.Convert[awsec2.RunInstancesInput](override)
	over.SubnetId, over.UserData = nil, userData
	p := &pool{template: template, override: override, in: mergeLaunch(template.Data, over), weight: 1}
	if override.WeightedCapacity != nil {
		p.weight = *override.WeightedCapacity
	}
	if zone, id := override.AvailabilityZone, override.AvailabilityZoneId; val(zone) != "" || val(id) != "" {
		placement := val(p.in.Placement)
		placement.AvailabilityZone, placement.AvailabilityZoneId = zone, id
		p.in.Placement = &placement
	}
	overrideSubnet(&p.in, LaunchRequest{SubnetID: val(override.SubnetId)})
	l := &launch{state: s, in: p.in, source: template}
	if l.chooseType() != nil || l.findType() != nil {
		return p
	}
	p.in.InstanceType, p.kind = l.in.InstanceType, l.kind
	primary := p.in.SubnetId
	for _, n := range p.in.NetworkInterfaces {
		if val(n.DeviceIndex) == 0 && val(n.NetworkCardIndex) == 0 {
			primary = n.SubnetId
		}
	}
	if subnet, err := l.findSubnet(primary); err == nil {
		p.zone = val(subnet.AvailabilityZone)
	}
	return p
}

// mergeTagSpecifications adds a fleet's tags to a template's, the fleet's winning.
func mergeTagSpecifications(template, fleet []types.TagSpecification) []types.TagSpecification {
	merged := shape.Clone(template)
	for _, spec := range fleet {
		if spec.ResourceType == types.ResourceTypeFleet {
			continue
		}
		i := slices.IndexFunc(merged, func(t types.TagSpecification) bool { return t.ResourceType == spec.ResourceType })
		if i < 0 {
			merged = append(merged, spec)
			continue
		}
		merged[i].Tags = mergeTags(merged[i].Tags, spec.Tags)
	}
	return merged
}

// offer is a pool as one market sees it.
type offer struct {
	*pool
	price float64 // per hour and unit
	// how many instances there is capacity for, at most as many as would be launched; spot alone
	room int
}

// offers prices the pools for a purchase. Prices are per unit, but per instance where one instance
// of any pool is enough (SDK, FleetLaunchTemplateOverridesRequest.WeightedCapacity).
func offers(pools []*pool, target float64, price func(*pool) float64) []offer {
	single := !slices.ContainsFunc(pools, func(p *pool) bool { return p.weight <= target })
	list := make([]offer, len(pools))
	for i, p := range pools {
		list[i] = offer{pool: p, price: price(p)}
		if !single {
			list[i].price /= p.weight
		}
	}
	return list
}

// orderOnDemand puts first what is launched first (User Guide, "Allocation strategies for On-Demand
// Instances").
func orderOnDemand(strategy types.FleetOnDemandAllocationStrategy, list []offer) {
	if strategy == types.FleetOnDemandAllocationStrategyPrioritized {
		slices.SortStableFunc(list, byPriority)
		return
	}
	slices.SortStableFunc(list, byPrice)
}

// orderSpot sorts offers in the order of their launch (User Guide, "Allocation strategies for Spot
// Instances"). The room of a pool is the only indication of how likely EC2 will interrupt its
// instances.
func orderSpot(strategy types.SpotAllocationStrategy, list []offer) {
	byRoom := func(a, b offer) int { return cmp.Compare(b.room, a.room) }
	switch strategy {
	case types.SpotAllocationStrategyDiversified: // all pools alike
	case types.SpotAllocationStrategyCapacityOptimized:
		slices.SortStableFunc(list, byRoom)
	case types.SpotAllocationStrategyCapacityOptimizedPrioritized:
		slices.SortStableFunc(list, func(a, b offer) int { return cmp.Or(byRoom(a, b), byPriority(a, b)) })
	case types.SpotAllocationStrategyPriceCapacityOptimized:
		slices.SortStableFunc(list, func(a, b offer) int { return cmp.Or(byRoom(a, b), byPrice(a, b)) })
	default: // lowest-price (SDK, SpotOptionsRequest.AllocationStrategy)
		slices.SortStableFunc(list, byPrice)
	}
}

func byPrice(a, b offer) int { return cmp.Compare(a.price, b.price) }

// byPriority: the lower the number the higher the priority, and no number is the lowest (SDK,
// FleetLaunchTemplateOverridesRequest.Priority).
func byPriority(a, b offer) int {
	priority := func(o offer) float64 {
		if o.override.Priority == nil {
			return math.Inf(1)
		}
		return *o.override.Priority
	}
	return cmp.Compare(priority(a), priority(b))
}

// looksAtCapacity reports whether a strategy knows beforehand which pools have room.
func looksAtCapacity(strategy types.SpotAllocationStrategy) bool {
	switch strategy {
	case types.SpotAllocationStrategyCapacityOptimized, types.SpotAllocationStrategyCapacityOptimizedPrioritized, types.SpotAllocationStrategyPriceCapacityOptimized:
		return true
	default:
		return false
	}
}

// offerGroups parts the offers by zone, by instance type or by both, in the order of the best offer
// of each; all are one group if neither is asked for.
func offerGroups(list []offer, b fleetBounds) [][]offer {
	type key struct{ kind, zone string }
	var keys []key
	byKey := map[key][]offer{}
	for _, o := range list {
		var k key
		if b.singleType {
			k.kind = o.kind.Name
		}
		if b.singleZone {
			k.zone = o.zone
		}
		if byKey[k] == nil {
			keys = append(keys, k)
		}
		byKey[k] = append(byKey[k], o)
	}
	parts := make([][]offer, len(keys))
	for i, k := range keys {
		parts[i] = byKey[k]
	}
	return parts
}
