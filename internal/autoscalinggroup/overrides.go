package autoscalinggroup

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/optional"
)

func overrides(wanted []infrav1.Overrides) []asgtypes.LaunchTemplateOverrides {
	list := make([]asgtypes.LaunchTemplateOverrides, 0, len(wanted))
	for i := range wanted {
		override := asgtypes.LaunchTemplateOverrides{
			InstanceType: optional.Text(wanted[i].InstanceType), ImageId: optional.Text(wanted[i].ImageID),
			InstanceRequirements: requirements(wanted[i].InstanceRequirements),
		}
		if weight := wanted[i].WeightedCapacity; weight != nil {
			override.WeightedCapacity = awssdk.String(strconv.Itoa(int(*weight)))
		}
		if template := wanted[i].LaunchTemplate; template != nil {
			override.LaunchTemplateSpecification = &asgtypes.LaunchTemplateSpecification{
				LaunchTemplateId: &template.ID, Version: awssdk.String(strconv.FormatInt(template.Version, 10)),
			}
		}
		list = append(list, override)
	}
	return list
}

// overrideText describes an override completely: two overrides are compared by it.
func overrideText(override asgtypes.LaunchTemplateOverrides) string {
	words := []string{awssdk.ToString(override.InstanceType)}
	if override.InstanceRequirements != nil {
		words = append(words, requirementsText(override.InstanceRequirements))
	}
	if override.WeightedCapacity != nil {
		words = append(words, "weight="+*override.WeightedCapacity)
	}
	if override.ImageId != nil {
		words = append(words, "image="+*override.ImageId)
	}
	if specification := override.LaunchTemplateSpecification; specification != nil {
		words = append(words, "template="+awssdk.ToString(specification.LaunchTemplateId)+":"+awssdk.ToString(specification.Version))
	}
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), " ")
}

func overrideTexts(list []asgtypes.LaunchTemplateOverrides) []string {
	texts := make([]string, 0, len(list))
	for _, override := range list {
		texts = append(texts, overrideText(override))
	}
	return texts
}

// attributeBased reports whether a policy chooses instance types by their attributes.
func attributeBased(policy *infrav1.MixedInstancesPolicy) bool {
	return policy != nil && slices.ContainsFunc(policy.Overrides, func(override infrav1.Overrides) bool { return override.InstanceRequirements != nil })
}

