package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
)

// TestStoryUnderFaults walks the whole story while AWS answers late, limits requests, fails, and
// drops connections: nothing is created twice.
func TestStoryUnderFaults(t *testing.T) {
	t.Parallel()
	writing := []string{
		"CreateLaunchTemplate", "CreateLaunchTemplateVersion", "ModifyLaunchTemplate", "CreateAutoScalingGroup", "UpdateAutoScalingGroup",
		"StartInstanceRefresh", "DeleteAutoScalingGroup", "DeleteLaunchTemplate",
	}
	rows := []struct {
		reason   string
		behavior awssim.Behavior
		faults   func() []awssim.Fault
	}{
		{reason: "reads lag behind writes, and buckets are those that AWS documents", behavior: awssim.Behavior{ReadLag: 5 * time.Second, Throttling: true}},
		{reason: "every third call is refused for the rate", faults: func() []awssim.Fault {
			var faults []awssim.Fault
			for nth := 3; nth < 60; nth += 3 {
				faults = append(faults,
					awssim.Fault{Service: "ec2", Nth: nth, Code: "RequestLimitExceeded", Status: 503},
					awssim.Fault{Service: "autoscaling", Nth: nth, Code: "Throttling"})
			}
			return faults
		}},
		{reason: "the answer to each first write is lost", faults: func() []awssim.Fault {
			var faults []awssim.Fault
			for _, action := range writing {
				faults = append(faults, awssim.Fault{Action: action, Nth: 1, Place: awssim.AfterEffect, Drop: true})
			}
			return faults
		}},
		{reason: "each first write has an effect and answers that it failed", behavior: awssim.Behavior{ReadLag: 5 * time.Second}, faults: func() []awssim.Fault {
			var faults []awssim.Fault
			for _, action := range writing {
				faults = append(faults, awssim.Fault{Action: action, Nth: 1, Count: 4, Place: awssim.AfterEffect, Code: "InternalError", Status: 500})
			}
			return faults
		}},
	}
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorldWith(t, options{behavior: row.behavior})
			if row.faults != nil {
				for _, fault := range row.faults() {
					if _, err := w.Cloud.AWS.AddFault(fault); err != nil {
						t.Fatal(err)
					}
				}
			}
			w.story()
		})
	}
}

// story creates, edits, rotates, scales and deletes, and wants one of everything.
func (w *world) story() {
	w.Helper()
	w.applyExample()
	w.Eventually("the pool has its two nodes", func() error { return w.settled(2) })
	instances := w.running()
	w.editType("m6i.large")
	w.Eventually("the edit replaces both", func() error { return w.replaced(instances, 2) })
	instances = w.running()
	if err := w.Lab.SwapBootstrapToken(w.Context(), w.key()); err != nil {
		w.Fatal(err)
	}
	w.Eventually("the rotation makes a version", func() error {
		if err := equals(w.state(), []string{"1 template", "versions [1 2 3]", "1 group"}); err != nil {
			return err
		}
		return w.settled(2)
	})
	if err := equals(w.running(), instances); err != nil {
		w.Errorf("instances after the rotation: %v", err)
	}
	w.editMachinePool(func(machinePool *clusterv1.MachinePool) { machinePool.Spec.Replicas = ptr.To[int32](3) })
	w.Eventually("a third node joins", func() error { return w.settled(3) })
	if err := equals(w.state(), []string{"1 template", "versions [1 2 3]", "1 group"}); err != nil {
		w.Error(err)
	}
	w.deletePool()
	w.Eventually("the objects are gone", w.gone)
	w.Eventually("AWS holds nothing of it", func() error { return w.remains() })
}

// state returns what the account holds, read past lags and faults.
func (w *world) state() []string {
	w.Helper()
	behavior := w.Cloud.AWS.Behavior()
	strict := behavior
	strict.ReadLag, strict.Throttling = 0, false
	w.Cloud.AWS.SetBehavior(strict)
	defer w.Cloud.AWS.SetBehavior(behavior)
	templates, groups := w.templates(), w.groups()
	if len(templates) != 1 {
		return []string{fmt.Sprintf("%d templates", len(templates))}
	}
	return []string{"1 template", fmt.Sprintf("versions %v", w.numbers()), fmt.Sprintf("%d group", len(groups))}
}

