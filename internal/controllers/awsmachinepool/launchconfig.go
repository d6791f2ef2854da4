package awsmachinepool

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// source is what the pool's launch config is made from. Present is that config, nil while there is none. The outcome ends the step, if it is not nil.
func (r *Reconciler) source(ctx context.Context, p *pass, present *infrav1.AWSLaunchConfig) (common.LaunchSource, *reconciling.Outcome) {
	spec := &p.pool.Spec
	if reference := spec.LaunchConfigTemplateRef; reference != nil {
		return common.TemplateSource(ctx, r.Client, p.pool, *reference, present, spec.VersionsToKeep, spec.AdditionalTags)
	}
	return common.PoolSource(spec.AWSLaunchTemplate, spec.VersionsToKeep, spec.AdditionalTags), nil
}

// launchConfigSpec maps a source to the launch config that is made for a pool. Present is the instance type of the config that exists.
func launchConfigSpec(pool *infrav1.AWSMachinePool, machinePool *clusterv1.MachinePool, source common.LaunchSource, present string) infrav1.AWSLaunchConfigSpec {
	spec := infrav1.AWSLaunchConfigSpec{
		ClusterName:         machinePool.Spec.ClusterName,
		LaunchTemplateName:  source.Name,
		VersionsToKeep:      source.VersionsToKeep,
		KubernetesVersion:   machinePool.Spec.Template.Spec.Version,
		AdditionalTags:      source.AdditionalTags,
		LaunchConfigControl: *pool.Spec.LaunchConfigControl.DeepCopy(),
		AWSLaunchTemplate:   source.AWSLaunchTemplate,
		LaunchConfigData:    source.LaunchConfigData,
	}
	// The name has a field of its own in a launch config.
	spec.Name = ""
	if name := machinePool.Spec.Template.Spec.Bootstrap.DataSecretName; name != nil && *name != "" {
		spec.Bootstrap = &infrav1.LaunchConfigBootstrap{
			DataSecretName: *name, Storage: pool.Spec.BootstrapStorage, Ignition: pool.Spec.Ignition.DeepCopy(),
		}
	}
	// A group with overrides needs no type in its template, but the image's architecture follows from one, and cluster-autoscaler reads
	// the template's to know what a node of an empty group would be.
	if policy := pool.Spec.MixedInstancesPolicy; spec.InstanceType == "" && policy != nil && len(policy.Overrides) > 0 {
		spec.InstanceType = policy.Overrides[0].InstanceType
		// Another first override makes no other nodes of those that are there: the type stays for as long as it is among them.
		if slices.ContainsFunc(policy.Overrides, func(override infrav1.Overrides) bool { return override.InstanceType == present }) {
			spec.InstanceType = present
		}
	}
	return spec
}

// ensureLaunchConfig writes the pool's launch config, or looks at the one that it refers to. The pass goes on without it while it is not ready: sizes can
// change, the version can not.
func (r *Reconciler) ensureLaunchConfig(ctx context.Context, p *pass) reconciling.Outcome {
	if reference := p.pool.Spec.LaunchConfigRef; reference != nil {
		config, end := common.FollowLaunchConfig(ctx, r.Client, p.pool, reference.Name, func(config *infrav1.AWSLaunchConfig) string {
			return unfit(p, &config.Spec)
		})
		if end != nil {
			return *end
		}
		mirror(p, config)
		return reconciling.Continue()
	}
	config, end := common.OwnLaunchConfig(ctx, r.Client, p.pool)
	if end != nil {
		return *end
	}
	source, end := r.source(ctx, p, config)
	if end != nil {
		return *end
	}
	if config == nil {
		return r.createLaunchConfig(ctx, p, source)
	}
	wanted := launchConfigSpec(p.pool, p.machinePool, source, config.Spec.InstanceType)
	if source.Name == "" && p.pool.Spec.LaunchConfigTemplateRef != nil {
		wanted.LaunchTemplateName = config.Spec.LaunchTemplateName // EC2 renames no template, of a pool that named one before
	}
	if problem := unfitTemplate(p, &wanted); problem != "" {
		mirror(p, config) // what the pool has from it before goes on
		reconciling.False(p.pool, infrav1.LaunchTemplateReadyCondition, infrav1.InvalidSpecReason, problem)
		return reconciling.Continue()
	}
	wanted.Rollback = keptRollback(p.pool, config)
	labels, annotations := launchConfigLabels(config, p, source), launchConfigAnnotations(config, p, source)
	if end := common.UpdateLaunchConfig(ctx, r.Client, p.pool, config, wanted, labels, annotations); end != nil {
		return *end
	}
	mirror(p, config)
	source.ShowProblem(p.pool)
	return reconciling.Continue()
}

// unfitTemplate says why the pool can not launch from the template that it refers to, "" if it can, or refers to none.
func unfitTemplate(p *pass, wanted *infrav1.AWSLaunchConfigSpec) string {
	reference := p.pool.Spec.LaunchConfigTemplateRef
	if reference == nil {
		return "" // the API server refuses what does not go together in one object
	}
	problem := unfit(p, wanted)
	if problem == "" {
		return ""
	}
	return fmt.Sprintf("AWSLaunchConfigTemplate %s is not for this pool: %s", common.TemplateKey(p.pool.Namespace, *reference), problem)
}

// bought says whether instances are bought as Spot Instances, or run in a Capacity Block.
func bought(spec *infrav1.AWSLaunchConfigSpec) (spot, block bool) {
	spot, block = spec.SpotMarketOptions != nil || spec.MarketType == infrav1.MarketTypeSpot, spec.MarketType == infrav1.MarketTypeCapacityBlock
	if options := spec.InstanceMarketOptions; options != nil {
		spot, block = spot || options.MarketType == "spot", block || options.MarketType == "capacity-block"
	}
	return spot, block
}

