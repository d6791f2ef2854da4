package launchconfig

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/bootstrapstorage"

	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// stillUsed is the time until Slipway checks a template again that a group still uses.
const stillUsed = 15 * time.Second

// decideDeletion waits for the consumers of a config, then deletes its template, and removes the
// finalizer last. It reads no bootstrap data, and needs neither status nor the cluster objects.
func decideDeletion(in Input) (plan reconcile.Plan) {
	reconciling.False(in.Object, infrav1.ReadyCondition, infrav1.DeletingReason, "")
	switch {
	case in.Seen.Access.NothingMade:
		plan.Release = true
		return plan
	case !in.Seen.Access.ShowForDeletion(in.Object, &plan):
		return plan
	case staysWithPool(in) && !disowned(in):
		plan.Release = true
		return plan
	case !in.Seen.Template.Looked:
		plan.Need(needTemplate)
		return plan
	}
	plan.Release = decideEnd(in, &plan) && len(plan.Actions) == 0 && len(plan.Needs) == 0
	return plan
}

// decideEnd deletes the template of a config with what belongs to it, or leaves it to Cluster API
// Provider AWS. It reports whether nothing is left.
func decideEnd(in Input, plan *reconcile.Plan) bool {
	reason := infrav1.LaunchTemplateDeleteFailedReason
	if disowned(in) {
		reason = infrav1.LaunchTemplateReconcileFailedReason
	}
	if err := in.Seen.Template.Err; err != nil {
		pool.ShowFailure(in.Object, plan, infrav1.DeletingCondition, reason, err)
		return false
	}
	if disowned(in) {
		return decideDisowning(in, plan)
	}
	return decideConsumers(in, plan) && decideTemplateEnd(in, plan) && decideStorageEnd(in, plan)
}

// staysWithPool reports whether a config was deleted while its pool still exists. The template is
// then kept: the pool creates the config again, and that config finds the template by its tags.
// Waiting for the pool would never finish, and deleting the template would take it from a group
// that uses it. The same holds for a new pool that replaces the config's own pool after a user
// removed that pool's finalizer.
func staysWithPool(in Input) bool {
	owning := in.Seen.Owner
	return owning.Exists && !owning.Deleting && (owning.Same || owning.Own)
}

// disowned reports whether the template is left to Cluster API Provider AWS, because the pool goes
// back to it.
func disowned(in Input) bool {
	return staysWithPool(in) && in.Seen.Owner.Same && pool.Releasing(in.Object)
}

// decideDisowning leaves the template of a released config to CAPA.
func decideDisowning(in Input, plan *reconcile.Plan) bool {
	template := in.Seen.Template.Template
	if template == nil || in.Seen.Template.Ended {
		return true
	}
	if err := failure(in, func(disownTemplate) bool { return true }); err != nil {
		pool.ShowFailure(in.Object, plan, infrav1.DeletingCondition, infrav1.LaunchTemplateReconcileFailedReason, err)
		return false
	}
	plan.Do(disownTemplate{Owner: owner(in.Object), Template: *template}, "the pool is being released to Cluster "+
		"API Provider AWS")
	return false
}

// decideConsumers waits while a group of the config uses the template, or may use it without being
// visible yet: a group without its template cannot replace an instance.
func decideConsumers(in Input, plan *reconcile.Plan) bool {
	template := in.Seen.Template.Template
	if template == nil {
		return true
	}
	if in.Seen.Use == nil {
		plan.Need(needUse)
		return false
	}
	if err := in.Seen.Use.Err; err != nil {
		pool.ShowFailure(in.Object, plan, infrav1.DeletingCondition, infrav1.LaunchTemplateDeleteFailedReason, err)
		return false
	}
	if inUse := in.Seen.Use.InUse; len(inUse) > 0 {
		reconciling.True(in.Object, infrav1.DeletingCondition, infrav1.DeletingReason, fmt.Sprintf(
			"Auto Scaling groups or node groups still use launch template %s (version %s). Slipway deletes it "+
				"when none uses it", template.ID, joined(inUse)))
		plan.LookAgain(stillUsed)
		return false
	}
	user := unseenUser(in)
	if user == nil {
		return true
	}
	wait := deletionSeen(in).Add(usersVisibleAfter).Sub(in.Now)
	if wait <= 0 {
		return true
	}
	reconciling.True(in.Object, infrav1.DeletingCondition, infrav1.DeletingReason, fmt.Sprintf(
		"no visible group uses launch template %s, but one that %s %s just created may not be visible yet. "+
			"Slipway deletes the launch template when it is certain that it is unused", template.ID, user.Kind, user.Name))
	plan.LookAgain(min(wait, describeAgain))
	return false
}

