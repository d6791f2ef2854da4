package awsmanagedmachinepool

import (
	"context"
	"fmt"
	"strconv"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// releaseSteps make a pool such that CAPA runs it without replacing a node, and then leave it
// alone. The finalizer stays: CAPA's is the same.
//
// CAPA finds a node group by the name in the spec, a template by the pool's name, and compares the
// template's newest version with the spec. It tells the node group of the version in the pool's
// status if the node group has another one, which replaces all nodes: the status goes on naming the
// node group's.
func (r *Reconciler) releaseSteps() []reconciling.Step[*pass] {
	return []reconciling.Step[*pass]{
		{Name: "waiting for the MachinePool", Run: r.awaitOwner},
		{Name: "learning about the cluster", Run: r.learnCluster},
		{Name: "reaching AWS", Run: r.reachCloud},
		{Name: "observing the node group", Run: r.observeReleased},
		{Name: "releasing the launch template", Run: r.releaseTemplate},
		{Name: "releasing the node group", Run: r.releaseNodegroup},
		{Name: "letting the launch config go", Run: r.releaseConfig},
	}
}

// observeReleased sees the node group anew. One that is not the pool's has been released, or never
// was taken over.
func (r *Reconciler) observeReleased(ctx context.Context, p *pass) reconciling.Outcome {
	err := r.look(ctx, p)
	switch {
	case err != nil && reasonFor(err, "") != "":
		p.sighting = sighting{}
	case err != nil:
		return outcome.Of(p.pool, infrav1.ReleasedCondition, infrav1.ReleasingReason, err)
	case p.held() && (p.group.Busy() || p.retiring != nil):
		message := fmt.Sprintf("EKS is doing something with node group %s: it is released when that is done", p.group.Name)
		reconciling.False(p.pool, infrav1.ReleasedCondition, infrav1.ReleasingReason, message)
		return reconciling.ComeBack(lookBusy, message)
	}
	return reconciling.Continue()
}

// held says whether the node group still is Slipway's.
func (p *pass) held() bool { return p.group != nil && !p.adopting }

// releaseTemplate has the launch config leave a version that CAPA finds in order.
func (r *Reconciler) releaseTemplate(ctx context.Context, p *pass) reconciling.Outcome {
	if !p.held() {
		return reconciling.Continue()
	}
	if name := infrav1.DefaultNodegroupName(p.pool.Namespace, p.pool.Name); p.group.Name != p.pool.Spec.EKSNodegroupName && p.group.Name != name {
		return common.RefuseRelease(p.pool, infrav1.NameTakenReason, fmt.Sprintf(
			"Cluster API Provider AWS would look for a node group %s, and this one is called %s: set spec.eksNodegroupName to that", name, p.group.Name))
	}
	if !p.pool.Spec.Templated() {
		return reconciling.Continue()
	}
	if problem := foreignToCAPA(p.pool); problem != "" {
		return common.RefuseRelease(p.pool, infrav1.InvalidSpecReason, problem)
	}
	config, end := common.OwnLaunchConfig(ctx, r.Client, p.pool)
	switch {
	case end != nil:
		return *end
	case config == nil:
		if made := r.launchConfig(p).Create(ctx, r.Client); made != reconciling.Continue() {
			return made
		}
		return common.RefuseRelease(p.pool, infrav1.ReleasingReason, "the launch config was made again")
	}
	if wanted := templateName(p.pool, p.facts.ControlPlane); config.Spec.LaunchTemplateName != wanted || p.group.LaunchTemplateName != wanted {
		return common.RefuseRelease(p.pool, infrav1.NameTakenReason, fmt.Sprintf(
			"Cluster API Provider AWS would look for a launch template %s, and this one is called %s", wanted, p.group.LaunchTemplateName))
	}
	if !common.ShowLaunchConfig(p.pool, config) {
		return common.RefuseRelease(p.pool, infrav1.ReleasingReason, "the launch config is not ready")
	}
	p.config = config
	if template := templateOf(p); !template.Accepts(p.group.LaunchTemplateID, p.group.Version) {
		return common.RefuseRelease(p.pool, infrav1.ReleasingReason, fmt.Sprintf(
			"version %d of the launch template is wanted, and the node group has %d. Take annotation %s away until the pool has rolled out",
			template.Version, p.group.Version, infrav1.ReleaseAnnotation))
	}
	if end := common.ReleaseLaunchConfig(ctx, r.Client, p.pool, config); end != nil {
		return *end
	}
	return reconciling.Continue()
}

// foreignToCAPA says why CAPA cannot run the pool, empty if it can.
func foreignToCAPA(pool *infrav1.AWSManagedMachinePool) string {
	switch {
	case pool.Spec.AWSLaunchTemplate == nil:
		return "Cluster API Provider AWS knows neither spec.launchConfigRef nor spec.launchConfigTemplateRef: make a new pool with awsLaunchTemplate, and move to it"
	case !pool.Spec.OwnImage():
		return "Cluster API Provider AWS can not run a node group whose launch template names no image, and EKS can not change that: " +
			"make a new pool with awsLaunchTemplate.ami or without awsLaunchTemplate, and move to it"
	}
	return ""
}

// releaseNodegroup takes the ownership away, and has status say what CAPA decides by.
func (r *Reconciler) releaseNodegroup(ctx context.Context, p *pass) reconciling.Outcome {
	if !p.held() {
		return reconciling.Continue()
	}
	status := &p.pool.Status
	status.LaunchTemplateID, status.LaunchTemplateVersion = p.group.LaunchTemplateID, nil
	if p.group.LaunchTemplateID != "" {
		status.LaunchTemplateVersion = ptr.To(strconv.FormatInt(p.group.Version, 10))
	}
	r.sightings.Forget(p.key())
	if err := p.cloud.Nodegroups.Disown(ctx, *p.group); err != nil {
		return outcome.Of(p.pool, infrav1.ReleasedCondition, infrav1.ReleasingReason, err)
	}
	r.Report.Done(ctx, p.pool, "NodegroupReleased", "Left node group %s to Cluster API Provider AWS", p.group.Name)
	return reconciling.Continue()
}

// releaseConfig ends the launch config, whose template stays, and forgets what is remembered of a
// replaced node group.
func (r *Reconciler) releaseConfig(ctx context.Context, p *pass) reconciling.Outcome {
	if end := common.LetLaunchConfigGo(ctx, r.Live, r.Client, p.pool); end != nil {
		return *end
	}
	if recorded := r.recordNames(ctx, p, ""); recorded != reconciling.Continue() {
		return recorded
	}
	r.Clouds.ForgetManagedGroup(p.key())
	p.pool.Status.Nodegroup = nil // so that the node group is not taken for one whose owner tag was removed
	return common.ShowReleased(p.pool)
}
