package machinepool

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/drain"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// inState has an instance of the group be in a state of its life cycle.
func inState(id, state string) edit {
	return func(in *input) {
		changeGroup(in, func(group *autoscalinggroup.Group) {
			for i := range group.Instances {
				if group.Instances[i].ID == id {
					group.Instances[i].LifecycleState = state
				}
			}
		})
	}
}

// all makes several edits.
func all(edits ...edit) edit {
	return func(in *input) {
		for _, one := range edits {
			one(in)
		}
	}
}

// looked has the node of an instance be found in a state.
func looked(id string, node Node) edit { return func(in *input) { in.Seen.Nodes[id] = node } }

func drainedSince(id string, ago time.Duration) edit {
	return func(in *input) { setDraining(in.Object, map[string]time.Time{id: noon.Add(-ago)}) }
}

func tried(action reconcile.Action, err error) edit { return func(in *input) { did(in, action, err) } }

func TestDecideDrain(t *testing.T) {
	t.Parallel()
	held, recorded := inState("i-1", "Terminating:Wait"), tried(recordInstances{}, nil)
	watched := func(in *input) { in.Seen.InMotion = true }
	busy := looked("i-1", Node{Name: "one", Progress: drain.Progress{Node: "one", Ending: 1}})
	empty := looked("i-1", Node{Name: "one", Progress: drain.Progress{Node: "one", Empty: true}})
	extended := func(in *input) { in.Seen.Holds["i-1"] = Hold{Extended: noon} }
	retaining := func(in *input) {
		in.Object.Spec.InstanceLifecyclePolicy = &infrav1.InstanceLifecyclePolicy{RetentionTriggers: infrav1.RetentionTriggers{TerminateHookAbandon: infrav1.RetentionActionRetain}}
	}
	full := func(in *input) { in.Seen.MachinePool.Spec.Replicas = ptr.To[int32](2) }
	specify(t, []row{
		{reason: "the drain hook holds an instance", given: held, then: "drain the nodes of i-1, because i-1 is Terminating:Wait"},
		{reason: "since when is recorded", given: all(held, busy), then: "record which nodes are being drained, because i-1 are being drained, or were"},
		{reason: "the hold is extended while the node is not empty", given: all(held, busy, drainedSince("i-1", time.Minute)),
			then: "extend the lifecycle action of i-1, because node one (i-1): 1 pod ending"},
		{reason: "the node is not empty", given: all(held, busy, drainedSince("i-1", time.Minute), extended, recorded, watched, full), then: "nothing",
			shows: []string{"NodesDrained=False/Draining: node one (i-1)"}, again: 10 * time.Second},
		{reason: "AWS does not extend the hold", given: all(held, busy, drainedSince("i-1", time.Minute), tried(extendHolds{}, errRefused), recorded, watched), then: "nothing",
			shows: []string{"NodesDrained=False/Draining: AWS does not take it"}, again: shortPatience},
		{reason: "the workload cluster does not answer", given: all(held, looked("i-1", Node{Failure: "it does not answer"}), drainedSince("i-1", time.Minute), extended, recorded, watched), then: "nothing",
			shows: []string{"NodesDrained=False/Draining: instance i-1: it does not answer"}, again: 10 * time.Second},
		{reason: "the node is empty: it is no longer recorded", given: all(held, empty, drainedSince("i-1", time.Minute)), then: "record which nodes are being drained, because no node is being drained any longer"},
		{reason: "the node is empty", given: all(held, empty), then: "complete the lifecycle action of i-1, because node one (i-1): no pods left"},
		{reason: "the instance never had a node", given: all(held, looked("i-1", Node{})), then: "complete the lifecycle action of i-1, because instance i-1: it has no node"},
		{reason: "the time is up", given: all(held, busy, drainedSince("i-1", time.Hour*24)), then: "complete the lifecycle action of i-1, because node one (i-1): 1 pod ending"},
		{reason: "another hook holds it further", given: all(held, empty, func(in *input) { in.Seen.Holds["i-1"] = Hold{Completed: true} }, recorded, watched), then: "nothing", again: shortPatience},
		{reason: "the hold ended without an answer", given: func(in *input) {
			in.Seen.Holds["i-9"] = Hold{Unanswered: ptr.To(reconcile.Eventf("NodeDrained", "it was drained"))}
		}, then: "record which nodes are being drained, because no node is being drained any longer"},
		{reason: "it went without having been released", given: drainedSince("i-9", time.Minute), then: "record which nodes are being drained, because no node is being drained any longer"},
		{reason: "no hook holds it any longer", given: all(inState("i-1", "Terminating:Proceed"), drainedSince("i-1", time.Minute)),
			then: "record which nodes are being drained, because no node is being drained any longer"},
		{reason: "it came into a warm pool", given: all(inState("i-1", "Warmed:Stopped"), drainedSince("i-1", time.Minute)),
			then: "record which nodes are being drained, because no node is being drained any longer"},
		{reason: "it is in service again", given: drainedSince("i-1", time.Minute), then: "uncordon the nodes of i-1, because i-1 are in service again"},
		{reason: "its node is schedulable again", given: all(drainedSince("i-1", time.Minute), tried(uncordonNodes{}, nil), looked("i-1", Node{Uncordoned: true})),
			then: "record which nodes are being drained, because no node is being drained any longer"},
		{reason: "its node is not schedulable yet", given: all(drainedSince("i-1", time.Minute), tried(uncordonNodes{}, nil)), then: "nothing", again: lookLimit},
		{reason: "a root volume is replaced: its node is recorded though it is empty", given: all(inState("i-1", "ReplacingRootVolume:Wait"), empty),
			then: "record which nodes are being drained, because i-1 are being drained, or were"},
		{reason: "nothing is drained for a cluster that is gone", given: all(held, func(in *input) { in.Seen.Cluster = nil }), then: "complete the lifecycle action of i-1, because instance i-1: not drained"},
		{reason: "the time is up, and the pool retains instances", given: all(held, busy, retaining, drainedSince("i-1", 24*time.Hour)),
			then: "abandon the termination of i-1, because the nodes of i-1 were not drained within " + infrav1.DefaultNodeDrainTimeout.String() + ", and the pool retains such instances"},
		{reason: "a retained instance is drained further", given: all(inState("i-1", "Terminating:Retained"), retaining, func(in *input) { in.Object.Annotations[RetainedAnnotation] = `["i-1"]` }),
			then: "drain the nodes of i-1, because i-1 is Terminating:Retained"},
		{reason: "and terminated once its node is empty", given: all(inState("i-1", "Terminating:Retained"), retaining, empty, func(in *input) { in.Object.Annotations[RetainedAnnotation] = `["i-1"]` }),
			then: "terminate retained instances i-1, because the nodes of the retained instances i-1 are empty"},
		{reason: "an instance that another hook had retained stays", given: all(inState("i-1", "Terminating:Retained"), recorded, watched), then: "nothing",
			shows: []string{"NodesDrained=False/InstancesRetained: i-1"}, again: shortPatience},
		{reason: "Cluster API drains for a Machine", given: all(held, extended, drainedSince("i-1", time.Minute), tried(syncMachines{}, nil), recorded, watched, func(in *input) {
			in.Object.Spec.MachinePoolMachines = infrav1.MachinePoolMachinesEnabled
			in.Seen.Machines["i-1"] = Machine{Infra: &infrav1.AWSMachinePoolMachine{}, Machine: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "m-1"}}}
		}), then: "nothing", shows: []string{"NodesDrained=False/Draining: Cluster API drains it for Machine m-1"}, again: 10 * time.Second},
		{reason: "warm instances are described", given: func(in *input) { changeGroup(in, func(g *autoscalinggroup.Group) { g.WarmPoolSize = 1 }) }, then: "needs instances of the warm pool"},
		{reason: "a warm instance leaves", given: func(in *input) {
			changeGroup(in, func(g *autoscalinggroup.Group) { g.WarmPoolSize = 1 })
			in.Seen.Warm = WarmPool{Read: true, At: noon, Leaving: []autoscalinggroup.Instance{{ID: "i-7", LifecycleState: "Warmed:Terminating:Wait"}}}
		}, then: "complete the lifecycle action of warm instances i-7, because i-7 leave the warm pool, and are no nodes"},
		{reason: "a warm instance is on its way out", given: func(in *input) {
			changeGroup(in, func(g *autoscalinggroup.Group) { g.WarmPoolSize = 1 })
			in.Seen.Warm = WarmPool{Read: true, At: noon, Leaving: []autoscalinggroup.Instance{{ID: "i-7", LifecycleState: "Warmed:Terminating:Proceed"}}}
		}, then: "nothing", again: warmLookEvery},
		{reason: "AWS does not describe warm instances", given: func(in *input) {
			changeGroup(in, func(g *autoscalinggroup.Group) { g.WarmPoolSize = 1 })
			in.Seen.Warm.Err = errRefused
		}, then: "nothing", shows: []string{"NodesDrained=False/Draining"}, again: aws.FateOf(errRefused).After},
	})
}

