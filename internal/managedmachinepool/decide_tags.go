package managedmachinepool

import (
	"strings"
	"time"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/tagdiff"
)

// hookCheck is how often the hooks of a pool are described while nobody changes them: there is no
// call for the hooks of many groups.
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
	announced := func(pool *infrav1.AWSManagedMachinePool) { common.AnnounceTags(pool, asked) }
	if tagsDiffer(desired.Tags, desired.RetiredTags, group.Tags) && !succeeded[tagNodegroup](in) {
		annotate(in, plan, announced)
		action := tagNodegroup{Group: group.Name, Tags: desired.Tags, Retired: desired.RetiredTags}
		plan.Do(action, "%s differ", keysOf(tagdiff.Stale(action.Tags, group.Tags), keysIn(tagdiff.Retired(action.Retired, action.Tags, group.Tags))))
		return true
	}
	if members == nil {
		annotate(in, plan, announced)
		return true
	}
	if tagsDiffer(asked, desired.RetiredTags, members.Tags) && !succeeded[tagGroup](in) {
		annotate(in, plan, announced)
		action := tagGroup{Group: members.Name, Tags: asked, Retired: desired.RetiredTags}
		plan.Do(action, "%s differ", keysOf(tagdiff.Stale(asked, members.Tags), keysIn(tagdiff.Retired(action.Retired, asked, members.Tags))))
		return true
	}
	annotate(in, plan, func(pool *infrav1.AWSManagedMachinePool) { common.ConfirmTags(pool, asked) })
	return true
}

// tagsCanBeSet reports whether there is a node group of the pool's with an Auto Scaling group.
func tagsCanBeSet(in input) bool {
	return in.Seen.Group != nil && !in.Seen.Adopting && in.Seen.Group.Works()
}

// failedTags returns why tags could not be set in this pass.
func failedTags(in input) error {
	if err := failed[tagNodegroup](in); err != nil {
		return err
	}
	return failed[tagGroup](in)
}

// tagsDiffer reports whether tags are to be set or removed.
func tagsDiffer(wanted map[string]string, retired []string, seen map[string]string) bool {
	return len(tagdiff.Stale(wanted, seen))+len(tagdiff.Retired(retired, wanted, seen)) > 0
}

// keysIn returns the keys of tags.
func keysIn(tags map[string]string) []string {
	keys := make([]string, 0, len(tags))
	for key := range tags {
		keys = append(keys, key)
	}
	return keys
}

// ensureHooks puts the pool's lifecycle hooks on EKS's Auto Scaling group: those that changed at
// once, and otherwise checks now and then whether they still are as they were put.
func ensureHooks(in input, plan *reconcile.Plan) bool {
	wanted, applied, digest := autoscalinggroup.HooksOf(in.Object.Spec.AWSLifecycleHooks), common.AppliedOf(in.Object), ""
	if !tagsCanBeSet(in) || in.Seen.Members == nil || failedTags(in) != nil || len(wanted)+len(applied.Hooks) == 0 {
		return true
	}
	if len(wanted) > 0 {
		digest = autoscalinggroup.HooksDigest(wanted) + "/" + in.Seen.Members.Name
	}
	hooks := in.Seen.Hooks
	if !hooks.Read && hooks.Err == nil && applied.HooksDigest == digest && digest != "" && in.Seen.HooksDue.After(in.Now) {
		plan.LookAgain(in.Seen.HooksDue.Sub(in.Now))
		return true
	}
	if hooks.Err == nil {
		hooks.Err = failed[changeHooks](in)
	}
	switch {
	case hooks.Err != nil:
		pool.ShowFailure(in.Object, plan, infrav1.NodegroupReadyCondition, infrav1.NodegroupReconcileFailedReason, hooks.Err)
		return true
	case !hooks.Read, hooks.Group != in.Seen.Members.Name:
		plan.Need(needHooks)
		return true
	}
	record := func(names []string, digest string) {
		annotate(in, plan, func(pool *infrav1.AWSManagedMachinePool) {
			applied := common.AppliedOf(pool)
			applied.Hooks, applied.HooksDigest = names, digest
			applied.Record(pool)
		})
	}
	names := autoscalinggroup.HookNames(wanted)
	if changes := autoscalinggroup.HookChanges(wanted, applied.Hooks, hooks.List); len(changes) > 0 && !succeeded[changeHooks](in) {
		record(common.Union(applied.Hooks, names), "")
		plan.Do(changeHooks{Group: in.Seen.Members.Name, Changes: changes}, "%s", hooksDiffer(changes))
		return true
	}
	record(names, digest)
	plan.LookAgain(common.NextTurn(in.Now, hookCheck, keyOf(in)).Sub(in.Now))
	return true
}

// hooksDiffer lists the hooks that are to be changed.
func hooksDiffer(changes []autoscalinggroup.HookChange) string {
	names := make([]string, 0, len(changes))
	for _, change := range changes {
		names = append(names, change.Hook.Name)
	}
	return strings.Join(names, ", ") + " differ from what the pool asks for"
}
