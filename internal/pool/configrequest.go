package pool

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/inspection"
)

// ConfigRequest describes what a pool, of either kind, asks of the launch config that it launches
// from: a config that it refers to and does not write, or its own config, created from the pool's
// own spec or from a template.
type ConfigRequest struct {
	Pool client.Object
	// Kind of the pool.
	Kind        string
	ClusterName string
	// Template is what the config is made from; nil for one that is not made from a template.
	Template *infrav1.LaunchConfigTemplateReference
	Control  infrav1.LaunchConfigControl
	// Placement is where the pool asks its instances to run.
	Placement Placement
	// Adopt is the id of the launch template that the config should take over, "" for none.
	Adopt string
	// Given lists what the pool has itself and would otherwise have from a launch template, as
	// EC2's field names.
	Given []string
}

// Spec returns what the pool wants of its own launch config, as far as both kinds of pools want the
// same.
func (r ConfigRequest) Spec(source LaunchSource) infrav1.AWSLaunchConfigSpec {
	spec := infrav1.AWSLaunchConfigSpec{
		ClusterName:         r.ClusterName,
		LaunchTemplateName:  source.Name,
		VersionsToKeep:      source.VersionsToKeep,
		AdditionalTags:      source.AdditionalTags,
		Verify:              source.Verify,
		LaunchConfigControl: *r.Control.DeepCopy(),
		AWSLaunchTemplate:   source.AWSLaunchTemplate,
		LaunchConfigData:    source.LaunchConfigData,
	}
	spec.Name = "" // the name has a field of its own in a launch config
	return spec
}

// Inspected returns a launch config that a pool refers to as a spec, as far as rules of pools are
// about it: of one with spec.existing status has what its launch template holds. It returns nil
// while that is not known, so that the config is not ready.
func Inspected(config *infrav1.AWSLaunchConfig) *infrav1.AWSLaunchConfigSpec {
	resolved := config.Status.Resolved
	if config.Spec.Existing == nil || resolved == nil {
		if config.Spec.Existing != nil {
			return nil
		}
		return &config.Spec
	}
	spec := config.Spec.DeepCopy()
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

// UnfitReferred returns why the pool cannot launch from a launch config that it refers to, "" if it
// can. Obstacles for all pools of the kind come first, and then the problem that rules of the kind
// found in what Inspected returns.
func (r ConfigRequest) UnfitReferred(config *infrav1.AWSLaunchConfig, problem string) string {
	switch {
	case config.Spec.Existing == nil:
		return cmp.Or(r.Placement.enclavesAtEdge(&config.Spec), problem)
	case config.Status.Resolved == nil:
		return ""
	}
	return cmp.Or(r.blocking(config.Status.Resolved.Missing), problem)
}

// blocking returns the first gap for which pools of the kind can launch nothing, unless this one has
// itself what is missing.
func (r ConfigRequest) blocking(gaps []infrav1.LaunchConfigGap) string {
	for _, gap := range gaps {
		if gap.For == r.Kind && gap.Blocking && !slices.Contains(r.Given, gap.Member) {
			return gap.Message
		}
	}
	return ""
}

// UnfitOwn returns why the pool cannot launch from a launch config of its own, with the reason, both
// empty if it can. The API server refuses what does not go together in one object, and knows neither
// what a template has nor the subnets of the cluster. Problem is what rules of the kind found.
func (r ConfigRequest) UnfitOwn(wanted *infrav1.AWSLaunchConfigSpec, problem string) (reason, message string) {
	if found := r.Placement.enclavesAtEdge(wanted); found != "" {
		return infrav1.NitroEnclaveEdgeZoneUnsupportedReason, found
	}
	if r.Template == nil || problem == "" {
		return "", ""
	}
	return infrav1.InvalidSpecReason, fmt.Sprintf("this pool cannot use AWSLaunchConfigTemplate %s: %s", TemplateKey(r.Pool.GetNamespace(), *r.Template), problem)
}

// Labels returns the config's own labels, the labels of its Cluster and manager, and the labels of
// the template that it was made from.
func (r ConfigRequest) Labels(config *infrav1.AWSLaunchConfig, source LaunchSource) map[string]string {
	return labelSource(configLabels(config, r.Pool, r.ClusterName), source)
}

// Annotations returns the config's own annotations, the names of its sources, and the annotations
// that request what it should take over, and what it should do then.
func (r ConfigRequest) Annotations(config *infrav1.AWSLaunchConfig, source LaunchSource) map[string]string {
	annotations := maps.Clone(source.Marks)
	annotations[infrav1.AdoptTemplateAnnotation] = r.Adopt
	annotations[infrav1.RollAdoptedAnnotation] = r.Pool.GetAnnotations()[infrav1.RollAdoptedAnnotation]
	setApproval(annotations, r.Pool, config)
	annotations[infrav1.RolloutPausedAnnotation] = r.Pool.GetAnnotations()[infrav1.RolloutPausedAnnotation]
	annotations[infrav1.ReleaseAnnotation] = "" // set by a release, and by nothing else
	return configAnnotations(config, annotations)
}

// If returns the message of a rule that is broken, "" of one that is not; cmp.Or finds the first of several.
func If(broken bool, message string) string {
	if broken {
		return message
	}
	return ""
}

// Bought reports whether a launch config asks for Spot Instances, or for a Capacity Block.
func Bought(spec *infrav1.AWSLaunchConfigSpec) (spot, block bool) {
	spot, block = spec.SpotMarketOptions != nil || spec.MarketType == infrav1.MarketTypeSpot, spec.MarketType == infrav1.MarketTypeCapacityBlock
	if options := spec.InstanceMarketOptions; options != nil {
		spot, block = spot || options.MarketType == "spot", block || options.MarketType == "capacity-block"
	}
	return spot, block
}