func TestDecideCapacity(t *testing.T) {
	t.Parallel()
	short := func(since time.Duration) edit {
		return all(func(in *input) {
			changeGroup(in, func(g *autoscalinggroup.Group) { g.Instances = g.Instances[:1] })
			if since >= 0 {
				in.Object.Status.BelowCapacitySince = ptr.To(metav1.NewTime(noon.Add(-since)))
			}
			in.Seen.InMotion = since < shortRest
		}, tried(recordInstances{}, nil))
	}
	failure := func(shortage autoscalinggroup.Shortage) edit {
		return func(in *input) {
			in.Seen.FailedLaunch = FailedLaunch{Read: true, Again: noon.Add(askAfter), Launch: &autoscalinggroup.FailedLaunch{Shortage: shortage, Message: "there is none"}}
		}
	}
	specify(t, []row{
		{reason: "an instance is missing since just now", given: short(-1), then: "nothing", again: shortPatience},
		{reason: "AWS is asked why after a while", given: short(shortPatience), then: "needs failed launches"},
		{reason: "there is no capacity", given: all(short(shortPatience), failure(autoscalinggroup.NoCapacity)), then: "nothing",
			shows: []string{"CapacityAvailable=False/InsufficientCapacity: there is none"}, again: askAfter, tells: "CapacityMissing"},
		{reason: "the quota is used up", given: all(short(shortPatience), failure(autoscalinggroup.NoQuota)), then: "nothing",
			shows: []string{"CapacityAvailable=False/QuotaExceeded"}, again: askAfter, tells: "CapacityMissing"},
		{reason: "no launch failed", given: all(short(shortPatience), func(in *input) { in.Seen.FailedLaunch = FailedLaunch{Read: true, Again: noon.Add(askAfter)} }), then: "nothing",
			shows: []string{"CapacityAvailable=Unknown/WaitingForInstances"}, again: askAfter},
		{reason: "AWS does not say", given: all(short(shortPatience), func(in *input) { in.Seen.FailedLaunch.Err = errRefused }), then: "nothing",
			shows: []string{"CapacityAvailable=False/LaunchFailed"}, again: aws.FateOf(errRefused).After},
		{reason: "a group that stays short is watched like one at rest", given: all(short(shortRest), failure(autoscalinggroup.NoLaunch)), then: "nothing",
			shows: []string{"CapacityAvailable=False/LaunchFailed"}, again: askAfter, tells: "CapacityMissing"},
		{reason: "launches are suspended", given: all(short(-1), func(in *input) {
			changeGroup(in, func(g *autoscalinggroup.Group) { g.Suspended = []string{"Launch"} })
			in.Seen.InMotion = false
		}), then: "nothing", shows: []string{"CapacityAvailable=False/LaunchSuspended"}, again: time.Hour},
		{reason: "the group was made larger just now", given: all(short(-1), tried(updateGroup{Desired: autoscalinggroup.Desired{Capacity: ptr.To[int32](3)}}, nil)), then: "nothing", again: shortNoticed},
	})
}

