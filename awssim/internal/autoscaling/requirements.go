package autoscaling

import (
	"cmp"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/world"
)

// This file is attribute-based instance type selection: which of the world's types have the attributes asked for (SDK
// InstanceRequirements, whose comments give every default used here).

// maxInstanceTypeRules bounds AllowedInstanceTypes and ExcludedInstanceTypes (reference 1.2).
const maxInstanceTypeRules = 400

// defaultOnDemandProtection is OnDemandMaxPricePercentageOverLowestPrice where none is given.
const defaultOnDemandProtection = 20

// instanceTypePattern is what an allowed or excluded instance type looks like (API model, AllowedInstanceType).
var instanceTypePattern = regexp.MustCompile(`^[a-zA-Z0-9.*-]{1,30}$`)

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
	return checkKnownRequirements(r)
}

// checkKnownRequirements refuses names that can not be instance types, and what the world does not know of a type: ignoring it would choose
// wrong ones.
func checkKnownRequirements(r *types.InstanceRequirements) error {
	if err := shape.CheckEnums(*r, "instanceRequirements", func(path, value string, known []string) error { return notInEnum(path, value, known) }); err != nil {
		return err
	}
	for _, name := range slices.Concat(r.AllowedInstanceTypes, r.ExcludedInstanceTypes) {
		if !instanceTypePattern.MatchString(name) {
			return constraint(name, "instanceRequirements.instanceTypes", `Member must satisfy regular expression pattern: [a-zA-Z0-9\.\*\-]+ and have at most 30 characters`)
		}
	}
	if r.BaselineEbsBandwidthMbps != nil || r.NetworkBandwidthGbps != nil || r.BaselinePerformanceFactors != nil {
		return invalid("BaselineEbsBandwidthMbps, NetworkBandwidthGbps and BaselinePerformanceFactors are not available in this Region.")
	}
	return nil
}

// checkRequirements refuses the requirements of an override, or of a launch template, which EC2 has not checked for what is not simulated.
func checkRequirements(r *types.InstanceRequirements, t resolved) error {
	if own := t.data.InstanceRequirements; own != nil && val(own.RequireEncryptionInTransit) {
		return invalid("RequireEncryptionInTransit is not available in this Region.") // the world does not know it of a type
	}
	return validateRequirements(r)
}

