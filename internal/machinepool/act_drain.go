package machinepool

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/drain"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/workload"
)

// Workloads reaches workload clusters.
type Workloads interface {
	Client(ctx context.Context, cluster types.NamespacedName) (drain.API, error)
}

// workload returns the API of the pool's workload cluster.
func (a actor) workload(ctx context.Context) (drain.API, error) {
	return a.Workloads.Client(ctx, types.NamespacedName{Namespace: a.Object.Namespace, Name: a.Seen.ClusterName})
}

// do drains nodes as far as that goes at the moment. A cluster that does not answer is no failure
// of the pass: the time limit counts.
func (d drainSome) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	api, err := a.workload(ctx)
	if err == nil {
		err = a.findNodes(ctx, api, d.Instances)
	}
	if err != nil {
		for _, instance := range d.Instances {
			a.Seen.Nodes[instance.ID] = Node{Name: a.Memory.nodes[instance.ID].name(), Failure: workload.Explain(err)}
		}
		return nil, nil
	}
	// The node that waited longest is first, so that many nodes have their turn.
	waiting := slices.Clone(d.Instances)
	slices.SortStableFunc(waiting, func(x, y autoscalinggroup.Instance) int {
		return a.Memory.nodes[x.ID].looked.Compare(a.Memory.nodes[y.ID].looked)
	})
	for _, instance := range waiting {
		a.Seen.Nodes[instance.ID] = a.drainNode(ctx, api, instance)
	}
	return nil, nil
}

// name returns the name of the first Node, "" if there is none.
func (m nodeMemory) name() string {
	if names := m.claimants.Names(); len(names) > 0 {
		return names[0]
	}
	return ""
}

// drainNode drains the Node of an instance as far as that goes at the moment.
func (a actor) drainNode(ctx context.Context, api drain.API, instance autoscalinggroup.Instance) Node {
	memory := a.Memory.nodes[instance.ID]
	name := memory.name()
	switch {
	case name == "":
		return Node{}
	case ctx.Err() != nil:
		return Node{Name: name, Failure: "its turn comes"}
	}
	progress, err := memory.claimants.Look(ctx, drain.Counted(api, a.evicted), instance.ProviderID())
	a.Memory.changeNode(instance.ID, func(node *nodeMemory) { node.claimants, node.looked = memory.claimants, a.Clock.Now() })
	if err != nil {
		return Node{Name: name, Failure: workload.Explain(err)}
	}
	return Node{Name: progress.Node, Progress: progress}
}

// findNodes finds the names of the Nodes of instances that are not known yet.
func (a actor) findNodes(ctx context.Context, api drain.API, instances []autoscalinggroup.Instance) error {
	var unknown []string
	for _, instance := range instances {
		if a.Memory.nodes[instance.ID].name() == "" {
			unknown = append(unknown, instance.ProviderID())
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	found, err := drain.Find(ctx, api, unknown)
	if err != nil {
		return err
	}
	var disputed []string
	for _, instance := range instances {
		if len(found[instance.ProviderID()]) > 1 {
			disputed = append(disputed, instance.ID)
		}
	}
	own := privateDNSNames(ctx, a.Memory.cloud, disputed)
	for _, instance := range instances {
		if names := found[instance.ProviderID()]; len(names) > 0 {
			a.Memory.changeNode(instance.ID, func(node *nodeMemory) { node.claimants = drain.ClaimantsOf(names, own[instance.ID]) })
		}
	}
	return nil
}

// privateDNSNames returns the private DNS names of instances that several Nodes name, by ID. A kubelet
// writes its own provider ID and cannot choose a name, which EC2 gives to most Nodes. It returns none
// if EC2 does not answer: then no Node is preferred.
func privateDNSNames(ctx context.Context, cloud *clouds.Cloud, disputed []string) map[string]string {
	if len(disputed) == 0 {
		return nil
	}
	names, err := cloud.Templates.PrivateDNSNames(ctx, disputed)
	if err != nil {
		return nil
	}
	return names
}

// do makes nodes schedulable again. A cluster that does not answer is no failure of the pass.
func (u uncordonNodes) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	api, err := a.workload(ctx)
	if err == nil {
		err = a.findNodes(ctx, api, u.Instances)
	}
	if err != nil {
		return nil, nil //nolint:nilerr // it is tried again
	}
	var told []reconcile.Event
	for _, instance := range u.Instances {
		memory := a.Memory.nodes[instance.ID]
		failed := false
		for _, name := range memory.claimants.Names() {
			changed, err := drain.Uncordon(ctx, api, name, instance.ProviderID())
			failed = failed || err != nil
			if changed {
				told = append(told, reconcile.Eventf(infrav1.NodeUncordonedEvent, "Uncordoned node %s, whose instance %s is in service again", name, instance.ID).WithoutReason())
			}
		}
		if !failed {
			a.Seen.Nodes[instance.ID] = Node{Name: memory.name(), Uncordoned: true}
		}
	}
	return told, nil
}

func (r recordDrain) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	if err := reconciling.Patch(ctx, a.Client, a.Object, func(object *infrav1.AWSMachinePool) { setDraining(object, r.Since) }); err != nil {
		return nil, fmt.Errorf("recording which nodes are being drained: %w", err)
	}
	for _, id := range r.Told {
		a.changeHold(id, func(hold *Hold) { hold.Unanswered = nil })
	}
	return r.Events, nil
}