func TestDecideMachines(t *testing.T) {
	t.Parallel()
	enabled := func(in *input) { in.Object.Spec.MachinePoolMachines = infrav1.MachinePoolMachinesEnabled }
	machine := func(id string, change func(m *Machine)) edit {
		return func(in *input) {
			one := Machine{Infra: &infrav1.AWSMachinePoolMachine{}, Machine: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "m-" + id}}}
			for _, instance := range in.Seen.Group.Instances {
				if instance.ID == id {
					show(one.Infra, instance)
				}
			}
			if change != nil {
				change(&one)
			}
			in.Seen.Machines[id] = one
		}
	}
	gone := func(m *Machine) { m.Infra.DeletionTimestamp = ptr.To(metav1.NewTime(noon)); m.Machine = nil }
	marked := func(m *Machine) { m.Machine.Annotations = map[string]string{clusterv1.DeleteMachineAnnotation: ""} }
	deleting := func(m *Machine) { m.Machine.DeletionTimestamp = ptr.To(metav1.NewTime(noon)) }
	shrunk := func(in *input) { in.Seen.MachinePool.Spec.Replicas = ptr.To[int32](1) }
	fresh := func(in *input) { in.Seen.Fresh = true }
	specify(t, []row{
		{reason: "instances have no Machines yet", given: enabled, then: "keep AWSMachinePoolMachines: create 2, delete 0, remove 0, update 0, because i-1, i-2 have no Machine yet"},
		{reason: "all have", given: all(enabled, machine("i-1", nil), machine("i-2", nil)), then: "nothing", again: time.Hour},
		{reason: "one changed", given: all(enabled, machine("i-1", nil), machine("i-2", nil), inState("i-2", "Pending")),
			then: "keep AWSMachinePoolMachines: create 0, delete 0, remove 0, update 1, because i-2 changed"},
		{reason: "an instance is gone", given: all(enabled, machine("i-1", nil), machine("i-2", nil), machine("i-3", nil)),
			then: "keep AWSMachinePoolMachines: create 0, delete 1, remove 0, update 0, because i-3 leave the group"},
		{reason: "and so is its Machine", given: all(enabled, machine("i-1", nil), machine("i-2", nil), machine("i-3", gone)),
			then: "keep AWSMachinePoolMachines: create 0, delete 0, remove 1, update 0, because i-3 are gone"},
		{reason: "the API server does not respond", given: all(enabled, tried(syncMachines{}, errLater)), then: "nothing", again: time.Hour},
		{reason: "an instance's Machine was deleted: the group is described first", given: all(enabled, machine("i-1", gone), machine("i-2", nil)), then: "needs the Auto Scaling group as it is now"},
		{reason: "and its instance is terminated", given: all(enabled, machine("i-1", gone), machine("i-2", nil), fresh),
			then: "terminate 1 instance, because the Machines of i-1 were deleted, and their nodes are drained"},
		{reason: "which AWS refuses", given: all(enabled, machine("i-1", gone), machine("i-2", nil), fresh, tried(terminateInstances{}, errRefused), tried(syncMachines{}, nil)), then: "nothing",
			again: aws.FateOf(errRefused).After, shows: []string{"ASGReady=False/ASGUpdateFailed"}},
		{reason: "the pool shrinks, and a Machine is marked to go first", given: all(enabled, machine("i-1", marked), machine("i-2", nil), shrunk),
			then: "delete the Machines of i-1, because the pool requests fewer instances, and i-1 are " +
				"terminated first"},
		{reason: "the group keeps an instance whose node Cluster API drains", given: all(enabled, machine("i-1", deleting), machine("i-2", nil), shrunk), then: "nothing", again: time.Hour},
		{reason: "the pool shrinks by an instance whose Machine was deleted", given: all(enabled, machine("i-1", gone), machine("i-2", marked), shrunk, fresh),
			then: "terminate 1 instance, because the Machines of i-1 were deleted, and their nodes are drained"},
		{reason: "instances are to have none any longer: Cluster API is told first", given: all(machine("i-1", nil), func(in *input) { in.Object.Status.InfrastructureMachineKind = infraMachineKind }), then: "nothing", again: lookAgain},
		{reason: "and then they are removed", given: all(machine("i-1", nil), func(in *input) {
			in.Seen.Unwanted = []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: "m-1"}}}
		}), then: "remove 1 Machines, because the pool does not have Machines for its instances"},
		{reason: "they are removed", given: tried(removeMachines{}, nil), then: "nothing", again: time.Hour},
	})
}