// matching returns the instance types that the requirements of an override allow, cheapest first. Price protection excludes types for one
// purchase option only, so it marks them. At least one type is left for On-Demand. Types that can not run the image are none of them (SDK
// InstanceRequirements.CpuManufacturers: launches have an architecture that the image is compatible with).
func (s *service) matching(n *settings, r *types.InstanceRequirements, override int, architecture ec2types.ArchitectureValues) []choice {
	var found []world.InstanceType
	for _, t := range s.kernel.World().InstanceTypes {
		if meets(t, r) && (architecture == "" || slices.Contains(t.Architectures, string(architecture))) {
			found = append(found, t)
		}
	}
	slices.SortStableFunc(found, func(a, b world.InstanceType) int { return cmp.Compare(a.OnDemandUSD, b.OnDemandUSD) })
	// With a capacity in vCPUs or memory, thresholds apply to the price of those (SDK, the three price protection members).
	onDemand := func(t world.InstanceType) float64 { return t.OnDemandUSD / capacityOf(t, n.capacityUnit) }
	spot := func(t world.InstanceType) float64 { return t.SpotPrice() / capacityOf(t, n.capacityUnit) }
	mostOnDemand := identifiedPrice(found, onDemand) * (1 + float64(valOr(r.OnDemandMaxPricePercentageOverLowestPrice, defaultOnDemandProtection))/100)
	mostSpot := math.Inf(1) // by default AWS protects by rules of its own that let pass a wide range; none here (inference)
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

// architectureOf is that of the image that an override is launched with; "" for one that EC2 does not know, or that a parameter names.
func (s *service) architectureOf(o types.LaunchTemplateOverrides, t resolved) ec2types.ArchitectureValues {
	image, known := ec2.LookupImage(s.region, valOr(o.ImageId, val(t.data.ImageId)))
	if !known {
		return ""
	}
	return image.Architecture
}

// capacityOf is how much of a unit of capacity an instance type has.
func capacityOf(t world.InstanceType, unit string) float64 {
	switch unit {
	case capacityTypeVCPU:
		return float64(max(t.VCPUs, 1))
	case capacityTypeMemory:
		return float64(max(t.MemoryMiB, 1))
	}
	return 1
}

// identifiedPrice is the price that price protection compares with: the lowest of the current C, M and R types, or if none of those
// matches of the current types, or of all (SDK InstanceRequirements.OnDemandMaxPricePercentageOverLowestPrice).
func identifiedPrice(found []world.InstanceType, price func(world.InstanceType) float64) float64 {
	for _, keep := range []func(world.InstanceType) bool{
		func(t world.InstanceType) bool { return t.CurrentGeneration && generalFamily.MatchString(t.Name) },
		func(t world.InstanceType) bool { return t.CurrentGeneration },
		func(world.InstanceType) bool { return true },
	} {
		if kept := filter(found, keep); len(kept) > 0 {
			return price(slices.MinFunc(kept, func(a, b world.InstanceType) int { return cmp.Compare(price(a), price(b)) }))
		}
	}
	return 0
}

// generalFamily matches the families C, M and R by their generation number, which tells them from mac.
var generalFamily = regexp.MustCompile(`^[cmr][0-9]`)

// meets reports whether a type has every attribute.
func meets(t world.InstanceType, r *types.InstanceRequirements) bool {
	for _, attribute := range []func(world.InstanceType, *types.InstanceRequirements) bool{
		meetsSize, meetsName, meetsKind, meetsStorage, meetsAccelerators,
	} {
		if !attribute(t, r) {
			return false
		}
	}
	return true
}

func meetsSize(t world.InstanceType, r *types.InstanceRequirements) bool {
	var perVCPU types.MemoryGiBPerVCpuRequest
	if r.MemoryGiBPerVCpu != nil {
		perVCPU = *r.MemoryGiBPerVCpu
	}
	var interfaces types.NetworkInterfaceCountRequest
	if r.NetworkInterfaceCount != nil {
		interfaces = *r.NetworkInterfaceCount
	}
	gib := float64(t.MemoryMiB) / 1024
	return between(t.VCPUs, r.VCpuCount.Min, r.VCpuCount.Max) &&
		between(t.MemoryMiB, wide(r.MemoryMiB.Min), wide(r.MemoryMiB.Max)) &&
		between(gib/float64(max(t.VCPUs, 1)), perVCPU.Min, perVCPU.Max) &&
		between(t.MaxENIs, interfaces.Min, interfaces.Max)
}

func wide(n *int32) *int64 {
	if n == nil {
		return nil
	}
	return ptr(int64(*n))
}

func meetsName(t world.InstanceType, r *types.InstanceRequirements) bool {
	matchesAny := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			ok, err := path.Match(p, t.Name)
			return err == nil && ok
		})
	}
	return (len(r.AllowedInstanceTypes) == 0 || matchesAny(r.AllowedInstanceTypes)) && !matchesAny(r.ExcludedInstanceTypes)
}

func meetsKind(t world.InstanceType, r *types.InstanceRequirements) bool {
	return (len(r.CpuManufacturers) == 0 || slices.Contains(r.CpuManufacturers, manufacturer(t.Processor))) &&
		(len(r.InstanceGenerations) == 0 || slices.Contains(r.InstanceGenerations, generation(t))) &&
		inclusion(string(r.BareMetal), "excluded", t.BareMetal) && inclusion(string(r.BurstablePerformance), "excluded", t.Burstable) &&
		(!val(r.RequireHibernateSupport) || t.Hibernation)
}

func between[T cmp.Ordered](v T, low, high *T) bool {
	return (low == nil || v >= *low) && (high == nil || v <= *high)
}

