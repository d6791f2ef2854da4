package awsmachinepool

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/inspection"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// launchConfig is how the pool comes to its launch config.
func (r *Reconciler) launchConfig(p *pass) common.PoolLaunchConfig {
	spec := &p.pool.Spec
	return common.PoolLaunchConfig{
		Pool: p.pool, Kind: string(inspection.AWSMachinePool), Given: given(spec.MixedInstancesPolicy), ClusterName: p.machinePool.Spec.ClusterName,
		Inline: spec.AWSLaunchTemplate, Reference: spec.LaunchConfigRef, Template: spec.LaunchConfigTemplateRef,
		VersionsToKeep: spec.VersionsToKeep, AdditionalTags: spec.AdditionalTags, Control: spec.LaunchConfigControl,
		Placement: common.PlacementOf(namedSubnets(spec.Subnets), spec.AvailabilityZones, p.machinePool.Spec.FailureDomains, p.facts),
		Adopt:     p.adoptable(),
		Made:      &r.made, Clock: r.Clock,
		Complete: func(wanted *infrav1.AWSLaunchConfigSpec, present *infrav1.AWSLaunchConfig) {
			complete(p, wanted, present)
		},
		Unfit: func(config *infrav1.AWSLaunchConfigSpec) string { return unfit(p, config) },
		Prepare: func(config *infrav1.AWSLaunchConfig) {
			common.SetLocation(config, common.LocationOf(p.cloud, p.facts.Identity, p.clusterName))
			controllerutil.AddFinalizer(config, infrav1.LaunchConfigFinalizer)
		},
		Show: func(config *infrav1.AWSLaunchConfig) { mirror(p, config) },
	}
}

// namedSubnets returns the subnets that references name by id, in the order of the references. One that filters find has an empty id.
func namedSubnets(references []infrav1.AWSResourceReference) []string {
	ids := make([]string, len(references))
	for i, reference := range references {
		ids[i] = ptr.Deref(reference.ID, "")
	}
	return ids
}

// given are the members of a launch template that every override has in its place.
func given(mixed *infrav1.MixedInstancesPolicy) []string {
	if mixed == nil || len(mixed.Overrides) == 0 {
		return nil
	}
	if slices.ContainsFunc(mixed.Overrides, func(override infrav1.Overrides) bool { return override.ImageID == "" }) {
		return []string{"InstanceType"}
	}
	return []string{"InstanceType", "ImageId"}
}

func (r *Reconciler) ensureLaunchConfig(ctx context.Context, p *pass) reconciling.Outcome {
	ensured := r.launchConfig(p).Ensure(ctx, r.Client)
	if p.config == nil {
		return ensured
	}
	present := ""
	if p.group != nil {
		present = p.group.LaunchTemplateID
	}
	if refused := common.ProveTemplate(ctx, p.cloud, p.pool, p.config, present); refused != nil {
		p.config = nil
		return *refused
	}
	return ensured
}

// complete adds to the launch config that is made for a pool what only pools with a group of their own want. Present is what is there, nil while nothing is.
func complete(p *pass, wanted *infrav1.AWSLaunchConfigSpec, present *infrav1.AWSLaunchConfig) {
	pool, machine := &p.pool.Spec, &p.machinePool.Spec.Template.Spec
	wanted.KubernetesVersion = machine.Version
	if name := ptr.Deref(machine.Bootstrap.DataSecretName, ""); name != "" {
		wanted.Bootstrap = &infrav1.LaunchConfigBootstrap{DataSecretName: name, Storage: pool.BootstrapStorage, Ignition: pool.Ignition.DeepCopy()}
	}
	presentType := ""
	if present != nil {
		presentType, wanted.Rollback = present.Spec.InstanceType, keptRollback(p.pool, present)
		if wanted.LaunchTemplateName == "" && pool.LaunchConfigTemplateRef != nil {
			wanted.LaunchTemplateName = present.Spec.LaunchTemplateName // EC2 renames no template, of a pool that named one before
		}
	}
	// A group with overrides needs no type in its template, but the image's architecture follows from one, and cluster-autoscaler reads
	// the template's to know what a node of an empty group would be.
	if policy := pool.MixedInstancesPolicy; wanted.InstanceType == "" && policy != nil && len(policy.Overrides) > 0 {
		wanted.InstanceType = policy.Overrides[0].InstanceType
		// Another first override makes no other nodes of those that are there: the type stays for as long as it is among them.
		if slices.ContainsFunc(policy.Overrides, func(override infrav1.Overrides) bool { return override.InstanceType == presentType }) {
			wanted.InstanceType = presentType
		}
	}
}

