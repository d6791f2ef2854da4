package awslaunchconfig

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/reconciling"
)

const (
	// pruneAgain is when versions that were in use are looked at again.
	pruneAgain = 30 * time.Minute
	// stillUsed is when a template that a group still uses is looked at again.
	stillUsed = 15 * time.Second
)

// deletion ends a config: consumers first, then the template, the finalizer last. It reads no bootstrap data, and needs neither
// status nor the cluster objects.
func (r *Reconciler) deletion() []reconciling.Step[*pass] {
	return []reconciling.Step[*pass]{
		{Name: "reaching AWS", Run: r.reachCloudForDeletion},
		{Name: "leaving the launch template to its pool", Run: r.leaveToPool},
		{Name: "waiting for consumers", Run: r.awaitConsumers},
		{Name: "deleting the launch template", Run: r.deleteTemplate},
		{Name: "deleting bootstrap data outside of the template", Run: r.deleteStored},
		{Name: "letting the object go", Run: r.release},
	}
}

// reachCloudForDeletion lets an object go for which nothing was ever made in AWS.
func (r *Reconciler) reachCloudForDeletion(ctx context.Context, p *pass) reconciling.Outcome {
	var outcome reconciling.Outcome
	p.cloud, outcome = common.ReachForDeletion(ctx, r.Clouds, r.Client, p.config, p.owner, "")
	if p.cloud == nil && outcome == reconciling.Continue() {
		return r.release(ctx, p)
	}
	if p.cloud == nil {
		r.Clouds.ForgetTemplate(p.key()) // the sweeps would go on looking
	}
	return outcome
}

// leaveToPool lets go of a config that was deleted while its pool lives on, and keeps the template: the pool creates the config again, which finds the template
// by its tags. To wait for the pool would be to wait forever, and to delete the template would take it from a group that uses it. The same holds for a pool
// that has taken the place of the config's own, which somebody removed with its finalizer.
func (r *Reconciler) leaveToPool(ctx context.Context, p *pass) reconciling.Outcome {
	reference := metav1.GetControllerOf(p.config)
	if reference == nil {
		return reconciling.Continue()
	}
	pools := map[string]client.Object{"AWSMachinePool": &infrav1.AWSMachinePool{}, "AWSManagedMachinePool": &infrav1.AWSManagedMachinePool{}}
	pool, isPool := pools[reference.Kind]
	if !isPool {
		return reconciling.Continue()
	}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: p.config.Namespace, Name: reference.Name}, pool)
	if client.IgnoreNotFound(err) != nil {
		return reconciling.Fail(fmt.Errorf("reading %s %q: %w", reference.Kind, reference.Name, err))
	}
	switch {
	case err != nil || pool.GetDeletionTimestamp() != nil:
		return reconciling.Continue()
	case pool.GetUID() != reference.UID && !launchesFrom(pool, p.config):
		return reconciling.Continue()
	case pool.GetUID() == reference.UID && releasing(p.config):
		return r.disown(ctx, p)
	}
	return r.release(ctx, p)
}

// launchesFrom reports whether a pool has a launch config of its own, with the name of this one.
func launchesFrom(pool client.Object, config *infrav1.AWSLaunchConfig) bool {
	switch pool := pool.(type) {
	case *infrav1.AWSMachinePool:
		return pool.Spec.LaunchConfigRef == nil && pool.Name == config.Name
	case *infrav1.AWSManagedMachinePool:
		return pool.Spec.LaunchConfigRef == nil && pool.Name == config.Name && pool.Spec.Templated()
	}
	return false
}

// awaitConsumers waits while a group of the config uses the template: a group without its template can not replace an instance.
func (r *Reconciler) awaitConsumers(ctx context.Context, p *pass) reconciling.Outcome {
	found, err := p.cloud.SeenTemplates.Get(ctx, p.key(), candidates(p.config), true)
	if err != nil {
		return outcome.Of(p.config, infrav1.DeletingCondition, infrav1.LaunchTemplateDeleteFailedReason, err)
	}
	p.seen.Template, p.seen.Taken = choose(p.config, found)
	if p.seen.Template == nil {
		return reconciling.Continue()
	}
	inUse, err := p.cloud.Groups.VersionsInUse(ctx, owner(p.config), p.seen.Template.ID)
	if err == nil {
		err = r.nodegroupVersions(ctx, p.cloud, p.config, p.seen.Template.ID, nil, inUse)
	}
	if err != nil {
		return outcome.Of(p.config, infrav1.DeletingCondition, infrav1.LaunchTemplateDeleteFailedReason, err)
	}
	if len(inUse) > 0 {
		message := fmt.Sprintf("Auto Scaling groups or node groups still use launch template %s (version %s); it is deleted once none does", p.seen.Template.ID, joined(inUse))
		reconciling.True(p.config, infrav1.DeletingCondition, infrav1.DeletingReason, message)
		return reconciling.ComeBack(stillUsed, message)
	}
	return reconciling.Continue()
}

