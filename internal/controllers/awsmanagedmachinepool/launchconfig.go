package awsmanagedmachinepool

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// templated is true for a pool whose node group has a launch template. EKS can neither give one to a node group nor take it away.
func templated(pool *infrav1.AWSManagedMachinePool) bool {
	return pool.Spec.AWSLaunchTemplate != nil || pool.Spec.LaunchConfigRef != nil
}

// launchConfigSpec maps a pool's awsLaunchTemplate to the launch config that is made for it. What EKS forbids in a template is refused by the pool's own
// validation; the rest says that a node group launches from it, so that nothing is added that EKS forbids, or that it adds itself.
func launchConfigSpec(p *pass, templateName string) infrav1.AWSLaunchConfigSpec {
	pool, machine := p.pool, p.machinePool.Spec.Template.Spec
	spec := infrav1.AWSLaunchConfigSpec{
		ClusterName:        p.machinePool.Spec.ClusterName,
		LaunchTemplateName: templateName,
		VersionsToKeep:     pool.Spec.VersionsToKeep,
		AdditionalTags:     pool.Spec.AdditionalTags,
		AWSLaunchTemplate:  *pool.Spec.AWSLaunchTemplate.DeepCopy(),
		Nodegroup:          &infrav1.LaunchConfigNodegroup{AMIType: ptr.Deref(pool.Spec.AMIType, "")},
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
	switch {
	case p.pool.Spec.LaunchConfigRef != nil:
		return r.followLaunchConfig(ctx, p, p.pool.Spec.LaunchConfigRef.Name)
	case p.pool.Spec.AWSLaunchTemplate == nil:
		reconciling.True(p.pool, infrav1.LaunchTemplateReadyCondition, infrav1.ReadyReason, "the pool has no launch template")
		return reconciling.Continue()
	}
	config, end := common.OwnLaunchConfig(ctx, r.Client, p.pool)
	if end != nil {
		return *end
	}
	if config == nil {
		return r.createLaunchConfig(ctx, p)
	}
	// EC2 renames no template.
	wanted := launchConfigSpec(p, config.Spec.LaunchTemplateName)
	labels, annotations := common.LaunchConfigLabels(config, p.pool, p.clusterName), launchConfigAnnotations(config, p)
	if end := common.UpdateLaunchConfig(ctx, r.Client, p.pool, config, wanted, labels, annotations); end != nil {
		return *end
	}
	mirror(p, config)
	return reconciling.Continue()
}

func (r *Reconciler) createLaunchConfig(ctx context.Context, p *pass) reconciling.Outcome {
	// A node group that is taken over keeps the template that it was made from, whatever CAPA called that.
	name := cmp.Or(p.pool.Spec.AWSLaunchTemplate.Name, templateName(p.pool, p.facts.ControlPlane))
	if p.adoptable() != "" {
		name = cmp.Or(p.group.LaunchTemplateName, name)
	}
	config := &infrav1.AWSLaunchConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.pool.Namespace, Name: p.pool.Name},
		Spec:       launchConfigSpec(p, name),
	}
	config.Labels, config.Annotations = common.LaunchConfigLabels(config, p.pool, p.clusterName), launchConfigAnnotations(config, p)
	if end := common.CreateLaunchConfig(ctx, r.Client, p.pool, config); end != nil {
		return *end
	}
	mirror(p, config)
	return reconciling.Continue()
}

// followLaunchConfig looks at a launch config that is not the pool's, and of which nothing is written.
func (r *Reconciler) followLaunchConfig(ctx context.Context, p *pass, name string) reconciling.Outcome {
	config := &infrav1.AWSLaunchConfig{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: p.pool.Namespace, Name: name}, config)
	if apierrors.IsNotFound(err) {
		message := fmt.Sprintf("AWSLaunchConfig %q, which spec.launchConfigRef names, does not exist", name)
		reconciling.False(p.pool, infrav1.LaunchTemplateReadyCondition, infrav1.WaitingForLaunchConfigReason, message)
		return reconciling.Stop(message).AndGoOn()
	}
	if err != nil {
		return reconciling.Fail(fmt.Errorf("reading AWSLaunchConfig %q: %w", name, err))
	}
	if problem := unfit(config, p); problem != "" {
		reconciling.False(p.pool, infrav1.LaunchTemplateReadyCondition, infrav1.InvalidSpecReason, problem)
		return reconciling.Stop(problem).AndGoOn()
	}
	mirror(p, config)
	return reconciling.Continue()
}

// unfit says why a node group can not be made from a launch config that the pool did not write, empty if it can (AWS: EKS user guide, launch-templates).
func unfit(config *infrav1.AWSLaunchConfig, p *pass) string {
	spec := &config.Spec
	for _, problem := range []struct {
		wrong   bool
		message string
	}{
		{spec.ClusterName != p.machinePool.Spec.ClusterName, fmt.Sprintf("it is of Cluster %q", spec.ClusterName)},
		{spec.Nodegroup == nil, "spec.nodegroup is not set, and it is what keeps out of the template what EKS forbids"},
		{spec.IamInstanceProfile != "", "spec.iamInstanceProfile is set, and EKS gives nodes the node role's"},
		{spec.SpotMarketOptions != nil || spec.MarketType == infrav1.MarketTypeSpot, "it asks for Spot instances: use the pool's capacityType"},
		{spec.InstanceType != "" && len(p.pool.Spec.InstanceTypes) > 0, "it has an instance type, and so has the pool's instanceTypes"},
	} {
		if problem.wrong {
			return fmt.Sprintf("AWSLaunchConfig %q is not for this pool: %s", config.Name, problem.message)
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
