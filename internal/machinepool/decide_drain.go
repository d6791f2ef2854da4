package machinepool

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/drain"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// DrainingAnnotation holds since when the nodes of instances are being drained, as JSON by instance
// id. It is what the time limit is counted from: a new manager finds it, clusterctl move takes it
// along, and it is there though the workload cluster is not.
const DrainingAnnotation = "slipway.infrastructure.cluster.x-k8s.io/draining"

const (
	// lookLimit limits the time for which one pass may talk to a workload cluster. Nodes that it
	// did not reach have their turn in the next pass.
	lookLimit = 10 * time.Second
	// signEvery is the interval at which the hold on an instance is extended while its node is
	// being drained.
	signEvery = autoscalinggroup.DrainHeartbeat / 3
)

// departure is an instance on its way out, and how far its node is.
type departure struct {
	autoscalinggroup.Instance
	// since is when its node began to be drained, and until is when its instance is released though
	// the node is not empty.
	since, until time.Time
	// node is the Node's name, "" if there is none or it is not known.
	node string
	// empty is true if nothing keeps the instance; gone, if that is because its Node no longer exists.
	empty, gone bool
	// expired is true if its time is up.
	expired bool
	// state describes what is in the way.
	state string
}

func (d departure) done() bool { return d.empty || d.expired }

// String names the instance and what is in its way.
func (d departure) String() string {
	name := "instance " + d.ID
	if d.node != "" {
		name = fmt.Sprintf("node %s (%s)", d.node, d.ID)
	}
	return name + ": " + d.state
}

// withDeadline is String with the time until which the instance is held at most. It does not change
// while the node is drained, so that a condition can have it.
func (d departure) withDeadline() string {
	if d.Retained() {
		return d.String() + "; its instance is retained until the node is empty"
	}
	return fmt.Sprintf("%s, until %s at the latest", d, d.until.UTC().Format(time.RFC3339))
}

// drainPossible is false if there is no cluster any longer whose pods could go elsewhere. Cluster
// API does not drain then either.
func drainPossible(in input) bool {
	return in.Seen.Cluster != nil && in.Seen.Cluster.DeletionTimestamp.IsZero()
}

// drainTimeout returns the time that a node may take to empty.
func drainTimeout(in input) time.Duration {
	if set := in.Object.Spec.NodeDrain; set != nil && set.Timeout != nil {
		return set.Timeout.Duration
	}
	return infrav1.DefaultNodeDrainTimeout
}

// drainNodes drains the nodes of instances that the drain hook holds on their way out, and releases
// the instances whose nodes are empty or whose time is up. The pool records when a node's time
// began; all else is observed anew each time.
func drainNodes(in input, plan *reconcile.Plan) bool {
	if in.Seen.Group == nil {
		return true
	}
	held := slices.DeleteFunc(slices.Clone(in.Seen.Group.Instances), func(instance autoscalinggroup.Instance) bool {
		return !instance.Held() && !retainedHere(in, instance)
	})
	if uncordon(in, plan); pending(plan) {
		return true
	}
	departures := departuresOf(in, held)
	if drainAndRecord(in, plan, departures); pending(plan) || reconcile.LastFailure[recordDrain](in.Done) != nil {
		return true
	}
	annotate(in, plan, func(pool *infrav1.AWSMachinePool) { recordRetained(in, pool) })
	if release(in, plan, departures); pending(plan) {
		return true
	}
	if err := releaseFailure(in); err != nil {
		pool.ShowFailure(in.Object, plan, infrav1.NodesDrainedCondition, infrav1.DrainingReason, err)
		return true
	}
	showDrain(in, plan, departures)
	return true
}

// uncordon makes the nodes schedulable again that were drained before the root volume of their
// instance was replaced, once the instance is in service.
func uncordon(in input, plan *reconcile.Plan) {
	back := uncordonable(in)
	if len(back) == 0 || !drainPossible(in) {
		return
	}
	if tried, _ := reconcile.Attempted[uncordonNodes](in.Done); !tried {
		plan.Do(uncordonNodes{Instances: back}, "%s are in service again", named(instanceIDs(back)))
		return
	}
	if slices.ContainsFunc(back, func(instance autoscalinggroup.Instance) bool { return !in.Seen.Nodes[instance.ID].Uncordoned }) {
		plan.LookAgain(lookLimit)
	}
}

// uncordonable returns the instances in service whose nodes were drained.
func uncordonable(in input) []autoscalinggroup.Instance {
	begun := drainingSince(in.Object)
	return slices.DeleteFunc(slices.Clone(in.Seen.Group.Instances), func(instance autoscalinggroup.Instance) bool {
		_, drained := begun[instance.ID]
		return !drained || !instance.InService()
	})
}