// requirements says all that a pool can say. The two sides of this mapping have one member each for
// the same thing, which TestRequirements holds.
func requirements(wanted *infrav1.InstanceRequirements) *asgtypes.InstanceRequirements {
	if wanted == nil {
		return nil
	}
	set := &asgtypes.InstanceRequirements{
		VCpuCount:            &asgtypes.VCpuCountRequest{Min: &wanted.VCPUCount.Min, Max: wanted.VCPUCount.Max},
		MemoryMiB:            &asgtypes.MemoryMiBRequest{Min: &wanted.MemoryMiB.Min, Max: wanted.MemoryMiB.Max},
		CpuManufacturers:     words[asgtypes.CpuManufacturer](wanted.CPUManufacturers),
		InstanceGenerations:  words[asgtypes.InstanceGeneration](wanted.InstanceGenerations),
		AllowedInstanceTypes: sorted(wanted.AllowedInstanceTypes), ExcludedInstanceTypes: sorted(wanted.ExcludedInstanceTypes),
		BareMetal:                asgtypes.BareMetal(wanted.BareMetal),
		BurstablePerformance:     asgtypes.BurstablePerformance(wanted.BurstablePerformance),
		LocalStorage:             asgtypes.LocalStorage(wanted.LocalStorage),
		LocalStorageTypes:        words[asgtypes.LocalStorageType](wanted.LocalStorageTypes),
		AcceleratorTypes:         words[asgtypes.AcceleratorType](wanted.AcceleratorTypes),
		AcceleratorManufacturers: words[asgtypes.AcceleratorManufacturer](wanted.AcceleratorManufacturers),
		AcceleratorNames:         words[asgtypes.AcceleratorName](wanted.AcceleratorNames),

		OnDemandMaxPricePercentageOverLowestPrice:      wanted.OnDemandMaxPricePercentageOverLowestPrice,
		SpotMaxPricePercentageOverLowestPrice:          wanted.SpotMaxPricePercentageOverLowestPrice,
		MaxSpotPriceAsPercentageOfOptimalOnDemandPrice: wanted.MaxSpotPriceAsPercentageOfOptimalOnDemandPrice,
	}
	if wanted.RequireHibernateSupport {
		set.RequireHibernateSupport = awssdk.Bool(true)
	}
	if r := wanted.MemoryGiBPerVCPU; r != nil {
		set.MemoryGiBPerVCpu = &asgtypes.MemoryGiBPerVCpuRequest{Min: decimal(r.Min), Max: decimal(r.Max)}
	}
	if r := wanted.TotalLocalStorageGB; r != nil {
		set.TotalLocalStorageGB = &asgtypes.TotalLocalStorageGBRequest{Min: decimal(r.Min), Max: decimal(r.Max)}
	}
	if r := wanted.NetworkBandwidthGbps; r != nil {
		set.NetworkBandwidthGbps = &asgtypes.NetworkBandwidthGbpsRequest{Min: decimal(r.Min), Max: decimal(r.Max)}
	}
	if r := wanted.NetworkInterfaceCount; r != nil {
		set.NetworkInterfaceCount = &asgtypes.NetworkInterfaceCountRequest{Min: r.Min, Max: r.Max}
	}
	if r := wanted.BaselineEBSBandwidthMbps; r != nil {
		set.BaselineEbsBandwidthMbps = &asgtypes.BaselineEbsBandwidthMbpsRequest{Min: r.Min, Max: r.Max}
	}
	if r := wanted.AcceleratorCount; r != nil {
		set.AcceleratorCount = &asgtypes.AcceleratorCountRequest{Min: r.Min, Max: r.Max}
	}
	if r := wanted.AcceleratorTotalMemoryMiB; r != nil {
		set.AcceleratorTotalMemoryMiB = &asgtypes.AcceleratorTotalMemoryMiBRequest{Min: r.Min, Max: r.Max}
	}
	if factors := wanted.BaselinePerformanceFactors; factors != nil {
		cpu := &asgtypes.CpuPerformanceFactorRequest{}
		for i := range factors.CPU.References {
			cpu.References = append(cpu.References, asgtypes.PerformanceFactorReferenceRequest{InstanceFamily: &factors.CPU.References[i].InstanceFamily})
		}
		set.BaselinePerformanceFactors = &asgtypes.BaselinePerformanceFactorsRequest{Cpu: cpu}
	}
	return set
}

func words[T ~string](list []string) []T {
	var typed []T
	for _, word := range sorted(list) {
		typed = append(typed, T(word))
	}
	return typed
}

func decimal(quantity *resource.Quantity) *float64 {
	if quantity == nil {
		return nil
	}
	return ptr.To(quantity.AsApproximateFloat64())
}

// requirementsText returns the members that have an effect: without AWS's defaults, which AWS may
// or may not show, and with lists in order. It goes by the SDK's type, so that a member that was
// set outside Slipway, and that no pool can set, counts too.
func requirementsText(requirements *asgtypes.InstanceRequirements) string {
	text, err := json.Marshal(requirements)
	if err != nil {
		panic(err) // numbers, strings and lists: there is nothing that JSON cannot write
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		panic(err) // it was just written
	}
	for member, value := range members {
		if value = telling(member, value); value == nil {
			delete(members, member)
		} else {
			members[member] = value
		}
	}
	text, err = json.Marshal(members)
	if err != nil {
		panic(err) // as above
	}
	return strings.ReplaceAll(string(text), `"`, "")
}

// requirementDefaults are AWS's (AWS: API_InstanceRequirements).
var requirementDefaults = map[string]any{
	"BareMetal": "excluded", "BurstablePerformance": "excluded", "LocalStorage": "included", "RequireHibernateSupport": false,
	"OnDemandMaxPricePercentageOverLowestPrice": 20.0,
}

// telling returns the value of a member if it has an effect, else nil.
func telling(member string, value any) any {
	switch typed := value.(type) {
	case nil:
		return nil
	case string:
		if typed == "" {
			return nil
		}
	case []any:
		if len(typed) == 0 {
			return nil
		}
		slices.SortFunc(typed, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	case map[string]any:
		for end, bound := range typed {
			if bound == nil || end == "Min" && bound == 0.0 {
				delete(typed, end)
			}
		}
		if len(typed) == 0 {
			return nil
		}
	}
	if standard, has := requirementDefaults[member]; has && reflect.DeepEqual(standard, value) {
		return nil
	}
	return value
}
