package awsmachinepool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// RetainedAnnotation holds the IDs of the instances whose termination Slipway abandoned, as JSON, so that it terminates no others. It is written before the
// termination is abandoned.
const RetainedAnnotation = "slipway.infrastructure.cluster.x-k8s.io/retained"

// retains reports whether the group keeps instances whose termination is abandoned: by the spec, or as the group is where the spec says nothing.
func retains(p *pass) bool {
	action := ""
	if policy := p.pool.Spec.InstanceLifecyclePolicy; policy != nil {
		action = policy.RetentionTriggers.TerminateHookAbandon
	}
	if p.group != nil {
		action = cmp.Or(action, p.group.Settings.Abandoned)
	}
	return action == infrav1.RetentionActionRetain
}

// retainedIDs returns the instances whose termination Slipway abandoned. It returns none for an annotation that cannot be read: then a user decides about them.
func retainedIDs(p *pass) []string {
	var ids []string
	if json.Unmarshal([]byte(p.pool.Annotations[RetainedAnnotation]), &ids) != nil {
		return nil
	}
	return ids
}

// retainedHere reports whether an instance is retained because Slipway abandoned its termination.
func retainedHere(p *pass, instance autoscalinggroup.Instance) bool {
	return instance.Retained() && slices.Contains(retainedIDs(p), instance.ID)
}

// retainedElsewhere returns the IDs of the instances that are retained because another hook, or the time that passed without a manager, abandoned their termination.
func retainedElsewhere(p *pass) []string {
	var ids []string
	for _, instance := range p.group.Instances {
		if instance.Retained() && !retainedHere(p, instance) {
			ids = append(ids, instance.ID)
		}
	}
	return ids
}

// draining reports whether the time limit of drains does not hold for an instance: it is retained until its node is empty, or its pool is deleted.
func draining(p *pass, instance autoscalinggroup.Instance) bool {
	return instance.Retained() && p.pool.DeletionTimestamp.IsZero()
}

// recordRetained adds instances to those whose termination Slipway abandons, and drops those that are no longer in the group.
func (r *Reconciler) recordRetained(ctx context.Context, p *pass, added ...string) error {
	recorded := retainedIDs(p)
	wanted := slices.DeleteFunc(slices.Concat(recorded, added), func(id string) bool { return !slices.Contains(p.group.InstanceIDs(), id) })
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	if slices.Equal(recorded, wanted) {
		return nil
	}
	var text []byte
	if len(wanted) > 0 {
		var err error
		if text, err = json.Marshal(wanted); err != nil {
			panic(err) // strings alone: there is nothing that JSON cannot write
		}
	}
	err := reconciling.Patch(ctx, r.Client, p.pool, func(pool *infrav1.AWSMachinePool) {
		reconciling.SetAnnotation(pool, RetainedAnnotation, string(text))
	})
	if err != nil {
		return fmt.Errorf("recording which instances are retained: %w", err)
	}
	return nil
}

// keepOrEndRetained has an instance retained whose time is up, and terminates one that was retained and whose node is empty. It reports whether there is
// nothing else to do about the instance.
func (r *Reconciler) keepOrEndRetained(ctx context.Context, p *pass, d departure) (bool, error) {
	switch {
	case d.Retained():
		return true, r.terminateRetained(ctx, p, d)
	case d.Held() && !d.ReplacesRoot() && d.expired && !d.empty && retains(p) && p.pool.DeletionTimestamp.IsZero() && !r.drains.note(p.key(), d.ID).letGo:
		return true, r.retain(ctx, p, d)
	}
	return false, nil
}

// retain abandons the termination of an instance whose node was not drained in time. The group replaces it, and its node is drained further.
func (r *Reconciler) retain(ctx context.Context, p *pass, d departure) error {
	if err := r.recordRetained(ctx, p, d.ID); err != nil {
		return err
	}
	if err := p.cloud.Groups.Abandon(ctx, p.group.Name, d.ID); err != nil {
		return err
	}
	r.drains.update(p.key(), d.ID, func(note *drainNote) { note.letGo = true })
	r.Report.Warn(ctx, p.pool, "InstanceRetained", "Instance %s is retained because its node was not drained within %s; %s. The group launches a replacement, and the "+
		"instance is terminated once its node is empty", d.ID, drainTimeout(p), d)
	return nil
}

// terminateRetained terminates an instance that was retained and whose node is empty. The drain hook holds it again, and is told to let it go.
func (r *Reconciler) terminateRetained(ctx context.Context, p *pass, d departure) error {
	if !d.done() || r.drains.note(p.key(), d.ID).terminated {
		return nil
	}
	if err := p.cloud.Groups.Terminate(ctx, p.group.Name, d.ID, false); err != nil {
		return err
	}
	r.drains.update(p.key(), d.ID, func(note *drainNote) { note.terminated = true })
	p.cloud.SeenGroups.InMotion(p.key(), true)
	r.Report.Done(ctx, p.pool, "NodeDrained", "Drained node of retained instance %s, which is terminated", d.ID)
	return nil
}