// reservation says whether the pool decides on Capacity Reservations itself, and whether its instances may run in those.
func reservation(pool *infrav1.AWSMachinePoolSpec) (itself, inside bool) {
	itself = pool.CapacityReservation != nil && pool.CapacityReservation.Preference != "default"
	return itself, itself && pool.CapacityReservation.Preference != "none"
}

// unfit says why the pool can not launch from a launch config that is not written in the pool itself, "" if it can. They are the rules that the API server
// holds for awsLaunchTemplate.
func unfit(p *pass, spec *infrav1.AWSLaunchConfigSpec) string {
	pool, mixed := &p.pool.Spec, p.pool.Spec.MixedInstancesPolicy
	spot, block := bought(spec)
	outside := pool.BootstrapStorage != "" && pool.BootstrapStorage != infrav1.BootstrapStorageUserData
	reserves, inReservation := reservation(pool)
	for _, problem := range []struct {
		wrong   bool
		message string
	}{
		{spec.ClusterName != p.machinePool.Spec.ClusterName, fmt.Sprintf("it is of Cluster %q", spec.ClusterName)},
		{spec.Nodegroup != nil, "spec.nodegroup is set, so that its user data is for a managed node group"},
		{spec.InstanceType == "" && spec.InstanceRequirements == nil && (mixed == nil || len(mixed.Overrides) == 0), "it names no instance type, and the pool has no mixedInstancesPolicy.overrides"},
		{mixed != nil && spot, "it asks for Spot Instances, which mixedInstancesPolicy does in its own way (onDemandPercentageAboveBaseCapacity)"},
		{mixed != nil && block, "it asks for a Capacity Block, which can not be used with mixedInstancesPolicy"},
		{pool.WarmPool != nil && (spot || block), "it asks for Spot Instances or a Capacity Block, and the pool has a warmPool"},
		{outside && spec.IamInstanceProfile == "", "it has no iamInstanceProfile, with which instances read bootstrap data outside of the launch template (bootstrapStorage)"},
		{reserves && ptr.Deref(spec.CapacityReservationID, "") != "", "it names a Capacity Reservation, which capacityReservation of the pool overrules"},
		{inReservation && spot, "it asks for Spot Instances, which can not run in the Capacity Reservation of the pool"},
	} {
		if problem.wrong {
			return problem.message
		}
	}
	return ""
}

// keptRollback is the rollback that goes on: until the user wants none any more, or the spec asks for something other than what failed.
func keptRollback(pool *infrav1.AWSMachinePool, config *infrav1.AWSLaunchConfig) *infrav1.Rollback {
	if pool.Spec.RefreshPreferences == nil || !pool.Spec.RefreshPreferences.Rollback {
		return nil
	}
	ready := meta.FindStatusCondition(config.Status.Conditions, infrav1.ReadyCondition)
	if ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == config.Generation && config.Status.RolledBackFrom == "" {
		return nil
	}
	return config.Spec.Rollback
}

func (r *Reconciler) createLaunchConfig(ctx context.Context, p *pass, source common.LaunchSource) reconciling.Outcome {
	config := &infrav1.AWSLaunchConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.pool.Namespace, Name: p.pool.Name},
		Spec:       launchConfigSpec(p.pool, p.machinePool, source, ""),
	}
	if problem := unfitTemplate(p, &config.Spec); problem != "" {
		reconciling.False(p.pool, infrav1.LaunchTemplateReadyCondition, infrav1.InvalidSpecReason, problem)
		return reconciling.Stop(problem).AndGoOn()
	}
	config.Labels, config.Annotations = launchConfigLabels(config, p, source), launchConfigAnnotations(config, p, source)
	// As its own controller would, which so need not.
	common.SetLocation(config, common.LocationOf(p.cloud, p.facts.Identity, p.clusterName))
	controllerutil.AddFinalizer(config, infrav1.LaunchConfigFinalizer)
	if end := common.CreateLaunchConfig(ctx, r.Client, p.pool, config); end != nil {
		return *end
	}
	mirror(p, config)
	return reconciling.Continue()
}

// launchConfigLabels are the config's own labels, those of its Cluster and manager, and those of the template that it was made from.
func launchConfigLabels(config *infrav1.AWSLaunchConfig, p *pass, source common.LaunchSource) map[string]string {
	return common.LabelSource(common.LaunchConfigLabels(config, p.pool, p.machinePool.Spec.ClusterName), source)
}

// launchConfigAnnotations are the config's own annotations, those that say what it was made from, and those by which it learns what to take over, and what
// to do with what was taken over.
func launchConfigAnnotations(config *infrav1.AWSLaunchConfig, p *pass, source common.LaunchSource) map[string]string {
	annotations := maps.Clone(source.Marks)
	annotations[infrav1.AdoptTemplateAnnotation] = p.adoptable()
	annotations[infrav1.RollAdoptedAnnotation] = p.pool.Annotations[infrav1.RollAdoptedAnnotation]
	annotations[infrav1.ApprovedVersionAnnotation] = common.ApprovedVersion(p.pool, config)
	annotations[infrav1.ReleaseAnnotation] = "" // set by a release, and by nothing else
	return common.LaunchConfigAnnotations(config, annotations)
}

// mirror shows the state of the launch config on the pool, and lets the pass use it only if it is ready for its current generation.
func mirror(p *pass, config *infrav1.AWSLaunchConfig) {
	mirrorAdoption(p, config)
	if common.ShowLaunchConfig(p.pool, config) {
		p.config = config
	}
}
