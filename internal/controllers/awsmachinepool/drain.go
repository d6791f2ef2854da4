package awsmachinepool

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/drain"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/workload"
)

const (
	// lookLimit is how long one pass may talk to a workload cluster. What it did not get to is looked at in the next.
	lookLimit = 10 * time.Second
	// signEvery is how often AWS is told that a held instance is still being worked on.
	signEvery = autoscalinggroup.DrainHeartbeat / 3
)

// Workloads reaches workload clusters.
type Workloads interface {
	Client(ctx context.Context, cluster types.NamespacedName) (*workload.API, error)
}

// departure is an instance on its way out, and how far its node is.
type departure struct {
	autoscalinggroup.Instance
	// since is when its node began to be emptied, and until is when its instance is let go though it is not empty.
	since, until time.Time
	// node is the Node's name, "" if there is none or it is not known.
	node string
	// empty is true if nothing keeps the instance; gone, if that is because its Node is not there any more.
	empty, gone bool
	// expired is true if its time is up.
	expired bool
	// state says in words what is in the way.
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

// withDeadline is String with the time until which the instance is held at most. It does not change while the node is drained, so that a condition can carry it.
func (d departure) withDeadline() string {
	if d.Retained() {
		return d.String() + "; its instance is retained until the node is empty"
	}
	return fmt.Sprintf("%s, until %s at the latest", d, d.until.UTC().Format(time.RFC3339))
}

// drainHooks are the lifecycle hooks that draining needs: one that holds instances on their way out. Without us it lets them go in the end,
// or has them retained if the pool says so.
func drainHooks(p *pass) []autoscalinggroup.Hook {
	if !drainWanted(p) {
		return nil
	}
	result := infrav1.LifecycleHookDefaultResultContinue
	if retains(p) { // nobody drained an instance that nobody spoke for
		result = infrav1.LifecycleHookDefaultResultAbandon
	}
	return []autoscalinggroup.Hook{{
		Name: autoscalinggroup.DrainHook, Transition: string(infrav1.LifecycleTransitionInstanceTerminating),
		Heartbeat: int32(autoscalinggroup.DrainHeartbeat / time.Second), Result: string(result),
	}}
}

// drainWanted is false if the user opted out: by the field, or by Cluster API's annotation on the pool or for its Machines.
func drainWanted(p *pass) bool {
	if set := p.pool.Spec.NodeDrain; set != nil && set.Disable {
		return false
	}
	_, excluded := p.pool.Annotations[clusterv1.ExcludeNodeDrainingAnnotation]
	if p.machinePool != nil && !excluded {
		_, excluded = p.machinePool.Spec.Template.Annotations[clusterv1.ExcludeNodeDrainingAnnotation]
	}
	return !excluded
}

// drainPossible is false if there is no cluster any more whose pods could go elsewhere. Cluster API does not drain then either.
func drainPossible(p *pass) bool {
	return p.owner != nil && p.owner.DeletionTimestamp.IsZero()
}

// drainTimeout is how long a node may take to empty.
func drainTimeout(p *pass) time.Duration {
	if set := p.pool.Spec.NodeDrain; set != nil && set.Timeout != nil {
		return set.Timeout.Duration
	}
	return infrav1.DefaultNodeDrainTimeout
}

// drainNodes empties the nodes of instances that the drain hook holds on their way out, and lets those go that are empty or whose time is up. When a
// node's time began is kept on the pool; all else is seen anew each time.
func (r *Reconciler) drainNodes(ctx context.Context, p *pass) reconciling.Outcome {
	if p.group == nil {
		return reconciling.Continue()
	}
	if err := r.recordRetained(ctx, p); err != nil {
		return reconciling.Fail(err).AndGoOn()
	}
	held := slices.DeleteFunc(slices.Clone(p.group.Instances), func(instance autoscalinggroup.Instance) bool {
		return !instance.Held() && !retainedHere(p, instance)
	})
	waiting, err := r.uncordon(ctx, p)
	if err != nil {
		return reconciling.Fail(err).AndGoOn()
	}
	departures, err := r.drain(ctx, p, held)
	if err != nil {
		return reconciling.Fail(err).AndGoOn()
	}
	if err := r.letGo(ctx, p, departures); err != nil {
		return outcome.Of(p.pool, infrav1.NodesDrainedCondition, infrav1.DrainingReason, err).AndGoOn()
	}
	if report := r.reportDrain(p, departures); !waiting {
		return report
	}
	return reconciling.ContinueAndComeBack(lookLimit, "nodes are being uncordoned")
}

// drain takes one look at the nodes of the instances, and records when their time began.
func (r *Reconciler) drain(ctx context.Context, p *pass, instances []autoscalinggroup.Instance) ([]departure, error) {
	begun, now := drainingSince(p.pool), r.Clock.Now()
	departures := make([]departure, 0, len(instances))
	for _, instance := range instances {
		since, known := begun[instance.ID]
		if !known {
			since = now
		}
		until := since.Add(drainTimeout(p))
		departures = append(departures, departure{Instance: instance, since: since, until: until, expired: !now.Before(until) && !draining(p, instance)})
	}
	if drainWanted(p) && drainPossible(p) {
		r.look(ctx, p, departures)
	} else {
		for i := range departures {
			departures[i].empty, departures[i].state = true, "not drained"
		}
	}
	return departures, r.recordDrain(ctx, p, departures)
}

// look empties nodes as far as that goes at the moment. A cluster that does not answer is no failure of the pass: the time limit counts.
func (r *Reconciler) look(ctx context.Context, p *pass, departures []departure) {
	pending := make([]*departure, 0, len(departures))
	for i := range departures {
		d := &departures[i]
		switch twin := p.twins[d.ID]; {
		case d.Leaving() && !d.Held() && !d.Retained():
			d.empty, d.state = true, "its instance ends"
		case twin != nil && twin.drained():
			d.empty, d.state = true, "Cluster API drained it"
		case twin.drainedByCore(d.Instance):
			// One drains, not two. Core goes by what else is said of Machines, such as MachineDrainRules.
			d.state = fmt.Sprintf("Cluster API drains it for Machine %s", twin.machine.Name)
		default:
			pending = append(pending, d)
		}
	}
	if len(pending) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	api, err := r.Workloads.Client(ctx, types.NamespacedName{Namespace: p.pool.Namespace, Name: p.clusterName})
	if err == nil {
		err = r.findNodes(ctx, p, api, pending)
	}
	if err != nil {
		for _, d := range pending {
			d.state = workload.Explain(err)
		}
		return
	}
	// Whoever waited longest for a look is first, so that many nodes get their turn.
	slices.SortStableFunc(pending, func(a, b *departure) int {
		return r.drains.note(p.key(), a.ID).looked.Compare(r.drains.note(p.key(), b.ID).looked)
	})
	for _, d := range pending {
		r.lookAt(ctx, p, api, d)
	}
}

// findNodes finds the names of the Nodes that are not known yet.
func (r *Reconciler) findNodes(ctx context.Context, p *pass, api *workload.API, pending []*departure) error {
	var unknown []string
	for _, d := range pending {
		if d.node = r.drains.note(p.key(), d.ID).node; d.node == "" {
			unknown = append(unknown, d.ProviderID())
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	found, err := drain.Find(ctx, api, unknown)
	if err != nil {
		return err
	}
	for _, d := range pending {
		if d.node == "" {
			d.node = found[d.ProviderID()]
			r.drains.update(p.key(), d.ID, func(note *drainNote) { note.node = d.node })
		}
	}
	return nil
}

func (r *Reconciler) lookAt(ctx context.Context, p *pass, api *workload.API, d *departure) {
	switch {
	case d.node == "":
		d.empty, d.state = true, "it has no node"
		return
	case ctx.Err() != nil:
		d.state = "its turn comes"
		return
	}
	progress, err := drain.Look(ctx, api, d.node, d.ProviderID())
	r.drains.update(p.key(), d.ID, func(note *drainNote) { note.looked = r.Clock.Now() })
	if err != nil {
		d.state = workload.Explain(err)
		return
	}
	d.empty, d.gone, d.state = progress.Empty, progress.Gone, progress.String()
}

// letGo ends the hold on instances that are done, and prolongs that on the others.
func (r *Reconciler) letGo(ctx context.Context, p *pass, departures []departure) error {
	now := r.Clock.Now()
	for _, d := range departures {
		if done, err := r.keepOrEndRetained(ctx, p, d); err != nil {
			return err
		} else if done {
			continue
		}
		note := r.drains.note(p.key(), d.ID)
		switch {
		case !d.Held() || note.letGo:
		case d.done():
			// Once more: the Node may have gone since, because of the first time.
			if note.parting != nil {
				d = *note.parting
			}
			// Written down first: should the answer be lost, it is told when the instance is seen to go.
			r.drains.update(p.key(), d.ID, func(note *drainNote) { note.parting = &d })
			if err := p.cloud.Groups.LetGo(ctx, p.group.Name, d.ID); err != nil {
				return err
			}
			// Another hook may hold it further. That is not ours to end, and need not be tried again.
			r.drains.update(p.key(), d.ID, func(note *drainNote) { note.letGo = true })
			r.reportDeparture(ctx, p, d)
		case now.Sub(note.sign) >= signEvery:
			if err := p.cloud.Groups.Hold(ctx, p.group.Name, d.ID); err != nil {
				return err
			}
			r.drains.update(p.key(), d.ID, func(note *drainNote) { note.sign = now })
		}
	}
	return nil
}

func (r *Reconciler) reportDeparture(ctx context.Context, p *pass, d departure) {
	switch {
	case !drainWanted(p) || !drainPossible(p):
	case d.ReplacesRoot():
		r.reportRootReplacement(ctx, p, d)
	case d.gone:
		r.reportUnseen(ctx, p, d.ID, d.expired)
	case d.empty && d.node != "":
		r.Report.Done(ctx, p.pool, "NodeDrained", "Drained node %s, its instance %s ends", d.node, d.ID)
	case !d.empty:
		r.Report.Warn(ctx, p.pool, "NodeDrainTimedOut", "Instance %s ends after %s though it was not drained; %s", d.ID, drainTimeout(p), d)
	}
}

// reportRootReplacement tells of an instance whose root volume is about to be replaced.
func (r *Reconciler) reportRootReplacement(ctx context.Context, p *pass, d departure) {
	switch {
	case d.empty && d.node != "" && !d.gone:
		r.Report.Done(ctx, p.pool, "NodeDrained", "Drained node %s, the root volume of its instance %s is replaced", d.node, d.ID)
	case !d.empty:
		r.Report.Warn(ctx, p.pool, "NodeDrainTimedOut", "The root volume of instance %s is replaced after %s though its node was not drained; %s", d.ID, drainTimeout(p), d)
	}
}

// reportEnded tells of an instance whose node was being drained and that went without this process having let it go: AWS or a person ended the hold, maybe
// while no manager ran.
func (r *Reconciler) reportEnded(ctx context.Context, p *pass, id string, since time.Time) {
	note := r.drains.note(p.key(), id)
	if !note.letGo && note.parting == nil && drainWanted(p) && drainPossible(p) {
		r.reportUnseen(ctx, p, id, !r.Clock.Now().Before(since.Add(drainTimeout(p))))
	}
}

// reportUnseen tells of an instance whose node nobody saw empty.
func (r *Reconciler) reportUnseen(ctx context.Context, p *pass, id string, expired bool) {
	switch {
	case expired:
		r.Report.Warn(ctx, p.pool, "NodeDrainTimedOut", "Instance %s ended though its node was not seen empty within %s", id, drainTimeout(p))
	case p.pool.DeletionTimestamp.IsZero():
		r.Report.Warn(ctx, p.pool, "NodeNotDrained",
			"Instance %s ended before its node was seen empty: it was let go outside Slipway, or nobody spoke for it for %s", id, autoscalinggroup.DrainHeartbeat)
	}
}

// mostShown is how many nodes a condition names.
const mostShown = 5

// reportDrain shows how far the nodes are. A pool of which no instance ever left has no such condition.
func (r *Reconciler) reportDrain(p *pass, departures []departure) reconciling.Outcome {
	waiting := slices.DeleteFunc(slices.Clone(departures), departure.done)
	if left := retainedElsewhere(p); len(left) > 0 && len(waiting) == 0 {
		reconciling.False(p.pool, infrav1.NodesDrainedCondition, infrav1.InstancesRetainedReason, fmt.Sprintf(
			"The termination of %s was abandoned outside Slipway. The group replaced these instances, and they keep running, and are charged for, until you terminate them "+
				"with TerminateInstanceInAutoScalingGroup", strings.Join(left, ", ")))
		return reconciling.Continue()
	}
	if len(waiting) == 0 {
		if meta.FindStatusCondition(p.pool.Status.Conditions, infrav1.NodesDrainedCondition) != nil {
			reconciling.True(p.pool, infrav1.NodesDrainedCondition, infrav1.DrainedReason, "")
		}
		return reconciling.Continue()
	}
	reconciling.False(p.pool, infrav1.NodesDrainedCondition, infrav1.DrainingReason, describe(waiting))
	return reconciling.ContinueAndComeBack(r.nextLook(p, waiting), "nodes are being drained")
}

// nextLook is when the first of the nodes is looked at again, or runs out of time.
func (r *Reconciler) nextLook(p *pass, waiting []departure) time.Duration {
	soonest := lookLimit
	for i, d := range waiting {
		elapsed := r.Clock.Now().Sub(d.since)
		next := drain.NextLook(elapsed)
		if left := drainTimeout(p) - elapsed; left > 0 {
			next = min(next, left)
		}
		if i == 0 || next < soonest {
			soonest = next
		}
	}
	return soonest
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

// recordDrain writes down when the time of nodes began that are not empty, and forgets instances that are done with.
func (r *Reconciler) recordDrain(ctx context.Context, p *pass, departures []departure) error {
	begun := drainingSince(p.pool)
	wanted := maps.Clone(begun)
	deleting := !p.pool.DeletionTimestamp.IsZero()
	ended := r.dropDone(p, wanted, departures, deleting)
	var started []departure
	for _, d := range departures {
		_, known := begun[d.ID]
		// What was let go may be held by another hook, and counts no more. A node whose instance stays is uncordoned later.
		if !known && (deleting || d.ReplacesRoot() && d.node != "" && !d.gone || !d.done() && !r.drains.note(p.key(), d.ID).letGo) {
			wanted[d.ID] = d.since
			started = append(started, d)
		}
	}
	if !maps.EqualFunc(begun, wanted, time.Time.Equal) {
		err := reconciling.Patch(ctx, r.Client, p.pool, func(pool *infrav1.AWSMachinePool) { recordDraining(pool, wanted) })
		if err != nil {
			return fmt.Errorf("recording which nodes are being drained: %w", err)
		}
	}
	for _, id := range ended {
		r.reportEnded(ctx, p, id, begun[id])
	}
	for _, d := range r.drains.parted(p.key(), p.group.Instances) {
		r.reportDeparture(ctx, p, d)
	}
	r.drains.keep(p.key(), p.group.Instances)
	slices.SortFunc(started, func(a, b departure) int { return cmp.Compare(a.ID, b.ID) })
	for _, d := range started {
		if !d.done() {
			r.Report.Done(ctx, p.pool, "NodeDraining", "Draining %s", d.withDeadline())
		}
	}
	return nil
}

// dropDone drops from the record the instances that no longer count, and returns those among them that went with nobody seeing their nodes empty. One whose
// node is empty is dropped before it is let go, so that a manager that ends in between leaves no record that says otherwise. A deletion's record
// goes with the group: it also says since when instances that hold out have been asked to go.
func (r *Reconciler) dropDone(p *pass, record map[string]time.Time, departures []departure, deleting bool) (ended []string) {
	for _, id := range slices.Sorted(maps.Keys(record)) {
		member := slices.IndexFunc(p.group.Instances, func(instance autoscalinggroup.Instance) bool { return instance.ID == id })
		departing := slices.IndexFunc(departures, func(d departure) bool { return d.ID == id })
		switch {
		case member < 0:
			ended = append(ended, id)
		case deleting:
			continue
		case !p.group.Instances[member].Leaving() && !p.group.Instances[member].Warmed(): // it stays, and its node is still to be uncordoned
			continue
		case !p.group.Instances[member].Leaving(): // it is kept in a warm pool
		case departing < 0 && p.group.Instances[member].Retained(): // which is told by a condition
		case departing < 0: // no hook holds it any longer
			ended = append(ended, id)
		case !departures[departing].empty:
			continue
		}
		delete(record, id)
	}
	return ended
}
