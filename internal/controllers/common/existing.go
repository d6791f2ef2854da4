package common

import (
	"cmp"
	"slices"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/inspection"
)

// UnfitConfig returns why the pool cannot launch from a launch config that it refers to, "" if it
// can. Of one with spec.existing status says what its launch template holds: what is in the way of
// all pools of the kind comes first, and then the rules that the pool has for what is written in a
// spec.
func (p PoolLaunchConfig) UnfitConfig(config *infrav1.AWSLaunchConfig) string {
	if config.Spec.Existing == nil {
		return cmp.Or(p.Placement.enclavesAtEdge(&config.Spec), p.Unfit(&config.Spec))
	}
	resolved := config.Status.Resolved
	if resolved == nil {
		return "" // nobody has looked at it yet, so that it is not ready
	}
	return cmp.Or(p.blocking(resolved.Missing), p.Unfit(existingSpec(config)))
}

// blocking is the first gap for which pools of the kind can launch nothing, unless this one has
// itself what is missing.
func (p PoolLaunchConfig) blocking(gaps []infrav1.LaunchConfigGap) string {
	for _, gap := range gaps {
		if gap.For == p.Kind && gap.Blocking && !slices.Contains(p.Given, gap.Member) {
			return gap.Message
		}
	}
	return ""
}

// existingSpec is what a launch template of somebody else's would be as a spec, as far as rules of
// pools are about it.
func existingSpec(config *infrav1.AWSLaunchConfig) *infrav1.AWSLaunchConfigSpec {
	spec, resolved := config.Spec.DeepCopy(), config.Status.Resolved
	spec.InstanceType, spec.IamInstanceProfile = resolved.InstanceType, resolved.IamInstanceProfile
	if resolved.ImageParameter != "" {
		spec.AMI.ID = ptr.To(inspection.ParameterPrefix + resolved.ImageParameter)
	} else if resolved.ImageID != "" {
		spec.AMI.ID = &resolved.ImageID
	}
	if resolved.InstanceRequirements != "" {
		spec.InstanceRequirements = &infrav1.LaunchRequirements{}
	}
	if resolved.Market != "" && resolved.Market != inspection.OnDemand {
		spec.InstanceMarketOptions = &infrav1.InstanceMarketOptions{MarketType: resolved.Market}
	}
	return spec
}
