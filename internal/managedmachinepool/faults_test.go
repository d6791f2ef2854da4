package managedmachinepool

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
)

// Faults of AWS that the SDK does not repeat a call for.
var (
	denied = awssim.Fault{Code: "AccessDeniedException", Status: 403, Message: "not authorized to do it"}
	lost   = awssim.Fault{Place: awssim.AfterEffect, Code: "Lost", Message: "the call was done, and its answer is lost"}
)

// struck has calls of an action struck by a fault: the first count of them, or all if it is zero.
// It returns the fault's id.
func (w *world) struck(action string, fault awssim.Fault, count int) string {
	w.Helper()
	fault.Action, fault.Count = action, count
	if count > 0 {
		fault.Nth = 1
	}
	id, err := w.sim.AddFault(fault)
	if err != nil {
		w.Fatal(err)
	}
	return id
}

// done counts the calls of an action that had an effect, whether or not their answer was lost.
func (w *world) done(action string) int {
	count := 0
	for _, call := range w.sim.Calls() {
		if call.Action == action && (call.Code == "" || call.Code == lost.Code) {
			count++
		}
	}
	return count
}

// live creates a pool, labels its nodes and rolls out another launch template version.
func (w *world) live() {
	w.Helper()
	template := w.template("t3.large", "m5.large")
	w.create("pool", func(pool *infrav1.AWSManagedMachinePool) {
		pool.Spec.InstanceType, pool.Spec.AWSLaunchTemplate = nil, &infrav1.AWSLaunchTemplate{InstanceType: "t3.large"}
	})
	w.passes("pool", "there is a launch config", func() bool {
		return w.store.Get(w.Context(), named("pool"), &infrav1.AWSLaunchConfig{}) == nil
	})
	w.configured("pool", template, 1)
	w.active("pool")
	w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.Labels = map[string]string{"team": "a"} })
	w.configured("pool", template, 2)
	w.passes("pool", "nodes run version 2 with their label", func() bool {
		names := w.nodegroups()
		if len(names) != 1 {
			return false
		}
		group := w.nodegroup(names[0])
		return group.Status == "ACTIVE" && *group.LaunchTemplate.Version == "2" && group.Labels["team"] == "a" &&
			w.condition("pool", infrav1.NodegroupReadyCondition).Status == "True" && w.condition("pool", infrav1.RolledOutCondition).Status == "True"
	})
}

// TestFaultsLeaveNothing holds that a pool that is created and edited while calls are lost or
// refused results in one node group, which was created and updated once, and one node role.
func TestFaultsLeaveNothing(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, action string
		fault          awssim.Fault
	}{
		{"the answer to the creation is lost", "CreateNodegroup", lost},
		{"the creation is denied for a while", "CreateNodegroup", denied},
		{"the answer to the role's creation is lost", "CreateRole", lost},
		{"the role's policies are denied for a while", "AttachRolePolicy", denied},
		{"the answer to the update of the configuration is lost", "UpdateNodegroupConfig", lost},
		{"the answer to the update of the version is lost", "UpdateNodegroupVersion", lost},
		{"the update of the version is denied for a while", "UpdateNodegroupVersion", denied},
		{"updates cannot be described", "DescribeUpdate", denied},
		{"the cluster cannot be described", "DescribeCluster", denied},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.struck(row.action, row.fault, 1)
			w.live()
			for _, note := range w.told() {
				if strings.HasSuffix(strings.TrimSpace(note), ":") {
					t.Errorf("an event ends without a reason: %q", note)
				}
			}
			got := map[string]int{}
			for _, action := range []string{"CreateNodegroup", "CreateRole", "UpdateNodegroupVersion"} {
				got[action] = w.done(action)
			}
			if diff := cmp.Diff(map[string]int{"CreateNodegroup": 1, "CreateRole": 1, "UpdateNodegroupVersion": 1}, distinctCalls(w, got)); diff != "" {
				t.Errorf("calls with an effect (-want +got):\n%s", diff)
			}
			if roles := w.roles(); len(roles) != 1 {
				t.Errorf("there are roles %q", roles)
			}
			w.delete("pool")
			if left := append(w.nodegroups(), w.roles()...); len(left) > 0 {
				t.Errorf("after the pool was deleted, there are %q", left)
			}
		})
	}
}

// distinctCalls counts a request that was repeated with its token, because its answer was lost, once.
func distinctCalls(w *world, counts map[string]int) map[string]int {
	for action, count := range counts {
		for _, call := range w.sim.Calls() {
			if call.Action == action && call.Code == lost.Code && count > 1 {
				counts[action]--
			}
		}
	}
	return counts
}

// TestRefusalsAreShown holds for each call that AWS refuses for good that a condition says so with
// what AWS said, and that all is well once AWS allows it.
func TestRefusalsAreShown(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, action string
		edit           func(*infrav1.AWSManagedMachinePool)
	}{
		{"the node group may not be created", "CreateNodegroup", nil},
		{"the role may not be created", "CreateRole", nil},
		{"a label may not be set", "UpdateNodegroupConfig", func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.Labels = map[string]string{"team": "a"} }},
		{"a tag may not be set", "TagResource", func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.AdditionalTags = infrav1.Tags{"team": "a"} }},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("pool", nil)
			if row.edit != nil {
				w.active("pool")
			}
			id := w.struck(row.action, denied, 0)
			if row.edit != nil {
				w.edit("pool", row.edit)
			}
			w.passes("pool", "a condition says what AWS said", func() bool {
				for _, condition := range w.pool("pool").Status.Conditions {
					if condition.Reason == infrav1.AccessDeniedReason && strings.Contains(condition.Message, "not authorized to do it") {
						return true
					}
				}
				return false
			})
			if ready := w.condition("pool", infrav1.ReadyCondition); ready.Status == "True" {
				t.Errorf("the pool is ready: %+v", ready)
			}
			w.sim.RemoveFault(id)
			w.passes("pool", "all is well", func() bool { return w.condition("pool", infrav1.ReadyCondition).Status == "True" })
		})
	}
}

// TestRefusedDeletion holds that a pool stays while its node group or role cannot be deleted, says
// why, and goes once AWS allows it, and that nothing is left then.
func TestRefusedDeletion(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"DeleteNodegroup", "DescribeNodegroup", "DeleteRole"} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("pool", nil)
			w.active("pool")
			id := w.struck(action, denied, 0)
			if err := w.store.Delete(t.Context(), w.pool("pool")); err != nil {
				t.Fatal(err)
			}
			w.reconcile("pool")
			w.clock.Step(lookBusy)
			w.passes("pool", "the pool says why it is not gone", func() bool {
				return strings.Contains(w.condition("pool", infrav1.DeletingCondition).Message, "not authorized to do it")
			})
			for range 10 { // it does not say anything else meanwhile
				w.reconcile("pool")
				if said := w.condition("pool", infrav1.DeletingCondition); said.Reason != infrav1.AccessDeniedReason {
					t.Errorf("Deleting is %+v", said)
				}
			}
			w.sim.RemoveFault(id)
			w.passes("pool", "the pool is gone", func() bool {
				return w.store.Get(t.Context(), named("pool"), &infrav1.AWSManagedMachinePool{}) != nil
			})
			if left := append(w.nodegroups(), w.roles()...); len(left) > 0 {
				t.Errorf("after the pool was deleted, there are %q", left)
			}
		})
	}
}
