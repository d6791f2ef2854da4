package autoscaling

import (
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
)

// maxInstanceTypeRules bounds AllowedInstanceTypes and ExcludedInstanceTypes (reference 1.2).
const maxInstanceTypeRules = 400

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