// changeHold changes what is known about the hold on an instance.
func (a actor) changeHold(id string, change func(*Hold)) {
	a.Memory.changeNode(id, func(node *nodeMemory) {
		change(&node.hold)
		a.Seen.Holds[id] = node.hold
	})
}

// complete completes the lifecycle actions of instances. It first remembers the event for each:
// should the answer be lost, the event is reported when the instance is seen to have gone.
func (a actor) complete(ctx context.Context, group string, notes []note, complete func(ctx context.Context, group, instance string) error) ([]reconcile.Event, error) {
	var told []reconcile.Event
	for _, one := range notes {
		a.changeHold(one.Instance, func(hold *Hold) { hold.Unanswered = one.Event })
		if err := complete(ctx, group, one.Instance); err != nil {
			return told, err
		}
		// Another hook may still hold it. Slipway does not complete other hooks, and need not
		// retry.
		a.changeHold(one.Instance, func(hold *Hold) { hold.Completed, hold.Unanswered = true, nil })
		if one.Event != nil {
			told = append(told, *one.Event)
		}
	}
	return told, nil
}

func (c completeHooks) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	return a.complete(ctx, c.Group, c.Departures, a.groups().LetGo)
}

// do abandons the termination of instances. The group replaces them, and their nodes are drained further.
func (r retainInstances) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	return a.complete(ctx, r.Group, r.Departures, a.groups().Abandon)
}

func (e extendHolds) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	for _, id := range e.Instances {
		if err := a.groups().Hold(ctx, e.Group, id); err != nil {
			return nil, err
		}
		a.changeHold(id, func(hold *Hold) { hold.Extended = a.Clock.Now() })
	}
	return nil, nil
}

// do terminates instances that were retained. The drain hook holds them again, and is completed then.
func (t terminateRetained) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	var told []reconcile.Event
	for _, id := range t.Instances {
		if err := a.groups().Terminate(ctx, t.Group, id, false); err != nil {
			return told, err
		}
		a.changeHold(id, func(hold *Hold) { hold.Terminated = true })
		told = append(told, reconcile.Eventf(infrav1.NodeDrainedEvent, "Drained the node of retained instance %s, which is being terminated", id).WithoutReason())
	}
	a.Memory.cloud.SeenGroups.InMotion(a.key(), true)
	a.Seen.InMotion = true
	return told, nil
}

func (r releaseWarm) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	for _, id := range r.Instances {
		if err := a.groups().LetGo(ctx, r.Group, id); err != nil {
			a.Memory.warmFor = "" // the warm pool is described anew
			return nil, err
		}
	}
	a.Seen.Warm.Leaving = slices.DeleteFunc(slices.Clone(a.Seen.Warm.Leaving), func(instance autoscalinggroup.Instance) bool {
		return slices.Contains(r.Instances, instance.ID)
	})
	return nil, nil
}

func (r reportDepartures) do(context.Context, actor) ([]reconcile.Event, error) {
	var told []reconcile.Event
	for _, one := range r.Departures {
		told = append(told, *one.Event)
	}
	return told, nil
}