// departuresOf returns how far instances are, by what was found of their nodes in this pass.
func departuresOf(in input, instances []autoscalinggroup.Instance) []departure {
	begun := drainingSince(in.Object)
	departures := make([]departure, 0, len(instances))
	for _, instance := range instances {
		since, known := begun[instance.ID]
		if !known {
			since = in.Now
		}
		until := since.Add(drainTimeout(in))
		// The time limit does not hold for an instance that is retained until its node is empty.
		unlimited := instance.Retained() && in.Object.DeletionTimestamp.IsZero()
		d := departure{Instance: instance, since: since, until: until, expired: !in.Now.Before(until) && !unlimited}
		d.empty, d.state = withoutLook(in, instance)
		if node, found := in.Seen.Nodes[instance.ID]; found && d.state == "" {
			d.node = node.Name
			d.empty, d.gone, d.state = node.Progress.Empty, node.Progress.Gone, cmp.Or(node.Failure, node.Progress.String())
			if node.Name == "" && node.Failure == "" {
				d.empty, d.state = true, "it has no node"
			}
		}
		departures = append(departures, d)
	}
	return departures
}

// withoutLook returns the progress of an instance whose node Slipway should not drain: whether
// nothing keeps the instance, and what is in the way. The state is empty if Slipway should drain
// the node.
func withoutLook(in input, instance autoscalinggroup.Instance) (empty bool, state string) {
	machine, has := in.Seen.Machines[instance.ID]
	switch {
	case !drainWanted(in) || !drainPossible(in):
		return true, "not drained"
	case instance.Leaving() && !instance.Held() && !instance.Retained():
		return true, "its instance is being terminated"
	case has && machine.drained():
		return true, "Cluster API has drained it"
	case has && machine.drainedByCore(instance):
		// Only one of the two drains. Core also follows other settings for Machines, such as
		// MachineDrainRules.
		return false, fmt.Sprintf("Cluster API drains it for Machine %s", machine.Machine.Name)
	}
	return false, ""
}

// drainAndRecord has the nodes drained that Slipway should drain, and then records since when.
func drainAndRecord(in input, plan *reconcile.Plan, departures []departure) {
	var pendingNodes []autoscalinggroup.Instance
	var states []string
	for _, d := range departures {
		if _, looked := in.Seen.Nodes[d.ID]; !looked && d.state == "" {
			pendingNodes = append(pendingNodes, d.Instance)
			states = append(states, d.ID+" is "+d.LifecycleState)
		}
	}
	if tried, _ := reconcile.Attempted[drainSome](in.Done); len(pendingNodes) > 0 && !tried {
		plan.Do(drainSome{Instances: pendingNodes}, "%s", named(states))
		return
	}
	if tried, _ := reconcile.Attempted[recordDrain](in.Done); tried {
		return
	}
	if record := drainRecord(in, departures); record.due(in) {
		plan.Do(record, "%s", record.reason())
	}
}

// drainRecord returns the record for the pool: since when nodes that are not empty have been
// draining, without instances that no longer count. It includes the events about drains that began,
// and about instances whose hold is over.
func drainRecord(in input, departures []departure) recordDrain {
	begun, deleting := drainingSince(in.Object), !in.Object.DeletionTimestamp.IsZero()
	record := recordDrain{Since: maps.Clone(begun)}
	ended := dropEnded(in, record.Since, departures)
	var started []departure
	for _, d := range departures {
		_, known := begun[d.ID]
		// An instance that was released may be held by another hook, and no longer counts. A node
		// whose instance stays is uncordoned later.
		if !known && (deleting || d.ReplacesRoot() && d.node != "" && !d.gone || !d.done() && !in.Seen.Holds[d.ID].Completed) {
			record.Since[d.ID] = d.since.UTC().Truncate(time.Second)
			started = append(started, d)
		}
	}
	for _, id := range ended {
		record.Events = append(record.Events, endedEvents(in, id, begun[id])...)
	}
	for _, id := range slices.Sorted(maps.Keys(in.Seen.Holds)) {
		if event := in.Seen.Holds[id].Unanswered; event != nil && !isHeld(in, id) {
			record.Told, record.Events = append(record.Told, id), append(record.Events, *event)
		}
	}
	slices.SortFunc(started, func(a, b departure) int { return cmp.Compare(a.ID, b.ID) })
	for _, d := range started {
		if !d.done() {
			record.Events = append(record.Events, reconcile.Eventf(infrav1.NodeDrainingEvent, "Draining %s", d.withDeadline()).WithoutReason())
		}
	}
	return record
}

// due reports whether something must be recorded or reported.
func (r recordDrain) due(in input) bool {
	return !maps.EqualFunc(drainingSince(in.Object), r.Since, time.Time.Equal) || len(r.Events)+len(r.Told) > 0
}

