// Package requirements is attribute-based instance type selection: which instance types have the
// attributes that an Auto Scaling group or a caller of EC2 asks for.
package requirements

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/world"
)

// Meets reports whether a type has every attribute. The comments of the SDK's
// InstanceRequirementsRequest give each default. Prices are left to the caller: price protection
// compares types with each other.
func Meets(t *world.InstanceType, r *ec2types.InstanceRequirementsRequest) bool {
	return meetsSize(t, r) && meetsName(t, r) && meetsKind(t, r) && meetsBandwidth(t, r) && meetsStorage(t, r) && meetsAccelerators(t, r) &&
		meetsPerformance(t, r)
}

func meetsSize(t *world.InstanceType, r *ec2types.InstanceRequirementsRequest) bool {
	vcpus, memory := val(r.VCpuCount), val(r.MemoryMiB)
	perVCPU, interfaces := val(r.MemoryGiBPerVCpu), val(r.NetworkInterfaceCount)
	gib := float64(t.MemoryMiB) / 1024
	return between(t.VCPUs, vcpus.Min, vcpus.Max) && between(t.MemoryMiB, wide(memory.Min), wide(memory.Max)) &&
		between(gib/float64(max(t.VCPUs, 1)), perVCPU.Min, perVCPU.Max) && between(t.MaxENIs, interfaces.Min, interfaces.Max)
}

func wide(n *int32) *int64 {
	if n == nil {
		return nil
	}
	w := int64(*n)
	return &w
}

func meetsName(t *world.InstanceType, r *ec2types.InstanceRequirementsRequest) bool {
	matchesAny := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			ok, err := path.Match(p, t.Name)
			return err == nil && ok
		})
	}
	return (len(r.AllowedInstanceTypes) == 0 || matchesAny(r.AllowedInstanceTypes)) && !matchesAny(r.ExcludedInstanceTypes)
}

func meetsKind(t *world.InstanceType, r *ec2types.InstanceRequirementsRequest) bool {
	return allows(r.CpuManufacturers, manufacturer(t.Processor)) && allows(r.InstanceGenerations, generation(t)) &&
		inclusion(string(r.BareMetal), "excluded", t.BareMetal) && inclusion(string(r.BurstablePerformance), "excluded", t.Burstable) &&
		(!val(r.RequireHibernateSupport) || t.Hibernation) && (!val(r.RequireEncryptionInTransit) || t.EncryptionInTransit)
}

// meetsBandwidth compares baselines, which EC2 documents both members to be about.
func meetsBandwidth(t *world.InstanceType, r *ec2types.InstanceRequirementsRequest) bool {
	ebs, network := val(r.BaselineEbsBandwidthMbps), val(r.NetworkBandwidthGbps)
	gbps := 0.0
	for _, card := range t.NetworkCards {
		gbps += card.BaselineGbps
	}
	return between(t.EBS.Baseline.Mbps, ebs.Min, ebs.Max) && between(gbps, network.Min, network.Max)
}

func manufacturer(processor string) ec2types.CpuManufacturer {
	switch strings.ToLower(processor) {
	case "intel":
		return ec2types.CpuManufacturerIntel
	case "amd":
		return ec2types.CpuManufacturerAmd
	case "apple":
		return ec2types.CpuManufacturerApple
	}
	return ec2types.CpuManufacturerAmazonWebServices
}

func generation(t *world.InstanceType) ec2types.InstanceGeneration {
	if t.CurrentGeneration {
		return ec2types.InstanceGenerationCurrent
	}
	return ec2types.InstanceGenerationPrevious
}

func meetsStorage(t *world.InstanceType, r *ec2types.InstanceRequirementsRequest) bool {
	total := 0.0
	for _, d := range t.InstanceStorage {
		total += float64(d.Count * d.SizeGB)
		if !allows(r.LocalStorageTypes, ec2types.LocalStorageType(d.Type)) {
			return false
		}
	}
	wanted := val(r.TotalLocalStorageGB)
	return inclusion(string(r.LocalStorage), "included", len(t.InstanceStorage) > 0) && between(total, wanted.Min, wanted.Max)
}

// accelerators holds the accelerators of one kind that a type has.
type accelerators struct {
	kind ec2types.AcceleratorType
	all  []world.Accelerator
}

