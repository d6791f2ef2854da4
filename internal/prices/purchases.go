// Package prices computes what the instances of a pool cost: list prices on demand, and Spot prices. It
// knows neither the discounts of an account nor what is charged in addition to instances, such as
// volumes, traffic, and licenses.
//
// A pool's objects say what is bought, and package discovery knows the price that AWS asks. The rest is
// arithmetic.
package prices

import (
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/poolview"
)

// Purchase is capacity that is bought on the same terms.
type Purchase struct {
	// Units is the capacity. An instance counts for as many units as its option has weight.
	Units int
	// Options are the instance types that AWS chooses from.
	Options []Option
	Spot    bool
	// Zones are the zones of Spot Instances, empty for all that have a price.
	Zones  []string
	System discovery.OperatingSystem
}

// Option is an instance type that capacity may be bought as.
type Option struct {
	InstanceType string
	Weight       int
}

// UnknownError explains why it is not known what a pool buys.
type UnknownError struct{ Why string }

// Error implements error.
func (e *UnknownError) Error() string { return e.Why }

// Of returns what a pool buys to have the number of instances that its MachinePool asks for. The error is
// an *UnknownError.
func Of(objects poolview.Objects) ([]Purchase, error) {
	config := objects.Config
	if config == nil || config.Status.Resolved == nil {
		return nil, &UnknownError{"the instance type has not been resolved yet"}
	}
	one := Purchase{Units: int(replicas(objects)), System: discovery.Linux}
	resolved := config.Status.Resolved
	if resolved.OperatingSystem == "windows" {
		one.System = discovery.Windows
	}
	if pool := objects.Managed; pool != nil {
		return ofManaged(one, pool, resolved)
	}
	pool := objects.SelfManaged
	one.Zones = pool.Spec.AvailabilityZones
	switch resolved.Market {
	case "spot":
		one.Spot = true
	case "capacity-block", "interruptible-capacity-reservation":
		return nil, errInAdvance
	}
	if pool.Spec.MixedInstancesPolicy != nil {
		return ofMixed(one, pool.Spec.MixedInstancesPolicy, resolved)
	}
	return plain(one, resolved)
}

// replicas returns the number of instances that are asked for.
func replicas(objects poolview.Objects) int32 {
	switch {
	case objects.MachinePool != nil:
		return ptr.Deref(objects.MachinePool.Spec.Replicas, 1)
	case objects.Managed != nil:
		return objects.Managed.Status.Replicas
	}
	return objects.SelfManaged.Status.Replicas
}

var (
	errByRequirements = &UnknownError{"AWS chooses the instance types by their attributes"}
	errInAdvance      = &UnknownError{"the capacity is bought in advance"}
)

// plain completes a purchase with the instance type of the launch template.
func plain(one Purchase, resolved *infrav1.ResolvedLaunchConfig) ([]Purchase, error) {
	switch {
	case resolved.InstanceRequirements != "":
		return nil, errByRequirements
	case resolved.InstanceType == "":
		return nil, &UnknownError{"the launch template has no instance type"}
	}
	one.Options = []Option{{InstanceType: resolved.InstanceType, Weight: 1}}
	return []Purchase{one}, nil
}

// ofManaged returns what a node group buys.
func ofManaged(one Purchase, pool *infrav1.AWSManagedMachinePool, resolved *infrav1.ResolvedLaunchConfig) ([]Purchase, error) {
	one.Zones = pool.Spec.AvailabilityZones
	switch ptr.Deref(pool.Spec.CapacityType, "") {
	case infrav1.ManagedMachinePoolCapacityTypeSpot:
		one.Spot = true
	case infrav1.ManagedMachinePoolCapacityTypeCapacityBlock:
		return nil, errInAdvance
	case infrav1.ManagedMachinePoolCapacityTypeOnDemand:
	}
	types := pool.Spec.InstanceTypes
	if single := ptr.Deref(pool.Spec.InstanceType, ""); len(types) == 0 && single != "" {
		types = []string{single}
	}
	if len(types) == 0 {
		return plain(one, resolved)
	}
	for _, name := range types {
		one.Options = append(one.Options, Option{InstanceType: name, Weight: 1})
	}
	return []Purchase{one}, nil
}

// ofMixed returns what a group with a mixed instances policy buys: On-Demand capacity, and Spot capacity
// above its base.
func ofMixed(one Purchase, policy *infrav1.MixedInstancesPolicy, resolved *infrav1.ResolvedLaunchConfig) ([]Purchase, error) {
	for i := range policy.Overrides {
		override := &policy.Overrides[i]
		if override.InstanceRequirements != nil {
			return nil, errByRequirements
		}
		one.Options = append(one.Options, Option{InstanceType: override.InstanceType, Weight: int(max(1, ptr.Deref(override.WeightedCapacity, 1)))})
	}
	if len(one.Options) == 0 {
		completed, err := plain(one, resolved)
		if err != nil {
			return nil, err
		}
		one = completed[0]
	}
	distribution := ptr.Deref(policy.InstancesDistribution, infrav1.InstancesDistribution{})
	if inAdvance(distribution) {
		return nil, errInAdvance
	}
	onDemand := onDemandUnits(one.Units, int(ptr.Deref(distribution.OnDemandBaseCapacity, 0)), int(ptr.Deref(distribution.OnDemandPercentageAboveBaseCapacity, 100)))
	spot := one
	one.Units, one.Spot = onDemand, false
	spot.Units, spot.Spot = spot.Units-onDemand, true
	var purchases []Purchase
	for _, purchase := range []Purchase{one, spot} {
		if purchase.Units > 0 {
			purchases = append(purchases, purchase)
		}
	}
	return purchases, nil
}

// onDemandUnits returns how many units of a group are On-Demand: the base, and a share of the rest, which
// AWS rounds up (AWS: mixed-instances-groups-instances-distribution).
func onDemandUnits(total, base, percent int) int {
	base = min(base, total)
	return min(total, base+((total-base)*percent+99)/100)
}

// inAdvance reports whether a distribution has capacity that is bought in advance.
func inAdvance(distribution infrav1.InstancesDistribution) bool {
	for _, segment := range distribution.DistributionSegments {
		for _, kind := range segment.TargetCapacityTypes {
			if kind != "on-demand" && kind != "on-demand-capacity-reservation" {
				return true
			}
		}
	}
	return false
}
