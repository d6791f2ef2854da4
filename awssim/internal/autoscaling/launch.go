package autoscaling

import (
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// Retries of failed launches wait longer each time. AWS documents that it retries, not how often;
// these bounds are an inference.
const (
	firstRetry = 30 * time.Second
	lastRetry  = 15 * time.Minute
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

// launchUnits launches instances until they make up the given units or a launch fails. reason
// explains a replacement; without one the launches answer the difference between the desired and
// the actual capacity.
func (s *service) launchUnits(g *group, units int, reason string) {
	for units > 0 {
		if now := s.kernel.Now(); now.Before(g.retryAt) || now.Before(g.holdUntil) || g.suspends(processLaunch) {
			return
		}
		m := s.fromWarmPool(g, reason)
		if m == nil {
			if m = s.launchOne(g, reason, types.LifecycleStatePending); m == nil {
				return
			}
		}
		units -= m.units
	}
}

// launchOne launches one instance by the first option that EC2 grants, or records why there is none.
func (s *service) launchOne(g *group, reason string, state types.LifecycleState) *member {
	options, err := s.options(g, reason == reasonBalance)
	if err != nil {
		s.launchFailed(g, nil, err)
		return nil
	}
	var last place
	for _, o := range options {
		launched, launchErr := s.launch(launchRequest{
			template: o.template, instanceType: o.choice.instanceType, imageID: val(o.override.ImageId), place: o.place,
			market: o.market, maxPrice: o.maxPrice, tags: g.instanceTags(), groupName: g.name, placementGroup: g.placementGroup,
			reservation: o.reservation,
		})
		if launchErr == nil {
			return s.adopt(g, launched, o, reason, state)
		}
		err, last = launchErr, o.place
		if !lacksCapacity(launchErr) {
			break
		}
	}
	s.launchFailed(g, &last, err)
	return nil
}

// adopt makes a launched instance a member.
func (s *service) adopt(g *group, i ec2.Instance, o option, reason string, state types.LifecycleState) *member {
	now := s.kernel.Now()
	before := g.capacity()
	g.launches++
	m := &member{
		id: val(i.InstanceId), sequence: g.launches, zone: val(i.Placement.AvailabilityZone), subnet: val(i.SubnetId),
		instanceType: string(i.InstanceType), imageID: val(o.override.ImageId), weight: g.weightOf(o),
		units: o.choice.units, spot: i.InstanceLifecycle == ec2types.InstanceLifecycleTypeSpot, launched: now, state: state,
		reservation: o.reservation,
		protected:   g.protectNew, configuration: o.template.configuration,
	}
	if m.configuration == nil {
		m.template = &types.LaunchTemplateSpecification{
			LaunchTemplateId: ptr(o.template.id), LaunchTemplateName: ptr(o.template.name), Version: ptr(itoa(o.template.number)),
		}
	}
	if z := s.region.World().Zone(m.zone); z != nil {
		m.zoneID = z.ID
	}
	g.members = append(g.members, m)
	s.member[m.id] = g
	g.failures, g.retryAt, g.failure, g.failureMessage = 0, time.Time{}, nil, ""
	description := "Launching a new EC2 instance: " + m.id
	if m.warmed() {
		description = "Launching a new EC2 instance into warm pool: " + m.id
	}
	m.run = s.begin(g, m, description, g.launchCause(now, before, before+m.units, reason))
	return m
}

// weightOf is what is shown as the weight of an instance: "the number of capacity units contributed
// by the instance based on its instance type" (SDK types.Instance.WeightedCapacity). That it is
// shown of a group that counts vCPUs or memory too is an inference.
func (g *group) weightOf(o option) string {
	if g.capacityUnit != capacityTypeUnits {
		return itoa(o.choice.units)
	}
	return val(o.override.WeightedCapacity)
}

// launchCause says why an instance is launched.
func (g *group) launchCause(now time.Time, from, to int, reason string) string {
	if reason == "" && g.replacing > 0 {
		g.replacing--
		reason = "an unhealthy instance needing to be replaced"
	}
	if reason != "" {
		return causeLaunched(now, reason)
	}
	return join(g.cause, causeCapacity(now, from, to))
}

// launchFailed records a launch that EC2 refused, and puts off the next attempt.
func (s *service) launchFailed(g *group, where *place, err error) {
	now := s.kernel.Now()
	var m *member
	if where != nil {
		m = &member{zone: where.zone, subnet: where.subnet}
	}
	a := s.begin(g, m, "Launching a new EC2 instance", join(g.cause, causeCapacity(now, g.capacity(), max(g.desired, g.capacity()+1))))
	config := g.effective()
	market, _ := g.nextMarket(config)
	failure := sim.AsError(err)
	if config.mixed != nil {
		failure = fleetFailure(failure, market)
	}
	g.failure, g.failureMessage = failure, failureMessage(failure, config.mixed != nil, market)
	s.note(a, types.ScalingActivityStatusCodeFailed, 100, g.failureMessage)
	s.backOff(g)
}

// failureMessage returns what an activity says of a failed launch. Of a group with a mixed
// instances policy it has the purchase option and EC2's code before EC2's message:
// buildkite/elastic-ci-stack-for-aws#851, cortexlabs/cortex#1258 and mludvig/aws-ethereum-miner#23
// for Spot, aws/containers-roadmap#2204 and klothoplatform/klotho#311 for On-Demand. Of any other
// group it has neither: aws/aws-parallelcluster#1944.
func failureMessage(e *sim.Error, mixed bool, market ec2types.MarketType) string {
	message := strings.TrimRight(e.Message, ".") + ". Launching EC2 instance failed."
	switch {
	case !mixed:
		return message
	case market == ec2types.MarketTypeSpot:
		return "Could not launch Spot Instances. " + e.Code + " - " + message
	default:
		return "Could not launch On-Demand Instances. " + e.Code + " - " + message
	}
}

// fleetFailure returns the error as a fleet reports it, through which Auto Scaling launches for a
// mixed instances policy: of Spot capacity that is not there (re:Post, "How do I troubleshoot Spot
// Instance issues in Amazon EKS"), and of a type that the zone lacks
// (mludvig/aws-ethereum-miner#23).
func fleetFailure(e *sim.Error, market ec2types.MarketType) *sim.Error {
	switch {
	case e.Code == "InsufficientInstanceCapacity" && market == ec2types.MarketTypeSpot:
		return sim.AsError(sim.Errorf("UnfulfillableCapacity", "Unable to fulfill capacity due to your request configuration. Please adjust your request and try again."))
	case e.Code == "Unsupported":
		return &sim.Error{Code: "InvalidFleetConfiguration", Message: e.Message, Status: e.Status}
	}
	return e
}

// backOff puts off the next launch: twice as long with each failure in a row.
func (s *service) backOff(g *group) {
	wait := min(firstRetry<<min(g.failures, 10), lastRetry)
	g.failures++
	g.retryAt = s.kernel.Now().Add(wait)
}

// instanceTags returns what the group puts on its instances. They win over the launch template's
// (reference 2.3).
func (g *group) instanceTags() []ec2types.Tag {
	var tags []ec2types.Tag
	for _, t := range g.tags {
		if val(t.PropagateAtLaunch) {
			tags = append(tags, ec2types.Tag{Key: t.Key, Value: t.Value})
		}
	}
	return tags
}

// options returns every way in which the group may launch its next instance, best first: the zone
// that has the fewest instances before the others (or that zone alone), and in it the instance
// types in the order of the allocation strategy. It fails if the template is gone.
func (s *service) options(g *group, onlyFirstZone bool) ([]option, error) {
	config := g.effective()
	base, err := s.base(config)
	if err != nil {
		return nil, err
	}
	choices, templates, err := s.choices(g, config, base)
	if err != nil {
		return nil, err
	}
	market, maxPrice := g.nextMarket(config)
	spot := market == ec2types.MarketTypeSpot || market == "" && base.data.InstanceMarketOptions != nil && base.data.InstanceMarketOptions.MarketType == ec2types.MarketTypeSpot
	if choices = affordable(choices, spot); len(choices) == 0 {
		return nil, sim.Errorf("UnfulfillableCapacity", "No instance types match the instance requirements within their price protection thresholds.")
	}
	choices = order(config, market, choices)
	places := s.places(g)
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
	return s.reservedFirst(g, config, options, spot)
}

// places returns where the group may launch next, best first.
func (s *service) places(g *group) []place {
	r := g.refresh
	replacing := r != nil && (r.status == types.InstanceRefreshStatusInProgress || r.status == types.InstanceRefreshStatusRollbackInProgress)
	return orderPlaces(g.placesOf(g.members, func(m *member) bool { return !replacing || s.updated(g, r, m) }))
}

func (g *group) balancedOnly() bool {
	return g.distribution != nil && g.distribution.CapacityDistributionStrategy == types.CapacityDistributionStrategyBalancedOnly
}

// choices returns the instance types that the configuration allows, and the launch templates of the
// overrides that have their own.
func (s *service) choices(g *group, config configuration, base resolved) ([]choice, map[int]resolved, error) {
	var all []choice
	templates := map[int]resolved{}
	for i, o := range config.alternatives() {
		template, err := s.templateOf(o, base)
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
			found = s.matching(&g.settings, r, i, s.architectureOf(o, template))
		} else if i >= 0 {
			found[0].instanceType = valOr(o.InstanceType, string(template.data.InstanceType))
			if t := s.kernel.World().InstanceType(found[0].instanceType); t != nil {
				found[0].onDemand, found[0].spot = t.OnDemandUSD, t.SpotPrice()
			}
		}
		for j := range found {
			found[j].units = s.unitsOf(&g.settings, o, found[j].instanceType)
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
