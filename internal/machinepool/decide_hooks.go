package machinepool

import (
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/autoscalinggroup/lifecyclehook"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// wantedHooks returns the hooks that the pool's group should have: the hooks of the spec, and
// Slipway's own.
func wantedHooks(in input) []lifecyclehook.Hook {
	return lifecyclehook.Sort(append(lifecyclehook.Of(in.Object.Spec.LifecycleHooks), drainHooks(in)...))
}

// drainHooks returns the lifecycle hooks that draining needs: one that holds instances on their way
// out. Without a manager it lets them go in the end, or has them retained if the pool says so.
func drainHooks(in input) []lifecyclehook.Hook {
	if !drainWanted(in) {
		return nil
	}
	result := infrav1.LifecycleHookDefaultResultContinue
	if retains(in) { // no manager drained an instance that no manager spoke for
		result = infrav1.LifecycleHookDefaultResultAbandon
	}
	return []lifecyclehook.Hook{{
		Name: autoscalinggroup.DrainHook, Transition: string(infrav1.LifecycleTransitionInstanceTerminating),
		Heartbeat: int32(autoscalinggroup.DrainHeartbeat / time.Second), Result: string(result),
	}}
}

// drainWanted is false if the user opted out: by the field, or by Cluster API's annotation on the
// pool or for its Machines.
func drainWanted(in input) bool {
	if set := in.Object.Spec.NodeDrain; set != nil && set.Disable {
		return false
	}
	_, excluded := in.Object.Annotations[clusterv1.ExcludeNodeDrainingAnnotation]
	if in.Seen.MachinePool != nil && !excluded {
		_, excluded = in.Seen.MachinePool.Spec.Template.Annotations[clusterv1.ExcludeNodeDrainingAnnotation]
	}
	return !excluded
}

// ensureHooks puts hooks that changed at once, and otherwise checks once in a while whether they
// still are as they were put. It reports whether the group may be changed now.
func ensureHooks(in input, plan *reconcile.Plan) bool {
	if !hasHooks(in) {
		return true
	}
	if !in.Seen.Hooks.Read && in.Seen.Hooks.Err == nil && !createdWithHooks(in) {
		if hooksDue(in) {
			plan.Need(needHooks)
			return true
		}
		plan.LookAgain(in.Seen.HooksDue.Sub(in.Now))
		return true
	}
	return checkHooks(in, plan)
}

// checkHooks puts the hooks that the group lacks or has otherwise, and deletes retired hooks.
func checkHooks(in input, plan *reconcile.Plan) bool {
	err := in.Seen.Hooks.Err
	if failure := reconcile.LastFailure[changeHooks](in.Done); failure != nil {
		err = failure
	}
	if err != nil {
		pool.ShowFailure(in.Object, plan, infrav1.ASGReadyCondition, infrav1.ASGUpdateFailedReason, err)
		return false
	}
	if changes := hookChanges(in); len(changes) > 0 && !reconcile.Succeeded[changeHooks](in.Done) {
		plan.Do(changeHooks{Changes: changes, Outside: hooksApplied(in)}, "the lifecycle hooks of the group differ "+
			"from the spec")
		return true
	}
	if wait := in.Seen.HooksDue.Sub(in.Now); wait > 0 {
		plan.LookAgain(wait)
	}
	return true
}

// hookChanges returns how the described hooks differ from the wanted hooks, and which are retired.
func hookChanges(in input) []lifecyclehook.Change {
	if !in.Seen.Hooks.Read {
		return nil
	}
	var given []string
	if !reconcile.Succeeded[changeHooks](in.Done) {
		given = ownership.AppliedOf(in.Object).Hooks
	}
	return lifecyclehook.Changes(wantedHooks(in), given, in.Seen.Hooks.List)
}

// hasHooks reports whether the group should have hooks of the pool, or was given some.
func hasHooks(in input) bool {
	return len(wantedHooks(in))+len(ownership.AppliedOf(in.Object).Hooks) > 0
}

// hooksApplied reports whether the group was given exactly the wanted hooks last.
func hooksApplied(in input) bool {
	hooks := wantedHooks(in)
	return len(hooks) > 0 && ownership.AppliedOf(in.Object).HooksDigest == lifecyclehook.Digest(hooks)
}

// hooksConfirmed reports whether the group is known to have its hooks, by what AWS said in this pass.
func hooksConfirmed(in input) bool {
	if createdWithHooks(in) {
		return true
	}
	return in.Seen.Hooks.Read && in.Seen.Hooks.Err == nil && reconcile.LastFailure[changeHooks](in.Done) == nil && len(hookChanges(in)) == 0
}

// createdWithHooks reports whether the group was created in this pass with all its hooks.
func createdWithHooks(in input) bool {
	hooks := wantedHooks(in)
	return reconcile.Succeeded[createGroup](in.Done) && len(lifecyclehook.WithGroup(hooks)) == len(hooks)
}

// hooksDue reports whether hooks are described in this pass: if they were edited, if something else
// of the group was changed outside Slipway, before instances are replaced or taken away, whose
// nodes the drain hook is there for, and otherwise when the pool has its turn. There is no call for
// the hooks of many groups, so at rest turns are the rarer the more pools there are.
func hooksDue(in input) bool {
	rolls := launchable(in) != nil && !settling(in) && !wanted(in).Launches(*in.Seen.Group)
	return !hooksApplied(in) || changedOutside(in) || rolls || desiredGroup(in).Shrinks(*in.Seen.Group) || !in.Now.Before(in.Seen.HooksDue)
}

// changedOutside reports whether something of the group was found in this pass to have been changed
// outside Slipway.
func changedOutside(in input) bool {
	for _, done := range in.Done {
		switch action := done.Action.(type) {
		case updateGroup:
			if action.Outside && done.Err == nil {
				return true
			}
		case tagGroup:
			if action.Outside && done.Err == nil {
				return true
			}
		}
	}
	return false
}