func TestDecideDeletion(t *testing.T) {
	t.Parallel()
	deleted := func(in *input) { in.Object.DeletionTimestamp = ptr.To(metav1.NewTime(noon)) }
	noDrain := func(in *input) { in.Object.Spec.NodeDrain = &infrav1.NodeDrain{Disable: true} }
	protectedBy := func(level infrav1.DeletionProtection) edit {
		return func(in *input) {
			changeGroup(in, func(g *autoscalinggroup.Group) { g.Settings.DeletionProtection = string(level) })
			in.Object.Spec.DeletionProtection = level
		}
	}
	noGroup := func(in *input) { in.Seen.Group = nil }
	unseen := func(ago time.Duration) edit {
		return func(in *input) {
			in.Object.Status.Deletion = &infrav1.AWSMachinePoolDeletionStatus{GroupUnseenSince: ptr.To(metav1.NewTime(noon.Add(-ago)))}
		}
	}
	zero := func(in *input) {
		changeGroup(in, func(g *autoscalinggroup.Group) { g.MinSize, g.MaxSize, g.Capacity = 0, 0, 0 })
		in.Seen.InMotion = true
	}
	busy := func(in *input) {
		for _, id := range []string{"i-1", "i-2"} {
			in.Seen.Nodes[id] = Node{Name: "n-" + id, Progress: drain.Progress{Node: "n-" + id, Ending: 1}}
		}
	}
	since := func(ago time.Duration) edit {
		return func(in *input) {
			setDraining(in.Object, map[string]time.Time{"i-1": noon.Add(-ago), "i-2": noon.Add(-ago)})
			at := metav1.NewTime(noon.Add(-min(ago, watchNoted)))
			in.Object.Status.Deletion = &infrav1.AWSMachinePoolDeletionStatus{NodesCheckedSince: ptr.To(metav1.NewTime(noon.Add(-ago))), NodesCheckedLast: &at}
		}
	}
	config := func(change func(*infrav1.AWSLaunchConfig)) edit {
		return func(in *input) {
			in.Seen.Leftovers.ConfigRead = true
			if change != nil {
				in.Seen.Leftovers.Config = in.Seen.LaunchConfig.Object.DeepCopy()
				change(in.Seen.Leftovers.Config)
			}
		}
	}
	ours := func(*infrav1.AWSLaunchConfig) {}
	over := all(deleted, noGroup, unseen(time.Minute))
	specify(t, []row{
		{reason: "nothing was ever created for it", given: all(deleted, func(in *input) { in.Seen.Access.NothingMade = true }), then: "let the pool go"},
		{reason: "AWS cannot be called", given: all(deleted, func(in *input) { in.Seen.Access.Err = &aws.NoRegionError{} }), then: "nothing", shows: []string{"Deleting=True/InvalidSpec"}},
		{reason: "AWS does not say which group it is", given: all(deleted, noGroup, func(in *input) { in.Seen.GroupErr = errRefused }), then: "nothing", shows: []string{"Deleting=False/ASGDeleteFailed"}, again: aws.FateOf(errRefused).After},
		{reason: "the group lacks its owner tag", given: all(deleted, noGroup, func(in *input) { in.Seen.GroupErr = &ownerTagMissingError{deleting: true} }), then: "nothing",
			shows: []string{"Deleting=True/OwnerTagMissing: remove finalizer"}, again: untaggedAgain},
		{reason: "the group is protected", given: all(deleted, protectedBy(infrav1.DeletionProtectionPreventAllDeletion)), then: "nothing", shows: []string{"Deleting=True/ASGDeletionProtected"}},
		{reason: "the protection was lowered", given: all(deleted, protectedBy(infrav1.DeletionProtectionPreventAllDeletion), func(in *input) { in.Object.Spec.DeletionProtection = "none" }),
			then: "set the deletion protection of Auto Scaling group pool to none, because deletion protection prevent-all-deletion → none"},
		{reason: "AWS does not lower it", given: all(deleted, tried(lowerProtection{}, errRefused)), then: "nothing", shows: []string{"Deleting=False/ASGDeleteFailed"}, again: aws.FateOf(errRefused).After},
		{reason: "nodes are drained first", given: deleted, then: "drain the nodes of i-1, i-2, because i-1 is InService, i-2 is InService"},
		{reason: "since when is recorded", given: all(deleted, busy), then: "record which nodes are being drained, because i-1, i-2 are being drained, or were"},
		{reason: "the group is emptied, so that instances leave by its hooks", given: all(deleted, busy, since(0)),
			then: "empty Auto Scaling group pool, because pool is being deleted, and its instances are drained " +
				"by the lifecycle hooks of their group"},
		{reason: "AWS does not empty it", given: all(deleted, busy, since(0), tried(emptyOut{}, errRefused)), then: "nothing", shows: []string{"Deleting=False/ASGDeleteFailed"}, again: aws.FateOf(errRefused).After},
		{reason: "Cluster API drains what it is responsible for", given: all(deleted, busy, since(0), zero, func(in *input) {
			in.Seen.Machines["i-1"] = Machine{Infra: &infrav1.AWSMachinePoolMachine{}, Machine: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "m-1"}}}
		}), then: "delete the Machines of i-1, because pool is being deleted"},
		{reason: "instances that the hook holds are kept", given: all(deleted, busy, since(time.Minute), zero, inState("i-1", "Terminating:Wait")),
			then: "extend the lifecycle action of i-1, because node n-i-1 (i-1): 1 pod ending"},
		{reason: "nodes are not empty", given: all(deleted, busy, since(time.Minute), zero), then: "nothing",
			shows: []string{"Deleting=True/Draining: Auto Scaling group pool is being scaled to zero"}, again: 10 * time.Second},
		{reason: "the time is up", given: all(deleted, busy, since(24*time.Hour), zero), then: "report i-1, i-2, because the drain " +
			"timeout has passed"},
		{reason: "and the group is deleted", given: all(deleted, busy, since(24*time.Hour), zero, tried(reportDepartures{}, nil)), then: "delete Auto Scaling group pool, because pool is being deleted"},
		{reason: "the nodes were not checked for a long time: they get another chance", given: all(deleted, busy, since(24*time.Hour), zero, func(in *input) { in.Object.Status.Deletion = nil }), then: "nothing",
			shows: []string{"Deleting=True/Draining"}, again: 10 * time.Second},
		{reason: "a group that drains nothing is deleted at once", given: all(deleted, noDrain), then: "delete Auto Scaling group pool, because pool is being deleted"},
		{reason: "AWS does not delete it", given: all(deleted, noDrain, tried(deleteGroup{}, errRefused)), then: "nothing", shows: []string{"Deleting=False/ASGDeleteFailed"}, again: aws.FateOf(errRefused).After},
		{reason: "a group that retains instances is deleted with them", given: all(deleted, noDrain, func(in *input) {
			changeGroup(in, func(g *autoscalinggroup.Group) { g.Settings.Abandoned = infrav1.RetentionActionRetain })
		}), then: "have Auto Scaling group pool retain no instances, because AWS cannot delete a group and its " +
			"instances while the group retains instances"},
		{reason: "a group that may only be deleted empty is emptied", given: all(deleted, noDrain, protectedBy(infrav1.DeletionProtectionPreventForceDeletion)),
			then: "empty Auto Scaling group pool, because pool is being deleted, and its instances are drained " +
				"by the lifecycle hooks of their group"},
		{reason: "and its warm pool deleted", given: all(deleted, noDrain, protectedBy(infrav1.DeletionProtectionPreventForceDeletion), zero, func(in *input) {
			changeGroup(in, func(g *autoscalinggroup.Group) { g.WarmPool = &autoscalinggroup.WarmPool{} })
		}), then: "delete the warm pool of Auto Scaling group pool, because deletion protection " +
			"prevent-force-deletion prevents the deletion of a group that has a warm pool"},
		{reason: "it is not empty yet", given: all(deleted, noDrain, protectedBy(infrav1.DeletionProtectionPreventForceDeletion), zero), then: "nothing",
			shows: []string{"Deleting=True/ASGDeletionProtected: it has 2 instances left"}, again: groupEnding},
		{reason: "AWS does not empty a protected group", given: all(deleted, noDrain, protectedBy(infrav1.DeletionProtectionPreventForceDeletion), tried(emptyOut{}, errRefused)), then: "nothing",
			shows: []string{"Deleting=False/ASGDeleteFailed"}, again: aws.FateOf(errRefused).After},
		{reason: "it is being deleted", given: all(deleted, func(in *input) {
			changeGroup(in, func(g *autoscalinggroup.Group) { g.Deleting = true })
			in.Seen.InMotion = true
		}), then: "nothing",
			shows: []string{"Deleting=True/ASGDeletionInProgress: 2 instances left. Its launch template is deleted afterwards", "ASGReady=False/ASGDeletionInProgress"}, again: groupEnding},
		{reason: "it is being deleted, and others use the launch template", given: all(deleted, func(in *input) {
			changeGroup(in, func(g *autoscalinggroup.Group) { g.Deleting = true })
			in.Seen.InMotion, in.Object.Spec.LaunchConfigRef = true, &infrav1.LaunchConfigReference{Name: "shared"}
		}), then: "nothing",
			shows: []string{"Deleting=True/ASGDeletionInProgress: 2 instances left. AWSLaunchConfig shared and its launch template stay"}, again: groupEnding},
		{reason: "no group can be seen", given: all(deleted, noGroup), then: "nothing", shows: []string{"Deleting=True/Deleting: Slipway checks again, because a new group may not be visible yet"}, again: lookAgain},
		{reason: "none could be seen before either: the launch config follows", given: over, then: "needs the launch config past the cache"},
		{reason: "Machines go with their instances", given: all(over, func(in *input) { in.Seen.Machines["i-1"] = Machine{Infra: &infrav1.AWSMachinePoolMachine{}} }),
			then: "remove the AWSMachinePoolMachines of i-1, because their instances are gone with the group"},
		{reason: "which the API server does not respond", given: all(over, func(in *input) { in.Seen.Machines["i-1"] = Machine{Infra: &infrav1.AWSMachinePoolMachine{}} }, tried(dropInstances{}, errLater)), then: "nothing"},
		{reason: "the launch config is deleted", given: all(over, config(ours)), then: "delete AWSLaunchConfig pool, because pool is being deleted, and its group is gone"},
		{reason: "it is being deleted", given: all(over, config(func(c *infrav1.AWSLaunchConfig) {
			c.DeletionTimestamp = ptr.To(metav1.NewTime(noon))
			c.Status.Conditions = []metav1.Condition{{Type: infrav1.DeletingCondition, Message: "it is in use"}}
		})), then: "nothing", shows: []string{"Deleting=True/ASGDeletionInProgress: it is in use"}},
		{reason: "it went first: its template is looked for", given: all(over, config(nil)), then: "needs launch templates without a launch config"},
		{reason: "its template is deleted", given: all(over, config(nil), func(in *input) {
			in.Seen.Leftovers.TemplatesRead, in.Seen.Leftovers.Templates = true, []launchtemplate.Template{{ID: "lt-1", Name: "pool"}}
		}), then: "delete launch template lt-1, because the launch config of launch template pool is gone"},
		{reason: "AWS does not delete it", given: all(over, config(nil), tried(deleteTemplate{}, errRefused)), then: "nothing", shows: []string{"Deleting=False/LaunchTemplateDeleteFailed"}, again: aws.FateOf(errRefused).After},
		{reason: "nothing is left", given: all(over, config(nil), func(in *input) { in.Seen.Leftovers.TemplatesRead = true }), then: "let the pool go"},
		{reason: "the launch config is not the pool's own", given: all(over, config(nil), func(in *input) { in.Object.Spec.LaunchConfigRef = &infrav1.LaunchConfigReference{Name: "shared"} }), then: "let the pool go"},
	})
}

