package managedmachinepool

import (
	"cmp"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/inspection"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// ensureLaunchConfig keeps the pool's launch config as the pool asks for, or follows the one that
// the pool refers to. The other concerns have their turn without it while it is not ready: sizes can
// change, the version cannot.
func ensureLaunchConfig(in input, plan *reconcile.Plan) bool {
	config := in.Seen.LaunchConfig.Object
	switch {
	case !in.Object.Spec.Templated():
		reconciling.True(in.Object, infrav1.LaunchTemplateReadyCondition, infrav1.ReadyReason, "the pool has no launch template")
		return true
	case !bootstrapNamed(in):
		return true // a version without bootstrap data would be rolled out
	case in.Object.Spec.LaunchConfigRef != nil:
		return followConfig(in, plan)
	case config == nil:
		return createConfig(in, plan)
	case !metav1.IsControlledBy(config, in.Object):
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
	if reason, problem := request.UnfitOwn(&wanted, unfit(in, &wanted)); problem != "" {
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

// followConfig shows a launch config that the pool refers to, without writing to it.
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
		problem = unfit(in, spec)
	}
	return configRequest(in).UnfitReferred(config, problem)
}

// createConfig creates the pool's own launch config.
func createConfig(in input, plan *reconcile.Plan) bool {
	switch err := reconcile.LastFailure[createLaunchConfig](in.Done); {
	case apierrors.IsAlreadyExists(err):
		return exists(in) // it was created just now, and wakes the pool when the cache shows it
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
	if reason, problem := request.UnfitOwn(&config.Spec, unfit(in, &config.Spec)); problem != "" {
		reconciling.False(in.Object, infrav1.LaunchTemplateReadyCondition, reason, problem)
		return true
	}
	config.Labels, config.Annotations = request.Labels(config, source), request.Annotations(config, source)
	plan.Do(createLaunchConfig{Config: config}, "the pool has no launch config")
	return true
}

// showForeignConfig shows that a launch config that is not the pool's has its name.
func showForeignConfig(in input, plan *reconcile.Plan) bool {
	in.Seen.LaunchConfig.ShowForeign(in.Object, plan)
	return exists(in)
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
		return exists(in)
	}
	reconciling.False(in.Object, infrav1.LaunchTemplateReadyCondition, infrav1.InvalidSpecReason, err.Error())
	return true
}

// showConfig shows the state of the launch config on the pool.
func showConfig(in input, config *infrav1.AWSLaunchConfig) {
	showAdoption(in, config)
	pool.ShowLaunchConfig(in.Object, config)
}

// presentTemplate returns the launch template that the node group launches from, empty for none.
func presentTemplate(in input) string {
	if in.Seen.Group == nil {
		return ""
	}
	return in.Seen.Group.LaunchTemplateID
}

// launchable returns the launch config if the pool may launch from what its status names, and nil if
// it may not: it is not ready for its current generation and does not hold back what EC2 would not
// launch either, or it is not for this pool.
func launchable(in input) *infrav1.AWSLaunchConfig {
	config := in.Seen.LaunchConfig
	switch {
	case config.Object == nil || !bootstrapNamed(in) || !pool.Launchable(config.Object) || reconcile.LastFailure[updateLaunchConfig](in.Done) != nil:
		return nil
	case in.Object.Spec.LaunchConfigRef == nil && !metav1.IsControlledBy(config.Object, in.Object):
		return nil
	case in.Object.Spec.LaunchConfigRef != nil && unfitReferred(in) != "", !config.Proven(presentTemplate(in)):
		return nil
	}
	return config.Object
}

// configRequest returns what the pool asks of its launch config.
func configRequest(in input) pool.ConfigRequest {
	spec := &in.Object.Spec
	return pool.ConfigRequest{
		Pool: in.Object, Kind: string(inspection.AWSManagedMachinePool), ClusterName: in.Seen.MachinePool.Spec.ClusterName,
		Template: spec.LaunchConfigTemplateRef, Control: spec.LaunchConfigControl,
		Placement: pool.PlacementOf(spec.SubnetIDs, spec.AvailabilityZones, in.Seen.MachinePool.Spec.FailureDomains, in.Seen.Access.Facts),
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

// complete adds to the launch config that is created for a pool what only pools of EKS want. The
// pool's own validation refuses what EKS forbids in a template; the rest says that a node group
// launches from it, so that nothing is added that EKS forbids, or that it adds itself. Present is
// what there is, nil if there is none.
func complete(in input, wanted *infrav1.AWSLaunchConfigSpec, present *infrav1.AWSLaunchConfig) {
	object, machine := in.Object, in.Seen.MachinePool.Spec.Template.Spec
	if present != nil {
		wanted.LaunchTemplateName = present.Spec.LaunchTemplateName // EC2 renames no template
	} else {
		wanted.LaunchTemplateName = cmp.Or(wanted.LaunchTemplateName, templateName(object, in.Seen.Access.Facts.ControlPlane))
		// a node group that is taken over keeps its template, whatever CAPA called that
		if adoptableTemplate(in) != "" {
			wanted.LaunchTemplateName = cmp.Or(in.Seen.Group.LaunchTemplateName, wanted.LaunchTemplateName)
		}
	}
	if object.Spec.LaunchConfigTemplateRef != nil {
		// a template is for pools of both kinds, and EKS gives nodes the node role's
		wanted.IamInstanceProfile = ""
	}
	wanted.Nodegroup = &infrav1.LaunchConfigNodegroup{AMIType: ptr.Deref(object.Spec.AMIType, "")}
	if object.Spec.OwnImage() {
		wanted.Nodegroup.AMIType = infrav1.AMITypeCustom
		// EKS chooses by its own version else, and the template is the same for all of them
		wanted.KubernetesVersion = machine.Version
	}
	if name := ptr.Deref(machine.Bootstrap.DataSecretName, ""); name != "" {
		wanted.Bootstrap = &infrav1.LaunchConfigBootstrap{DataSecretName: name}
	}
}

// unfit returns why a node group cannot be created from a launch config that is not written in the
// pool itself, empty if it can (AWS: EKS user guide, launch-templates).
func unfit(in input, spec *infrav1.AWSLaunchConfigSpec) string {
	object, amiType := &in.Object.Spec, ptr.Deref(in.Object.Spec.AMIType, "")
	spot, block := pool.Bought(spec)
	return cmp.Or(
		pool.If(object.LaunchConfigTemplateRef != nil && spec.NamesImage() && !object.OwnImage(),
			"it specifies an image, so EKS does not choose one: set amiType of the pool to CUSTOM, or remove "+
				"the image from the launch template"),
		pool.If(spec.Verify != "" && object.LaunchConfigTemplateRef != nil && (spec.InstanceType == "" || !object.OwnImage()),
			"it requests a dry run, which requires an instance type and an image: set its instanceType and set "+
				"amiType of the pool to CUSTOM, or remove verify"),
		pool.If(spec.ClusterName != in.Seen.MachinePool.Spec.ClusterName, fmt.Sprintf("it belongs to Cluster %q", spec.ClusterName)),
		pool.If(spec.Existing != nil && amiType == infrav1.AMITypeCustom && !spec.NamesImage(), "it has no image, but amiType of the "+
			"pool is CUSTOM: set the image, or choose another amiType"),
		pool.If(spec.Nodegroup == nil && spec.Existing == nil, "its spec.nodegroup is not set, so its launch "+
			"template may have settings that EKS rejects: set spec.nodegroup in the AWSLaunchConfig"),
		pool.If(spec.IamInstanceProfile != "", "its spec.iamInstanceProfile is set, but EKS assigns the "+
			"instance profile of the node role: remove it"),
		pool.If(spot, "it requests Spot Instances: remove the request, and set capacityType of the pool to spot"),
		pool.If(spec.InstanceType != "" && len(object.InstanceTypes) > 0, "both it and instanceTypes of the pool "+
			"have instance types: remove one of them"),
		pool.If(block != (ptr.Deref(object.CapacityType, "") == infrav1.ManagedMachinePoolCapacityTypeCapacityBlock),
			"its marketType CapacityBlock and capacityType capacityBlock of the pool must be set together: set "+
				"both, or neither"),
	)
}
