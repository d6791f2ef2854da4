package managedmachinepool

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
)

// rolling has a pool whose node group EKS updates to the second version of its launch template.
func rolling(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	template := w.template("t3.large", "m5.large")
	w.create("pool", func(pool *infrav1.AWSManagedMachinePool) {
		pool.Spec.InstanceType, pool.Spec.AWSLaunchTemplate = nil, &infrav1.AWSLaunchTemplate{InstanceType: "t3.large"}
	})
	w.reconcile("pool")
	w.reconcile("pool")
	w.configured("pool", template, 1)
	w.active("pool")
	w.configured("pool", template, 2)
	w.passes("pool", "the update is under way", func() bool {
		update := w.pool("pool").Status.Update
		return update != nil && update.Type == "VersionUpdate"
	})
	return w
}

// TestUpdateIsFollowedPastABadEdit holds that status follows the update that is under way until it
// finishes, whatever is wrong with what the spec asks for next, and does not call nodes up to date
// that the spec no longer asks for.
func TestUpdateIsFollowedPastABadEdit(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		edit   func(*world)
	}{
		{"the launch config cannot be launched from", func(w *world) { w.refused("pool", "key pair tpyo does not exist") }},
		{"the launch config that is named does not exist", func(w *world) {
			w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) {
				pool.Spec.AWSLaunchTemplate, pool.Spec.LaunchConfigRef = nil, &infrav1.LaunchConfigReference{Name: "tpyo"}
			})
		}},
		{"the launch config is another object's", func(w *world) {
			config := &infrav1.AWSLaunchConfig{}
			if err := w.store.Get(w.Context(), named("pool"), config); err != nil {
				w.Fatal(err)
			}
			config.OwnerReferences = nil
			if err := w.store.Update(w.Context(), config); err != nil {
				w.Fatal(err)
			}
		}},
		{"the bootstrap provider has no data yet", func(w *world) {
			machinePool := &clusterv1.MachinePool{}
			if err := w.store.Get(w.Context(), named("pool"), machinePool); err != nil {
				w.Fatal(err)
			}
			machinePool.Spec.Template.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{Kind: "EKSConfig", Name: "pool", APIGroup: "bootstrap.cluster.x-k8s.io"}
			if err := w.store.Update(w.Context(), machinePool); err != nil {
				w.Fatal(err)
			}
		}},
		{"the bootstrap data has an empty name", func(w *world) {
			machinePool := &clusterv1.MachinePool{}
			if err := w.store.Get(w.Context(), named("pool"), machinePool); err != nil {
				w.Fatal(err)
			}
			machinePool.Spec.Template.Spec.Bootstrap = clusterv1.Bootstrap{
				DataSecretName: ptr.To(""), ConfigRef: clusterv1.ContractVersionedObjectReference{Kind: "EKSConfig", Name: "pool", APIGroup: "bootstrap.cluster.x-k8s.io"},
			}
			if err := w.store.Update(w.Context(), machinePool); err != nil {
				w.Fatal(err)
			}
		}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := rolling(t)
			w.T = t
			row.edit(w)
			w.reconcile("pool")
			if rolledOut := w.condition("pool", infrav1.RolledOutCondition); rolledOut.Reason != infrav1.RollingOutReason {
				t.Errorf("during the update RolledOut is %+v", rolledOut)
			}
			w.passes("pool", "the end of the update is reported", func() bool { return w.pool("pool").Status.Update.Status == "Successful" })
			w.passes("pool", "EKS is done", func() bool { return w.pool("pool").Status.Nodegroup.Status == "ACTIVE" })
			rolledOut, ready := w.condition("pool", infrav1.RolledOutCondition), w.condition("pool", infrav1.ReadyCondition)
			if rolledOut.Status != metav1.ConditionUnknown || ready.Status != metav1.ConditionFalse {
				t.Errorf("after the update RolledOut is %+v, and Ready %+v", rolledOut, ready)
			}
			if version := ptr.Deref(w.pool("pool").Status.LaunchTemplateVersion, ""); version != "2" {
				t.Errorf("status has version %q", version)
			}
		})
	}
}