func (r recordDrain) reason() string {
	if len(r.Since) == 0 {
		return "no node is being drained any longer"
	}
	return fmt.Sprintf("%s are being drained, or were", named(slices.Sorted(maps.Keys(r.Since))))
}

// isHeld reports whether a hook holds an instance of the group.
func isHeld(in input, id string) bool {
	return slices.ContainsFunc(in.Seen.Group.Instances, func(instance autoscalinggroup.Instance) bool { return instance.ID == id && instance.Held() })
}

// release releases the hold on instances that are done, and extends the hold on the others. Each
// kind of action is tried once in a pass.
func release(in input, plan *reconcile.Plan, departures []departure) {
	if releaseFailure(in) != nil {
		return
	}
	due := map[releasing][]departure{}
	for _, d := range departures {
		due[releaseOf(in, d)] = append(due[releaseOf(in, d)], d)
	}
	retain, terminate, complete, extend := due[retaining], due[terminating], due[completing], due[extending]
	group := in.Seen.Group.Name
	switch tried := func(is bool, _ error) bool { return is }; {
	case len(retain) > 0 && !tried(reconcile.Attempted[retainInstances](in.Done)):
		ids := departureIDs(retain)
		annotate(in, plan, func(pool *infrav1.AWSMachinePool) { recordRetained(in, pool, ids...) })
		plan.Do(retainInstances{Group: group, Departures: notesOf(in, retain)}, "the nodes of %s were not drained within %s, and the pool retains such instances", named(ids), drainTimeout(in))
	case len(terminate) > 0 && !tried(reconcile.Attempted[terminateRetained](in.Done)):
		plan.Do(terminateRetained{Group: group, Instances: departureIDs(terminate)}, "the nodes of the retained instances %s "+
			"are empty", named(departureIDs(terminate)))
	case len(complete) > 0 && !tried(reconcile.Attempted[completeHooks](in.Done)):
		plan.Do(completeHooks{Group: group, Departures: notesOf(in, complete)}, "%s", statesOf(complete))
	case len(extend) > 0 && !tried(reconcile.Attempted[extendHolds](in.Done)):
		plan.Do(extendHolds{Group: group, Instances: departureIDs(extend)}, "%s", statesOf(extend))
	}
}

// releasing identifies the action that is due for the hold on an instance.
type releasing int

const (
	nothingDue releasing = iota
	retaining
	terminating
	completing
	extending
)

// releaseOf returns what is due about the hold on an instance.
func releaseOf(in input, d departure) releasing {
	hold := in.Seen.Holds[d.ID]
	switch {
	case d.Retained() && d.done() && !hold.Terminated:
		return terminating
	case d.Retained() || !d.Held() || hold.Completed:
		return nothingDue
	case abandons(in, d):
		return retaining
	case d.done():
		return completing
	case in.Now.Sub(hold.Extended) >= signEvery:
		return extending
	}
	return nothingDue
}

// abandons reports whether the termination of an instance is abandoned, because its node was not
// drained in time and the pool retains such instances.
func abandons(in input, d departure) bool {
	return d.expired && !d.empty && !d.ReplacesRoot() && retains(in) && in.Object.DeletionTimestamp.IsZero()
}

// releaseFailure returns why the hold on instances could not be released or extended in this pass.
func releaseFailure(in input) error {
	return cmp.Or(reconcile.LastFailure[retainInstances](in.Done), reconcile.LastFailure[terminateRetained](in.Done), reconcile.LastFailure[completeHooks](in.Done), reconcile.LastFailure[extendHolds](in.Done))
}

// nextLook returns when the first of the nodes is checked again, or runs out of time.
func nextLook(in input, waiting []departure) time.Duration {
	soonest := lookLimit
	for i, d := range waiting {
		elapsed := in.Now.Sub(d.since)
		next := drain.NextLook(elapsed)
		if left := drainTimeout(in) - elapsed; left > 0 {
			next = min(next, left)
		}
		if i == 0 || next < soonest {
			soonest = next
		}
	}
	return soonest
}

// drainingSince is empty for an annotation that is missing or cannot be read: then the time begins anew.
func drainingSince(object *infrav1.AWSMachinePool) map[string]time.Time {
	var begun map[string]time.Time
	err := json.Unmarshal([]byte(object.Annotations[DrainingAnnotation]), &begun)
	if err != nil || begun == nil {
		return map[string]time.Time{}
	}
	return begun
}

// setDraining records since when nodes are being drained.
func setDraining(object *infrav1.AWSMachinePool, begun map[string]time.Time) {
	var text []byte
	if len(begun) > 0 {
		var err error
		if text, err = json.Marshal(begun); err != nil {
			panic(err) // strings by times of this age: there is nothing that JSON cannot write
		}
	}
	reconciling.SetAnnotation(object, DrainingAnnotation, string(text))
}
