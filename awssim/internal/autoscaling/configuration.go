package autoscaling

import (
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling/allocation"

	"github.com/slipway-project/slipway/awssim/internal/list"
)

// Limits of a mixed instances policy (reference 2.3; UG ec2-auto-scaling-quotas; SDK
// LaunchTemplateOverrides).
const (
	maxOverrides       = 40
	maxRequirementSets = 4
	maxTemplates       = 20
	maxWeight          = 999
	maxSpotPools       = 20
	defaultVersion     = "$Default"
	latestVersion      = "$Latest"
)

// applyConfiguration returns what a group launches after a call that may name something else.
// Exactly one source is allowed.
func (r *requests) applyConfiguration(old configuration, template *types.LaunchTemplateSpecification, mixed *types.MixedInstancesPolicy,
	launchConfiguration *string) (configuration, error) {
	if given(template != nil, mixed != nil, launchConfiguration != nil) > 1 {
		return old, invalid("Valid requests must contain either LaunchTemplate, LaunchConfigurationName, InstanceId or MixedInstancesPolicy parameter.")
	}
	switch {
	case launchConfiguration != nil:
		l, err := r.configurations.find(launchConfiguration)
		if err != nil {
			return old, err
		}
		return configuration{launchConfiguration: *l.LaunchConfigurationName}, nil
	case template != nil:
		spec, err := r.canonicalSpecification(template)
		if err != nil {
			return old, err
		}
		return configuration{template: spec}, nil
	case mixed != nil:
		policy, err := r.canonicalPolicy(old.mixed, mixed)
		if err != nil {
			return old, err
		}
		return configuration{mixed: policy}, nil
	}
	return old, nil
}

// given counts what is there.
func given(members ...bool) int {
	return len(list.Filter(members, func(is bool) bool { return is }))
}

// canonicalSpecification checks that the launch template and the version exist and returns the
// specification with id, name and version, as it is shown. A version is kept as it was given:
// $Latest and $Default are evaluated at each launch (SDK LaunchTemplateSpecification), and one that
// was left out, which stands for $Default, is not shown (moto,
// test_create_auto_scaling_from_template_version__no_version, verified on AWS).
func (r *requests) canonicalSpecification(spec *types.LaunchTemplateSpecification) (*types.LaunchTemplateSpecification, error) {
	if (spec.LaunchTemplateId == nil) == (spec.LaunchTemplateName == nil) {
		return nil, invalid("Valid requests must contain either launchTemplateId or LaunchTemplateName")
	}
	version := valOr(spec.Version, defaultVersion)
	if n, err := strconv.Atoi(version); version != defaultVersion && version != latestVersion && (err != nil || n < 1) {
		return nil, invalid("Invalid launch template version: either '$Default', '$Latest', or a numeric version are allowed.")
	}
	t, err := r.sources.resolve(&types.LaunchTemplateSpecification{
		LaunchTemplateId: spec.LaunchTemplateId, LaunchTemplateName: spec.LaunchTemplateName, Version: &version,
	})
	if err != nil {
		return nil, badTemplate(err)
	}
	return &types.LaunchTemplateSpecification{LaunchTemplateId: &t.id, LaunchTemplateName: &t.name, Version: spec.Version}, nil
}

// canonicalPolicy checks a mixed instances policy and fills in its defaults. Members that an update
// leaves out keep their values, so that a distribution alone can be changed (UG
// update-auto-scaling-group).
func (r *requests) canonicalPolicy(old, p *types.MixedInstancesPolicy) (*types.MixedInstancesPolicy, error) {
	launch, dist := p.LaunchTemplate, p.InstancesDistribution
	if old != nil {
		if launch == nil {
			launch = asGiven(old.LaunchTemplate)
		} else if launch.LaunchTemplateSpecification == nil {
			launch = &types.LaunchTemplate{LaunchTemplateSpecification: asGiven(old.LaunchTemplate).LaunchTemplateSpecification, Overrides: launch.Overrides}
		}
		dist = keepSegments(old.InstancesDistribution, dist)
	}
	if launch == nil || launch.LaunchTemplateSpecification == nil {
		return nil, invalid("A mixed instances policy must specify a launch template.")
	}
	spec, err := r.canonicalSpecification(launch.LaunchTemplateSpecification)
	if err != nil {
		return nil, err
	}
	overrides, err := r.canonicalOverrides(launch.Overrides, *spec.LaunchTemplateId)
	if err != nil {
		return nil, err
	}
	policy := &types.MixedInstancesPolicy{LaunchTemplate: &types.LaunchTemplate{LaunchTemplateSpecification: spec, Overrides: overrides}}
	policy.InstancesDistribution, err = canonicalDistribution(dist, r.sources.attributeBased(configuration{mixed: policy}))
	return policy, err
}