// TestEnclavesInALocalZone holds that a pool in a Local Zone has no launch config that asks for
// enclaves, and says why.
func TestEnclavesInALocalZone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pool", func(pool *infrav1.AWSManagedMachinePool) {
		pool.Spec.InstanceType, pool.Spec.SubnetIDs, pool.Spec.AvailabilityZones = nil, nil, []string{"us-east-1-bos-1a"}
		pool.Spec.AWSLaunchTemplate = &infrav1.AWSLaunchTemplate{InstanceType: "m5.xlarge", EnclaveOptions: &infrav1.EnclaveOptions{Enabled: ptr.To(true)}}
	})
	w.reconcile("pool")
	w.reconcile("pool")
	if got := w.condition("pool", infrav1.LaunchTemplateReadyCondition); got.Reason != infrav1.NitroEnclaveEdgeZoneUnsupportedReason {
		t.Errorf("LaunchTemplateReady is %+v", got)
	}
	if err := w.store.Get(t.Context(), named("pool"), &infrav1.AWSLaunchConfig{}); !apierrors.IsNotFound(err) {
		t.Errorf("there is a launch config, or: %v", err)
	}
}

// TestVersionThatEKSDoesNotTake holds that the condition says which version EKS takes, without EKS
// being asked, and that the version that it takes mends it.
func TestVersionThatEKSDoesNotTake(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ version, reason, says string }{
		{"v1.33.2", infrav1.InvalidSpecReason, "Set the version to 1.34"},
		{"v1.35.0", infrav1.WaitingForControlPlaneReason, "Upgrade the control plane"},
	} {
		w := newWorld(t)
		w.create("pool", nil)
		w.setVersion("pool", row.version)
		w.reconcile("pool")
		w.reconcile("pool")
		if got := w.condition("pool", infrav1.NodegroupReadyCondition); got.Reason != row.reason || !strings.Contains(got.Message, row.says) {
			t.Errorf("%s: EKSNodegroupReady is %+v", row.version, got)
		}
		w.expectNodegroups()
		w.setVersion("pool", "v1.34.9")
		w.active("pool")
	}
}

// TestCauseIsWhatDiffers holds that the cause of an update is the difference between what nodes run
// and what is wanted, also after an update that failed.
func TestCauseIsWhatDiffers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	template := w.template("t3.large", "m5.large", "m6i.large")
	w.create("pool", func(pool *infrav1.AWSManagedMachinePool) {
		pool.Spec.InstanceType, pool.Spec.AWSLaunchTemplate = nil, &infrav1.AWSLaunchTemplate{InstanceType: "t3.large"}
	})
	w.reconcile("pool")
	w.reconcile("pool")
	w.configured("pool", template, 1)
	w.active("pool")
	behavior := w.sim.Behavior()
	behavior.Nodes = []awssim.NodeRule{{NeverReady: true}}
	w.sim.SetBehavior(behavior)
	w.configured("pool", template, 2)
	w.passes("pool", "the update fails", func() bool {
		update := w.pool("pool").Status.Update
		return update != nil && update.Status == "Failed"
	})
	behavior.Nodes = nil
	w.sim.SetBehavior(behavior)
	w.configured("pool", template, 3)
	w.passes("pool", "another update is under way", func() bool { return w.pool("pool").Status.Update.Status == "InProgress" })
	if cause := w.pool("pool").Status.Update.Cause; cause != "instance type t3.large → m6i.large" {
		t.Errorf("the cause is %q", cause)
	}
}

// The instance types of the two versions that instances run in tests.
const oldType, newType = "t3.large", "m5.large"