// inclusion applies included, excluded or required.
func inclusion(rule, standard string, has bool) bool {
	switch cmp.Or(rule, standard) {
	case "required":
		return has
	case "excluded":
		return !has
	}
	return true
}

func manufacturer(processor string) types.CpuManufacturer {
	switch strings.ToLower(processor) {
	case "intel":
		return types.CpuManufacturerIntel
	case "amd":
		return types.CpuManufacturerAmd
	case "apple":
		return types.CpuManufacturerApple
	}
	return types.CpuManufacturerAmazonWebServices
}

func generation(t world.InstanceType) types.InstanceGeneration {
	if t.CurrentGeneration {
		return types.InstanceGenerationCurrent
	}
	return types.InstanceGenerationPrevious
}

func meetsStorage(t world.InstanceType, r *types.InstanceRequirements) bool {
	total := 0.0
	for _, d := range t.InstanceStorage {
		total += float64(d.Count * d.SizeGB)
		if len(r.LocalStorageTypes) > 0 && !slices.Contains(r.LocalStorageTypes, types.LocalStorageType(d.Type)) {
			return false
		}
	}
	return inclusion(string(r.LocalStorage), "included", len(t.InstanceStorage) > 0) &&
		(r.TotalLocalStorageGB == nil || between(total, r.TotalLocalStorageGB.Min, r.TotalLocalStorageGB.Max))
}

// meetsAccelerators compares GPUs and other accelerators by count, memory, maker, name and kind.
func meetsAccelerators(t world.InstanceType, r *types.InstanceRequirements) bool {
	all := slices.Concat(t.GPUs, t.Accelerators)
	var count, memory int32
	for _, a := range all {
		count += a.Count
		memory += a.Count * a.MemoryMiB
		if !wantedAccelerator(a, r) {
			return false
		}
	}
	if len(all) == 0 && len(r.AcceleratorManufacturers)+len(r.AcceleratorNames) > 0 {
		return false
	}
	return wantedAcceleratorKind(t, r.AcceleratorTypes) &&
		(r.AcceleratorCount == nil || between(count, r.AcceleratorCount.Min, r.AcceleratorCount.Max)) &&
		(r.AcceleratorTotalMemoryMiB == nil || between(memory, r.AcceleratorTotalMemoryMiB.Min, r.AcceleratorTotalMemoryMiB.Max))
}

func wantedAccelerator(a world.GPU, r *types.InstanceRequirements) bool {
	maker := types.AcceleratorManufacturer(strings.ToLower(a.Manufacturer))
	if maker == "aws" {
		maker = types.AcceleratorManufacturerAmazonWebServices
	}
	return (len(r.AcceleratorManufacturers) == 0 || slices.Contains(r.AcceleratorManufacturers, maker)) &&
		(len(r.AcceleratorNames) == 0 || slices.Contains(r.AcceleratorNames, types.AcceleratorName(strings.ToLower(a.Name))))
}

func wantedAcceleratorKind(t world.InstanceType, kinds []types.AcceleratorType) bool {
	return len(kinds) == 0 || slices.Contains(kinds, types.AcceleratorTypeGpu) && len(t.GPUs) > 0 ||
		slices.Contains(kinds, types.AcceleratorTypeInference) && len(t.Accelerators) > 0
}

// fromTemplateRequirements turns the requirements of a launch template into those of an override; the two have the same members but for
// RequireEncryptionInTransit.
func fromTemplateRequirements(r *ec2types.InstanceRequirementsRequest) *types.InstanceRequirements {
	return ptr(shape.Convert[types.InstanceRequirements](*r))
}

// unitsOf returns how much an instance counts: its weight, its vCPUs or memory where the group is sized in those, else one.
func (s *service) unitsOf(n *settings, o types.LaunchTemplateOverrides, instanceType string) int {
	if w, err := strconv.Atoi(val(o.WeightedCapacity)); err == nil {
		return w // checked when it was set
	}
	if t := s.kernel.World().InstanceType(instanceType); t != nil {
		return int(capacityOf(*t, n.capacityUnit))
	}
	return 1
}
