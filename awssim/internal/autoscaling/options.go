package autoscaling

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling/allocation"
	"github.com/slipway-project/slipway/awssim/internal/list"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// option is one way to launch one instance.
type option struct {
	choice   allocation.Choice
	override types.LaunchTemplateOverrides
	template resolved
	place    allocation.Place
	market   ec2types.MarketType
	maxPrice string
	// reservation is the Capacity Reservation to launch into, empty for the template's.
	reservation string
}

// launchPlanner returns the ways in which groups can launch.
type launchPlanner struct {
	region  *sim.Region
	kernel  *sim.Kernel
	compute compute
	sources *sources
}

// options returns every way in which the group may launch its next instance, best first: the zone
// that has the fewest instances before the others (or that zone alone), and in it the instance
// types in the order of the allocation strategy. It fails if the template is gone.
func (p *launchPlanner) options(g *group, onlyFirstZone bool) ([]option, error) {
	config := g.effective()
	base, err := p.sources.base(config)
	if err != nil {
		return nil, err
	}
	choices, templates, err := p.choices(g, config, base)
	if err != nil {
		return nil, err
	}
	market, maxPrice := nextMarket(g, config)
	spot := market == ec2types.MarketTypeSpot || market == "" && base.data.InstanceMarketOptions != nil && base.data.InstanceMarketOptions.MarketType == ec2types.MarketTypeSpot
	if choices = allocation.Affordable(choices, spot); len(choices) == 0 {
		return nil, sim.Errorf("UnfulfillableCapacity", "No instance types match the instance requirements within their price protection thresholds.")
	}
	choices = order(config, market, choices)
	places := p.places(g)
	if g.balancedOnly() || onlyFirstZone {
		places = list.Filter(places, func(at allocation.Place) bool { return at.Zone == places[0].Zone })
	}
	var options []option
	for _, place := range places {
		for _, c := range choices {
			o := option{choice: c, template: base, place: place, market: market, maxPrice: maxPrice}
			if c.Override >= 0 {
				o.override = config.overrides()[c.Override]
			}
			if t, ok := templates[c.Override]; ok {
				o.template = t
			}
			options = append(options, o)
		}
	}
	return p.reservedFirst(g, config, options, spot)
}

// places returns where the group may launch next, best first.
func (p *launchPlanner) places(g *group) []allocation.Place {
	r := g.refresh
	replacing := r != nil && (r.status == types.InstanceRefreshStatusInProgress || r.status == types.InstanceRefreshStatusRollbackInProgress)
	return allocation.OrderPlaces(g.placesOf(g.members, func(m *member) bool { return !replacing || p.sources.updated(g, r, m) }))
}

// placesOf returns where a group may launch, with what it runs there already. stays reports whether
// an instance will not be replaced by the active refresh.
func (n *settings) placesOf(members []*member, stays func(*member) bool) []allocation.Place {
	var places []allocation.Place
	for _, subnet := range n.subnets {
		places = append(places, allocation.Place{Zone: subnet.zone, Subnet: subnet.id})
	}
	if len(places) == 0 {
		for _, z := range n.zones {
			places = append(places, allocation.Place{Zone: z})
		}
	}
	for _, m := range members {
		if !m.counts() && m.state != types.LifecycleStateStandby || n.outOfBalance(m) {
			continue
		}
		for i := range places {
			if places[i].Zone == m.zone && (places[i].Subnet == "" || places[i].Subnet == m.subnet) {
				places[i].Count++
				if stays(m) {
					places[i].Stay++
				}
			}
		}
	}
	return places
}

func (g *group) balancedOnly() bool {
	return g.distribution != nil && g.distribution.CapacityDistributionStrategy == types.CapacityDistributionStrategyBalancedOnly
}

// choices returns the instance types that the configuration allows, and the launch templates of the
// overrides that have their own.
func (p *launchPlanner) choices(g *group, config configuration, base resolved) ([]allocation.Choice, map[int]resolved, error) {
	var all []allocation.Choice
	templates := map[int]resolved{}
	for i, o := range config.alternatives() {
		template, err := p.sources.templateOf(o, base)
		if err != nil {
			return nil, nil, err
		}
		if o.LaunchTemplateSpecification != nil {
			templates[i] = template
		}
		if len(config.overrides()) == 0 {
			i = -1
		}
		found := []allocation.Choice{{Override: i}}
		if r := requirementsOf(o, template); r != nil {
			found = allocation.Matching(p.kernel.World().InstanceTypes, g.capacityUnit, r, i, p.compute.architectureOf(o, template))
		} else if i >= 0 {
			found[0].InstanceType = valOr(o.InstanceType, string(template.data.InstanceType))
			if t := p.kernel.World().InstanceType(found[0].InstanceType); t != nil {
				found[0].OnDemand, found[0].Spot = t.OnDemandUSD, t.SpotPrice()
			}
		}
		for j := range found {
			found[j].Units = allocation.UnitsOf(val(o.WeightedCapacity), p.kernel.World().InstanceType(found[j].InstanceType), g.capacityUnit)
			found[j].Running = runningSpot(g.members, found[j].InstanceType)
		}
		all = append(all, found...)
	}
	return all, templates, nil
}

// runningSpot counts the Spot Instances of a type that count toward the desired capacity.
func runningSpot(members []*member, instanceType string) int {
	n := 0
	for _, m := range members {
		if m.spot && m.counts() && m.instanceType == instanceType {
			n++
		}
	}
	return n
}

// nextMarket returns the purchase option of the next instance: On-Demand until its share of the
// capacity is filled, then Spot (SDK InstancesDistribution). A group without a policy launches what
// its template says.
func nextMarket(g *group, config configuration) (ec2types.MarketType, string) {
	if config.mixed == nil {
		return "", ""
	}
	total, onDemand := g.purchased()
	if onDemand < config.onDemandTarget(max(g.desired, total+1)) {
		return onDemandMarket, ""
	}
	return ec2types.MarketTypeSpot, val(config.mixed.InstancesDistribution.SpotMaxPrice)
}

// onDemandMarket asks for On-Demand whatever the template says.
const onDemandMarket = ec2types.MarketType("on-demand")

func order(config configuration, market ec2types.MarketType, choices []allocation.Choice) []allocation.Choice {
	if config.mixed == nil {
		return slices.Clone(choices)
	}
	d := config.mixed.InstancesDistribution
	if market == ec2types.MarketTypeSpot {
		return allocation.OrderSpot(*d.SpotAllocationStrategy, int(val(d.SpotInstancePools)), choices)
	}
	return allocation.OrderOnDemand(*d.OnDemandAllocationStrategy, choices)
}