// unseenUser returns a pool that may have created a group from the template which AWS does not
// describe yet, nil if there is none. A pool that has seen that its group is gone, or going, has no
// such group. The node group of an AWSManagedMachinePool can be deleted before it is visible, and
// not long after that.
func unseenUser(in Input) *infrav1.LaunchConfigUser {
	reference := metav1.GetControllerOf(in.Object)
	for _, used := range in.Seen.Usages {
		own := reference == nil || reference.UID == used.uid
		if own && (!used.groupEnded || in.Now.Before(used.deletingSince.Add(usersVisibleAfter))) {
			return &used.user
		}
	}
	return nil
}

// deletionSeen returns when this controller first checked what it has to delete, by its own clock,
// and records that time in status.
func deletionSeen(in Input) time.Time {
	status := &in.Object.Status
	if status.DeletionSeen == nil {
		status.DeletionSeen = &metav1.Time{Time: ceiling(in.Now)}
	}
	return status.DeletionSeen.Time
}

// joined lists versions for a message, in order.
func joined(versions map[int64]bool) string {
	var texts []string
	for _, version := range slices.Sorted(maps.Keys(versions)) {
		texts = append(texts, strconv.FormatInt(version, 10))
	}
	return strings.Join(texts, ", ")
}

// decideTemplateEnd deletes what is ours. A template that cannot be seen is looked for a second
// time, because one that was made a moment before may not be visible yet.
func decideTemplateEnd(in Input, plan *reconcile.Plan) bool {
	seen := in.Seen.Template
	switch {
	case seen.Ended:
		return true
	case seen.Template == nil:
		if wait := deletionSeen(in).Add(describeAgain).Sub(in.Now); wait > 0 {
			reconciling.True(in.Object, infrav1.DeletingCondition, infrav1.DeletingReason,
				"EC2 does not list the launch template of this object. Slipway checks again, because a new "+
					"launch template may not be visible yet")
			plan.LookAgain(wait)
			return false
		}
		return decideUnowned(in, plan)
	}
	if err := failure(in, func(deleteTemplate) bool { return true }); err != nil {
		pool.ShowFailure(in.Object, plan, infrav1.DeletingCondition, infrav1.LaunchTemplateDeleteFailedReason, err)
		return false
	}
	plan.Do(deleteTemplate{Owner: owner(in.Object), Template: *seen.Template}, "AWSLaunchConfig %s is being deleted, and nothing uses its launch template", in.Object.Name)
	return false
}

// decideUnowned reports a template that status names and that does not have the config's owner tag:
// it stays in AWS. A template of the annotation that was not adopted stays too.
func decideUnowned(in Input, plan *reconcile.Plan) bool {
	id := in.Object.Status.LaunchTemplateID
	if id == "" {
		return true
	}
	named := in.Seen.Template.Named
	if named == nil {
		plan.Need(needNamed)
		return false
	}
	if named.Err != nil {
		pool.ShowFailure(in.Object, plan, infrav1.DeletingCondition, infrav1.LaunchTemplateDeleteFailedReason, named.Err)
		return false
	}
	if named.Value != nil && !named.Value.OwnedBy(owner(in.Object)) {
		plan.Tell(reconcile.Warningf(infrav1.LaunchTemplateLeftEvent, "Launch template %s does not have tag %s "+
			"with value %q, so Slipway does not delete it. Delete it yourself if nothing uses it",
			id, infrav1.TagLaunchConfig, owner(in.Object)))
	}
	return true
}

// decideStorageEnd deletes all bootstrap data of a config whose template is gone.
func decideStorageEnd(in Input, plan *reconcile.Plan) bool {
	var also []bootstrapstorage.Location
	if location, known := lastWritten(in.Object); known {
		also = append(also, location)
	}
	for _, place := range placesOf(in.Object) {
		isThis := func(action sweepStorage) bool { return action.Place == place }
		if err := failure(in, isThis); err != nil {
			pool.ShowFailure(in.Object, plan, infrav1.DeletingCondition, infrav1.BootstrapStorageFailedReason, err)
			return false
		}
		if !wasDone(in, isThis) {
			plan.Do(sweepStorage{Place: place, Owner: owner(in.Object), Also: also, Tell: true}, "the launch template that referred to it "+
				"was deleted")
		}
	}
	return len(plan.Actions) == 0
}