// acceleratorsOf returns the accelerators of every kind. A part of a GPU counts as one, as the
// guest sees it (inference).
func acceleratorsOf(t *world.InstanceType) []accelerators {
	var gpus []world.Accelerator
	for _, g := range t.GPUs {
		gpus = append(gpus, world.Accelerator{Name: g.Name, Manufacturer: g.Manufacturer, Count: max(g.Count, g.LogicalCount), MemoryMiB: g.MemoryMiB})
	}
	inference := slices.Clone(t.InferenceAccelerators)
	for _, d := range t.NeuronDevices {
		if !slices.ContainsFunc(inference, func(a world.Accelerator) bool { return a.Name == d.Name }) {
			inference = append(inference, world.Accelerator{Name: d.Name, Manufacturer: "AWS", Count: d.Count, MemoryMiB: d.MemoryMiB})
		}
	}
	return []accelerators{
		{ec2types.AcceleratorTypeGpu, gpus}, {ec2types.AcceleratorTypeInference, inference},
		{ec2types.AcceleratorTypeFpga, t.FPGAs}, {ec2types.AcceleratorTypeMedia, t.MediaAccelerators},
	}
}

// meetsAccelerators compares accelerators by count, memory, maker, name and kind.
func meetsAccelerators(t *world.InstanceType, r *ec2types.InstanceRequirementsRequest) bool {
	var count, memory int32
	kind := len(r.AcceleratorTypes) == 0
	for _, of := range acceleratorsOf(t) {
		for _, a := range of.all {
			count += a.Count
			memory += a.Count * a.MemoryMiB
			if !allowsAccelerator(a, r) {
				return false
			}
			kind = kind || slices.Contains(r.AcceleratorTypes, of.kind)
		}
	}
	if count == 0 && len(r.AcceleratorManufacturers)+len(r.AcceleratorNames) > 0 {
		return false
	}
	wanted, wantedMiB := val(r.AcceleratorCount), val(r.AcceleratorTotalMemoryMiB)
	return kind && between(count, wanted.Min, wanted.Max) && between(memory, wantedMiB.Min, wantedMiB.Max)
}

func allowsAccelerator(a world.Accelerator, r *ec2types.InstanceRequirementsRequest) bool {
	maker := ec2types.AcceleratorManufacturer(strings.ToLower(a.Manufacturer))
	if maker == "aws" {
		maker = ec2types.AcceleratorManufacturerAmazonWebServices
	}
	// radeon-pro-v520 is the name of a Radeon Pro V520.
	name := ec2types.AcceleratorName(strings.ReplaceAll(strings.ToLower(a.Name), " ", "-"))
	return allows(r.AcceleratorManufacturers, maker) && allows(r.AcceleratorNames, name)
}

// unsupportedFamilies have no performance protection: it excludes them, and with one of them as its
// baseline it excludes all (SDK, PerformanceFactorReferenceRequest.InstanceFamily).
var unsupportedFamilies = strings.Fields("c1 g3 g3s hpc7g m1 m2 mac1 mac2 mac2-m1ultra mac2-m2 mac2-m2pro p3dn p4d p5 t1 " +
	"u-12tb1 u-18tb1 u-24tb1 u-3tb1 u-6tb1 u-9tb1 u7i-12tb u7in-16tb u7in-24tb u7in-32tb")

// familyGeneration finds the number of a family's generation: the 6 of c6i, the 1 of trn1n.
var familyGeneration = regexp.MustCompile(`^[a-z]+([0-9]+)[a-z0-9-]*$`)

// meetsPerformance compares the CPUs of a type with the baseline's. AWS does not publish the
// figures that it compares. Here a family of an earlier generation performs worse, and every other
// one well enough, regardless of the maker of its processors (inference). A family with an unknown
// generation has no type, as one that is not supported.
func meetsPerformance(t *world.InstanceType, r *ec2types.InstanceRequirementsRequest) bool {
	if r.BaselinePerformanceFactors == nil || r.BaselinePerformanceFactors.Cpu == nil || len(r.BaselinePerformanceFactors.Cpu.References) == 0 {
		return true
	}
	family, _, _ := strings.Cut(t.Name, ".")
	has, known := performance(family)
	wanted, supported := performance(val(r.BaselinePerformanceFactors.Cpu.References[0].InstanceFamily))
	return known && supported && has >= wanted
}

func performance(family string) (int, bool) {
	found := familyGeneration.FindStringSubmatch(family)
	if found == nil || slices.Contains(unsupportedFamilies, family) {
		return 0, false
	}
	n, err := strconv.Atoi(found[1])
	return n, err == nil
}

// allows reports whether a list has the value, or allows all because it is empty.
func allows[T comparable](list []T, value T) bool {
	return len(list) == 0 || slices.Contains(list, value)
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

func val[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
