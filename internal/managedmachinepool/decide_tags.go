package managedmachinepool

import (
	"cmp"
	"strings"
	"time"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup/lifecyclehook"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/tagdiff"
)

// hookCheck is the interval at which Slipway describes the hooks of a pool if they do not change.
// AWS has no call that describes the hooks of many groups.
const hookCheck = time.Hour

// ensureTags tags the node group, and EKS's Auto Scaling group with what users asked for, which its
// instances inherit; a launch template's own tags count more there. Tags of others stay. EKS counts
// neither as an update.
func ensureTags(in input, plan *reconcile.Plan) bool {
	if !tagsCanBeSet(in) {
		return true
	}
	if err := failedTags(in); err != nil {
		pool.ShowFailure(in.Object, plan, infrav1.NodegroupReadyCondition, infrav1.NodegroupReconcileFailedReason, err)
		return true
	}
	desired, asked, group, members := desiredNodegroup(in), askedTags(in), in.Seen.Group, in.Seen.Members
	announce := func() {
		annotate(in, plan, func(pool *infrav1.AWSManagedMachinePool) { ownership.AnnounceTags(pool, asked) })
	}
	if stale, retired := tagChanges(desired.Tags, desired.RetiredTags, group.Tags); len(stale)+len(retired) > 0 && !reconcile.Succeeded[tagNodegroup](in.Done) {
		announce()
		plan.Do(tagNodegroup{Group: group.Name, Tags: stale, Retired: retired}, "tags %s differ from the spec of the pool", keysOf(stale, retired))
		return true
	}
	if members == nil {
		announce()
		return true
	}
	if stale, retired := tagChanges(asked, desired.RetiredTags, members.Tags); len(stale)+len(retired) > 0 && !reconcile.Succeeded[tagGroup](in.Done) {
		announce()
		plan.Do(tagGroup{Group: members.Name, Tags: stale, Retired: retired}, "tags %s differ from the spec of the pool", keysOf(stale, retired))
		return true
	}
	if in.Seen.Role.Err == nil && reconcile.LastFailure[changeRole](in.Done) == nil { // the role may still have retired tags otherwise
		annotate(in, plan, func(pool *infrav1.AWSManagedMachinePool) { ownership.ConfirmTags(pool, asked) })
	}
	return true
}

// tagsCanBeSet reports whether there is a node group of the pool's with an Auto Scaling group.
func tagsCanBeSet(in input) bool {
	return in.Seen.Group != nil && !in.Seen.Adopting && in.Seen.Group.Works()
}

// failedTags returns why tags could not be set in this pass.
func failedTags(in input) error {
	if err := reconcile.LastFailure[tagNodegroup](in.Done); err != nil {
		return err
	}
	return reconcile.LastFailure[tagGroup](in.Done)
}

// tagChanges returns the tags to set, and the keys of the tags to remove, sorted.
func tagChanges(wanted map[string]string, retired []string, seen map[string]string) (stale map[string]string, removed []string) {
	return tagdiff.Stale(wanted, seen), tagdiff.Retired(retired, wanted)
}

// ensureHooks puts the pool's lifecycle hooks on EKS's Auto Scaling group when they change, and
// otherwise checks now and then whether they still are as they were put.
func ensureHooks(in input, plan *reconcile.Plan) bool {
	wanted, applied := lifecyclehook.Of(in.Object.Spec.AWSLifecycleHooks), ownership.AppliedOf(in.Object)
	if !tagsCanBeSet(in) || in.Seen.Members == nil || failedTags(in) != nil || len(wanted)+len(applied.Hooks) == 0 {
		return true
	}
	hooks, digest := in.Seen.Hooks, hooksDigest(in, wanted)
	confirmed := applied.HooksDigest == digest && digest != "" && in.Seen.HooksDue.After(in.Now)
	switch err := cmp.Or(hooks.Err, reconcile.LastFailure[changeHooks](in.Done)); {
	case err != nil:
		pool.ShowFailure(in.Object, plan, infrav1.NodegroupReadyCondition, infrav1.NodegroupReconcileFailedReason, err)
		return true
	case !hooks.Read && confirmed:
		plan.LookAgain(in.Seen.HooksDue.Sub(in.Now))
		return true
	case !hooks.Read, hooks.Group != in.Seen.Members.Name:
		plan.Need(needHooks)
		return true
	}
	names := lifecyclehook.Names(wanted)
	if changes := lifecyclehook.Changes(wanted, applied.Hooks, hooks.List); len(changes) > 0 && !reconcile.Succeeded[changeHooks](in.Done) {
		recordHooks(in, plan, ownership.Union(applied.Hooks, names), "")
		plan.Do(changeHooks{Group: in.Seen.Members.Name, Changes: changes}, "%s", hooksDiffer(changes))
		return true
	}
	recordHooks(in, plan, names, digest)
	plan.LookAgain(reconciling.NextTurn(in.Now, hookCheck, keyOf(in)).Sub(in.Now))
	return true
}

// hooksDigest returns a text that is the same for the same hooks of the same group, empty for none.
func hooksDigest(in input, hooks []lifecyclehook.Hook) string {
	if len(hooks) == 0 {
		return ""
	}
	return lifecyclehook.Digest(hooks) + "/" + in.Seen.Members.Name
}

// recordHooks records which hooks the group has, or is about to have if the digest is empty.
func recordHooks(in input, plan *reconcile.Plan, names []string, digest string) {
	annotate(in, plan, func(pool *infrav1.AWSManagedMachinePool) {
		applied := ownership.AppliedOf(pool)
		applied.Hooks, applied.HooksDigest = names, digest
		applied.Record(pool)
	})
}

// hooksDiffer returns a reason that lists the hooks that must change.
func hooksDiffer(changes []lifecyclehook.Change) string {
	names := make([]string, 0, len(changes))
	for _, change := range changes {
		names = append(names, change.Hook.Name)
	}
	return strings.Join(names, ", ") + " differ from the spec of the pool"
}
