package autoscaling

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// option is one way to launch one instance.
type option struct {
	choice   choice
	override types.LaunchTemplateOverrides
	template resolved
	place    place
	market   ec2types.MarketType
	maxPrice string
	// reservation is the Capacity Reservation to launch into, empty for the template's.
	reservation string
}

// options returns every way in which the group may launch its next instance, best first: the zone
// that has the fewest instances before the others (or that zone alone), and in it the instance
// types in the order of the allocation strategy. It fails if the template is gone.
func (l *launcher) options(g *group, onlyFirstZone bool) ([]option, error) {
	config := g.effective()
	base, err := l.sources.base(config)
	if err != nil {
		return nil, err
	}
	choices, templates, err := l.choices(g, config, base)
	if err != nil {
		return nil, err
	}
	market, maxPrice := g.nextMarket(config)
	spot := market == ec2types.MarketTypeSpot || market == "" && base.data.InstanceMarketOptions != nil && base.data.InstanceMarketOptions.MarketType == ec2types.MarketTypeSpot
	if choices = affordable(choices, spot); len(choices) == 0 {
		return nil, sim.Errorf("UnfulfillableCapacity", "No instance types match the instance requirements within their price protection thresholds.")
	}
	choices = order(config, market, choices)
	places := l.places(g)
	if g.balancedOnly() || onlyFirstZone {
		places = filter(places, func(p place) bool { return p.zone == places[0].zone })
	}
	var options []option
	for _, p := range places {
		for _, c := range choices {
			o := option{choice: c, template: base, place: p, market: market, maxPrice: maxPrice}
			if c.override >= 0 {
				o.override = config.overrides()[c.override]
			}
			if t, ok := templates[c.override]; ok {
				o.template = t
			}
			options = append(options, o)
		}
	}
	return l.reservedFirst(g, config, options, spot)
}

// places returns where the group may launch next, best first.
func (l *launcher) places(g *group) []place {
	r := g.refresh
	replacing := r != nil && (r.status == types.InstanceRefreshStatusInProgress || r.status == types.InstanceRefreshStatusRollbackInProgress)
	return orderPlaces(g.placesOf(g.members, func(m *member) bool { return !replacing || l.sources.updated(g, r, m) }))
}

// placesOf returns where a group may launch, with what it runs there already. stays tells which
// instances will be there for longer.
func (n *settings) placesOf(members []*member, stays func(*member) bool) []place {
	var places []place
	for _, subnet := range n.subnets {
		places = append(places, place{zone: subnet.zone, subnet: subnet.id})
	}
	if len(places) == 0 {
		for _, z := range n.zones {
			places = append(places, place{zone: z})
		}
	}
	for _, m := range members {
		if !m.counts() && m.state != types.LifecycleStateStandby || n.outOfBalance(m) {
			continue
		}
		for i := range places {
			if places[i].zone == m.zone && (places[i].subnet == "" || places[i].subnet == m.subnet) {
				places[i].count++
				if stays(m) {
					places[i].stay++
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
func (l *launcher) choices(g *group, config configuration, base resolved) ([]choice, map[int]resolved, error) {
	var all []choice
	templates := map[int]resolved{}
	for i, o := range config.alternatives() {
		template, err := l.sources.templateOf(o, base)
		if err != nil {
			return nil, nil, err
		}
		if o.LaunchTemplateSpecification != nil {
			templates[i] = template
		}
		if len(config.overrides()) == 0 {
			i = -1
		}
		found := []choice{{override: i}}
		if r := requirementsOf(o, template); r != nil {
			found = matching(l.kernel.World(), g.capacityUnit, r, i, l.compute.architectureOf(o, template))
		} else if i >= 0 {
			found[0].instanceType = valOr(o.InstanceType, string(template.data.InstanceType))
			if t := l.kernel.World().InstanceType(found[0].instanceType); t != nil {
				found[0].onDemand, found[0].spot = t.OnDemandUSD, t.SpotPrice()
			}
		}
		for j := range found {
			found[j].units = unitsOf(l.kernel.World(), g.capacityUnit, o, found[j].instanceType)
			found[j].running = g.runningSpot(found[j].instanceType)
		}
		all = append(all, found...)
	}
	return all, templates, nil
}

// runningSpot counts the group's Spot Instances of a type.
func (g *group) runningSpot(instanceType string) int {
	n := 0
	for _, m := range g.members {
		if m.spot && m.counts() && m.instanceType == instanceType {
			n++
		}
	}
	return n
}

// nextMarket returns the purchase option of the next instance: On-Demand until its share of the
// capacity is filled, then Spot (SDK InstancesDistribution). A group without a policy launches what
// its template says.
func (g *group) nextMarket(config configuration) (ec2types.MarketType, string) {
	if config.mixed == nil {
		return "", ""
	}
	d := config.mixed.InstancesDistribution
	total, onDemand := 0, 0
	for _, m := range g.members {
		if m.counts() {
			total += m.units
			if !m.spot {
				onDemand += m.units
			}
		}
	}
	if onDemand < onDemandTarget(max(g.desired, total+1), int(val(d.OnDemandBaseCapacity)), int(valOr(d.OnDemandPercentageAboveBaseCapacity, 100))) {
		return onDemandMarket, ""
	}
	return ec2types.MarketTypeSpot, val(d.SpotMaxPrice)
}

// onDemandMarket asks for On-Demand whatever the template says.
const onDemandMarket = ec2types.MarketType("on-demand")

func order(config configuration, market ec2types.MarketType, choices []choice) []choice {
	if config.mixed == nil {
		return slices.Clone(choices)
	}
	d := config.mixed.InstancesDistribution
	if market == ec2types.MarketTypeSpot {
		return orderSpot(*d.SpotAllocationStrategy, int(val(d.SpotInstancePools)), choices)
	}
	return orderOnDemand(*d.OnDemandAllocationStrategy, choices)
}