// joined lists versions for a message, in order.
func joined(versions map[int64]bool) string {
	var texts []string
	for _, version := range slices.Sorted(maps.Keys(versions)) {
		texts = append(texts, strconv.FormatInt(version, 10))
	}
	return strings.Join(texts, ", ")
}

// deleteTemplate deletes what is ours. A template that can not be seen is looked for a second time, because one that was made a moment before
// may not be visible yet.
func (r *Reconciler) deleteTemplate(ctx context.Context, p *pass) reconciling.Outcome {
	if p.seen.Template == nil {
		if wait := r.unseen.Elapsed(p.key(), r.Clock.Now()); wait < lookAgain {
			const message = "EC2 lists no launch template of this object; it is asked again, since a launch template that was just created may not be visible yet"
			reconciling.True(p.config, infrav1.DeletingCondition, infrav1.DeletingReason, message)
			return reconciling.ComeBack(lookAgain-wait, message)
		}
		return r.leaveUnowned(ctx, p)
	}
	if err := p.cloud.Templates.Delete(ctx, owner(p.config), *p.seen.Template); err != nil {
		return outcome.Of(p.config, infrav1.DeletingCondition, infrav1.LaunchTemplateDeleteFailedReason, err)
	}
	r.Report.Done(ctx, p.config, "LaunchTemplateDeleted", "Deleted launch template %s (%s)", p.seen.Template.Name, p.seen.Template.ID)
	return reconciling.Continue()
}

// leaveUnowned reports a template that status names and that does not have the config's owner tag: it stays in AWS. A template of the
// annotation that was not adopted stays too.
func (r *Reconciler) leaveUnowned(ctx context.Context, p *pass) reconciling.Outcome {
	id := p.config.Status.LaunchTemplateID
	if id == "" {
		return reconciling.Continue()
	}
	present, err := p.cloud.Templates.One(ctx, id, "")
	if err != nil {
		return outcome.Of(p.config, infrav1.DeletingCondition, infrav1.LaunchTemplateDeleteFailedReason, err)
	}
	if present != nil && !present.OwnedBy(owner(p.config)) {
		r.Report.Warn(ctx, p.config, "LaunchTemplateLeft", "Launch template %s stays in AWS, because it does not have tag %s with value %q: delete it yourself if nothing uses it",
			id, infrav1.TagLaunchConfig, owner(p.config))
	}
	return reconciling.Continue()
}

func (r *Reconciler) release(ctx context.Context, p *pass) reconciling.Outcome {
	if p.cloud != nil {
		p.cloud.SeenTemplates.Forget(p.key())
	}
	r.forget(p.key())
	if err := reconciling.RemoveFinalizer(ctx, r.Client, p.config, infrav1.LaunchConfigFinalizer); err != nil {
		return reconciling.Fail(fmt.Errorf("removing the finalizer: %w", err))
	}
	return reconciling.Stop("the launch template is gone")
}

// inUse are the versions that groups are pointed at, or that instances run.
func (r *Reconciler) inUse(ctx context.Context, cloud *clouds.Cloud, config *infrav1.AWSLaunchConfig, templateID string, known []int64) (map[int64]bool, error) {
	inUse, err := cloud.Groups.VersionsInUse(ctx, owner(config), templateID)
	if err != nil {
		return nil, err
	}
	if err := r.nodegroupVersions(ctx, cloud, config, templateID, known, inUse); err != nil {
		return nil, err
	}
	running, err := cloud.Templates.VersionsRunning(ctx, templateID)
	if err != nil {
		return nil, err
	}
	maps.Copy(inUse, running)
	return inUse, nil
}