func TestDecideReleaseAndAdoption(t *testing.T) {
	t.Parallel()
	releasing := func(in *input) { in.Object.Annotations[infrav1.ReleaseAnnotation] = "true" }
	config := func(change func(*infrav1.AWSLaunchConfig)) edit {
		return func(in *input) {
			object := in.Seen.LaunchConfig.Object.DeepCopy()
			change(object)
			in.Seen.LaunchConfig.Object = object
		}
	}
	marked := config(func(c *infrav1.AWSLaunchConfig) { c.Annotations[infrav1.ReleaseAnnotation] = "true" })
	released := config(func(c *infrav1.AWSLaunchConfig) {
		c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: infrav1.ReleasedCondition, Status: metav1.ConditionTrue, ObservedGeneration: 1})
	})
	shielded := func(in *input) { in.Object.Annotations[shieldAnnotation], in.Seen.Fresh = "i-1", true }
	noConfig := func(in *input) { in.Seen.LaunchConfig.Object = nil }
	gone := func(in *input) { in.Seen.Group = nil; in.Seen.Leftovers.ConfigRead = true }
	refreshes := func(status string) edit {
		return func(in *input) {
			in.Seen.Refreshes = Refreshes{Read: true, List: []autoscalinggroup.Refresh{{ID: "r-1", Status: status}}, Again: noon.Add(time.Minute)}
		}
	}
	candidate := func(in *input) {
		in.Seen.Adopting = true
		in.Seen.LaunchConfig.Object.Annotations[infrav1.AdoptTemplateAnnotation] = "lt-1"
	}
	adopting := all(candidate, func(in *input) { in.Seen.Refreshes = Refreshes{Read: true} })
	foreign := all(candidate, refreshes("InProgress"), func(in *input) { in.Seen.InMotion = true })
	const adopt = "adopt Auto Scaling group pool, because Cluster API Provider AWS created Auto Scaling group pool, and it is proven to be this pool's"
	specify(t, []row{
		{reason: "AWS does not say which group it is", given: all(releasing, func(in *input) { in.Seen.GroupErr = errRefused }), then: "nothing", shows: []string{"Released=False/Releasing"}, again: aws.FateOf(errRefused).After},
		{reason: "the group has another name", given: all(releasing, func(in *input) { changeGroup(in, func(g *autoscalinggroup.Group) { g.Name = "pool-1234" }) }), then: "nothing", shows: []string{"Released=False/NameTaken: Cluster API Provider AWS finds a group by the name of its pool, pool, but this group is named pool-1234"}},
		{reason: "CAPA does not know what the pool launches from", given: all(releasing, func(in *input) { in.Object.Spec.AWSLaunchTemplate = nil }), then: "nothing", shows: []string{"Released=False/InvalidSpec"}},
		{reason: "the launch config is gone", given: all(releasing, noConfig), then: "create AWSLaunchConfig pool, because the pool has no launch config"},
		{reason: "it was created again", given: all(releasing, tried(createLaunchConfig{Config: &infrav1.AWSLaunchConfig{}}, nil)), then: "nothing", shows: []string{"Released=False/Releasing: was recreated"}},
		{reason: "the launch config is another object's", given: all(releasing, config(func(c *infrav1.AWSLaunchConfig) { c.OwnerReferences = nil })), then: "nothing"},
		{reason: "the pool went back", given: all(releasing, config(func(c *infrav1.AWSLaunchConfig) { c.Status.RolledBackFrom = "config-2" })), then: "nothing", shows: []string{"Released=False/RolledBack"}},
		{reason: "the pool went back, and instances are protected: a refused release writes nothing", given: all(releasing, shielded, config(func(c *infrav1.AWSLaunchConfig) { c.Status.RolledBackFrom = "config-2" })), then: "nothing", shows: []string{"Released=False/RolledBack"}},
		{reason: "no other controller removes the protection", given: all(releasing, marked, released, shielded), then: "give up the protection of i-1 from " +
			"scale-in, because no instance refresh has to skip them any longer"},
		{reason: "its launch config is released first", given: releasing, then: "release AWSLaunchConfig pool, because " +
			"the pool is being released to Cluster API Provider AWS"},
		{reason: "the API server does not respond", given: all(releasing, tried(markReleased{}, errLater)), then: "nothing"},
		{reason: "the launch template is not as CAPA wants it yet", given: all(releasing, marked), then: "nothing", shows: []string{"Released=False/Releasing"}},
		{reason: "the launch template has another name", given: all(releasing, marked, released, config(func(c *infrav1.AWSLaunchConfig) { c.Status.LaunchTemplateName = "x" })), then: "nothing", shows: []string{"Released=False/NameTaken: Cluster API Provider AWS finds a launch template by the name of its pool, pool, but this launch template is named x"}},
		{reason: "the group is left", given: all(releasing, marked, released), then: "leave Auto Scaling group pool to " +
			"Cluster API Provider AWS, because the pool is being released to Cluster API Provider AWS, and " +
			"its launch template is in the expected format"},
		{reason: "which AWS refuses", given: all(releasing, marked, released, tried(disownGroup{}, errRefused)), then: "nothing", shows: []string{"Released=False/Releasing"}, again: aws.FateOf(errRefused).After},
		{reason: "the group was left: the launch config follows", given: all(releasing, marked, released, tried(disownGroup{}, nil)), then: "needs the launch config past the cache"},
		{reason: "the launch config goes", given: all(releasing, gone, marked, func(in *input) { in.Seen.Leftovers.Config = in.Seen.LaunchConfig.Object }), then: "delete AWSLaunchConfig pool, because " +
			"the pool has been released to Cluster API Provider AWS"},
		{reason: "it is going", given: all(releasing, gone, marked, func(in *input) { in.Seen.Leftovers.Config = in.Seen.LaunchConfig.Object }, tried(deleteLaunchConfig{}, nil)), then: "nothing", shows: []string{"Released=False/Releasing"}},
		{reason: "it was not released", given: all(releasing, gone, func(in *input) { in.Seen.Leftovers.Config = in.Seen.LaunchConfig.Object }), then: "nothing"},
		{reason: "all has gone back", given: all(releasing, gone), then: "nothing", shows: []string{"Released=True/Released"}},
		{reason: "nothing is released that AWS cannot be reached for", given: all(releasing, func(in *input) { in.Seen.Access = pool.Access{} }), then: "nothing", shows: []string{"ClusterInfrastructureReady=False/WaitingForCluster"}},

		{reason: "CAPA's group is proven to be the pool's: it is described once more", given: adopting, then: "needs the Auto Scaling group as it is now"},
		{reason: "and tagged", given: all(adopting, func(in *input) { in.Seen.Fresh = true }), then: adopt},
		{reason: "whether a refresh is in progress is read first", given: candidate, then: "needs instance refreshes"},
		{reason: "which AWS refuses", given: all(candidate, func(in *input) { in.Seen.Refreshes.Err = errRefused }, tried(recordInstances{}, nil)), then: "nothing",
			shows: []string{"ASGReady=False/ASGUpdateFailed", "Adopted=False/Adopting"}, again: aws.FateOf(errRefused).After},
		{reason: "a refresh that Slipway did not start is in progress", given: all(foreign, tried(recordInstances{}, nil)), then: "nothing", tells: infrav1.AdoptionDeferredEvent,
			shows: []string{"ASGReady=False/AdoptionDeferred: cancel-instance-refresh --auto-scaling-group-name pool", "Adopted=False/Adopting"}, again: time.Minute},
		{reason: "which was reported", given: all(foreign, tried(recordInstances{}, nil), func(in *input) {
			reconciling.False(in.Object, infrav1.ASGReadyCondition, infrav1.AdoptionDeferredReason, "")
		}), then: "nothing", shows: []string{"ASGReady=False/AdoptionDeferred"}, again: time.Minute},
		{reason: "it goes back", given: all(foreign, refreshes("RollbackInProgress"), tried(recordInstances{}, nil)), then: "nothing", tells: infrav1.AdoptionDeferredEvent,
			shows: []string{"ASGReady=False/AdoptionDeferred"}, again: time.Minute},
		{reason: "it is in progress, and the pool has no launch config: none is created", given: all(foreign, noConfig, tried(recordInstances{}, nil)), then: "nothing", tells: infrav1.AdoptionDeferredEvent,
			shows: []string{"ASGReady=False/AdoptionDeferred"}, again: time.Minute},
		{reason: "it has finished", given: all(candidate, refreshes("Successful"), func(in *input) { in.Seen.Fresh = true }), then: adopt},
		{reason: "Slipway started it before it released the group", given: all(foreign, func(in *input) {
			in.Seen.Fresh, in.Object.Status.Rollout = true, &infrav1.RolloutStatus{RefreshID: "r-1", StartedID: "r-1", Status: "InProgress"}
		}), then: adopt},
		{reason: "AWS does not tag it", given: all(adopting, func(in *input) { in.Seen.Fresh = true }, tried(adoptGroup{}, errRefused), tried(recordInstances{}, nil)), then: "nothing",
			shows: []string{"ASGReady=False/ASGUpdateFailed", "Adopted=False/Adopting"}, again: aws.FateOf(errRefused).After},
		{reason: "its template is not taken over yet", given: all(adopting, config(func(c *infrav1.AWSLaunchConfig) { c.Status.LaunchTemplateID = "lt-2" }), func(in *input) { in.Seen.LaunchConfig.TemplateID = "lt-2" }, tried(recordInstances{}, nil)),
			then: "nothing", shows: []string{"ASGReady=False/WaitingForLaunchTemplate"}, again: 10 * time.Second},
		{reason: "its template counts as what is wanted", given: all(adopting, config(func(c *infrav1.AWSLaunchConfig) {
			c.Status.LaunchTemplateID, c.Status.AcceptedVersions = "lt-2", []infrav1.AcceptedVersions{{LaunchTemplateID: "lt-1"}}
		}), func(in *input) { in.Seen.LaunchConfig.TemplateID = "lt-2" }), then: "needs the Auto Scaling group as it is now"},
		{reason: "the launch config was adopted", given: config(func(c *infrav1.AWSLaunchConfig) {
			c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: infrav1.AdoptedCondition, Status: metav1.ConditionTrue, Reason: "Adopted"})
		}), then: "nothing", shows: []string{"Adopted=True/Adopted"}, again: time.Hour},
	})
}
