package awsmachinepool

import (
	"cmp"
	"context"
	"fmt"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// protection returns the level of deletion protection that holds: the spec's, or the group's where the spec names none.
func protection(p *pass) infrav1.DeletionProtection {
	return cmp.Or(p.pool.Spec.DeletionProtection, infrav1.DeletionProtection(p.group.Settings.DeletionProtection))
}

// respectProtection keeps a pool that is deleted, with its nodes, for as long as its group is protected from that. Else it gives the group the level of the spec, which may
// have been lowered after the pool was deleted, and returns nil.
func (r *Reconciler) respectProtection(ctx context.Context, p *pass) *reconciling.Outcome {
	wanted := protection(p)
	if wanted == infrav1.DeletionProtectionPreventAllDeletion {
		return r.protected(p, reconciling.Stop, "Auto Scaling group %s has deletion protection %s, so it is not deleted. Its %d instances keep running, and the pool remains. "+
			"Set spec.deletionProtection to none to have them deleted", p.group.Name, wanted, len(p.group.Instances))
	}
	if p.group.Settings.DeletionProtection == string(wanted) {
		return nil
	}
	err := p.cloud.Groups.Unprotect(ctx, *p.group, string(wanted))
	p.cloud.SeenGroups.Invalidate(p.group.Name)
	if err != nil {
		failed := outcome.Of(p.pool, infrav1.DeletingCondition, infrav1.ASGDeleteFailedReason, err)
		return &failed
	}
	lowered := *p.group
	lowered.Settings.DeletionProtection = string(wanted)
	p.group = &lowered
	return nil
}

// emptyProtected scales a group to zero that may be deleted only once it is empty, and returns nil when it is. Its instances leave by the hooks of the group.
func (r *Reconciler) emptyProtected(ctx context.Context, p *pass) *reconciling.Outcome {
	if protection(p) != infrav1.DeletionProtectionPreventForceDeletion || len(p.group.Instances) == 0 && p.group.WarmPool == nil && !p.group.WarmPoolDeleting {
		return nil
	}
	var err error
	if !emptied(p) {
		if err = p.cloud.Groups.Empty(ctx, p.group.Name); err == nil {
			r.Report.Done(ctx, p.pool, "ASGEmptying", "Emptying Auto Scaling group %s of its %d instances", p.group.Name, len(p.group.Instances))
		}
	}
	if err == nil {
		_, err = p.cloud.Groups.DeleteWarmPool(ctx, nil, p.group)
	}
	p.cloud.SeenGroups.Invalidate(p.group.Name)
	if err != nil {
		failed := outcome.Of(p.pool, infrav1.DeletingCondition, infrav1.ASGDeleteFailedReason, err)
		return &failed
	}
	p.cloud.SeenGroups.InMotion(p.key(), true)
	again := func(message string) reconciling.Outcome { return reconciling.ComeBack(groupEnding, message) }
	return r.protected(p, again, "Auto Scaling group %s has deletion protection %s, so it is deleted once it is empty: %d of its instances are left. Instances in standby, or protected "+
		"from scale in, or retained, stay until you release them. Set spec.deletionProtection to none to have all of them terminated", p.group.Name, protection(p), len(p.group.Instances))
}

// protected reports what the deletion protection keeps.
func (r *Reconciler) protected(p *pass, end func(string) reconciling.Outcome, format string, values ...any) *reconciling.Outcome {
	message := fmt.Sprintf(format, values...)
	reconciling.True(p.pool, infrav1.DeletingCondition, infrav1.ASGDeletionProtectedReason, message)
	ended := end(message)
	return &ended
}
