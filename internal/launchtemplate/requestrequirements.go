package launchtemplate

import (
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/apimachinery/pkg/api/resource"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// instanceRequirements returns the attributes that select instance types. Lists that EC2 treats as
// sets are sorted: the same requirements result in the same request.
func instanceRequirements(spec *infrav1.LaunchRequirements) *ec2types.InstanceRequirementsRequest {
	if spec == nil {
		return nil
	}
	request := &ec2types.InstanceRequirementsRequest{
		VCpuCount:                  &ec2types.VCpuCountRangeRequest{Min: &spec.VCPUCount.Min, Max: spec.VCPUCount.Max},
		MemoryMiB:                  &ec2types.MemoryMiBRequest{Min: &spec.MemoryMiB.Min, Max: spec.MemoryMiB.Max},
		AcceleratorManufacturers:   sortedAs[ec2types.AcceleratorManufacturer](spec.AcceleratorManufacturers),
		AcceleratorNames:           sortedAs[ec2types.AcceleratorName](spec.AcceleratorNames),
		AcceleratorTypes:           sortedAs[ec2types.AcceleratorType](spec.AcceleratorTypes),
		AllowedInstanceTypes:       sortedUnique(spec.AllowedInstanceTypes),
		ExcludedInstanceTypes:      sortedUnique(spec.ExcludedInstanceTypes),
		CpuManufacturers:           sortedAs[ec2types.CpuManufacturer](spec.CPUManufacturers),
		InstanceGenerations:        sortedAs[ec2types.InstanceGeneration](spec.InstanceGenerations),
		LocalStorageTypes:          sortedAs[ec2types.LocalStorageType](spec.LocalStorageTypes),
		BareMetal:                  ec2types.BareMetal(spec.BareMetal),
		BurstablePerformance:       ec2types.BurstablePerformance(spec.BurstablePerformance),
		LocalStorage:               ec2types.LocalStorage(spec.LocalStorage),
		RequireEncryptionInTransit: spec.RequireEncryptionInTransit,

		OnDemandMaxPricePercentageOverLowestPrice:      spec.OnDemandMaxPricePercentageOverLowestPrice,
		SpotMaxPricePercentageOverLowestPrice:          spec.SpotMaxPricePercentageOverLowestPrice,
		MaxSpotPriceAsPercentageOfOptimalOnDemandPrice: spec.MaxSpotPriceAsPercentageOfOptimalOnDemandPrice,
	}
	if spec.RequireHibernateSupport {
		request.RequireHibernateSupport = &spec.RequireHibernateSupport
	}
	if factors := spec.BaselinePerformanceFactors; factors != nil {
		cpu := &ec2types.CpuPerformanceFactorRequest{}
		for i := range factors.CPU.References {
			cpu.References = append(cpu.References, ec2types.PerformanceFactorReferenceRequest{InstanceFamily: &factors.CPU.References[i].InstanceFamily})
		}
		request.BaselinePerformanceFactors = &ec2types.BaselinePerformanceFactorsRequest{Cpu: cpu}
	}
	setRanges(request, spec)
	return request
}

func setRanges(request *ec2types.InstanceRequirementsRequest, spec *infrav1.LaunchRequirements) {
	if bounds := spec.AcceleratorCount; bounds != nil {
		request.AcceleratorCount = &ec2types.AcceleratorCountRequest{Min: bounds.Min, Max: bounds.Max}
	}
	if bounds := spec.AcceleratorTotalMemoryMiB; bounds != nil {
		request.AcceleratorTotalMemoryMiB = &ec2types.AcceleratorTotalMemoryMiBRequest{Min: bounds.Min, Max: bounds.Max}
	}
	if bounds := spec.BaselineEBSBandwidthMbps; bounds != nil {
		request.BaselineEbsBandwidthMbps = &ec2types.BaselineEbsBandwidthMbpsRequest{Min: bounds.Min, Max: bounds.Max}
	}
	if bounds := spec.NetworkInterfaceCount; bounds != nil {
		request.NetworkInterfaceCount = &ec2types.NetworkInterfaceCountRequest{Min: bounds.Min, Max: bounds.Max}
	}
	if bounds := spec.MemoryGiBPerVCPU; bounds != nil {
		request.MemoryGiBPerVCpu = &ec2types.MemoryGiBPerVCpuRequest{Min: decimal(bounds.Min), Max: decimal(bounds.Max)}
	}
	if bounds := spec.NetworkBandwidthGbps; bounds != nil {
		request.NetworkBandwidthGbps = &ec2types.NetworkBandwidthGbpsRequest{Min: decimal(bounds.Min), Max: decimal(bounds.Max)}
	}
	if bounds := spec.TotalLocalStorageGB; bounds != nil {
		request.TotalLocalStorageGB = &ec2types.TotalLocalStorageGBRequest{Min: decimal(bounds.Min), Max: decimal(bounds.Max)}
	}
}

func decimal(quantity *resource.Quantity) *float64 {
	if quantity == nil {
		return nil
	}
	value := quantity.AsApproximateFloat64()
	return &value
}

// sortedAs returns values of one of the SDK's enumerations, sorted and each once.
func sortedAs[T ~string](values []string) []T {
	var sorted []T
	for _, value := range sortedUnique(values) {
		sorted = append(sorted, T(value))
	}
	return sorted
}
