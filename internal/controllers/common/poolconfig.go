package common

import (
	"context"
	"fmt"
	"maps"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// PoolLaunchConfig is how a pool, of either kind, comes to the launch config that it launches from:
// one that it refers to, of which nothing is written, or one of its own, made from what the pool
// has in itself or from a template.
type PoolLaunchConfig struct {
	Pool reconciling.Conditioned
	// Kind of the pool.
	Kind        string
	ClusterName string

	// One of these three is where the config comes from.
	Inline    *infrav1.AWSLaunchTemplate
	Reference *infrav1.LaunchConfigReference
	Template  *infrav1.LaunchConfigTemplateReference

	VersionsToKeep *int32
	AdditionalTags infrav1.Tags
	Control        infrav1.LaunchConfigControl
	// Placement is where the pool asks its instances to run.
	Placement Placement
	// Adopt is the id of the launch template that the config is to take over, "" for none.
	Adopt string

	// Made are the configs that this process made, by Clock.
	Made  *Made
	Clock clock.PassiveClock
	// Complete adds what pools of the kind want of a config of their own. Present is the one that
	// exists, nil while there is none.
	Complete func(wanted *infrav1.AWSLaunchConfigSpec, present *infrav1.AWSLaunchConfig)
	// Given are what the pool has itself of what it would else have from a launch template, as
	// members in EC2's words.
	Given []string
	// Unfit says why the pool cannot launch from a config that is not written in the pool itself,
	// "" if it can.
	Unfit func(*infrav1.AWSLaunchConfigSpec) string
	// Prepare writes on a config that is about to be made what its own controller would. It may be nil.
	Prepare func(*infrav1.AWSLaunchConfig)
	// Show shows the state of the config on the pool.
	Show func(*infrav1.AWSLaunchConfig)
}

// Ensure writes the pool's launch config, or looks at the one that it refers to. The pass goes on
// without it while it is not ready: sizes can change, the version cannot.
func (p PoolLaunchConfig) Ensure(ctx context.Context, c client.Client) reconciling.Outcome {
	if p.Reference != nil {
		config, end := FollowLaunchConfig(ctx, c, p.Pool, p.Reference.Name, p.UnfitConfig)
		if end != nil {
			return *end
		}
		p.Show(config)
		return reconciling.Continue()
	}
	config, end := OwnLaunchConfig(ctx, c, p.Pool)
	if end != nil {
		return *end
	}
	shown := reconciling.Continue()
	if config != nil {
		p.Made.Forget(client.ObjectKeyFromObject(p.Pool))
	} else {
		if config = p.Made.Recent(p.Pool, p.Clock); config == nil {
			return p.Create(ctx, c)
		}
		shown = reconciling.ContinueAndComeBack(unseenAtMost, "the launch config was made a moment ago and is not seen yet")
	}
	source, end := p.source(ctx, c, config)
	if end != nil {
		return *end
	}
	wanted := p.Spec(source, config)
	if reason, problem := p.UnfitOwn(&wanted); problem != "" {
		p.Show(config) // what the pool has from it before goes on
		reconciling.False(p.Pool, infrav1.LaunchTemplateReadyCondition, reason, problem)
		return reconciling.Continue()
	}
	if end := UpdateLaunchConfig(ctx, c, p.Pool, config, wanted, p.Labels(config, source), p.Annotations(config, source)); end != nil {
		return *end
	}
	p.Show(config)
	source.ShowProblem(p.Pool)
	return shown
}

// Create makes the pool's own launch config.
func (p PoolLaunchConfig) Create(ctx context.Context, c client.Client) reconciling.Outcome {
	source, end := p.source(ctx, c, nil)
	if end != nil {
		return *end
	}
	config := &infrav1.AWSLaunchConfig{Spec: p.Spec(source, nil)}
	config.Namespace, config.Name = p.Pool.GetNamespace(), p.Pool.GetName()
	if reason, problem := p.UnfitOwn(&config.Spec); problem != "" {
		reconciling.False(p.Pool, infrav1.LaunchTemplateReadyCondition, reason, problem)
		return reconciling.Stop(problem).AndGoOn()
	}
	config.Labels, config.Annotations = p.Labels(config, source), p.Annotations(config, source)
	if p.Prepare != nil {
		p.Prepare(config)
	}
	if end := CreateLaunchConfig(ctx, c, p.Pool, config); end != nil {
		return *end
	}
	p.Made.Note(config, p.Clock)
	p.Show(config)
	return reconciling.Continue()
}

// Spec is what the pool wants of its own launch config. Present is what is there, nil while nothing is.
func (p PoolLaunchConfig) Spec(source LaunchSource, present *infrav1.AWSLaunchConfig) infrav1.AWSLaunchConfigSpec {
	spec := infrav1.AWSLaunchConfigSpec{
		ClusterName:         p.ClusterName,
		LaunchTemplateName:  source.Name,
		VersionsToKeep:      source.VersionsToKeep,
		AdditionalTags:      source.AdditionalTags,
		Verify:              source.Verify,
		LaunchConfigControl: *p.Control.DeepCopy(),
		AWSLaunchTemplate:   source.AWSLaunchTemplate,
		LaunchConfigData:    source.LaunchConfigData,
	}
	spec.Name = "" // the name has a field of its own in a launch config
	p.Complete(&spec, present)
	return spec
}

func (p PoolLaunchConfig) source(ctx context.Context, reader client.Reader, present *infrav1.AWSLaunchConfig) (LaunchSource, *reconciling.Outcome) {
	if p.Template != nil {
		return TemplateSource(ctx, reader, p.Pool, *p.Template, present, p.VersionsToKeep, p.AdditionalTags)
	}
	return PoolSource(p.Inline, p.VersionsToKeep, p.AdditionalTags), nil
}

// UnfitOwn returns why the pool cannot launch from a launch config of its own, with the reason,
// both empty if it can. The API server refuses what does not go together in one object, and knows
// neither what a template says nor the subnets of the cluster.
func (p PoolLaunchConfig) UnfitOwn(wanted *infrav1.AWSLaunchConfigSpec) (reason, message string) {
	if problem := p.Placement.enclavesAtEdge(wanted); problem != "" {
		return infrav1.NitroEnclaveEdgeZoneUnsupportedReason, problem
	}
	if p.Template == nil {
		return "", ""
	}
	if problem := p.Unfit(wanted); problem != "" {
		return infrav1.InvalidSpecReason, fmt.Sprintf("AWSLaunchConfigTemplate %s is not for this pool: %s", TemplateKey(p.Pool.GetNamespace(), *p.Template), problem)
	}
	return "", ""
}

// Labels returns the config's own, those of its Cluster and manager, and those of the template that
// it was made from.
func (p PoolLaunchConfig) Labels(config *infrav1.AWSLaunchConfig, source LaunchSource) map[string]string {
	return LabelSource(LaunchConfigLabels(config, p.Pool, p.ClusterName), source)
}

// Annotations returns the config's own, those that say what it was made from, and those by which it
// learns what to take over, and what to do with what was taken over.
func (p PoolLaunchConfig) Annotations(config *infrav1.AWSLaunchConfig, source LaunchSource) map[string]string {
	annotations := maps.Clone(source.Marks)
	annotations[infrav1.AdoptTemplateAnnotation] = p.Adopt
	annotations[infrav1.RollAdoptedAnnotation] = p.Pool.GetAnnotations()[infrav1.RollAdoptedAnnotation]
	annotations[infrav1.ApprovedVersionAnnotation] = ApprovedVersion(p.Pool, config)
	annotations[infrav1.ReleaseAnnotation] = "" // set by a release, and by nothing else
	return LaunchConfigAnnotations(config, annotations)
}

// If is the message of a rule that is broken, "" of one that is not; cmp.Or finds the first of several.
func If(broken bool, message string) string {
	if broken {
		return message
	}
	return ""
}

// Bought says whether a launch config asks for Spot Instances, or for a Capacity Block.
func Bought(spec *infrav1.AWSLaunchConfigSpec) (spot, block bool) {
	spot, block = spec.SpotMarketOptions != nil || spec.MarketType == infrav1.MarketTypeSpot, spec.MarketType == infrav1.MarketTypeCapacityBlock
	if options := spec.InstanceMarketOptions; options != nil {
		spot, block = spot || options.MarketType == "spot", block || options.MarketType == "capacity-block"
	}
	return spot, block
}