// reservation says whether the pool decides on Capacity Reservations itself, and whether its instances may run in those.
func reservation(pool *infrav1.AWSMachinePoolSpec) (itself, inside bool) {
	itself = pool.CapacityReservation != nil && pool.CapacityReservation.Preference != "default"
	return itself, itself && pool.CapacityReservation.Preference != "none"
}

// skipsMatching is true where refreshes are to leave instances alone that run what is wanted.
func skipsMatching(preferences *infrav1.RefreshPreferences) bool {
	return preferences == nil || !preferences.Disable && ptr.Deref(preferences.SkipMatching, true)
}

// unfit says why the pool can not launch from a launch config that is not written in the pool itself, "" if it can. They are the rules that the API server
// holds for awsLaunchTemplate.
func unfit(p *pass, spec *infrav1.AWSLaunchConfigSpec) string {
	pool, mixed := &p.pool.Spec, p.pool.Spec.MixedInstancesPolicy
	spot, block := common.Bought(spec)
	outside := pool.BootstrapStorage != "" && pool.BootstrapStorage != infrav1.BootstrapStorageUserData
	reserves, inReservation := reservation(pool)
	// A parameter that a spec names is resolved before a version is made of it.
	parameter := spec.Existing != nil && strings.HasPrefix(ptr.Deref(spec.AMI.ID, ""), inspection.ParameterPrefix)
	return cmp.Or(
		common.If(spec.ClusterName != p.machinePool.Spec.ClusterName, fmt.Sprintf("it is of Cluster %q", spec.ClusterName)),
		common.If(spec.Nodegroup != nil, "spec.nodegroup is set, so that its user data is for a managed node group"),
		common.If(spec.InstanceType == "" && spec.InstanceRequirements == nil && (mixed == nil || len(mixed.Overrides) == 0), "it names no instance type, and the pool has no mixedInstancesPolicy.overrides"),
		common.If(untriable(spec), "it asks for a dry run, which is of one instance type, and names none: give instanceType, or remove verify"),
		common.If(mixed != nil && spot, "it asks for Spot Instances, which mixedInstancesPolicy does in its own way (onDemandPercentageAboveBaseCapacity)"),
		common.If(mixed != nil && block, "it asks for a Capacity Block, which can not be used with mixedInstancesPolicy"),
		unfitToWait(pool.WarmPool, spec, spot || block, parameter),
		common.If(parameter && skipsMatching(pool.RefreshPreferences), "its image is a Systems Manager parameter, with which AWS can not tell which instances to leave alone: set refreshPreferences.skipMatching to false"),
		common.If(outside && spec.IamInstanceProfile == "", "it has no iamInstanceProfile, with which instances read bootstrap data outside of the launch template (bootstrapStorage)"),
		common.If(reserves && ptr.Deref(spec.CapacityReservationID, "") != "", "it names a Capacity Reservation, which capacityReservation of the pool overrules"),
		common.If(inReservation && spot, "it asks for Spot Instances, which can not run in the Capacity Reservation of the pool"),
	)
}

// unfitToWait returns why instances of a launch config cannot be in the warm pool, "" if they can or there is none.
func unfitToWait(pool *infrav1.WarmPool, spec *infrav1.AWSLaunchConfigSpec, bought, parameter bool) string {
	if pool == nil {
		return ""
	}
	return cmp.Or(
		common.If(bought, "it asks for Spot Instances or a Capacity Block, and the pool has a warmPool"),
		common.If(pool.State == hibernatedWarmPool && !hibernates(spec),
			"its instances cannot hibernate, and the pool has a warmPool in state Hibernated: set hibernationOptions.configured to true, or warmPool.state to Stopped"),
		common.If(parameter, "its image is a Systems Manager parameter, and Auto Scaling has no warm pool of such instances"),
	)
}

// hibernatedWarmPool is the state of a warm pool whose instances hibernate.
const hibernatedWarmPool = "Hibernated"

// hibernates reports whether instances of a launch config can hibernate, or it is for AWS to say, which has the launch template.
func hibernates(spec *infrav1.AWSLaunchConfigSpec) bool {
	return spec.Existing != nil || spec.HibernationOptions != nil && spec.HibernationOptions.Configured
}

// untriable is true for a launch config that asks for a dry run and has no instance type, of which there is none.
func untriable(spec *infrav1.AWSLaunchConfigSpec) bool {
	return spec.Verify != "" && spec.InstanceType == ""
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

// mirror shows the state of the launch config on the pool, and lets the pass use it only if it is ready for its current generation.
func mirror(p *pass, config *infrav1.AWSLaunchConfig) {
	mirrorAdoption(p, config)
	if common.ShowLaunchConfig(p.pool, config) {
		p.config = config
	}
	p.awaiting = common.HasToAct(config)
}
