package machinepool

import (
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/inspection"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// ensureLaunchConfig keeps the pool's launch config as the pool asks for, or follows the one that
// the pool refers to. The other concerns have their turn without it while it is not ready: sizes
// can change, the version cannot.
func ensureLaunchConfig(in input, plan *reconcile.Plan) bool {
	config := in.Seen.LaunchConfig.Object
	if in.Object.Spec.LaunchConfigRef != nil {
		return followConfig(in, plan)
	}
	if config == nil {
		return createConfig(in, plan)
	}
	if !metav1.IsControlledBy(config, in.Object) {
		return showForeignConfig(in, plan)
	}
	if in.Seen.LaunchConfig.Recent {
		plan.LookAgain(pool.CacheBehind)
	}
	if in.Seen.LaunchConfig.VoidApproval(in.Object, plan) {
		pool.RemoveApproval(in.Object, plan)
	}
	request, source := configRequest(in), configSource(in)
	wanted := wantedConfig(in, source, config)
	if reason, problem := request.UnfitOwn(&wanted, incompatible(in, &wanted)); problem != "" {
		showConfig(in, config) // what the pool has from it before goes on
		reconciling.False(in.Object, infrav1.LaunchTemplateReadyCondition, reason, problem)
		return in.Seen.LaunchConfig.Prove(in.Object, plan, presentTemplate(in))
	}
	update := updateLaunchConfig{Name: config.Name, Spec: wanted, Labels: request.Labels(config, source), Annotations: request.Annotations(config, source)}
	if err := reconcile.LastFailure[updateLaunchConfig](in.Done); err != nil {
		return showRefusedConfig(in, err)
	}
	differs := pool.ConfigDifferences(config, update.Spec, update.Labels, update.Annotations)
	if differs != "" && !reconcile.Succeeded[updateLaunchConfig](in.Done) {
		plan.Do(update, "the spec of the pool requests %s", differs)
		return true
	}
	showConfig(in, config)
	source.ShowProblem(in.Object)
	return in.Seen.LaunchConfig.Prove(in.Object, plan, presentTemplate(in))
}

// followConfig shows a launch config that the pool refers to, and to which the pool writes nothing.
func followConfig(in input, plan *reconcile.Plan) bool {
	config := in.Seen.LaunchConfig
	if !config.ShowUnfit(in.Object, in.Object.Spec.LaunchConfigRef.Name, unfitReferred(in)) {
		return true
	}
	showConfig(in, config.Object)
	return config.Prove(in.Object, plan, presentTemplate(in))
}

// unfitReferred returns why the pool cannot launch from the launch config that it refers to, "" if it
// can, or there is none.
func unfitReferred(in input) string {
	config := in.Seen.LaunchConfig.Object
	if config == nil {
		return ""
	}
	problem := ""
	if spec := pool.Inspected(config); spec != nil {
		problem = incompatible(in, spec)
	}
	return configRequest(in).UnfitReferred(config, problem)
}

// createConfig creates the pool's own launch config.
func createConfig(in input, plan *reconcile.Plan) bool {
	switch err := reconcile.LastFailure[createLaunchConfig](in.Done); {
	case apierrors.IsAlreadyExists(err):
		return false // it was created just now, and wakes the pool when the cache shows it
	case err != nil:
		return showRefusedConfig(in, err)
	}
	request, source := configRequest(in), configSource(in)
	if source.Problem != "" {
		source.ShowProblem(in.Object)
		return true
	}
	config := &infrav1.AWSLaunchConfig{Spec: wantedConfig(in, source, nil)}
	config.Namespace, config.Name = in.Object.Namespace, in.Object.Name
	if reason, problem := request.UnfitOwn(&config.Spec, incompatible(in, &config.Spec)); problem != "" {
		reconciling.False(in.Object, infrav1.LaunchTemplateReadyCondition, reason, problem)
		return true
	}
	config.Labels, config.Annotations = request.Labels(config, source), request.Annotations(config, source)
	ownership.SetLocation(config, in.Seen.Access.Location)
	controllerutil.AddFinalizer(config, infrav1.LaunchConfigFinalizer)
	plan.Do(createLaunchConfig{Config: config}, "the pool has no launch config")
	return true
}

// showForeignConfig shows that a launch config that is not the pool's has its name.
func showForeignConfig(in input, plan *reconcile.Plan) bool {
	in.Seen.LaunchConfig.ShowForeign(in.Object, plan)
	return false
}

// refusedConfig reports whether an action failed because the API server does not take a launch
// config as it is, or has it already: failures that conditions report.
func refusedConfig(done reconcile.Done) bool {
	switch done.Action.(type) {
	case createLaunchConfig, updateLaunchConfig:
		return apierrors.IsInvalid(done.Err) || apierrors.IsAlreadyExists(done.Err)
	}
	return false
}

// showRefusedConfig shows that the API server does not take the launch config: only an edit of the
// pool helps, which wakes it. Other failures are retried.
func showRefusedConfig(in input, err error) bool {
	if !apierrors.IsInvalid(err) {
		return false
	}
	reconciling.False(in.Object, infrav1.LaunchTemplateReadyCondition, infrav1.InvalidSpecReason, err.Error())
	return true
}

// showConfig shows the state of the launch config on the pool.
func showConfig(in input, config *infrav1.AWSLaunchConfig) {
	showAdoption(in, config)
	pool.ShowLaunchConfig(in.Object, config)
}

// presentTemplate is the launch template that the group launches from, empty for none.
func presentTemplate(in input) string {
	if in.Seen.Group == nil {
		return ""
	}
	return in.Seen.Group.LaunchTemplateID
}

// launchable returns the launch config if the pool may launch from what its status says, and nil if
// it may not: it is not ready for its current generation and does not hold back what EC2 would not
// launch either, or it is not for this pool.
func launchable(in input) *infrav1.AWSLaunchConfig {
	config := in.Seen.LaunchConfig
	switch {
	case config.Object == nil || bootstrapMissing(in) != "" || !pool.Launchable(config.Object) || reconcile.LastFailure[updateLaunchConfig](in.Done) != nil:
		return nil
	case in.Object.Spec.LaunchConfigRef == nil && !metav1.IsControlledBy(config.Object, in.Object):
		return nil
	case in.Object.Spec.LaunchConfigRef != nil && unfitReferred(in) != "", !config.Proven(presentTemplate(in)):
		return nil
	}
	return config.Object
}

// awaitsConfig reports whether the pool waits for a launch config that has not acted on its spec yet.
func awaitsConfig(in input) bool {
	config := in.Seen.LaunchConfig.Object
	return config != nil && bootstrapMissing(in) == "" && pool.HasToAct(config)
}

// configRequest returns what the pool asks of its launch config.
func configRequest(in input) pool.ConfigRequest {
	spec := &in.Object.Spec
	return pool.ConfigRequest{
		Pool: in.Object, Kind: string(inspection.AWSMachinePool), Given: overriddenMembers(spec.MixedInstancesPolicy), ClusterName: in.Seen.MachinePool.Spec.ClusterName,
		Template: spec.LaunchConfigTemplateRef, Control: spec.LaunchConfigControl,
		Placement: pool.PlacementOf(namedSubnets(spec.Subnets), spec.AvailabilityZones, in.Seen.MachinePool.Spec.FailureDomains, in.Seen.Access.Facts),
		Adopt:     adoptableTemplate(in),
	}
}

// wantedConfig returns what the pool wants of its own launch config. Present is what there is, nil if
// there is none.
func wantedConfig(in input, source pool.LaunchSource, present *infrav1.AWSLaunchConfig) infrav1.AWSLaunchConfigSpec {
	wanted := configRequest(in).Spec(source)
	complete(in, &wanted, present)
	return wanted
}

// configSource returns what the pool's own launch config is made from.
func configSource(in input) pool.LaunchSource {
	spec := &in.Object.Spec
	if spec.LaunchConfigTemplateRef != nil {
		return in.Seen.LaunchConfig.Source.Source(in.Seen.LaunchConfig.Object, spec.VersionsToKeep, spec.AdditionalTags)
	}
	return pool.PoolSource(spec.AWSLaunchTemplate, spec.VersionsToKeep, spec.AdditionalTags)
}

// namedSubnets returns the subnets that references name by id, in the order of the references. One
// that filters find has an empty id.
func namedSubnets(references []infrav1.AWSResourceReference) []string {
	ids := make([]string, len(references))
	for i, reference := range references {
		ids[i] = ptr.Deref(reference.ID, "")
	}
	return ids
}

// overriddenMembers returns the members of a launch template that every override has in its place.
func overriddenMembers(mixed *infrav1.MixedInstancesPolicy) []string {
	if mixed == nil || len(mixed.Overrides) == 0 {
		return nil
	}
	if slices.ContainsFunc(mixed.Overrides, func(override infrav1.Overrides) bool { return override.ImageID == "" }) {
		return []string{"InstanceType"}
	}
	return []string{"InstanceType", "ImageId"}
}

// complete adds to the launch config that is created for a pool what only pools with a group of
// their own want. Present is what there is, nil if there is none.
func complete(in input, wanted *infrav1.AWSLaunchConfigSpec, present *infrav1.AWSLaunchConfig) {
	spec, machine := &in.Object.Spec, &in.Seen.MachinePool.Spec.Template.Spec
	wanted.KubernetesVersion = machine.Version
	if name := ptr.Deref(machine.Bootstrap.DataSecretName, ""); name != "" {
		wanted.Bootstrap = &infrav1.LaunchConfigBootstrap{DataSecretName: name, Storage: spec.BootstrapStorage, Ignition: spec.Ignition.DeepCopy()}
	}
	presentType := ""
	if present != nil {
		presentType, wanted.Rollback = present.Spec.InstanceType, keptRollback(in, present)
		if wanted.LaunchTemplateName == "" && spec.LaunchConfigTemplateRef != nil {
			// EC2 renames no template, of a pool that named one before
			wanted.LaunchTemplateName = present.Spec.LaunchTemplateName
		}
	}
	// A group with overrides needs no type in its template, but the image's architecture follows
	// from one, and cluster-autoscaler reads the template's to know what a node of an empty group
	// would be.
	if policy := spec.MixedInstancesPolicy; wanted.InstanceType == "" && policy != nil && len(policy.Overrides) > 0 {
		wanted.InstanceType = policy.Overrides[0].InstanceType
		// A different first override does not change existing nodes: the type stays for as long as
		// it is among the overrides.
		if slices.ContainsFunc(policy.Overrides, func(override infrav1.Overrides) bool { return override.InstanceType == presentType }) {
			wanted.InstanceType = presentType
		}
	}
}

// keptRollback returns the rollback that goes on: until the user wants none any longer or asks for
// another attempt, or the spec asks for something other than what failed. While a version is pinned,
// it is not known what the spec asks for.
func keptRollback(in input, config *infrav1.AWSLaunchConfig) *infrav1.Rollback {
	if preferences := in.Object.Spec.RefreshPreferences; preferences == nil || !preferences.Rollback || retries(in) {
		return nil
	}
	ready := meta.FindStatusCondition(config.Status.Conditions, infrav1.ReadyCondition)
	if config.Spec.PinnedVersion == nil && ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == config.Generation && config.Status.RolledBackFrom == "" {
		return nil
	}
	return config.Spec.Rollback
}
