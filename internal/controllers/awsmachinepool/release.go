package awsmachinepool

import (
	"context"
	"fmt"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// releaseSteps make a pool such that CAPA runs it without replacing an instance, and then leave it alone. The finalizer stays: CAPA's is the same.
func (r *Reconciler) releaseSteps() []reconciling.Step[*pass] {
	return []reconciling.Step[*pass]{
		{Name: "waiting for the MachinePool", Run: r.awaitOwner},
		{Name: "learning about the cluster", Run: r.learnCluster},
		{Name: "reaching AWS", Run: r.reachCloud},
		{Name: "observing the Auto Scaling group", Run: r.observeReleased},
		{Name: "releasing the launch template", Run: r.releaseTemplate},
		{Name: "releasing the Auto Scaling group", Run: r.releaseGroup},
		{Name: "letting the launch config go", Run: r.releaseConfig},
	}
}

// observeReleased sees the group anew. One that is not the pool's has been released, or never was taken over.
func (r *Reconciler) observeReleased(ctx context.Context, p *pass) reconciling.Outcome {
	err := r.see(ctx, p, true)
	if seeReason(err, "") != "" {
		p.group, p.adopting = nil, false
		return reconciling.Continue()
	}
	if err != nil {
		return outcome.Of(p.pool, infrav1.ReleasedCondition, infrav1.ReleasingReason, err)
	}
	return reconciling.Continue()
}

// held says whether the group still is Slipway's.
func (p *pass) held() bool { return p.group != nil && !p.adopting }

// releaseTemplate has the launch config leave a version that CAPA finds in order.
func (r *Reconciler) releaseTemplate(ctx context.Context, p *pass) reconciling.Outcome {
	if !p.held() {
		return reconciling.Continue()
	}
	if p.group.Name != p.pool.Name {
		return common.RefuseRelease(p.pool, infrav1.NameTakenReason, fmt.Sprintf(
			"Cluster API Provider AWS finds a group by its pool's name, %s, and this one is called %s", p.pool.Name, p.group.Name))
	}
	if p.pool.Spec.AWSLaunchTemplate == nil {
		return common.RefuseRelease(p.pool, infrav1.InvalidSpecReason,
			"Cluster API Provider AWS knows neither launchConfigRef nor launchConfigTemplateRef: make a pool with awsLaunchTemplate, and move to it")
	}
	config, end := common.OwnLaunchConfig(ctx, r.Client, p.pool)
	switch {
	case end != nil:
		return *end
	case config == nil: // somebody took it away, and it is needed once more
		if made := r.launchConfig(p).Create(ctx, r.Client); made != reconciling.Continue() {
			return made
		}
		return common.RefuseRelease(p.pool, infrav1.ReleasingReason, "the launch config was made again")
	}
	if config.Status.RolledBackFrom != "" {
		return common.RefuseRelease(p.pool, infrav1.RolledBackReason, fmt.Sprintf(
			"the pool went back, and what its spec asks for is not what runs: Cluster API Provider AWS would launch by the spec again. "+
				"Take annotation %s away, edit the spec to what runs, and set it again then", infrav1.ReleaseAnnotation))
	}
	if end := common.ReleaseLaunchConfig(ctx, r.Client, p.pool, config); end != nil {
		return *end
	}
	if config.Status.LaunchTemplateName != p.pool.Name {
		return common.RefuseRelease(p.pool, infrav1.NameTakenReason, fmt.Sprintf(
			"Cluster API Provider AWS finds a launch template by its pool's name, %s, and this one is called %s",
			p.pool.Name, config.Status.LaunchTemplateName))
	}
	return reconciling.Continue()
}

// releaseGroup has the group follow its template, as CAPA wants it, takes away the hooks that only Slipway answers, and the ownership last.
func (r *Reconciler) releaseGroup(ctx context.Context, p *pass) reconciling.Outcome {
	if !p.held() {
		return reconciling.Continue()
	}
	defer p.cloud.SeenGroups.Invalidate(p.group.Name)
	err := p.cloud.Groups.FollowLatest(ctx, *p.group)
	if err == nil {
		err = r.dropOwnHooks(ctx, p)
	}
	if err == nil {
		err = p.cloud.Groups.Disown(ctx, *p.group)
	}
	if err != nil {
		return outcome.Of(p.pool, infrav1.ReleasedCondition, infrav1.ReleasingReason, err)
	}
	r.Report.Done(ctx, p.pool, "ASGReleased", "Left Auto Scaling group %s to Cluster API Provider AWS", p.group.Name)
	return reconciling.Continue()
}

// releaseConfig ends the launch config, whose template stays.
func (r *Reconciler) releaseConfig(ctx context.Context, p *pass) reconciling.Outcome {
	if end := common.LetLaunchConfigGo(ctx, r.Live, r.Client, p.pool); end != nil {
		return *end
	}
	p.cloud.SeenGroups.Forget(p.key())
	p.pool.Status.AutoScalingGroup = nil // so that the group is not taken for one whose owner tag was removed
	return common.ShowReleased(p.pool)
}

// dropOwnHooks takes away hooks that are not the spec's: nobody would answer them. That they are to be put anew is recorded first, for a pool that is
// adopted again.
func (r *Reconciler) dropOwnHooks(ctx context.Context, p *pass) error {
	applied := common.AppliedOf(p.pool)
	if len(applied.Hooks) == 0 {
		return nil
	}
	err := reconciling.Patch(ctx, r.Client, p.pool, func(pool *infrav1.AWSMachinePool) {
		applied.HooksDigest = ""
		applied.Record(pool)
	})
	if err != nil {
		return fmt.Errorf("recording that hooks are taken away: %w", err)
	}
	_, err = p.cloud.Groups.EnsureHooks(ctx, p.group.Name, autoscalinggroup.SortHooks(autoscalinggroup.HooksOf(p.pool.Spec.LifecycleHooks)), applied.Hooks)
	return err
}
