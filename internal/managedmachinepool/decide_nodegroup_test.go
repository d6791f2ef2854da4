package managedmachinepool

import (
	"testing"
	"time"

	"github.com/aws/smithy-go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/autoscalinggroup/lifecyclehook"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/noderole"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// withRole has the node role be as desired, and read in this pass.
func withRole(in *input) {
	role := desiredRole(*in).Applied(noderole.Role{Name: "nodes", ARN: roleARN})
	in.Seen.Role = Role{Read: true, Name: "nodes", Role: &role}
}

// autoscaled has an external autoscaler decide the size.
func autoscaled(in *input) {
	in.Seen.MachinePool.Annotations = map[string]string{clusterv1.ReplicasManagedByAnnotation: "external-autoscaler"}
}

func TestDecideCreate(t *testing.T) {
	t.Parallel()
	ready := infrav1.NodegroupReadyCondition
	const create = "create node group team_pool, because "
	exists := &smithy.GenericAPIError{Code: "ResourceInUseException", Message: "NodeGroup already exists"}
	specify(t, []row{
		{reason: "there is no node group", given: gone, then: create + "the pool has no node group"},
		{reason: "its name is not recorded", given: func(in *input) { gone(in); in.Object.Status.Nodegroup = nil }, then: "record the name of node group team_pool, because it is about to be created"},
		{reason: "its name cannot be recorded", given: func(in *input) {
			gone(in)
			in.Object.Status.Nodegroup = nil
			did(in, recordName{Name: "team_pool"}, errLater)
		},
			then: "nothing", again: time.Hour, fails: "record the name of node group team_pool: no answer"},
		{reason: "it was deleted outside Slipway", given: func(in *input) { gone(in); condition(in, ready, metav1.ConditionTrue, infrav1.ReadyReason, "") },
			then: create + "node group team_pool was deleted outside Slipway", shows: []string{ready + "=False/" + infrav1.NodegroupNotFoundReason}},
		{reason: "it was created just now", given: func(in *input) { gone(in); did(in, createNodegroup{}, exists) }, then: "nothing", again: lookAgain},
		{reason: "EKS refuses it", given: func(in *input) { gone(in); did(in, createNodegroup{}, errRefused) }, then: "nothing", again: refusedAgain,
			shows: []string{ready + "=False/" + infrav1.NodegroupReconcileFailedReason}},
		{reason: "EKS creates it", given: func(in *input) {
			wanted := in.Object.Status.WantedConfig
			group(in, func(g *nodegroup.Nodegroup) { g.Status, g.AutoScalingGroup = nodegroup.StatusCreating, "" })
			in.Seen.Members = nil
			in.Object.Status.Update = &infrav1.NodegroupUpdateStatus{Type: creation, Status: nodegroup.UpdateFailed, StartedFor: wanted, Attempts: 1, EndTime: ptr.To(metav1.NewTime(noon))}
			did(in, createNodegroup{}, nil)
		}, then: "nothing", again: lookBusy, shows: []string{ready + "=False/" + infrav1.NodegroupCreatingReason, infrav1.RolledOutCondition + "=Unknown/" + infrav1.WaitingForNodegroupReason}},
		{reason: "the size is out of bounds", given: func(in *input) {
			in.Object.Spec.Scaling = &infrav1.ManagedMachinePoolScaling{MinSize: ptr.To[int32](3), MaxSize: ptr.To[int32](4)}
			gone(in)
		}, then: "nothing", again: time.Hour, shows: []string{ready + "=False/" + infrav1.ReplicasOutOfBoundsReason}},
		{reason: "EKS would refuse the version", given: func(in *input) { in.Seen.MachinePool.Spec.Template.Spec.Version = "v1.33.0"; gone(in) }, then: "nothing", again: time.Hour,
			shows: []string{ready + "=False/" + infrav1.InvalidSpecReason}},
		{reason: "the control plane has an older version", given: func(in *input) { in.Seen.MachinePool.Spec.Template.Spec.Version = "v1.35.0"; gone(in) }, then: "nothing", again: time.Hour,
			shows: []string{ready + "=False/" + infrav1.WaitingForControlPlaneReason}},
		{reason: "the spec names no subnets", given: func(in *input) { in.Object.Spec.SubnetIDs = nil; gone(in) }, then: "needs subnets"},
		{reason: "there are no subnets", given: func(in *input) { in.Object.Spec.SubnetIDs = nil; gone(in); in.Seen.Subnets = Subnets{Err: errRefused} }, then: "nothing", again: refusedAgain,
			shows: []string{ready + "=False/" + infrav1.SubnetsNotFoundReason}},
		{reason: "subnets were found", given: func(in *input) {
			in.Object.Spec.SubnetIDs = nil
			gone(in)
			in.Seen.Subnets = Subnets{Read: true, IDs: []string{"subnet-2"}}
		},
			then: create + "the pool has no node group"},
		{reason: "EKS was not asked in this pass", given: func(in *input) { gone(in); in.Seen.Fresh = false }, then: "needs the node groups as they are now"},
		{reason: "EKS cannot be asked", given: func(in *input) { gone(in); in.Seen.Fresh, in.Seen.FreshErr = false, errRefused }, then: "nothing", again: refusedAgain},
		{reason: "other names were not looked for", given: func(in *input) { gone(in); in.Seen.Strays = Strays{} }, then: "needs node groups of other names"},
		{reason: "other names cannot be looked for", given: func(in *input) { gone(in); in.Seen.Strays = Strays{Err: errLater} }, then: "nothing", again: time.Hour, fails: "no answer"},
		{reason: "the node group has another name", given: func(in *input) { gone(in); in.Seen.Strays.Groups = []*nodegroup.Nodegroup{{Name: "golden"}} }, then: "nothing", again: lookAgain},
		{reason: "an external autoscaler decides the size", given: func(in *input) { autoscaled(in); gone(in) }, then: create + "the pool has no node group"},
		{reason: "the launch template is not ready", given: func(in *input) { in.Seen.LaunchConfig.Object.Status.Conditions = nil; gone(in) }, then: "nothing", again: time.Hour,
			shows: []string{ready + "=False/" + infrav1.WaitingForLaunchTemplateReason}},
		{reason: "it is deleted by another user", given: func(in *input) {
			group(in, func(g *nodegroup.Nodegroup) { g.Status = nodegroup.StatusDeleting })
			in.Seen.InMotion = true
		},
			then: "nothing", again: time.Hour, shows: []string{ready + "=False/" + infrav1.NodegroupDeletingReason}},
	})
}

// TestCapacityOfAutoscaledNodegroups holds what an external autoscaler goes on from.
func TestCapacityOfAutoscaledNodegroups(t *testing.T) {
	t.Parallel()
	in := atRest(t)
	autoscaled(in)
	if got := firstCapacity(*in); got != 2 {
		t.Errorf("without a node group before the size is %d", got)
	}
	in.Seen.Retiring = &nodegroup.Nodegroup{Sizes: nodegroup.Sizes{Desired: 7}}
	if got := firstCapacity(*in); got != 7 {
		t.Errorf("in place of a node group of 7 the size is %d", got)
	}
}

func TestDecideClearAway(t *testing.T) {
	t.Parallel()
	ready := infrav1.NodegroupReadyCondition
	failed := func(status string) edit {
		return func(in *input) {
			group(in, func(g *nodegroup.Nodegroup) {
				g.Status, g.AutoScalingGroup, g.Created = status, "", noon.Add(-time.Minute)
				g.Issues = []nodegroup.Issue{{Code: "AccessDenied", Message: "the role may not."}}
			})
			in.Seen.Members = nil
		}
	}
	notCreated, notDeleted := failed(nodegroup.StatusCreateFailed), failed(nodegroup.StatusDeleteFailed)
	longAgo := ptr.To(metav1.NewTime(noon.Add(-time.Hour)))
	const again = "delete node group team_pool, because EKS could not create node group team_pool: AccessDenied: the role may not"
	attempt := func(in *input, wanted string) {
		in.Object.Status.Update = &infrav1.NodegroupUpdateStatus{Type: creation, Status: nodegroup.UpdateInProgress, StartedFor: wanted}
	}
	unhealthy := "NodegroupUnhealthy"
	specify(t, []row{
		{reason: "EKS could not create it", given: func(in *input) { notCreated(in); attempt(in, in.Object.Status.WantedConfig) }, then: "nothing", again: 5 * time.Minute, tells: unhealthy,
			shows: []string{ready + "=False/" + infrav1.NodegroupCreateFailedReason + ": AccessDenied: the role may not"}},
		{reason: "EKS could not create it, and status was lost", given: notCreated, then: "nothing", again: 5 * time.Minute, tells: unhealthy},
		{reason: "EKS could not create what was wanted before", given: func(in *input) { notCreated(in); attempt(in, "another") }, then: "needs the node groups as they are now"},
		{reason: "EKS could not create what was wanted before, and was asked", given: func(in *input) { notCreated(in); attempt(in, "another"); fresh(in) }, then: again},
		{reason: "EKS cannot be asked", given: func(in *input) { notCreated(in); attempt(in, "another"); in.Seen.FreshErr = errLater }, then: "nothing", again: time.Hour, fails: "no answer", tells: unhealthy},
		{reason: "it is being deleted", given: func(in *input) {
			notCreated(in)
			attempt(in, "another")
			fresh(in)
			did(in, deleteNodegroup{Group: "team_pool"}, nil)
		},
			then: "nothing", again: lookAgain, tells: unhealthy},
		{reason: "EKS refuses to delete it", given: func(in *input) {
			notCreated(in)
			attempt(in, "another")
			fresh(in)
			did(in, deleteNodegroup{Group: "team_pool"}, errRefused)
		},
			then: "nothing", again: refusedAgain, tells: unhealthy},
		{reason: "EKS could not delete it", given: notDeleted, then: "nothing", again: endAgain, tells: unhealthy, shows: []string{ready + "=False/" + infrav1.NodegroupDeleteFailedReason}},
		{reason: "EKS could not delete it a while ago", given: func(in *input) {
			notDeleted(in)
			fresh(in)
			in.Object.Status.Deletion = &infrav1.NodegroupDeletionStatus{FailedSince: longAgo}
		}, then: "delete node group team_pool, because EKS could not delete node group team_pool: AccessDenied: the role may not"},
	})
}

func TestDecideReplace(t *testing.T) {
	t.Parallel()
	roll := infrav1.RolledOutCondition
	lost := func(in *input) {
		in.Object.Spec.TemplateLossPolicy = infrav1.TemplateLossReplace
		group(in, func(g *nodegroup.Nodegroup) { g.LaunchTemplateID = "lt-0" })
		in.Seen.LaunchConfig.TemplateID, in.Seen.LaunchConfig.Checked = "lt-1", true
	}
	replacing := func(in *input) {
		in.Seen.Successor, in.Seen.Predecessor, in.Seen.InMotion = "team_pool", "old", true
		in.Seen.Retiring = &nodegroup.Nodegroup{Name: "old", Status: nodegroup.StatusActive, AutoScalingGroup: "eks-old"}
		in.Seen.Leaving = &autoscalinggroup.Group{Name: "eks-old"}
	}
	undeletable := func(in *input, since time.Time) {
		replacing(in)
		fresh(in)
		in.Seen.Retiring.Status = nodegroup.StatusDeleteFailed
		in.Object.Status.Deletion = &infrav1.NodegroupDeletionStatus{FailedSince: ptr.To(metav1.NewTime(since))}
	}
	specify(t, []row{
		{reason: "the launch template is lost", given: lost, then: "nothing", again: lookAgain, tells: "NodegroupReplacing"},
		{reason: "and the launch config may be an earlier one", given: func(in *input) { lost(in); in.Seen.LaunchConfig.Checked = false },
			then: "needs whether the cache shows the present launch config"},
		{reason: "the launch config is an earlier one", given: func(in *input) { lost(in); in.Seen.LaunchConfig.Behind = true }, then: "nothing", again: lookAgain},
		{reason: "the node group is the one of this template", given: func(in *input) {
			lost(in)
			name := successorName(*in, "lt-1")
			group(in, func(g *nodegroup.Nodegroup) { g.Name = name })
		}, then: "nothing", again: time.Hour},
		{reason: "the new node group is not known to have its nodes", given: replacing, then: "nothing", again: lookBusy,
			shows: []string{roll + "=False/" + infrav1.ReplacingNodegroupReason + ": node group team_pool replaces old, whose launch template was deleted"}},
		{reason: "the new node group has its nodes", given: func(in *input) { replacing(in); fresh(in) }, then: "delete node group old, because node group team_pool replaced node group old"},
		{reason: "EKS refuses to delete the old one", given: func(in *input) { replacing(in); fresh(in); did(in, deleteNodegroup{Group: "old"}, errRefused) }, then: "nothing", again: refusedAgain,
			shows: []string{infrav1.NodegroupReadyCondition + "=False/" + infrav1.NodegroupDeleteFailedReason}},
		{reason: "EKS is updating the old one", given: func(in *input) { replacing(in); fresh(in); did(in, deleteNodegroup{Group: "old"}, errInUse) }, then: "nothing", again: lookBusy,
			shows: []string{infrav1.NodegroupReadyCondition + "=True/" + infrav1.ReadyReason, roll + "=False/" + infrav1.ReplacingNodegroupReason + ": EKS deletes node group old after the update that is in progress"}},
		{reason: "EKS could not delete the old one just now", given: func(in *input) { undeletable(in, noon) }, then: "nothing", again: lookBusy,
			shows: []string{roll + "=False/" + infrav1.ReplacingNodegroupReason + ": EKS could not delete node group old"}},
		{reason: "EKS could not delete the old one a while ago", given: func(in *input) { undeletable(in, noon.Add(-endAgain)) },
			then: "delete node group old, because node group team_pool replaced node group old"},
		{reason: "the old one is being deleted", given: func(in *input) { replacing(in); fresh(in); did(in, deleteNodegroup{Group: "old"}, nil) }, then: "nothing", again: lookBusy,
			shows: []string{roll + "=False/" + infrav1.ReplacingNodegroupReason + ": node group team_pool replaced node group old: node group old is being deleted"}},
		{reason: "the old one is gone", given: func(in *input) { in.Seen.Successor, in.Seen.Predecessor = "team_pool", "old"; fresh(in) }, then: "nothing", again: time.Hour, tells: "NodegroupReplaced"},
	})
	again := func(in *input) {
		lost(in)
		replacing(in)
		fresh(in)
	}
	const clear = "delete node group team_pool, because the launch template of node group team_pool was deleted before the node group replaced old"
	specify(t, []row{
		{reason: "the launch template of the new node group is lost too", given: again, then: clear, shows: []string{infrav1.NodegroupReadyCondition + "=False/" + infrav1.TemplateLostReason}},
		{reason: "the new node group is degraded because of that", given: func(in *input) {
			again(in)
			group(in, func(g *nodegroup.Nodegroup) { g.Status = nodegroup.StatusDegraded })
		}, then: clear},
		{reason: "the new node groups were not described in this pass", given: func(in *input) { again(in); in.Seen.Fresh = false }, then: "needs the node groups as they are now"},
		{reason: "the launch config may be an earlier one", given: func(in *input) { again(in); in.Seen.LaunchConfig.Checked = false }, then: "needs whether the cache shows the present launch config"},
		{reason: "the launch config is an earlier one", given: func(in *input) { again(in); in.Seen.LaunchConfig.Behind = true }, then: "nothing", again: lookAgain},
		{reason: "EKS is creating the new node group", given: func(in *input) {
			again(in)
			group(in, func(g *nodegroup.Nodegroup) { g.Status = nodegroup.StatusCreating })
		}, then: "nothing", again: lookBusy},
		{reason: "EKS refuses to delete the new node group", given: func(in *input) { again(in); did(in, deleteNodegroup{Group: "team_pool"}, errRefused) }, then: "nothing", again: refusedAgain},
		{reason: "the new node group is being deleted", given: func(in *input) {
			again(in)
			group(in, func(g *nodegroup.Nodegroup) { g.Status = nodegroup.StatusDeleting })
		}, then: "nothing", again: lookBusy, shows: []string{roll + "=False/" + infrav1.ReplacingNodegroupReason +
			": the launch template of node group team_pool was deleted before the node group replaced old. Slipway recreates it, and node group old keeps its nodes until then"}},
		{reason: "EKS could not delete the old one, which may have lost nodes", given: func(in *input) { lost(in); undeletable(in, noon.Add(-endAgain)) },
			then: "delete node group old, because node group team_pool replaced node group old"},
		{reason: "the user no longer wants node groups replaced, and the replacement has begun", given: func(in *input) { again(in); in.Object.Spec.TemplateLossPolicy = infrav1.TemplateLossReport }, then: clear},
		{reason: "the user no longer wants node groups replaced, and EKS is deleting the old one", given: func(in *input) {
			again(in)
			in.Seen.Retiring.Status, in.Object.Spec.TemplateLossPolicy = nodegroup.StatusDeleting, infrav1.TemplateLossReport
		}, then: "nothing", again: lookBusy, shows: []string{infrav1.NodegroupReadyCondition + "=False/" + infrav1.TemplateLostReason + ": set spec.templateLossPolicy to Replace"}},
	})
	in := atRest(t)
	lost(in)
	if plan := Decide(*in); plan.Annotations[ownership.NodegroupsAnnotation] != successorName(*in, "lt-1")+",team_pool" {
		t.Errorf("annotations %v", plan.Annotations)
	}
}

func TestDecideTags(t *testing.T) {
	t.Parallel()
	ready := infrav1.NodegroupReadyCondition
	tagged := func(in *input) {
		in.Object.Spec.AdditionalTags = infrav1.Tags{"team": "blue"}
		in.Seen.LaunchConfig.Object.Spec = wantedConfig(*in, configSource(*in), in.Seen.LaunchConfig.Object)
		withRole(in)
	}
	onGroup := func(in *input) { group(in, func(g *nodegroup.Nodegroup) { g.Tags["team"] = "blue" }) }
	hooked := func(in *input) {
		in.Object.Spec.AWSLifecycleHooks = []infrav1.AWSLifecycleHook{{Name: "drain", LifecycleTransition: infrav1.LifecycleTransitionInstanceTerminating}}
	}
	wanted := func(in *input) []lifecyclehook.Hook {
		return lifecyclehook.Of(in.Object.Spec.AWSLifecycleHooks)
	}
	applied := func(in *input) {
		in.Seen.Hooks = Hooks{Read: true, Group: "eks-pool", List: wanted(in)}
		record := ownership.AppliedOf(in.Object)
		record.Hooks, record.HooksDigest = []string{"drain"}, lifecyclehook.Digest(wanted(in))+"/eks-pool"
		record.Record(in.Object)
	}
	specify(t, []row{
		{reason: "a tag is asked for", given: func(in *input) { tagged(in); withRole(in) }, then: "tag node group team_pool: team, because " +
			"tags team differ from the spec of the pool"},
		{reason: "the node group cannot be tagged", given: func(in *input) { tagged(in); did(in, tagNodegroup{}, errRefused) }, then: "nothing", again: refusedAgain,
			shows: []string{ready + "=False/" + infrav1.NodegroupReconcileFailedReason}},
		{reason: "its Auto Scaling group lacks the tag", given: func(in *input) { tagged(in); onGroup(in) }, then: "tag Auto Scaling group eks-pool: team, " +
			"because tags team differ from the spec of the pool"},
		{reason: "its Auto Scaling group cannot be tagged", given: func(in *input) { tagged(in); onGroup(in); did(in, tagGroup{}, errRefused) }, then: "nothing", again: refusedAgain},
		{reason: "its Auto Scaling group is not seen", given: func(in *input) { tagged(in); onGroup(in); in.Seen.Members = nil }, then: "nothing", again: time.Hour},
		{reason: "hooks are asked for", given: hooked, then: "needs lifecycle hooks"},
		{reason: "there are none", given: func(in *input) { hooked(in); in.Seen.Hooks = Hooks{Read: true, Group: "eks-pool"} }, then: "change 1 lifecycle hooks, because drain " +
			"differ from the spec of the pool"},
		{reason: "hooks cannot be described", given: func(in *input) { hooked(in); in.Seen.Hooks = Hooks{Err: errRefused} }, then: "nothing", again: refusedAgain},
		{reason: "hooks cannot be changed", given: func(in *input) {
			hooked(in)
			in.Seen.Hooks = Hooks{Read: true, Group: "eks-pool"}
			did(in, changeHooks{}, errRefused)
		}, then: "nothing", again: refusedAgain},
		{reason: "hooks are as asked for", given: func(in *input) { hooked(in); applied(in) }, then: "nothing", again: reconciling.NextTurn(noon, hookCheck, keyOf(*atRest(t))).Sub(noon)},
		{reason: "hooks have their turn later", given: func(in *input) {
			hooked(in)
			applied(in)
			in.Seen.Hooks = Hooks{}
			in.Seen.HooksDue = noon.Add(time.Minute)
		}, then: "nothing", again: time.Minute},
		{reason: "hooks are no longer asked for", given: func(in *input) { hooked(in); applied(in); in.Object.Spec.AWSLifecycleHooks = nil }, then: "change 1 lifecycle hooks, because drain " +
			"differ from the spec of the pool"},
	})
}

func TestDecideReport(t *testing.T) {
	t.Parallel()
	specify(t, []row{
		{reason: "an instance came", given: func(in *input) { in.Seen.Members.Instances = append(in.Seen.Members.Instances, member("i-3", 1)) },
			then: "record 3 instances, because the instances of the node group changed"},
		{reason: "an instance is on its way out", given: func(in *input) { in.Seen.Members.Instances[1].LifecycleState = "Terminating:Wait" },
			then: "observe the node group often, because its instances are expected to change"},
		{reason: "nothing is expected to change any longer", given: func(in *input) { in.Seen.InMotion = true }, then: "observe the node group rarely, because nothing is expected to change"},
		{reason: "an external autoscaler set another size", given: func(in *input) {
			autoscaled(in)
			in.Seen.Members.Capacity = 3
			group(in, func(g *nodegroup.Nodegroup) { g.Sizes.Desired, g.Sizes.Max = 3, 3 })
		}, then: "set the replicas of MachinePool workers to 3, because an external autoscaler set the desired capacity of the node group: 2 → 3"},
		{reason: "EKS reports issues", given: func(in *input) {
			group(in, func(g *nodegroup.Nodegroup) {
				g.Issues = []nodegroup.Issue{{Code: "AsgInstanceLaunchFailures", Message: "no capacity", Resources: []string{"eks-pool"}}, {Code: "AsgInstanceLaunchFailures", Message: "no capacity"}}
			})
		}, then: "nothing", again: time.Hour, tells: "NodegroupUnhealthy", shows: []string{infrav1.NodegroupHealthyCondition + "=False/" + infrav1.DegradedReason + ": no capacity"}},
		{reason: "EKS reports that it is degraded", given: func(in *input) { group(in, func(g *nodegroup.Nodegroup) { g.Status = nodegroup.StatusDegraded }) },
			then: "nothing", again: time.Hour, tells: "NodegroupUnhealthy", shows: []string{infrav1.NodegroupHealthyCondition + "=False/" + infrav1.DegradedReason + ": EKS reports that the node group is degraded, without a reason"}},
		{reason: "what nodes should run is not known", given: func(in *input) { in.Seen.LaunchConfig.Object.Generation = 2 }, then: "nothing", again: time.Hour,
			shows: []string{infrav1.LaunchTemplateReadyCondition + "=Unknown/" + infrav1.WaitingForLaunchConfigReason, infrav1.RolledOutCondition + "=True/" + infrav1.RolledOutReason}},
	})
}

func TestDecideBlock(t *testing.T) {
	t.Parallel()
	ready, roll := infrav1.NodegroupReadyCondition, infrav1.RolledOutCondition
	// inBlock has the node group run in a Capacity Block, and another size be wanted.
	inBlock := func(in *input) {
		in.Object.Spec.CapacityType = ptr.To(infrav1.ManagedMachinePoolCapacityTypeCapacityBlock)
		in.Object.Spec.AWSLaunchTemplate.CapacityReservationID = ptr.To("cr-1")
		in.Seen.LaunchConfig.Object.Spec = wantedConfig(*in, configSource(*in), in.Seen.LaunchConfig.Object)
		group(in, func(g *nodegroup.Nodegroup) { g.CapacityType = "CAPACITY_BLOCK" })
		in.Seen.MachinePool.Spec.Replicas = ptr.To[int32](3)
		fresh(in)
	}
	specify(t, []row{
		{reason: "nodes would be added", given: inBlock, then: "needs when the Capacity Block expires"},
		{reason: "it cannot be found out when the block ends", given: func(in *input) { inBlock(in); in.Seen.Block = Block{Err: errRefused} }, then: "nothing", again: refusedAgain,
			shows: []string{ready + "=False/" + infrav1.NodegroupReconcileFailedReason + ": finding out when the Capacity Block ends"}},
		{reason: "the block lasts", given: func(in *input) { inBlock(in); in.Seen.Block = Block{Read: true, End: noon.Add(time.Hour)} },
			then: "update node group team_pool: min size 2 → 3; max size 2 → 3; desired size 2 → 3, because min size 2 → 3; max size 2 → 3; desired size 2 → 3"},
		{reason: "the block ends", given: func(in *input) { inBlock(in); in.Seen.Block = Block{Read: true, End: noon.Add(30 * time.Minute)} }, then: "nothing", again: time.Hour,
			shows: []string{ready + "=False/" + infrav1.CapacityBlockEndedReason + ": Capacity Block cr-1 ends"}},
		{reason: "the launch config is not ready", given: func(in *input) { inBlock(in); in.Seen.LaunchConfig.Object.Generation = 2 }, then: "nothing", again: time.Hour},
		{reason: "another version is wanted while nodes run", given: func(in *input) {
			inBlock(in)
			in.Seen.MachinePool.Spec.Replicas = ptr.To[int32](2)
			wantVersion(in, 2)
		}, then: "nothing", again: time.Hour, shows: []string{roll + "=False/" + infrav1.CapacityBlockInUseReason}},
	})
}
