package prices

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/poolview"
)

// Instance is an instance that runs.
type Instance struct{ Type, Zone string }

// Running holds instances that run, with what is known about how each was bought.
type Running struct {
	Instances []Instance
	System    discovery.OperatingSystem
	// LeastOnDemand and MostOnDemand bound how many of the instances are On-Demand Instances. The others are
	// Spot Instances.
	LeastOnDemand, MostOnDemand int
}

// Pool holds what runs of a pool.
type Pool struct {
	// All has every instance, and Versions the instances of each launch template version, by its number.
	All      Running
	Versions map[int64]Running
}

// RunningOf returns what runs of a pool. The error is an *UnknownError.
func RunningOf(objects poolview.Objects) (Pool, error) {
	instances, recorded, types := statusOf(objects)
	all, byVersion := Running{System: systemOf(objects.Config)}, map[int64]Running{}
	for i := range instances {
		one := &instances[i]
		if !charged(one.LifecycleState) {
			continue
		}
		instance := Instance{Type: cmp.Or(one.InstanceType, onlyOne(types)), Zone: one.AvailabilityZone}
		if instance.Type == "" {
			return Pool{}, &UnknownError{"the instance types are not recorded yet"}
		}
		number, _ := strconv.ParseInt(one.LaunchTemplateVersion, 10, 64) // zero for an instance without a version
		all.Instances = append(all.Instances, instance)
		some := byVersion[number]
		some.System, some.Instances = all.System, append(some.Instances, instance)
		byVersion[number] = some
	}
	if len(all.Instances) < recorded {
		return Pool{}, &UnknownError{"not all instances are recorded yet"}
	}
	if err := buy(objects, &all, byVersion); err != nil {
		return Pool{}, err
	}
	return Pool{All: all, Versions: byVersion}, nil
}

// statusOf returns the instances of a pool, how many of them its status counts, and their types as its status
// lists them.
func statusOf(objects poolview.Objects) (instances []infrav1.AWSMachinePoolInstanceStatus, count int, types string) {
	if pool := objects.Managed; pool != nil {
		return pool.Status.Instances, int(pool.Status.Replicas), pool.Status.InstanceTypes
	}
	pool := objects.SelfManaged
	return pool.Status.Instances, int(pool.Status.Replicas), pool.Status.InstanceTypes
}

// onlyOne returns the instance type that a list has, if it has one only: earlier releases recorded no more.
func onlyOne(types string) string {
	if strings.ContainsAny(types, ",…") {
		return ""
	}
	return types
}

// charged reports whether AWS charges for an instance in a state of its group's life cycle (AWS:
// ec2-auto-scaling-warm-pools: stopped and hibernated instances cost only their volumes and addresses).
func charged(state string) bool {
	return state != "Terminated" && !strings.HasSuffix(state, ":Terminated") && !strings.HasSuffix(state, ":Stopped") && !strings.HasSuffix(state, ":Hibernated")
}

func systemOf(config *infrav1.AWSLaunchConfig) discovery.OperatingSystem {
	if config != nil && config.Status.Resolved != nil && config.Status.Resolved.OperatingSystem == "windows" {
		return discovery.Windows
	}
	return discovery.Linux
}

// buy sets how many of the instances are On-Demand Instances.
func buy(objects poolview.Objects, all *Running, byVersion map[int64]Running) error {
	if pool := objects.Managed; pool != nil {
		return buyAs(map[infrav1.ManagedMachinePoolCapacityType]string{
			infrav1.ManagedMachinePoolCapacityTypeSpot: spotMarket, infrav1.ManagedMachinePoolCapacityTypeCapacityBlock: "capacity-block",
		}[ptr.Deref(pool.Spec.CapacityType, "")], all, byVersion)
	}
	if policy := objects.SelfManaged.Spec.MixedInstancesPolicy; policy != nil {
		return buyMixed(policy, all, byVersion)
	}
	for number, some := range byVersion {
		var err error
		if some.LeastOnDemand, some.MostOnDemand, err = onDemandOf(marketOf(objects, number), len(some.Instances)); err != nil {
			return err
		}
		byVersion[number] = some
		all.LeastOnDemand += some.LeastOnDemand
		all.MostOnDemand += some.MostOnDemand
	}
	return nil
}

const (
	onDemandMarket = "on-demand"
	spotMarket     = "spot"
	// unknownMarket is the market of a version that no status describes.
	unknownMarket = "unknown"
)

// buyAs has all instances bought in one market; On-Demand if it is empty.
func buyAs(market string, all *Running, byVersion map[int64]Running) error {
	var err error
	if all.LeastOnDemand, all.MostOnDemand, err = onDemandOf(cmp.Or(market, onDemandMarket), len(all.Instances)); err != nil {
		return err
	}
	for number, some := range byVersion {
		some.LeastOnDemand, some.MostOnDemand = min(all.LeastOnDemand, len(some.Instances)), min(all.MostOnDemand, len(some.Instances))
		byVersion[number] = some
	}
	return nil
}

