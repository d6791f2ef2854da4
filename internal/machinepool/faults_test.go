package machinepool

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/aws"
)

// Faults of AWS that the SDK does not repeat a call for.
var (
	denied = awssim.Fault{Code: "AccessDenied", Status: 403, Message: "not authorized to do it"}
	lost   = awssim.Fault{Place: awssim.AfterEffect, Code: "Lost", Message: "the call was done, and its answer is lost"}
)

// struck has calls of an action struck by a fault: the first count of them, or all if it is zero.
// It returns the fault's id.
func (r *rollouts) struck(service, action string, fault awssim.Fault, count int) string {
	r.Helper()
	fault.Service, fault.Action, fault.Count = service, action, count
	if count > 0 {
		fault.Nth = 1
	}
	id, err := r.sim.AddFault(fault)
	r.must(err)
	return id
}

// disturbed makes passes, which may fail, until a condition holds.
func (r *rollouts) disturbed(what string, holds func() bool) {
	r.Helper()
	for range 200 {
		if holds() {
			return
		}
		r.clock.Step(5 * time.Second)
		cloud, err := r.pools.kind.Clouds.For(r.Context(), aws.Identity{}, "team", "us-east-1")
		r.must(err)
		cloud.SeenGroups.Invalidate("pool")
		_, _ = r.pools.Reconcile(r.Context(), ctrl.Request{NamespacedName: r.key}) // a pass that fails is repeated
	}
	r.Fatalf("not after 16 minutes: %s; pool status %+v", what, r.pool().Status)
}

// runs reports whether two instances run a version, and the pool says so.
func (r *rollouts) runs(version int64) func() bool {
	return func() bool {
		return r.allRun(version) && r.condition(infrav1.RolledOutCondition).Status == metav1.ConditionTrue && r.condition(infrav1.ReadyCondition).Status == metav1.ConditionTrue
	}
}

// TestFaultsLeaveNothing holds that a pool that is created and edited while calls are lost or
// refused reaches the same group, instances and status as a pool that nothing disturbs, and that no
// instance is launched for nothing.
func TestFaultsLeaveNothing(t *testing.T) {
	t.Parallel()
	undisturbed := newRollouts(t, nil)
	life := func(r *rollouts) string {
		r.want("m5.large", "")
		r.disturbed("version 1 runs", r.runs(1))
		r.want("m6i.large", "")
		r.disturbed("version 2 runs", r.runs(2))
		r.told("")
		return r.outcome()
	}
	want := life(undisturbed)
	for _, row := range []struct {
		reason          string
		service, action string
		fault           awssim.Fault
	}{
		{"the answer to the creation is lost: no second group", "autoscaling", "CreateAutoScalingGroup", lost},
		{"the creation is denied for a while", "autoscaling", "CreateAutoScalingGroup", denied},
		{"the answer to the new version is lost", "autoscaling", "UpdateAutoScalingGroup", lost},
		{"the new version is denied for a while", "autoscaling", "UpdateAutoScalingGroup", denied},
		{"the answer to the start of the refresh is lost: no second refresh", "autoscaling", "StartInstanceRefresh", lost},
		{"the start of the refresh is denied for a while", "autoscaling", "StartInstanceRefresh", denied},
		{"refreshes cannot be described", "autoscaling", "DescribeInstanceRefreshes", denied},
		{"subnets cannot be described", "ec2", "DescribeSubnets", denied},
		{"instance types cannot be described", "ec2", "DescribeInstanceTypes", denied},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRollouts(t, nil)
			r.struck(row.service, row.action, row.fault, 2)
			if diff := cmp.Diff(attemptsAside(want), attemptsAside(life(r))); diff != "" {
				t.Errorf("undisturbed (-) and with faults (+):\n%s", diff)
			}
			started, launched := 0, 0
			for _, call := range r.sim.Calls() {
				switch {
				case call.Action == "StartInstanceRefresh" && (call.Code == "" || call.Code == lost.Code):
					started++
				case call.Action == "CreateAutoScalingGroup" && (call.Code == "" || call.Code == lost.Code):
					launched++
				}
			}
			if launched != 1 {
				t.Errorf("%d groups were created", launched)
			}
			if instances := r.sim.Region("123456789012", "us-east-1").Instances(); len(instances) != 4 {
				t.Errorf("%d instances were launched by %d refreshes, want the two of each version", len(instances), started)
			}
		})
	}
}

// attemptsAside returns an outcome without the number of attempts, which faults may raise.
func attemptsAside(outcome string) string {
	before, _, _ := strings.Cut(outcome, " attempts")
	cut := strings.LastIndex(before, ", ")
	return outcome[:cut]
}

