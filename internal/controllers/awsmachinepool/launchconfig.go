package awsmachinepool

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// launchConfigSpec maps a pool's awsLaunchTemplate to the launch config that is made for it. Present is the instance type of the config that exists.
func launchConfigSpec(pool *infrav1.AWSMachinePool, machinePool *clusterv1.MachinePool, present string) infrav1.AWSLaunchConfigSpec {
	spec := infrav1.AWSLaunchConfigSpec{
		ClusterName:        machinePool.Spec.ClusterName,
		LaunchTemplateName: pool.Spec.AWSLaunchTemplate.Name,
		VersionsToKeep:     pool.Spec.VersionsToKeep,
		KubernetesVersion:  machinePool.Spec.Template.Spec.Version,
		AdditionalTags:     pool.Spec.AdditionalTags,
		AWSLaunchTemplate:  *pool.Spec.AWSLaunchTemplate.DeepCopy(),
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

// ensureLaunchConfig writes the pool's launch config. The pass goes on without it while it is not ready: sizes can change, the version can not.
func (r *Reconciler) ensureLaunchConfig(ctx context.Context, p *pass) reconciling.Outcome {
	config, end := common.OwnLaunchConfig(ctx, r.Client, p.pool)
	if end != nil {
		return *end
	}
	if config == nil {
		return r.createLaunchConfig(ctx, p)
	}
	wanted := launchConfigSpec(p.pool, p.machinePool, config.Spec.InstanceType)
	wanted.Rollback = keptRollback(p.pool, config)
	labels, annotations := common.LaunchConfigLabels(config, p.pool, wanted.ClusterName), launchConfigAnnotations(config, p)
	if end := common.UpdateLaunchConfig(ctx, r.Client, p.pool, config, wanted, labels, annotations); end != nil {
		return *end
	}
	mirror(p, config)
	return reconciling.Continue()
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

func (r *Reconciler) createLaunchConfig(ctx context.Context, p *pass) reconciling.Outcome {
	config := &infrav1.AWSLaunchConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.pool.Namespace, Name: p.pool.Name},
		Spec:       launchConfigSpec(p.pool, p.machinePool, ""),
	}
	config.Labels, config.Annotations = common.LaunchConfigLabels(config, p.pool, config.Spec.ClusterName), launchConfigAnnotations(config, p)
	// As its own controller would, which so need not.
	common.SetLocation(config, common.LocationOf(p.cloud, p.facts.Identity, p.clusterName))
	controllerutil.AddFinalizer(config, infrav1.LaunchConfigFinalizer)
	if end := common.CreateLaunchConfig(ctx, r.Client, p.pool, config); end != nil {
		return *end
	}
	mirror(p, config)
	return reconciling.Continue()
}

// launchConfigAnnotations are the config's own annotations and those by which it learns what to take over, and what to do with what was taken over.
func launchConfigAnnotations(config *infrav1.AWSLaunchConfig, p *pass) map[string]string {
	return common.LaunchConfigAnnotations(config, map[string]string{
		infrav1.AdoptTemplateAnnotation: p.adoptable(),
		infrav1.RollAdoptedAnnotation:   p.pool.Annotations[infrav1.RollAdoptedAnnotation],
		infrav1.ReleaseAnnotation:       "", // set by a release, and by nothing else
	})
}

// mirror shows the state of the launch config on the pool, and lets the pass use it only if it is ready for its current generation.
func mirror(p *pass, config *infrav1.AWSLaunchConfig) {
	mirrorAdoption(p, config)
	if common.ShowLaunchConfig(p.pool, config) {
		p.config = config
	}
}
