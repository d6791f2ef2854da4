package awsmanagedmachinepool

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// source is what the pool's launch config is made from. Present is that config, nil while there is none. The outcome ends the step, if it is not nil.
func (r *Reconciler) source(ctx context.Context, p *pass, present *infrav1.AWSLaunchConfig) (common.LaunchSource, *reconciling.Outcome) {
	spec := &p.pool.Spec
	if reference := spec.LaunchConfigTemplateRef; reference != nil {
		source, end := common.TemplateSource(ctx, r.Client, p.pool, *reference, present, spec.VersionsToKeep, spec.AdditionalTags)
		source.IamInstanceProfile = "" // a template is for pools of both kinds, and EKS gives nodes the node role's
		return source, end
	}
	return common.PoolSource(spec.AWSLaunchTemplate, spec.VersionsToKeep, spec.AdditionalTags), nil
}

// launchConfigSpec maps a source to the launch config that is made for a pool. What EKS forbids in a template is refused by the pool's own
// validation; the rest says that a node group launches from it, so that nothing is added that EKS forbids, or that it adds itself.
func launchConfigSpec(p *pass, source common.LaunchSource, templateName string) infrav1.AWSLaunchConfigSpec {
	pool, machine := p.pool, p.machinePool.Spec.Template.Spec
	spec := infrav1.AWSLaunchConfigSpec{
		ClusterName:         p.machinePool.Spec.ClusterName,
		LaunchTemplateName:  templateName,
		VersionsToKeep:      source.VersionsToKeep,
		AdditionalTags:      source.AdditionalTags,
		LaunchConfigControl: *pool.Spec.LaunchConfigControl.DeepCopy(),
		AWSLaunchTemplate:   source.AWSLaunchTemplate,
		LaunchConfigData:    source.LaunchConfigData,
		Nodegroup:           &infrav1.LaunchConfigNodegroup{AMIType: ptr.Deref(pool.Spec.AMIType, "")},
	}
	// The name has a field of its own in a launch config.
	spec.Name = ""
	if pool.Spec.OwnImage() {
		spec.Nodegroup.AMIType = infrav1.AMITypeCustom
		spec.KubernetesVersion = machine.Version // EKS chooses by its own version else, and the template is the same for all of them
	}
	if name := machine.Bootstrap.DataSecretName; name != nil && *name != "" {
		spec.Bootstrap = &infrav1.LaunchConfigBootstrap{DataSecretName: *name}
	}
	return spec
}

