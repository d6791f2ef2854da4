package machinepool

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// dropEnded drops from the record the instances that no longer count, and returns those among them
// that went and whose nodes were not seen empty. One whose node is empty is dropped before it is
// released, so that a manager that ends in between leaves no record that says otherwise. A
// deletion's record goes with the group: it also says since when instances that hold out have been
// asked to go.
func dropEnded(in input, record map[string]time.Time, departures []departure) (ended []string) {
	for _, id := range slices.Sorted(maps.Keys(record)) {
		member := slices.IndexFunc(in.Seen.Group.Instances, func(instance autoscalinggroup.Instance) bool { return instance.ID == id })
		departing := slices.IndexFunc(departures, func(d departure) bool { return d.ID == id })
		switch {
		case member < 0:
			ended = append(ended, id)
		case in.Seen.Nodes[id].Uncordoned:
		case !in.Object.DeletionTimestamp.IsZero():
			continue
		case !in.Seen.Group.Instances[member].Leaving() && !in.Seen.Group.Instances[member].Warmed(): // it stays, and its node is still to be uncordoned
			continue
		case !in.Seen.Group.Instances[member].Leaving(): // it is kept in a warm pool
		case departing < 0 && in.Seen.Group.Instances[member].Retained(): // which a condition shows
		case departing < 0: // no hook holds it any longer
			ended = append(ended, id)
		case !departures[departing].empty:
			continue
		}
		delete(record, id)
	}
	return ended
}

// endedEvents returns what is reported about an instance whose node was being drained and that went
// without this process having released it: AWS or a user released the hold, maybe while no manager
// ran.
func endedEvents(in input, id string, since time.Time) []reconcile.Event {
	hold := in.Seen.Holds[id]
	if hold.Completed || hold.Unanswered != nil || !drainWanted(in) || !drainPossible(in) {
		return nil
	}
	if event := unseenEvent(in, id, !in.Now.Before(since.Add(drainTimeout(in)))); event != nil {
		return []reconcile.Event{*event}
	}
	return nil
}

// unseenEvent returns what is reported about an instance whose node was not seen empty, nil for nothing.
func unseenEvent(in input, id string, expired bool) *reconcile.Event {
	var event reconcile.Event
	switch {
	case expired:
		event = reconcile.Warningf(infrav1.NodeDrainTimedOutEvent, "Instance %s was terminated before its node "+
			"was observed to be empty, because the timeout of %s passed. Increase spec.nodeDrain.timeout if "+
			"its pods need longer", id, drainTimeout(in))
	case in.Object.DeletionTimestamp.IsZero():
		event = reconcile.Warningf(infrav1.NodeNotDrainedEvent,
			"Instance %s was terminated before its node was observed to be empty: another program completed its "+
				"lifecycle action, or the manager sent no heartbeat for %s", id, autoscalinggroup.DrainHeartbeat)
	default:
		return nil
	}
	return &event
}

// departureEvent returns what is reported about an instance that is released, nil for nothing.
func departureEvent(in input, d departure) *reconcile.Event {
	var event reconcile.Event
	switch {
	case !drainWanted(in) || !drainPossible(in):
		return nil
	case d.ReplacesRoot() && d.empty && d.node != "" && !d.gone:
		event = reconcile.Eventf(infrav1.NodeDrainedEvent, "Drained node %s; the root volume of its instance %s is being replaced", d.node, d.ID).WithoutReason()
	case d.ReplacesRoot() && !d.empty:
		event = reconcile.Warningf(infrav1.NodeDrainTimedOutEvent, "The root volume of instance %s is replaced after %s although its node was not drained; %s", d.ID, drainTimeout(in), d)
	case d.ReplacesRoot():
		return nil
	case d.gone:
		return unseenEvent(in, d.ID, d.expired)
	case d.empty && d.node != "":
		event = reconcile.Eventf(infrav1.NodeDrainedEvent, "Drained node %s; its instance %s is being terminated", d.node, d.ID).WithoutReason()
	case !d.empty:
		event = reconcile.Warningf(infrav1.NodeDrainTimedOutEvent, "Instance %s is terminated after %s although its node was not drained; %s", d.ID, drainTimeout(in), d)
	default:
		return nil
	}
	return &event
}

func departureIDs(departures []departure) []string {
	ids := make([]string, 0, len(departures))
	for _, d := range departures {
		ids = append(ids, d.ID)
	}
	return ids
}

// statesOf lists instances with what is in their way.
func statesOf(departures []departure) string {
	states := make([]string, 0, len(departures))
	for _, d := range departures {
		states = append(states, d.String())
	}
	return named(states)
}

// notesOf returns instances with the events to report once their hold is released. If AWS did not
// answer the first request, the Node may have gone since, because of that request: the event of the
// first request is then reported now.
func notesOf(in input, departures []departure) []note {
	notes := make([]note, 0, len(departures))
	for _, d := range departures {
		event := departureEvent(in, d)
		if before := in.Seen.Holds[d.ID].Unanswered; before != nil {
			event = before
		}
		if abandons(in, d) {
			retained := reconcile.Warningf(infrav1.InstanceRetainedEvent, "Instance %s is retained because its node was not drained within %s; %s. The group launches a replacement, and the "+
				"instance is terminated once its node is empty", d.ID, drainTimeout(in), d)
			event = &retained
		}
		notes = append(notes, note{Instance: d.ID, Event: event})
	}
	return notes
}

// mostShown limits the number of nodes that a condition names.
const mostShown = 5

// showDrain shows how far the nodes are. A pool has no such condition until an instance leaves.
func showDrain(in input, plan *reconcile.Plan, departures []departure) {
	waiting := slices.DeleteFunc(slices.Clone(departures), departure.done)
	left := retainedElsewhere(in)
	switch {
	case len(waiting) > 0:
		reconciling.False(in.Object, infrav1.NodesDrainedCondition, infrav1.DrainingReason, describe(waiting))
		plan.LookAgain(nextLook(in, waiting))
	case len(left) > 0:
		reconciling.False(in.Object, infrav1.NodesDrainedCondition, infrav1.InstancesRetainedReason, fmt.Sprintf(
			"The termination of %s was abandoned outside Slipway. The group replaced these instances, but they "+
				"keep running and are billed until you terminate them with "+
				"TerminateInstanceInAutoScalingGroup", strings.Join(left, ", ")))
	case meta.FindStatusCondition(in.Object.Status.Conditions, infrav1.NodesDrainedCondition) != nil:
		reconciling.True(in.Object, infrav1.NodesDrainedCondition, infrav1.DrainedReason, "")
	}
}

func describe(waiting []departure) string {
	var parts []string
	for _, d := range waiting[:min(len(waiting), mostShown)] {
		parts = append(parts, d.withDeadline())
	}
	if more := len(waiting) - mostShown; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}