// onDemandOf returns the least and the most On-Demand Instances among some instances of a market.
func onDemandOf(market string, instances int) (least, most int, err error) {
	switch market {
	case onDemandMarket:
		return instances, instances, nil
	case spotMarket:
		return 0, 0, nil
	case unknownMarket:
		return 0, instances, nil
	}
	return 0, 0, errInAdvance
}

// marketOf returns how the instances of a version are bought, by the version itself. For a version without a
// record, the configuration that is wanted now decides if it is the version's.
func marketOf(objects poolview.Objects, number int64) string {
	config := objects.Config
	if config == nil {
		return unknownMarket
	}
	if version := config.Status.FindVersion(number); version != nil && version.Market != "" {
		return version.Market
	}
	launched := config.Status.Launched
	if launched == nil {
		launched = config.Status.Resolved
	}
	if launched == nil || launched.Market == "" || number != config.Status.Version {
		return unknownMarket
	}
	return launched.Market
}

// buyMixed applies a mixed instances policy. Auto Scaling keeps its shares of the whole group, so a version may
// have all of the On-Demand Instances, or as few as the other versions leave. With weights, the shares are of
// units and not of instances.
func buyMixed(policy *infrav1.MixedInstancesPolicy, all *Running, byVersion map[int64]Running) error {
	distribution := ptr.Deref(policy.InstancesDistribution, infrav1.InstancesDistribution{})
	if inAdvance(distribution) {
		return errInAdvance
	}
	total := len(all.Instances)
	all.MostOnDemand = onDemandUnits(total, int(ptr.Deref(distribution.OnDemandBaseCapacity, 0)), int(ptr.Deref(distribution.OnDemandPercentageAboveBaseCapacity, 100)))
	all.LeastOnDemand = all.MostOnDemand
	weighted := slices.ContainsFunc(policy.Overrides, func(o infrav1.Overrides) bool { return ptr.Deref(o.WeightedCapacity, 1) != 1 })
	if weighted && all.MostOnDemand > 0 && all.MostOnDemand < total {
		all.LeastOnDemand, all.MostOnDemand = 0, total
	}
	for number, some := range byVersion {
		others := total - len(some.Instances)
		some.LeastOnDemand, some.MostOnDemand = max(0, all.LeastOnDemand-others), min(all.MostOnDemand, len(some.Instances))
		byVersion[number] = some
	}
	return nil
}

// Needs returns the instance types whose prices are needed, once each.
func (r Running) Needs() (onDemand, spot []string) {
	types := make([]string, 0, len(r.Instances))
	for _, instance := range r.Instances {
		types = append(types, instance.Type)
	}
	slices.Sort(types)
	types = slices.Compact(types)
	if r.MostOnDemand > 0 {
		onDemand = types
	}
	if r.LeastOnDemand < len(r.Instances) {
		spot = types
	}
	return onDemand, spot
}

// Running returns what running instances cost. The error is an *UnknownError that names an instance type that
// has no price.
func (b Book) Running(of Running) (Cost, error) {
	var cost Cost
	onDemand, spot := of.MostOnDemand > 0, of.LeastOnDemand < len(of.Instances)
	extra := make([]Range, 0, len(of.Instances)) // what each instance costs more On-Demand than as Spot
	for _, instance := range of.Instances {
		var listed, current Range
		var err error
		if onDemand {
			if listed, err = b.rangeOf(&cost, Purchase{System: of.System}, instance); err != nil {
				return Cost{}, err
			}
		}
		if spot {
			if current, err = b.rangeOf(&cost, Purchase{System: of.System, Spot: true, Zones: zonesOf(instance)}, instance); err != nil {
				return Cost{}, err
			}
		}
		cost.PerHour.Min += current.Min
		cost.PerHour.Max += current.Max
		extra = append(extra, Range{listed.Min - current.Min, listed.Max - current.Max})
	}
	cost.PerHour.Min += sumOf(extra, of.LeastOnDemand, func(a, b Range) int { return cmp.Compare(a.Min, b.Min) }).Min
	cost.PerHour.Max += sumOf(extra, of.MostOnDemand, func(a, b Range) int { return cmp.Compare(b.Max, a.Max) }).Max
	return cost, nil
}

// sumOf returns the sum of the first of some ranges in an order.
func sumOf(all []Range, first int, order func(a, b Range) int) Range {
	slices.SortFunc(all, order)
	var sum Range
	for _, one := range all[:first] {
		sum.Min += one.Min
		sum.Max += one.Max
	}
	return sum
}

func zonesOf(instance Instance) []string {
	if instance.Zone == "" {
		return nil
	}
	return []string{instance.Zone}
}

// rangeOf returns what an instance costs if it was bought in some way, and notes the date of the price.
func (b Book) rangeOf(noted *Cost, of Purchase, instance Instance) (Range, error) {
	of.Units, of.Options = 1, []Option{{InstanceType: instance.Type, Weight: 1}}
	cost, err := b.cost(of)
	if err != nil {
		return Range{}, err
	}
	noted.Currency = cost.Currency
	noted.OnDemand, noted.Spot = older(noted.OnDemand, cost.OnDemand), older(noted.Spot, cost.Spot)
	return cost.PerHour, nil
}