// TestNoCapacity holds that a pool counts what it got while a zone is out of instances, and goes on
// when it is not.
func TestNoCapacity(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, options{behavior: awssim.Behavior{Capacity: []awssim.CapacityRule{{InstanceType: "t3.large", Zone: "us-east-1a", Available: 1}}}})
	w.applyExample()
	w.Eventually("one node is there, and counted as one", func() error {
		pool, err := w.pool()
		if err != nil {
			return err
		}
		if pool.Status.Replicas != 1 || ptr.Deref(pool.Status.ReadyReplicas, 0) != 1 {
			return fmt.Errorf("status is %+v", pool.Status)
		}
		return w.nodes(1)
	})
	condition := w.awaitCondition(infrav1.CapacityAvailableCondition, metav1.ConditionFalse, infrav1.InsufficientCapacityReason)
	if !strings.Contains(condition.Message, "t3.large") {
		t.Errorf("the message is %q", condition.Message)
	}
	w.awaitCondition(infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason)
	w.awaitEvents("CapacityMissing")
	w.pass(10 * time.Minute) // it is watched closely for so long
	w.Cloud.AWS.ClearCalls()
	w.pass(time.Hour)
	groups, activities := w.count("DescribeAutoScalingGroups"), w.count("DescribeScalingActivities")
	if groups > 40 || activities > 6 {
		t.Errorf("an hour of it cost %d looks at the group and %d at its activities", groups, activities)
	}
	behavior := w.Cloud.AWS.Behavior()
	behavior.Capacity = nil
	w.Cloud.AWS.SetBehavior(behavior)
	w.Eventually("the pool has its two nodes", func() error { return w.settled(2) })
	w.awaitCondition(infrav1.CapacityAvailableCondition, metav1.ConditionTrue, infrav1.CapacityAvailableReason)
}

// TestAccessDenied holds that a missing permission is named, and that granting it is enough.
func TestAccessDenied(t *testing.T) {
	t.Parallel()
	rows := []struct {
		fault     awssim.Fault
		condition string
	}{
		{awssim.Fault{Action: "CreateLaunchTemplate", Code: "UnauthorizedOperation", Status: 403, Message: "You are not authorized to perform this operation."}, infrav1.LaunchTemplateReadyCondition},
		{awssim.Fault{Action: "DescribeLaunchTemplates", Code: "UnauthorizedOperation", Status: 403}, infrav1.LaunchTemplateReadyCondition},
		{awssim.Fault{Action: "CreateAutoScalingGroup", Code: "AccessDenied", Status: 403}, infrav1.ASGReadyCondition},
	}
	for _, row := range rows {
		t.Run(row.fault.Action, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			id, err := w.Cloud.AWS.AddFault(row.fault)
			if err != nil {
				t.Fatal(err)
			}
			w.applyExample()
			w.awaitCondition(row.condition, metav1.ConditionFalse, infrav1.AccessDeniedReason)
			w.awaitCondition(infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.AccessDeniedReason)
			w.Cloud.AWS.RemoveFault(id)
			w.Eventually("the pool has its two nodes", func() error { return w.settled(2) })
		})
	}
}

// TestOutage holds that a pool shows an outage of a service that it needs, with the time of its
// begin, that its nodes stay, and that what was asked for meanwhile is done once AWS answers again.
func TestOutage(t *testing.T) {
	t.Parallel()
	resize := func(pool *clusterv1.MachinePool) { pool.Spec.Replicas = ptr.To[int32](3) }
	for _, row := range []struct {
		service, says string
		world         func(*testing.T) *world
		have          func(*world)
		resize        func(*world)
		settled       func(*world, int) error
		await         func(w *world, kind string, status metav1.ConditionStatus, reason string) metav1.Condition
	}{
		{
			service: "autoscaling", says: "Auto Scaling in us-east-1 has not answered since ", world: newWorld,
			have:   func(w *world) { w.havePool() },
			resize: func(w *world) { w.editMachinePool(resize) }, settled: (*world).settled, await: (*world).awaitCondition,
		},
		{
			service: "eks", says: "EKS in us-east-1 has not answered since ", world: managedWorld,
			have:   func(w *world) { w.haveManaged() },
			resize: func(w *world) { w.editManagedMachinePool(resize) }, settled: (*world).managedSettled, await: (*world).awaitManaged,
		},
	} {
		t.Run(row.service, func(t *testing.T) {
			t.Parallel()
			w := row.world(t)
			row.have(w)
			running := w.running()
			fault, err := w.Cloud.AWS.AddFault(awssim.Fault{Service: row.service, Code: "ServiceUnavailable", Status: 503})
			if err != nil {
				t.Fatal(err)
			}
			row.resize(w)
			unreachable := row.await(w, infrav1.AWSReachableCondition, metav1.ConditionFalse, infrav1.AWSUnavailableReason)
			ready := row.await(w, infrav1.ReadyCondition, metav1.ConditionUnknown, infrav1.AWSUnavailableReason)
			for _, message := range []string{unreachable.Message, ready.Message} {
				if !strings.Contains(message, row.says+unreachable.LastTransitionTime.UTC().Format(time.RFC3339)) {
					t.Errorf("the message is %q, and the outage began at %s", message, unreachable.LastTransitionTime)
				}
			}
			if now := w.running(); !slices.Equal(now, running) {
				t.Errorf("during the outage, %q run, and before %q", now, running)
			}
			if !w.Cloud.AWS.RemoveFault(fault) {
				t.Fatal("no fault")
			}
			w.Eventually("the pool has its three nodes", func() error { return row.settled(w, 3) })
		})
	}
}
