package allocation

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/requirements"
	"github.com/slipway-project/slipway/awssim/world"

	"github.com/slipway-project/slipway/awssim/internal/list"
)

// This file is attribute-based instance type selection: which of the world's types a group may
// launch (SDK InstanceRequirements, whose comments give every default used here).

// Units of the desired capacity of a group (SDK CreateAutoScalingGroupInput.DesiredCapacityType).
const (
	CapacityTypeUnits  = "units"
	CapacityTypeVCPU   = "vcpu"
	CapacityTypeMemory = "memory-mib"
)

// defaultOnDemandProtection is OnDemandMaxPricePercentageOverLowestPrice where none is given.
const defaultOnDemandProtection = 20

// Matching returns the instance types that the requirements of an override allow, cheapest first.
// Price protection excludes types for one purchase option only, so it marks them. At least one type
// is left for On-Demand. Types that cannot run the image are none of them (SDK
// InstanceRequirements.CpuManufacturers: launches have an architecture that the image is compatible
// with).
func Matching(all []world.InstanceType, unit string, r *ec2types.InstanceRequirementsRequest, override int, architecture ec2types.ArchitectureValues) []Choice {
	var found []*world.InstanceType
	for i := range all {
		if requirements.Meets(&all[i], r) && (architecture == "" || slices.Contains(all[i].Architectures, string(architecture))) {
			found = append(found, &all[i])
		}
	}
	slices.SortStableFunc(found, func(a, b *world.InstanceType) int { return cmp.Compare(a.OnDemandUSD, b.OnDemandUSD) })
	// With a capacity in vCPUs or memory, thresholds apply to the price of those (SDK, the three
	// price protection members).
	onDemand := func(t *world.InstanceType) float64 { return t.OnDemandUSD / capacityOf(t, unit) }
	spot := func(t *world.InstanceType) float64 { return t.SpotPrice() / capacityOf(t, unit) }
	mostOnDemand := identifiedPrice(found, onDemand) * (1 + float64(valueOr(r.OnDemandMaxPricePercentageOverLowestPrice, defaultOnDemandProtection))/100)
	// by default AWS protects by rules of its own that let pass a wide range; none here (inference)
	mostSpot := math.Inf(1)
	switch {
	case r.SpotMaxPricePercentageOverLowestPrice != nil:
		mostSpot = identifiedPrice(found, spot) * (1 + float64(*r.SpotMaxPricePercentageOverLowestPrice)/100)
	case r.MaxSpotPriceAsPercentageOfOptimalOnDemandPrice != nil:
		mostSpot = identifiedPrice(found, onDemand) * float64(*r.MaxSpotPriceAsPercentageOfOptimalOnDemandPrice) / 100
	}
	choices := make([]Choice, len(found))
	for i, t := range found {
		choices[i] = Choice{
			Override: override, InstanceType: t.Name, Units: 1, OnDemand: t.OnDemandUSD, Spot: t.SpotPrice(),
			DearOnDemand: onDemand(t) > mostOnDemand, DearSpot: spot(t) > mostSpot,
		}
	}
	return choices
}

// capacityOf returns how much of a unit of capacity an instance type has.
func capacityOf(t *world.InstanceType, unit string) float64 {
	switch unit {
	case CapacityTypeVCPU:
		return float64(max(t.VCPUs, 1))
	case CapacityTypeMemory:
		return float64(max(t.MemoryMiB, 1))
	}
	return 1
}

// identifiedPrice returns the price that price protection compares with: the lowest of the current
// C, M and R types, or if none of those matches of the current types, or of all (SDK
// InstanceRequirements.OnDemandMaxPricePercentageOverLowestPrice).
func identifiedPrice(found []*world.InstanceType, price func(*world.InstanceType) float64) float64 {
	for _, keep := range []func(*world.InstanceType) bool{
		func(t *world.InstanceType) bool { return t.CurrentGeneration && generalFamily.MatchString(t.Name) },
		func(t *world.InstanceType) bool { return t.CurrentGeneration },
		func(*world.InstanceType) bool { return true },
	} {
		if kept := list.Filter(found, keep); len(kept) > 0 {
			return price(slices.MinFunc(kept, func(a, b *world.InstanceType) int { return cmp.Compare(price(a), price(b)) }))
		}
	}
	return 0
}

// generalFamily matches the families C, M and R by their generation number, which distinguishes
// them from mac.
var generalFamily = regexp.MustCompile(`^[cmr][0-9]`)

// UnitsOf returns how much an instance of a type counts: its weight, its vCPUs or memory where the
// group is sized in those, else one. weight is empty without one, and t nil for an unknown type.
func UnitsOf(weight string, t *world.InstanceType, unit string) int {
	if w, err := strconv.Atoi(weight); err == nil {
		return w // checked when it was set
	}
	if t != nil {
		return int(capacityOf(t, unit))
	}
	return 1
}

func valueOr[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
