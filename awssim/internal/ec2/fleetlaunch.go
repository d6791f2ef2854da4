package ec2

import (
	"math"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/iam"
	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// fleetLaunch launches a fleet: first the On-Demand part, then the Spot part, each in two steps. It
// plans how many instances come from which pool, because a minimum that is out of reach launches
// nothing at all; then it starts them.
type fleetLaunch struct {
	state *state
	pools []*pool
	fleet fleet
	// spotRole returns why there are no Spot Instances for the account, nil if there are.
	spotRole func() error
}

func (f *fleetLaunch) run() error {
	if f.fleet.request.ReservedCapacityOptions != nil {
		return f.runReserved()
	}
	onDemand, spot := split(*f.fleet.request.TargetCapacitySpecification)
	if onDemand > 0 {
		if err := f.buy(f.onDemand(onDemand)); err != nil {
			return err
		}
		f.fleet.onDemand = f.fleet.fulfilled
	}
	if spot == 0 {
		return nil
	}
	p := f.spot(spot)
	if err := f.spotRole(); err != nil {
		for _, of := range f.pools {
			p.fail(of, err)
		}
		return nil
	}
	return f.buy(p)
}

// The role that Spot Instances need (User Guide, "Service-linked role for EC2 Spot Instance
// requests").
const (
	spotRoleName    = "AWSServiceRoleForEC2Spot"
	spotRoleService = "spot.amazonaws.com"
)

// ensureSpotRole creates the role of Spot unless it is there, as EC2 does for callers who may
// create it. The code and the message are from reports of users of Karpenter, whose fleets get this
// error for each pool (karpenter.sh/docs/troubleshooting, "Missing Service Linked Role").
func ensureSpotRole(c *sim.Call) error {
	for _, question := range iam.ServiceLinkedRole(c.Account, spotRoleName, spotRoleService) {
		if !c.Permits(question.Request) {
			return sim.Errorf("AuthFailure.ServiceLinkedRoleCreationNotPermitted", "The provided credentials do not have permission to create the service-linked role for EC2 Spot Instances.")
		}
	}
	iam.EnsureServiceLinkedRole(c.Account, spotRoleName, spotRoleService)
	return nil
}

// purchase is the part of a fleet that is bought in one market.
type purchase struct {
	*fleetLaunch
	lifecycle types.InstanceLifecycle
	target    float64
	bounds    fleetBounds
	price     func(*pool) float64 // per hour and instance
	offers    []offer             // in the order of the strategy
	// spread is over how many pools the target is divided evenly; 0 fills one pool after the other.
	spread int
	// empty are pools that the strategy leaves out because they have no room.
	empty []*pool
	// keepsMarket launches what the pools say, and not what the lifecycle says.
	keepsMarket bool

	failed   map[failure]bool
	short    map[*pool]bool // pools without further capacity
	reached  float64        // units that are planned
	spending float64        // US dollars per hour that are planned
}

// failure is an error of a pool. The answer lists each only once.
type failure struct {
	pool *pool
	code string
}

func (f *fleetLaunch) onDemand(target float64) *purchase {
	p := &purchase{
		fleetLaunch: f, lifecycle: types.InstanceLifecycleOnDemand, target: target, bounds: onDemandBounds(&f.fleet.request),
		price: func(p *pool) float64 { return p.kind.OnDemandUSD }, failed: map[failure]bool{},
	}
	p.offers = offers(p.possible(), target, p.price)
	orderOnDemand(val(f.fleet.request.OnDemandOptions).AllocationStrategy, p.offers)
	return p
}

func (f *fleetLaunch) spot(target float64) *purchase {
	options := val(f.fleet.request.SpotOptions)
	p := &purchase{
		fleetLaunch: f, lifecycle: types.InstanceLifecycleSpot, target: target, bounds: spotBounds(&f.fleet.request),
		price: func(p *pool) float64 { return f.state.catalog.spotPrice(p.kind, p.zone) }, failed: map[failure]bool{},
	}
	list := offers(p.possible(), target, p.price)
	for i, o := range list {
		list[i].room = f.state.capacities.left(offering{o.kind.Name, o.zone, marketSpot}, instancesFor(target, o.weight))
	}
	if looksAtCapacity(options.AllocationStrategy) {
		list = slices.DeleteFunc(list, func(o offer) bool {
			if o.room == 0 {
				p.empty = append(p.empty, o.pool)
			}
			return o.room == 0
		})
	}
	orderSpot(options.AllocationStrategy, list)
	switch options.AllocationStrategy {
	case types.SpotAllocationStrategyDiversified:
		// "does not launch Spot Instances into any pools with a Spot price that is equal to or
		// higher than the On-Demand price" (User Guide, "When your fleet is large or runs for a
		// long time").
		list = slices.DeleteFunc(list, func(o offer) bool { return p.price(o.pool) >= o.kind.OnDemandUSD })
		p.spread = len(list)
	default: // only the strategy lowest-price can have a number of pools
		p.spread = int(val(options.InstancePoolsToUseCount))
	}
	p.offers = list
	return p
}

// instancesFor returns how many instances of a weight make up units (SDK,
// FleetLaunchTemplateOverridesRequest.WeightedCapacity: "rounds the number of instances to the next
// whole number").
func instancesFor(units, weight float64) int { return int(math.Ceil(units / weight)) }

// possible lists the pools whose type the zone has, and records the others. An unknown type and one
// that the zone lacks get the same code and words, and the other pools are launched from all the
// same; that is as users have measured it of fleets of the type instant.
func (p *purchase) possible() []*pool {
	var list []*pool
	for _, candidate := range p.pools {
		if candidate.kind != nil && (candidate.zone == "" || p.state.region.World().Offers(candidate.kind.Name, candidate.zone)) {
			list = append(list, candidate)
			continue
		}
		p.fail(candidate, sim.Errorf("InvalidFleetConfiguration", "Your requested instance type (%s) is not supported in your requested Availability Zone (%s).",
			candidate.in.InstanceType, candidate.zone))
	}
	return list
}

// buy plans the purchase and starts what was planned.
func (f *fleetLaunch) buy(p *purchase) error {
	defer func() { f.state.capacities.drafts = nil }()
	p.plan()
	if p.reached < p.target {
		for _, left := range p.empty {
			p.fail(left, sim.Errorf("UnfulfillableCapacity", "Unable to fulfill capacity due to your request configuration. Please adjust your request and try again."))
		}
	}
	if p.reached < float64(val(p.bounds.least)) {
		return nil
	}
	parts := f.state.capacities.drafts
	f.state.capacities.drafts = nil
	for _, part := range parts {
		if err := p.start(part); err != nil {
			return err
		}
	}
	return nil
}

// plan plans the first group of pools that reaches the target, or the one that comes nearest.
// Without SingleInstanceType and SingleAvailabilityZone there is one group.
func (p *purchase) plan() {
	best := -1
	reached := 0.0
	parts := offerGroups(p.offers, p.bounds)
	for i, part := range parts {
		p.fill(part)
		if best < 0 || p.reached > reached {
			best, reached = i, p.reached
		}
		if p.reached >= p.target {
			return
		}
	}
	if best >= 0 && best < len(parts)-1 {
		p.fill(parts[best])
	}
}

// fill plans from the start with one group of pools: evenly over the first of them if the strategy
// spreads, then one after the other.
func (p *purchase) fill(list []offer) {
	p.state.capacities.drafts, p.short, p.reached, p.spending = nil, map[*pool]bool{}, 0, 0
	spread := min(p.spread, len(list))
	for i := range spread {
		share := (p.target - p.reached) / float64(spread-i)
		p.take(list[i], instancesFor(share, list[i].weight))
	}
	for _, o := range list {
		p.take(o, instancesFor(p.target-p.reached, o.weight))
	}
}

// take plans up to count instances from a pool. It records the error that prevents it from planning
// all of them; a used-up budget is not an error (SDK, SpotOptionsRequest.MaxTotalPrice).
func (p *purchase) take(o offer, count int) {
	if price := p.price(o.pool); price > 0 {
		count = min(count, int(math.Min((p.bounds.most()-p.spending)/price, maxFleetCapacity)))
	}
	if count < 1 || p.reached >= p.target || p.short[o.pool] {
		return
	}
	part, err := p.draft(o.pool)
	if err == nil {
		err = p.state.subnets.refuseShared(part.launch.interfaces, part.count+count)
	}
	got := 0
	if err == nil {
		if got, err = p.state.capacities.roomFor(part.launch, 1, count); err == nil && got < count {
			_, err = p.state.capacities.roomFor(part.launch, count, count)
		}
	}
	if err != nil {
		p.short[o.pool] = true
		p.fail(o.pool, err)
	}
	if got == 0 {
		return
	}
	if part.count == 0 {
		p.state.capacities.drafts = append(p.state.capacities.drafts, part)
	}
	part.count += got
	p.reached += float64(got) * o.weight
	p.spending += float64(got) * p.price(o.pool)
}

// draft returns what is planned of a pool already, or works out a launch from it.
func (p *purchase) draft(from *pool) (*draft, error) {
	for _, d := range p.state.capacities.drafts {
		if d.pool == from {
			return d, nil
		}
	}
	l := &launch{
		state: p.state, in: shape.Clone(from.in), source: from.template,
		// User Guide, "Tag your EC2 Fleet": instances of a fleet carry its id.
		systemTags: tagList(map[string]string{"aws:ec2:fleet-id": p.fleet.id}),
	}
	if !p.keepsMarket {
		l.in.InstanceMarketOptions = nil
	}
	if p.lifecycle == types.InstanceLifecycleSpot {
		l.in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{
			MarketType:  types.MarketTypeSpot,
			SpotOptions: &types.SpotMarketOptions{SpotInstanceType: types.SpotInstanceTypeOneTime, MaxPrice: from.override.MaxPrice},
		}
	}
	return &draft{pool: from, launch: l}, l.plan()
}

// start launches what is planned of a pool.
func (p *purchase) start(d *draft) error {
	started, err := d.launch.start(d.count, "", "")
	if err != nil {
		return err
	}
	shown := types.CreateFleetInstance{
		InstanceType: d.launch.in.InstanceType, Lifecycle: p.lifecycle, Platform: d.launch.image.Platform, LaunchTemplateAndOverrides: launchTemplateAndOverrides(d.pool),
		AvailabilityZone: d.launch.subnet.AvailabilityZone, AvailabilityZoneId: d.launch.subnet.AvailabilityZoneId, SubnetId: d.launch.subnet.SubnetId,
	}
	for _, i := range started {
		shown.InstanceIds = append(shown.InstanceIds, val(i.InstanceId))
	}
	p.fleet.instances = append(p.fleet.instances, shown)
	p.fleet.fulfilled += float64(d.count) * d.pool.weight
	return nil
}

// fail records why a pool gave less than was wanted of it.
func (p *purchase) fail(from *pool, err error) {
	e := sim.AsError(err)
	if p.failed[failure{from, e.Code}] {
		return
	}
	p.failed[failure{from, e.Code}] = true
	p.fleet.errors = append(p.fleet.errors, types.CreateFleetError{
		ErrorCode: ptr(e.Code), ErrorMessage: ptr(e.Message), Lifecycle: p.lifecycle, LaunchTemplateAndOverrides: launchTemplateAndOverrides(from),
	})
}