// TestVersionsOfAnUpdate holds, at every pass of updates, that status has the version that each instance was launched
// from, and counts those as up to date that run what EKS rolls out. The instance type of an instance says which one
// that is. A controller that was just started, and sees only status and AWS, finds the same.
func TestVersionsOfAnUpdate(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason           string
		forgetful, fails bool
	}{
		{reason: "an update that succeeds"},
		{reason: "a manager that is restarted before each pass", forgetful: true},
		{reason: "an update that fails when it has replaced a node, and is retried", fails: true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.forgetful = row.forgetful
			template := w.threeNodes(oldType, newType)
			w.expectVersions(map[string]int{"1": 3}, 3)
			w.configured("pool", template, 2)
			phases := map[string]bool{}
			done := func(status string) func() bool {
				return func() bool {
					w.controller.kind.Clouds.Sweep(t.Context())
					running := w.expectTrueVersions()
					update := w.pool("pool").Status.Update
					if update == nil || update.Type != "VersionUpdate" {
						return false
					}
					phases[fmt.Sprint(update.Status, " ", running[newType] > 0)] = true
					if row.fails && status == "Failed" && running[newType] > 0 && running[oldType] < 3 {
						w.drains(false)
					}
					return update.Status == status
				}
			}
			if row.fails {
				w.passes("pool", "the update has failed", done("Failed"))
				w.drains(true)
				w.passes("pool", "three nodes are left", func() bool {
					w.controller.kind.Clouds.Sweep(t.Context())
					return len(w.pool("pool").Status.Instances) == 3
				})
				left := w.expectTrueVersions()
				w.expectVersions(map[string]int{"1": left[oldType], "2": left[newType]}, int32(left[newType]))
				if left[newType] == 0 {
					t.Error("no instance is left of the update that failed")
				}
				// A node that joins now gets what the node group had before.
				w.setReplicas("pool", 4)
				w.passes("pool", "there are four nodes", func() bool {
					return w.expectTrueVersions()[oldType] > left[oldType] || w.pool("pool").Status.Update.Status == "InProgress"
				})
			}
			w.passes("pool", "the update has succeeded", done("Successful"))
			w.reconcile("pool")
			w.expectVersions(map[string]int{"2": int(w.pool("pool").Status.Replicas)}, w.pool("pool").Status.Replicas)
			for _, phase := range []string{"InProgress false", "InProgress true"} {
				if !phases[phase] {
					t.Errorf("no pass saw an update %s: %v", phase, phases)
				}
			}
		})
	}
}

// threeNodes has a pool with three nodes of the first version of a launch template, which has a version for each of
// the instance types. It returns the template.
func (w *world) threeNodes(instanceTypes ...string) string {
	w.Helper()
	template := w.template(instanceTypes...)
	w.create("pool", func(pool *infrav1.AWSManagedMachinePool) {
		pool.Spec.InstanceType, pool.Spec.AWSLaunchTemplate = nil, &infrav1.AWSLaunchTemplate{InstanceType: instanceTypes[0]}
	})
	w.setReplicas("pool", 3)
	w.reconcile("pool")
	w.reconcile("pool")
	w.configured("pool", template, 1)
	w.passes("pool", "three nodes are up to date", func() bool { return ptr.Deref(w.pool("pool").Status.UpToDateReplicas, 0) == 3 })
	return template
}

// drains sets whether nodes can be drained.
func (w *world) drains(drained bool) {
	behavior := w.sim.Behavior()
	behavior.Nodes = nil
	if !drained {
		behavior.Nodes = []awssim.NodeRule{{NeverDrained: true}}
	}
	w.sim.SetBehavior(behavior)
}

// expectTrueVersions expects that no instance is said to run another version than it does, and that none counts as up
// to date before one runs what is rolled out. It returns the instances by instance type.
func (w *world) expectTrueVersions() map[string]int {
	w.Helper()
	status, running := w.pool("pool").Status, map[string]int{}
	for _, instance := range status.Instances {
		if version := instance.LaunchTemplateVersion; version != "" && version != map[string]string{oldType: "1", newType: "2"}[instance.InstanceType] {
			w.Errorf("instance %s of type %s is said to run version %q", instance.InstanceID, instance.InstanceType, version)
		}
		if !strings.Contains(instance.LifecycleState, "Terminat") {
			running[instance.InstanceType]++
		}
	}
	if update := status.Update; update != nil && update.Type == "VersionUpdate" && update.Status == "InProgress" {
		if current := int(ptr.Deref(status.UpToDateReplicas, 0)); current > running[newType] {
			w.Errorf("%d instances count as up to date during the update, and there are %v", current, running)
		}
	}
	return running
}

// expectVersions expects how many instances status has of each version, and how many are up to date.
func (w *world) expectVersions(want map[string]int, upToDate int32) {
	w.Helper()
	w.expectTrueVersions()
	status, got := w.pool("pool").Status, map[string]int{}
	for _, instance := range status.Instances {
		got[instance.LaunchTemplateVersion]++
	}
	if diff := cmp.Diff(want, got); diff != "" || ptr.Deref(status.UpToDateReplicas, 0) != upToDate {
		w.Errorf("%d instances are up to date, want %d; versions -want +got:\n%s", ptr.Deref(status.UpToDateReplicas, 0), upToDate, diff)
	}
}
