package machinepool

import (
	"cmp"
	"encoding/json"
	"slices"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// RetainedAnnotation holds the IDs of the instances whose termination Slipway abandoned, as JSON,
// so that it terminates no others. It is written before the termination is abandoned.
const RetainedAnnotation = "slipway.infrastructure.cluster.x-k8s.io/retained"

// retains reports whether the group keeps instances whose termination is abandoned: by the spec, or
// as the group is where the spec says nothing.
func retains(in input) bool {
	action := ""
	if policy := in.Object.Spec.InstanceLifecyclePolicy; policy != nil {
		action = policy.RetentionTriggers.TerminateHookAbandon
	}
	if in.Seen.Group != nil {
		action = cmp.Or(action, in.Seen.Group.Settings.Abandoned)
	}
	return action == infrav1.RetentionActionRetain
}

// retainedIDs returns the instances whose termination Slipway abandoned. It returns none for an
// annotation that cannot be read: then a user decides about them.
func retainedIDs(object *infrav1.AWSMachinePool) []string {
	var ids []string
	if json.Unmarshal([]byte(object.Annotations[RetainedAnnotation]), &ids) != nil {
		return nil
	}
	return ids
}

// retainedHere reports whether an instance is retained because Slipway abandoned its termination.
func retainedHere(in input, instance autoscalinggroup.Instance) bool {
	return instance.Retained() && slices.Contains(retainedIDs(in.Object), instance.ID)
}

// retainedElsewhere returns the IDs of the instances that are retained because another hook, or the
// time that passed without a manager, abandoned their termination.
func retainedElsewhere(in input) []string {
	var ids []string
	for _, instance := range in.Seen.Group.Instances {
		if instance.Retained() && !retainedHere(in, instance) {
			ids = append(ids, instance.ID)
		}
	}
	return ids
}

// recordRetained adds instances to the record of instances whose termination Slipway abandons, and
// drops instances that are no longer in the group.
func recordRetained(in input, object *infrav1.AWSMachinePool, added ...string) {
	recorded := retainedIDs(object)
	wanted := slices.DeleteFunc(slices.Concat(recorded, added), func(id string) bool { return !slices.Contains(in.Seen.Group.InstanceIDs(), id) })
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	if slices.Equal(recorded, wanted) {
		return
	}
	var text []byte
	if len(wanted) > 0 {
		var err error
		if text, err = json.Marshal(wanted); err != nil {
			panic(err) // strings alone: there is nothing that JSON cannot write
		}
	}
	reconciling.SetAnnotation(object, RetainedAnnotation, string(text))
}