// keepSegments returns the distribution that an update asks for. Distribution segments stay until
// the update has none of them, explicitly, or shares of On-Demand Instances (SDK
// UpdateAutoScalingGroupInput.MixedInstancesPolicy).
func keepSegments(old, d *types.InstancesDistribution) *types.InstancesDistribution {
	if d == nil {
		return old
	}
	if d.DistributionSegments != nil || d.OnDemandBaseCapacity != nil || d.OnDemandPercentageAboveBaseCapacity != nil {
		return d
	}
	kept := *d
	kept.DistributionSegments = old.DistributionSegments
	return &kept
}

// asGiven returns what this service stored, whose specifications have both id and name, as a caller
// must give it: by id alone.
func asGiven(stored *types.LaunchTemplate) *types.LaunchTemplate {
	byID := func(spec *types.LaunchTemplateSpecification) *types.LaunchTemplateSpecification {
		if spec == nil {
			return nil
		}
		return &types.LaunchTemplateSpecification{LaunchTemplateId: spec.LaunchTemplateId, Version: spec.Version}
	}
	given := &types.LaunchTemplate{LaunchTemplateSpecification: byID(stored.LaunchTemplateSpecification), Overrides: slices.Clone(stored.Overrides)}
	for i := range given.Overrides {
		given.Overrides[i].LaunchTemplateSpecification = byID(given.Overrides[i].LaunchTemplateSpecification)
	}
	return given
}

// canonicalOverrides checks the overrides of a policy whose own launch template is base, which
// counts among the templates (SDK LaunchTemplateOverrides.LaunchTemplateSpecification).
func (r *requests) canonicalOverrides(overrides []types.LaunchTemplateOverrides, base string) ([]types.LaunchTemplateOverrides, error) {
	if len(overrides) > maxOverrides {
		return nil, invalid("You can specify a maximum of %d instance types in the launch template overrides.", maxOverrides)
	}
	var out []types.LaunchTemplateOverrides
	var weights, requirements int
	templates, seen := map[string]bool{base: true}, map[string]bool{}
	for _, o := range overrides {
		o, err := r.canonicalOverride(o)
		if err != nil {
			return nil, err
		}
		if o.InstanceType != nil {
			key := *o.InstanceType + "/" + val(o.ImageId)
			if seen[key] {
				return nil, invalid("Duplicate instance type in the launch template overrides: %s", *o.InstanceType)
			}
			seen[key] = true
		}
		if o.LaunchTemplateSpecification != nil {
			templates[*o.LaunchTemplateSpecification.LaunchTemplateId] = true
		}
		if o.WeightedCapacity != nil {
			weights++
		}
		if o.InstanceRequirements != nil {
			requirements++
		}
		out = append(out, o)
	}
	if weights > 0 && weights < len(overrides) {
		return nil, invalid("You must specify a weight for all instance types in the launch template overrides, or for none.")
	}
	return out, checkMixture(len(seen), requirements, len(templates))
}

// checkMixture checks how many overrides of each kind there are.
func checkMixture(instanceTypes, requirements, templates int) error {
	switch {
	case requirements > 0 && instanceTypes > 0:
		return invalid("You cannot mix InstanceType and InstanceRequirements in the launch template overrides.")
	case requirements > maxRequirementSets:
		return invalid("You can specify a maximum of %d instance requirements.", maxRequirementSets)
	case templates > maxTemplates:
		return invalid("You can specify a maximum of %d launch templates.", maxTemplates)
	}
	return nil
}

// canonicalOverride checks what one override says by itself.
func (r *requests) canonicalOverride(o types.LaunchTemplateOverrides) (types.LaunchTemplateOverrides, error) {
	if o.InstanceType != nil && o.InstanceRequirements != nil {
		return o, invalid("You cannot specify both InstanceType and InstanceRequirements in the same launch template override.")
	}
	if o.LaunchTemplateSpecification != nil {
		spec, err := r.canonicalSpecification(o.LaunchTemplateSpecification)
		if err != nil {
			return o, err
		}
		o.LaunchTemplateSpecification = spec
	}
	if w := o.WeightedCapacity; w != nil {
		if n, err := strconv.Atoi(*w); err != nil || n < 1 || n > maxWeight {
			return o, invalid("The weighted capacity %s must be a whole number from 1 to %d.", *w, maxWeight)
		}
	}
	if t := o.InstanceType; t != nil && r.kernel.World().InstanceType(*t) == nil {
		return o, invalid("You must use a valid fully-formed launch template. Invalid value '%s' for InstanceType.", *t)
	}
	if o.InstanceRequirements != nil {
		return o, validateRequirements(o.InstanceRequirements)
	}
	return o, nil
}