// ensureLaunchConfig writes the pool's launch config, or looks at the one that it refers to. The pass goes on without it while it is not ready: sizes can
// change, the version can not.
func (r *Reconciler) ensureLaunchConfig(ctx context.Context, p *pass) reconciling.Outcome {
	if !p.pool.Spec.Templated() {
		reconciling.True(p.pool, infrav1.LaunchTemplateReadyCondition, infrav1.ReadyReason, "the pool has no launch template")
		return reconciling.Continue()
	}
	if reference := p.pool.Spec.LaunchConfigRef; reference != nil {
		config, end := common.FollowLaunchConfig(ctx, r.Client, p.pool, reference.Name, func(config *infrav1.AWSLaunchConfig) string {
			return unfit(&config.Spec, p)
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
	// EC2 renames no template.
	wanted := launchConfigSpec(p, source, config.Spec.LaunchTemplateName)
	if problem := unfitTemplate(p, &wanted); problem != "" {
		mirror(p, config) // what the pool has from it before goes on
		reconciling.False(p.pool, infrav1.LaunchTemplateReadyCondition, infrav1.InvalidSpecReason, problem)
		return reconciling.Continue()
	}
	labels, annotations := launchConfigLabels(config, p, source), launchConfigAnnotations(config, p, source)
	if end := common.UpdateLaunchConfig(ctx, r.Client, p.pool, config, wanted, labels, annotations); end != nil {
		return *end
	}
	mirror(p, config)
	source.ShowProblem(p.pool)
	return reconciling.Continue()
}

func (r *Reconciler) createLaunchConfig(ctx context.Context, p *pass, source common.LaunchSource) reconciling.Outcome {
	// A node group that is taken over keeps the template that it was made from, whatever CAPA called that.
	name := cmp.Or(source.Name, templateName(p.pool, p.facts.ControlPlane))
	if p.adoptable() != "" {
		name = cmp.Or(p.group.LaunchTemplateName, name)
	}
	config := &infrav1.AWSLaunchConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.pool.Namespace, Name: p.pool.Name},
		Spec:       launchConfigSpec(p, source, name),
	}
	if problem := unfitTemplate(p, &config.Spec); problem != "" {
		reconciling.False(p.pool, infrav1.LaunchTemplateReadyCondition, infrav1.InvalidSpecReason, problem)
		return reconciling.Stop(problem).AndGoOn()
	}
	config.Labels, config.Annotations = launchConfigLabels(config, p, source), launchConfigAnnotations(config, p, source)
	if end := common.CreateLaunchConfig(ctx, r.Client, p.pool, config); end != nil {
		return *end
	}
	mirror(p, config)
	return reconciling.Continue()
}

// unfitTemplate says why the pool can not launch from the template that it refers to, "" if it can, or refers to none.
func unfitTemplate(p *pass, wanted *infrav1.AWSLaunchConfigSpec) string {
	reference := p.pool.Spec.LaunchConfigTemplateRef
	if reference == nil {
		return "" // the API server refuses what does not go together in one object
	}
	problem := unfit(wanted, p)
	if wanted.NamesImage() && !p.pool.Spec.OwnImage() {
		problem = "it names an image, so that EKS chooses none: set amiType of the pool to CUSTOM, or take the image out of the template"
	}
	if problem == "" {
		return ""
	}
	return fmt.Sprintf("AWSLaunchConfigTemplate %s is not for this pool: %s", common.TemplateKey(p.pool.Namespace, *reference), problem)
}

// unfit says why a node group can not be made from a launch config that is not written in the pool itself, empty if it can (AWS: EKS user guide,
// launch-templates).
func unfit(spec *infrav1.AWSLaunchConfigSpec, p *pass) string {
	block := spec.MarketType == infrav1.MarketTypeCapacityBlock
	if options := spec.InstanceMarketOptions; options != nil {
		block = block || options.MarketType == "capacity-block"
	}
	for _, problem := range []struct {
		wrong   bool
		message string
	}{
		{spec.ClusterName != p.machinePool.Spec.ClusterName, fmt.Sprintf("it is of Cluster %q", spec.ClusterName)},
		{spec.Nodegroup == nil, "spec.nodegroup is not set, and it is what keeps out of the template what EKS forbids"},
		{spec.IamInstanceProfile != "", "spec.iamInstanceProfile is set, and EKS gives nodes the node role's"},
		{spec.SpotMarketOptions != nil || spec.MarketType == infrav1.MarketTypeSpot, "it asks for Spot instances: use the pool's capacityType"},
		{spec.InstanceType != "" && len(p.pool.Spec.InstanceTypes) > 0, "it has an instance type, and so has the pool's instanceTypes"},
		{block != (ptr.Deref(p.pool.Spec.CapacityType, "") == infrav1.ManagedMachinePoolCapacityTypeCapacityBlock),
			"marketType CapacityBlock there and capacityType capacityBlock of the pool go together: set both, or neither"},
	} {
		if problem.wrong {
			return problem.message
		}
	}
	return ""
}

// ownImage is true if the template has the image.
func ownImage(p *pass) bool {
	if p.config != nil && p.pool.Spec.LaunchConfigRef != nil {
		return p.config.Spec.Nodegroup != nil && p.config.Spec.Nodegroup.AMIType == infrav1.AMITypeCustom
	}
	return p.pool.Spec.OwnImage()
}

// launchConfigLabels are the config's own labels, those of its Cluster and manager, and those of the template that it was made from.
func launchConfigLabels(config *infrav1.AWSLaunchConfig, p *pass, source common.LaunchSource) map[string]string {
	return common.LabelSource(common.LaunchConfigLabels(config, p.pool, p.clusterName), source)
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
