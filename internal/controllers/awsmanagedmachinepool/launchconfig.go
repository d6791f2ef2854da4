package awsmanagedmachinepool

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/inspection"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// launchConfig is how the pool comes to its launch config.
func (r *Reconciler) launchConfig(p *pass) common.PoolLaunchConfig {
	spec := &p.pool.Spec
	return common.PoolLaunchConfig{
		Pool: p.pool, Kind: string(inspection.AWSManagedMachinePool), ClusterName: p.machinePool.Spec.ClusterName,
		Inline: spec.AWSLaunchTemplate, Reference: spec.LaunchConfigRef, Template: spec.LaunchConfigTemplateRef,
		VersionsToKeep: spec.VersionsToKeep, AdditionalTags: spec.AdditionalTags, Control: spec.LaunchConfigControl,
		Placement: common.PlacementOf(spec.SubnetIDs, spec.AvailabilityZones, p.machinePool.Spec.FailureDomains, p.facts),
		Adopt:     p.adoptable(),
		Made:      &r.made, Clock: r.Clock,
		Complete: func(wanted *infrav1.AWSLaunchConfigSpec, present *infrav1.AWSLaunchConfig) {
			complete(p, wanted, present)
		},
		Unfit: func(config *infrav1.AWSLaunchConfigSpec) string { return unfit(config, p) },
		Show:  func(config *infrav1.AWSLaunchConfig) { mirror(p, config) },
	}
}

func (r *Reconciler) ensureLaunchConfig(ctx context.Context, p *pass) reconciling.Outcome {
	if !p.pool.Spec.Templated() {
		reconciling.True(p.pool, infrav1.LaunchTemplateReadyCondition, infrav1.ReadyReason, "the pool has no launch template")
		return reconciling.Continue()
	}
	if !bootstrapNamed(p) {
		return reconciling.Continue() // a version without bootstrap data would be rolled out
	}
	ensured := r.launchConfig(p).Ensure(ctx, r.Client)
	if p.config == nil {
		return p.goOn(ensured)
	}
	present := ""
	if p.group != nil {
		present = p.group.LaunchTemplateID
	}
	if refused := common.ProveTemplate(ctx, p.cloud, p.pool, p.config, present); refused != nil {
		p.config = nil
		return *refused
	}
	return p.goOn(ensured)
}

// complete adds to the launch config that is made for a pool what only pools of EKS want. What EKS
// forbids in a template is refused by the pool's own validation; the rest says that a node group
// launches from it, so that nothing is added that EKS forbids, or that it adds itself. Present is
// what is there, nil while nothing is.
func complete(p *pass, wanted *infrav1.AWSLaunchConfigSpec, present *infrav1.AWSLaunchConfig) {
	pool, machine := p.pool, p.machinePool.Spec.Template.Spec
	if present != nil {
		wanted.LaunchTemplateName = present.Spec.LaunchTemplateName // EC2 renames no template
	} else {
		wanted.LaunchTemplateName = cmp.Or(wanted.LaunchTemplateName, templateName(pool, p.facts.ControlPlane))
		// a node group that is taken over keeps the template that it was made from, whatever CAPA called that
		if p.adoptable() != "" {
			wanted.LaunchTemplateName = cmp.Or(p.group.LaunchTemplateName, wanted.LaunchTemplateName)
		}
	}
	if pool.Spec.LaunchConfigTemplateRef != nil {
		// a template is for pools of both kinds, and EKS gives nodes the node role's
		wanted.IamInstanceProfile = ""
	}
	wanted.Nodegroup = &infrav1.LaunchConfigNodegroup{AMIType: ptr.Deref(pool.Spec.AMIType, "")}
	if pool.Spec.OwnImage() {
		wanted.Nodegroup.AMIType = infrav1.AMITypeCustom
		// EKS chooses by its own version else, and the template is the same for all of them
		wanted.KubernetesVersion = machine.Version
	}
	if name := ptr.Deref(machine.Bootstrap.DataSecretName, ""); name != "" {
		wanted.Bootstrap = &infrav1.LaunchConfigBootstrap{DataSecretName: name}
	}
}

// unfit says why a node group cannot be made from a launch config that is not written in the pool
// itself, empty if it can (AWS: EKS user guide, launch-templates).
func unfit(spec *infrav1.AWSLaunchConfigSpec, p *pass) string {
	spot, block := common.Bought(spec)
	return cmp.Or(
		common.If(p.pool.Spec.LaunchConfigTemplateRef != nil && spec.NamesImage() && !p.pool.Spec.OwnImage(),
			"it names an image, so that EKS chooses none: set amiType of the pool to CUSTOM, or take the image out of the template"),
		common.If(spec.Verify != "" && p.pool.Spec.LaunchConfigTemplateRef != nil && (spec.InstanceType == "" || !p.pool.Spec.OwnImage()),
			"it asks for a dry run, which is of one instance type and one image: give instanceType there and set amiType of the pool to CUSTOM, or remove verify"),
		common.If(spec.ClusterName != p.machinePool.Spec.ClusterName, fmt.Sprintf("it is of Cluster %q", spec.ClusterName)),
		common.If(spec.Existing != nil && ptr.Deref(p.pool.Spec.AMIType, "") == infrav1.AMITypeCustom && !spec.NamesImage(), "it names no image, and amiType of the pool is CUSTOM"),
		common.If(spec.Nodegroup == nil && spec.Existing == nil, "spec.nodegroup is not set, and it is what keeps out of the template what EKS forbids"),
		common.If(spec.IamInstanceProfile != "", "spec.iamInstanceProfile is set, and EKS gives nodes the node role's"),
		common.If(spot, "it asks for Spot instances: use the pool's capacityType"),
		common.If(spec.InstanceType != "" && len(p.pool.Spec.InstanceTypes) > 0, "it has an instance type, and so has the pool's instanceTypes"),
		common.If(block != (ptr.Deref(p.pool.Spec.CapacityType, "") == infrav1.ManagedMachinePoolCapacityTypeCapacityBlock),
			"marketType CapacityBlock there and capacityType capacityBlock of the pool go together: set both, or neither"),
	)
}

// ownImage is true if the template has the image.
func ownImage(p *pass) bool {
	if p.config != nil && p.pool.Spec.LaunchConfigRef != nil {
		if p.config.Spec.Existing != nil {
			return p.config.Status.Resolved != nil && p.config.Status.Resolved.ImageID != ""
		}
		return p.config.Spec.Nodegroup != nil && p.config.Spec.Nodegroup.AMIType == infrav1.AMITypeCustom
	}
	if p.config == nil && p.pool.Spec.LaunchConfigRef != nil && p.group != nil {
		return p.group.OwnImage() // EKS cannot change it
	}
	return p.pool.Spec.OwnImage()
}

// mirror shows the state of the launch config on the pool, and lets the pass use it only if it is
// ready for its current generation.
func mirror(p *pass, config *infrav1.AWSLaunchConfig) {
	mirrorAdoption(p, config)
	if common.ShowLaunchConfig(p.pool, config) {
		p.config = config
	}
}
