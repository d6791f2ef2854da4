package ec2

import (
	"math"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// capacity holds the Capacity Reservations of a Region, and knows how many more instances fit into
// them, into the account's quotas and into the rest of the Region.
type capacity struct {
	*sim.Table[CapacityReservation]
	region    *sim.Region
	kernel    *sim.Kernel
	catalog   *catalog
	subnets   *subnets
	instances *sim.Table[instance]
	drafts    []*draft // of the fleet that is being planned
}

// draft is a number of instances that are planned to be launched from a pool. Further plans leave
// them their room.
type draft struct {
	pool   *pool
	launch *launch
	count  int
}

// roomFor returns how many instances can be launched, at most maxCount. Fewer than minCount is an
// error: RunInstances launches as many as it can but not fewer than MinCount (API reference,
// RunInstances, MinCount).
func (cp *capacity) roomFor(l *launch, minCount, maxCount int) (int, error) {
	if err := cp.checkSpotPrice(l); err != nil {
		return 0, err
	}
	count, err := cp.machinesFor(l, minCount, maxCount)
	if err != nil {
		return 0, err
	}
	perInstance := map[string]int{}
	for _, n := range l.interfaces {
		perInstance[val(n.subnet.SubnetId)] += n.addresses()
	}
	for _, n := range l.interfaces {
		free := cp.subnets.pool(n.subnet).free() - cp.draftedAddresses(val(n.subnet.SubnetId))
		if needed := perInstance[val(n.subnet.SubnetId)]; needed > 0 {
			count = min(count, free/needed)
		}
	}
	if count < minCount {
		return 0, sim.Errorf("InsufficientFreeAddressesInSubnet", "There are not enough free addresses in subnet '%s' to satisfy the requested number of instances.", val(l.subnet.SubnetId))
	}
	return count, nil
}

// machinesFor returns for how many instances there are machines: in the reservation that the launch
// names, or within the quota and by the capacity rules.
func (cp *capacity) machinesFor(l *launch, minCount, maxCount int) (int, error) {
	if reservation, named := l.reserved(); named {
		left, err := cp.reservedRoom(l, reservation)
		if err == nil && left < minCount {
			err = errReservationFull
		}
		return min(left, maxCount), err
	}
	count := min(maxCount, cp.vcpusLeft(l)/max(int(l.kind.VCPUs), 1))
	if count < minCount {
		return 0, cp.overQuota(l)
	}
	count = min(count, cp.left(l.offering(), maxCount))
	if count < minCount {
		return 0, cp.noCapacity(l)
	}
	return count, nil
}

// offering identifies a unit of capacity accounting.
type offering struct{ kind, zone, market string }

// The markets of offerings, as CapacityRule names them.
const (
	marketOnDemand = "on-demand"
	marketSpot     = "spot"
)

func (l *launch) offering() offering {
	o := offering{l.kind.Name, val(l.subnet.AvailabilityZone), marketOnDemand}
	if l.spot() {
		o.market = marketSpot
	}
	return o
}

func (i instance) offering() offering {
	o := offering{string(i.api.InstanceType), val(val(i.api.Placement).AvailabilityZone), marketOnDemand}
	if i.api.InstanceLifecycle == types.InstanceLifecycleTypeSpot {
		o.market = marketSpot
	}
	return o
}

// vcpusLeft returns how many vCPUs the account's quotas of the market have left for the type (User
// Guide, "Amazon EC2 service quotas" and "Spot Instance quotas"): one of all types, which AWS does
// not have, and the one of the type's group of families. Both are without bound unless the world
// sets them.
func (cp *capacity) vcpusLeft(l *launch) int {
	all := func(string) bool { return true }
	ofGroup := func(kind string) bool { return l.groupQuota(kind) == l.groupQuota(l.kind.Name) }
	return min(cp.quotaLeft(l, l.quota(), all), cp.quotaLeft(l, l.groupQuota(l.kind.Name), ofGroup))
}

// quota is the name of the quota of all types in the market of the launch.
func (l *launch) quota() string {
	if l.spot() {
		return world.QuotaSpotVCPUs
	}
	return world.QuotaOnDemandVCPUs
}

func (l *launch) groupQuota(kind string) string { return world.QuotaOfGroup(l.quota(), kind) }

// quotaLeft returns how many vCPUs a quota has left that counts some types.
func (cp *capacity) quotaLeft(l *launch, quota string, counts func(kind string) bool) int {
	left := cp.kernel.World().Quota(quota, math.MaxInt)
	if left == math.MaxInt {
		return left
	}
	market := l.offering().market
	for _, i := range cp.instances.All() {
		if o := i.offering(); o.market == market && i.holdsCapacity() && counts(o.kind) {
			left -= cp.vcpus(o.kind)
		}
	}
	for _, d := range cp.drafts {
		if d.launch.offering().market == market && counts(d.launch.kind.Name) {
			left -= d.count * int(d.launch.kind.VCPUs)
		}
	}
	return max(left, 0)
}

func (cp *capacity) vcpus(instanceType string) int {
	if kind := cp.kernel.World().InstanceType(instanceType); kind != nil {
		return int(kind.VCPUs)
	}
	return 0
}

// overQuota returns the error of a launch beyond the account's quota (error codes,
// MaxSpotInstanceCountExceeded and VcpuLimitExceeded; words as users report them).
func (cp *capacity) overQuota(l *launch) error {
	if l.spot() {
		return sim.Errorf("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
	}
	return sim.Errorf("VcpuLimitExceeded", "You have requested more vCPU capacity than your current vCPU limit of %d allows for the instance bucket that the "+
		"specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit.",
		min(cp.kernel.World().Quota(l.quota(), math.MaxInt), cp.kernel.World().Quota(l.groupQuota(l.kind.Name), math.MaxInt)))
}

// draftedAddresses returns how many addresses of a subnet are set aside for the fleet that is being
// planned.
func (cp *capacity) draftedAddresses(subnet string) int {
	count := 0
	for _, d := range cp.drafts {
		for _, n := range d.launch.interfaces {
			if val(n.subnet.SubnetId) == subnet {
				count += d.count * n.addresses()
			}
		}
	}
	return count
}

// checkSpotPrice: a Spot launch needs a maximum price that is not below the present one (error
// codes, SpotMaxPriceTooLow). Like capacity, prices change at any time, so a dry run does not check
// them (inference).
func (cp *capacity) checkSpotPrice(l *launch) error {
	most := val(val(val(l.in.InstanceMarketOptions).SpotOptions).MaxPrice)
	if !l.spot() || most == "" {
		return nil
	}
	present := cp.catalog.spotPrice(l.kind, val(l.subnet.AvailabilityZone))
	if price, err := strconv.ParseFloat(most, 64); err == nil && price >= present {
		return nil
	}
	return sim.Errorf("SpotMaxPriceTooLow", "Your Spot request price of %s is lower than the minimum required Spot request fulfillment price of %s.",
		most, strconv.FormatFloat(present, 'f', -1, 64))
}

// left returns how many more instances of an offering the capacity rules allow, or wanted if no
// rule covers it.
func (cp *capacity) left(o offering, wanted int) int {
	left := wanted
	for _, rule := range cp.kernel.Behavior().Capacity {
		if !rule.Covers(o.kind, o.zone, o.market) {
			continue
		}
		used := 0
		for _, i := range cp.instances.All() {
			if held := i.offering(); i.holdsCapacity() && rule.Covers(held.kind, held.zone, held.market) {
				used++
			}
		}
		for _, d := range cp.drafts {
			if held := d.launch.offering(); rule.Covers(held.kind, held.zone, held.market) {
				used += d.count
			}
		}
		left = min(left, max(rule.Available-used, 0))
	}
	return left
}

// noCapacity returns a server error (error codes, "Server error codes":
// InsufficientInstanceCapacity), so it comes with HTTP status 500.
func (cp *capacity) noCapacity(l *launch) error {
	if l.spot() {
		return &sim.Error{Code: "InsufficientInstanceCapacity", Message: "There is no Spot capacity available that matches your request.", Status: 500}
	}
	zone := val(l.subnet.AvailabilityZone)
	message := "We currently do not have sufficient " + l.kind.Name + " capacity in the Availability Zone you requested (" + zone + "). " +
		"Our system will be working on provisioning additional capacity."
	var others []string
	for _, z := range cp.catalog.zonesOffering(l.kind.Name) {
		if z != zone && cp.left(offering{l.kind.Name, z, marketOnDemand}, 1) > 0 {
			others = append(others, z)
		}
	}
	if len(others) > 0 {
		message += " You can currently get " + l.kind.Name + " capacity by not specifying an Availability Zone in your request or choosing " + strings.Join(others, ", ") + "."
	}
	return &sim.Error{Code: "InsufficientInstanceCapacity", Message: message, Status: 500}
}

func containsString(list []string, s string) bool { return setOf(list)[s] }