// canonicalDistribution checks the distribution and fills in its defaults (SDK InstancesDistribution).
func canonicalDistribution(d *types.InstancesDistribution, attributeBased bool) (*types.InstancesDistribution, error) {
	if d == nil {
		d = &types.InstancesDistribution{}
	}
	if err := checkSegments(d.DistributionSegments, d); err != nil {
		return nil, err
	}
	onDemand := allocation.StrategyPrioritized
	if attributeBased {
		onDemand = allocation.StrategyLowestPrice
	}
	out := &types.InstancesDistribution{
		OnDemandAllocationStrategy:          ptr(valOr(d.OnDemandAllocationStrategy, onDemand)),
		SpotAllocationStrategy:              ptr(valOr(d.SpotAllocationStrategy, allocation.StrategyLowestPrice)),
		OnDemandBaseCapacity:                ptr(val(d.OnDemandBaseCapacity)),
		OnDemandPercentageAboveBaseCapacity: ptr(valOr(d.OnDemandPercentageAboveBaseCapacity, 100)),
		SpotInstancePools:                   d.SpotInstancePools, SpotMaxPrice: optional(val(d.SpotMaxPrice)),
		DistributionSegments: d.DistributionSegments,
	}
	if err := checkStrategies(out, attributeBased); err != nil {
		return nil, err
	}
	if err := checkShares(out); err != nil {
		return nil, err
	}
	if *out.SpotAllocationStrategy == allocation.StrategyLowestPrice {
		out.SpotInstancePools = ptr(valOr(d.SpotInstancePools, allocation.DefaultSpotPools))
	}
	if len(out.DistributionSegments) > 0 {
		// which would remove the segments
		out.OnDemandBaseCapacity, out.OnDemandPercentageAboveBaseCapacity = nil, nil
	}
	return out, nil
}

func checkStrategies(d *types.InstancesDistribution, attributeBased bool) error {
	onDemand, spot := *d.OnDemandAllocationStrategy, *d.SpotAllocationStrategy
	switch {
	case onDemand != allocation.StrategyPrioritized && onDemand != allocation.StrategyLowestPrice:
		return invalid("Invalid on-demand allocation strategy: %s. Valid values are: prioritized, lowest-price", onDemand)
	case attributeBased && onDemand == allocation.StrategyPrioritized:
		return invalid("The prioritized On-Demand allocation strategy cannot be used with InstanceRequirements.")
	case !slices.Contains([]string{allocation.StrategyLowestPrice, allocation.StrategyCapacityOptimized, allocation.StrategyCapacityOptimizedPrioritized,
		allocation.StrategyPriceCapacityOptimized}, spot):
		// The message is what users of Terraform paste; AWS has no page with it.
		return invalid("SpotAllocationStrategy is not valid. Valid options are: [lowest-price, capacity-optimized, capacity-optimized-prioritized, price-capacity-optimized].")
	case attributeBased && spot == allocation.StrategyCapacityOptimizedPrioritized:
		return invalid("The capacity-optimized-prioritized Spot allocation strategy cannot be used with InstanceRequirements.")
	case d.SpotInstancePools != nil && spot != allocation.StrategyLowestPrice:
		return invalid("SpotInstancePools option is only available with the lowest-price allocation strategy.")
	}
	return nil
}

func checkShares(d *types.InstancesDistribution) error {
	switch {
	case d.SpotInstancePools != nil && (*d.SpotInstancePools < 1 || *d.SpotInstancePools > maxSpotPools):
		return invalid("SpotInstancePools must be between 1 and %d.", maxSpotPools)
	case *d.OnDemandBaseCapacity < 0:
		return invalid("OnDemandBaseCapacity must be greater than or equal to 0.")
	case *d.OnDemandPercentageAboveBaseCapacity < 0 || *d.OnDemandPercentageAboveBaseCapacity > 100:
		return invalid("OnDemandPercentageAboveBaseCapacity must be between 0 and 100.")
	}
	if d.SpotMaxPrice == nil {
		return nil
	}
	if p, err := strconv.ParseFloat(*d.SpotMaxPrice, 64); err != nil || p < 0.001 {
		return invalid("SpotMaxPrice %s must be a decimal number of at least 0.001.", *d.SpotMaxPrice)
	}
	return nil
}
