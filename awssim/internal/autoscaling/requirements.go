package autoscaling

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/requirements"
	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/world"
)

// This file is attribute-based instance type selection: which of the world's types a group may
// launch (SDK InstanceRequirements, whose comments give every default used here).

// maxInstanceTypeRules bounds AllowedInstanceTypes and ExcludedInstanceTypes (reference 1.2).
const maxInstanceTypeRules = 400

// defaultOnDemandProtection is OnDemandMaxPricePercentageOverLowestPrice where none is given.
const defaultOnDemandProtection = 20

func validateRequirements(r *types.InstanceRequirements) error {
	switch {
	case r.VCpuCount == nil || r.VCpuCount.Min == nil:
		return required("instanceRequirements.vCpuCount.min")
	case r.MemoryMiB == nil || r.MemoryMiB.Min == nil:
		return required("instanceRequirements.memoryMiB.min")
	case len(r.AllowedInstanceTypes) > 0 && len(r.ExcludedInstanceTypes) > 0:
		return invalid("You cannot specify both AllowedInstanceTypes and ExcludedInstanceTypes.")
	case max(len(r.AllowedInstanceTypes), len(r.ExcludedInstanceTypes)) > maxInstanceTypeRules:
		return invalid("You can specify a maximum of %d instance types.", maxInstanceTypeRules)
	case r.SpotMaxPricePercentageOverLowestPrice != nil && r.MaxSpotPriceAsPercentageOfOptimalOnDemandPrice != nil:
		return invalid("Only one of SpotMaxPricePercentageOverLowestPrice and MaxSpotPriceAsPercentageOfOptimalOnDemandPrice can be specified.")
	case valOr(r.VCpuCount.Max, *r.VCpuCount.Min) < *r.VCpuCount.Min || valOr(r.MemoryMiB.Max, *r.MemoryMiB.Min) < *r.MemoryMiB.Min:
		return invalid("The maximum of an instance requirement must not be less than its minimum.")
	}
	return checkBaseline(ptr(shape.Convert[ec2types.InstanceRequirementsRequest](*r)))
}

// checkBaseline refuses several baselines (SDK, CpuPerformanceFactorRequest.References: "Currently
// only one instance family can be specified in the list").
func checkBaseline(r *ec2types.InstanceRequirementsRequest) error {
	if f := r.BaselinePerformanceFactors; f != nil && f.Cpu != nil && len(f.Cpu.References) > 1 {
		return invalid("Only one instance family can be specified as a baseline performance factor.")
	}
	return nil
}

// matching returns the instance types that the requirements of an override allow, cheapest first.
// Price protection excludes types for one purchase option only, so it marks them. At least one type
// is left for On-Demand. Types that cannot run the image are none of them (SDK
// InstanceRequirements.CpuManufacturers: launches have an architecture that the image is compatible
// with).
func matching(w *world.World, unit string, r *ec2types.InstanceRequirementsRequest, override int, architecture ec2types.ArchitectureValues) []choice {
	var found []*world.InstanceType
	all := w.InstanceTypes
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
	mostOnDemand := identifiedPrice(found, onDemand) * (1 + float64(valOr(r.OnDemandMaxPricePercentageOverLowestPrice, defaultOnDemandProtection))/100)
	// by default AWS protects by rules of its own that let pass a wide range; none here (inference)
	mostSpot := math.Inf(1)
	switch {
	case r.SpotMaxPricePercentageOverLowestPrice != nil:
		mostSpot = identifiedPrice(found, spot) * (1 + float64(*r.SpotMaxPricePercentageOverLowestPrice)/100)
	case r.MaxSpotPriceAsPercentageOfOptimalOnDemandPrice != nil:
		mostSpot = identifiedPrice(found, onDemand) * float64(*r.MaxSpotPriceAsPercentageOfOptimalOnDemandPrice) / 100
	}
	choices := make([]choice, len(found))
	for i, t := range found {
		choices[i] = choice{
			override: override, instanceType: t.Name, units: 1, onDemand: t.OnDemandUSD, spot: t.SpotPrice(),
			dearOnDemand: onDemand(t) > mostOnDemand, dearSpot: spot(t) > mostSpot,
		}
	}
	return choices
}

// capacityOf is how much of a unit of capacity an instance type has.
func capacityOf(t *world.InstanceType, unit string) float64 {
	switch unit {
	case capacityTypeVCPU:
		return float64(max(t.VCPUs, 1))
	case capacityTypeMemory:
		return float64(max(t.MemoryMiB, 1))
	}
	return 1
}

// identifiedPrice is the price that price protection compares with: the lowest of the current C, M
// and R types, or if none of those matches of the current types, or of all (SDK
// InstanceRequirements.OnDemandMaxPricePercentageOverLowestPrice).
func identifiedPrice(found []*world.InstanceType, price func(*world.InstanceType) float64) float64 {
	for _, keep := range []func(*world.InstanceType) bool{
		func(t *world.InstanceType) bool { return t.CurrentGeneration && generalFamily.MatchString(t.Name) },
		func(t *world.InstanceType) bool { return t.CurrentGeneration },
		func(*world.InstanceType) bool { return true },
	} {
		if kept := filter(found, keep); len(kept) > 0 {
			return price(slices.MinFunc(kept, func(a, b *world.InstanceType) int { return cmp.Compare(price(a), price(b)) }))
		}
	}
	return 0
}

// generalFamily matches the families C, M and R by their generation number, which tells them from mac.
var generalFamily = regexp.MustCompile(`^[cmr][0-9]`)

// unitsOf returns how much an instance counts: its weight, its vCPUs or memory where the group is
// sized in those, else one.
func unitsOf(w *world.World, unit string, o types.LaunchTemplateOverrides, instanceType string) int {
	if w, err := strconv.Atoi(val(o.WeightedCapacity)); err == nil {
		return w // checked when it was set
	}
	if t := w.InstanceType(instanceType); t != nil {
		return int(capacityOf(t, unit))
	}
	return 1
}