// TestRefusalsAreShown holds for each call that AWS refuses for good which condition says so, that
// nodes that run stay, and that the condition is good again once AWS allows it.
func TestRefusalsAreShown(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, action    string
		condition, shown  string
		created           bool
		edit              func(*infrav1.AWSMachinePool)
		launch            string
		version           int64
		instancesMeanwile int
	}{
		{reason: "a group that may not be created", action: "CreateAutoScalingGroup", condition: infrav1.ASGReadyCondition, shown: infrav1.AccessDeniedReason, version: 1},
		{reason: "sizes that may not be changed", action: "UpdateAutoScalingGroup", created: true, condition: infrav1.ASGReadyCondition, shown: infrav1.AccessDeniedReason,
			edit: func(pool *infrav1.AWSMachinePool) { pool.Spec.MaxSize = 9 }, version: 1, instancesMeanwile: 2},
		{reason: "a tag that may not be set", action: "CreateOrUpdateTags", created: true, condition: infrav1.ASGReadyCondition, shown: infrav1.AccessDeniedReason,
			edit: func(pool *infrav1.AWSMachinePool) { pool.Spec.AdditionalTags = map[string]string{"team": "a"} }, version: 1, instancesMeanwile: 2},
		{reason: "a hook that may not be put", action: "PutLifecycleHook", created: true, condition: infrav1.ASGReadyCondition, shown: infrav1.AccessDeniedReason,
			edit: func(pool *infrav1.AWSMachinePool) {
				pool.Spec.LifecycleHooks = []infrav1.AWSLifecycleHook{{Name: "mine", LifecycleTransition: infrav1.LifecycleTransitionInstanceTerminating}}
			}, version: 1, instancesMeanwile: 2},
		{reason: "a refresh that may not be started", action: "StartInstanceRefresh", created: true, condition: infrav1.RolledOutCondition, shown: infrav1.AccessDeniedReason,
			launch: "m6i.large", version: 2, instancesMeanwile: 2},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRollouts(t, nil)
			r.want("m5.large", "")
			if row.created {
				r.settled(1)
			}
			id := r.struck("autoscaling", row.action, denied, 0)
			if row.edit != nil {
				pool := r.pool()
				row.edit(pool)
				r.must(r.Update(t.Context(), pool))
			}
			if row.launch != "" {
				r.want(row.launch, "")
			}
			r.disturbed("the refusal is shown", func() bool { return r.condition(row.condition).Reason == row.shown })
			if message := r.condition(row.condition).Message; !strings.Contains(message, "not authorized to do it") {
				t.Errorf("the condition does not say what AWS said: %s", message)
			}
			if running := len(r.group().Instances); running != row.instancesMeanwile {
				t.Errorf("meanwhile %d instances run, want %d", running, row.instancesMeanwile)
			}
			r.sim.RemoveFault(id)
			r.disturbed("all is well", r.runs(row.version))
		})
	}
}

// TestFailingActionIsShown holds that a pool says which action AWS throttles or fails while it has to wait for
// it, as long as that lasts, and starts one refresh once AWS accepts the call.
func TestFailingActionIsShown(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		fault awssim.Fault
		says  string
	}{
		{awssim.Fault{Code: "Throttling", Status: 400, Message: "Rate exceeded"}, "has throttled every call of StartInstanceRefresh since"},
		{awssim.Fault{Code: "InternalFailure", Status: 500, Message: "an error of the server"}, "has failed every call of StartInstanceRefresh since"},
	} {
		t.Run(row.fault.Code, func(t *testing.T) {
			t.Parallel()
			r := newRollouts(t, nil)
			r.want("m5.large", "")
			r.settled(1)
			id := r.struck("autoscaling", "StartInstanceRefresh", row.fault, 0)
			r.want("m6i.large", "")
			r.disturbed("it is shown", func() bool { return r.condition(infrav1.AWSReachableCondition).Status == metav1.ConditionFalse })
			if message := r.condition(infrav1.AWSReachableCondition).Message; !strings.Contains(message, row.says) {
				t.Errorf("AWSReachable says %q", message)
			}
			r.sim.RemoveFault(id)
			r.sim.ClearCalls()
			r.disturbed("all is well", r.runs(2))
			if condition := r.condition(infrav1.AWSReachableCondition); condition.Status != "" {
				t.Errorf("AWSReachable is %+v", condition)
			}
			if count := r.calls("StartInstanceRefresh"); count != 1 {
				t.Errorf("%d refreshes were started", count)
			}
		})
	}
}

// TestRefusalsDuringDeletion holds that a pool stays while its group cannot be deleted, that it says
// why, and that it goes once AWS allows it.
func TestRefusalsDuringDeletion(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ reason, action string }{
		{"the group may not be deleted", "DeleteAutoScalingGroup"},
		{"the group may not be described", "DescribeAutoScalingGroups"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRollouts(t, nil)
			r.want("m5.large", "")
			r.settled(1)
			id := r.struck("autoscaling", row.action, denied, 0)
			r.must(r.Delete(t.Context(), r.pool()))
			for range 5 {
				_, _ = r.pools.Reconcile(t.Context(), ctrl.Request{NamespacedName: r.key})
				r.clock.Step(time.Minute)
			}
			pool := r.pool()
			if pool.DeletionTimestamp == nil || len(pool.Finalizers) == 0 {
				t.Errorf("the pool is %+v", pool.ObjectMeta)
			}
			said := ""
			for _, condition := range pool.Status.Conditions {
				said += condition.Message
			}
			if !strings.Contains(said, "not authorized to do it") {
				t.Errorf("no condition says what AWS said: %+v", pool.Status.Conditions)
			}
			r.sim.RemoveFault(id)
			r.disturbed("the group and the pool are gone", func() bool {
				return r.Get(t.Context(), r.key, &infrav1.AWSMachinePool{}) != nil
			})
			if group := r.group(); group.AutoScalingGroupName != nil {
				t.Errorf("the group is still there: %+v", group)
			}
		})
	}
}
