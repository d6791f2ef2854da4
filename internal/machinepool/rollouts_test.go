package machinepool

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
)

// TestEditIsTakenBack holds that an edit that is taken back soon after its refresh began costs no
// wait: our own refresh, which we cancelled, is no attempt that failed.
func TestEditIsTakenBack(t *testing.T) {
	t.Parallel()
	r := newRollouts(t, nil)
	r.want("m5.large", "")
	r.settled(1)
	r.want("m6i.large", "")
	r.until("a refresh began", func() bool { return r.refreshStatus() != "" })
	r.clock.Step(100 * time.Millisecond)
	r.want("m5.large", "")
	r.reconcile(0) // in the same second
	if took := r.settled(1); took > 2*time.Minute {
		t.Errorf("it took %s", took)
	}
	if ended := r.told("InstanceRefreshEnded"); len(ended) != 1 || !strings.Contains(ended[0], "Cancelled") {
		t.Errorf("ends of refreshes are %q", ended)
	}
}

// TestEditDuringAnEarlyRefresh holds that an edit right after a refresh began costs no wait, though
// that refresh succeeded before the group was at the newer version.
func TestEditDuringAnEarlyRefresh(t *testing.T) {
	t.Parallel()
	r := newRollouts(t, func(pool *infrav1.AWSMachinePool) {
		pool.Spec.RefreshPreferences = &infrav1.RefreshPreferences{InstanceWarmup: ptr.To[int64](0)}
	})
	r.want("m5.large", "")
	r.settled(1)
	behavior := r.sim.Behavior()
	behavior.InstanceTimes = awssim.InstanceTimes{Pending: time.Second, Boot: time.Second, ShuttingDown: time.Second}
	r.sim.SetBehavior(behavior)
	r.want("m6i.large", "")
	r.until("a refresh began", func() bool { return r.refreshStatus() != "" })
	r.clock.Step(100 * time.Millisecond)
	r.want("c5.large", "")
	r.reconcile(0) // in the same second
	if took := r.settled(3); took > 3*time.Minute {
		t.Errorf("it took %s", took)
	}
}

// TestRefreshIsNotListedYet holds that passes which come while AWS does not list a refresh that it
// has started do not ask for another one: a process that started it does not ask at all, and one
// that does not know about it asks once. The writes of each pass would wake the next one at once.
func TestRefreshIsNotListedYet(t *testing.T) {
	t.Parallel()
	r := newRollouts(t, nil)
	awssimtest.SetReadLag(r.sim, 4*time.Second)
	r.want("m5.large", "")
	r.settled(1)
	r.want("m6i.large", "")
	r.sim.ClearCalls()
	starts := func() (count int) {
		for _, call := range r.sim.Calls() {
			if call.Action == "StartInstanceRefresh" {
				count++
			}
		}
		return count
	}
	r.until("a refresh was started", func() bool { return starts() > 0 })
	passes := func() {
		for range 5 {
			r.reconcile(0)
		}
	}
	if passes(); starts() != 1 {
		t.Errorf("the process that started a refresh asked %d times", starts())
	}
	r.restart(r.config)
	if passes(); starts() != 2 {
		t.Errorf("after another process asked, there were %d questions", starts())
	}
	version := r.pool().ResourceVersion
	if passes(); r.pool().ResourceVersion != version {
		t.Error("the pool is written though nothing has changed")
	}
	r.settled(2)
}

// TestTemplateLostDuringRefresh holds that a refresh is cancelled at once when the launch template
// that it was started with was deleted, and that no wait follows.
func TestTemplateLostDuringRefresh(t *testing.T) {
	t.Parallel()
	r := newRollouts(t, func(pool *infrav1.AWSMachinePool) {
		pool.Spec.DefaultInstanceWarmup = &metav1.Duration{}
	})
	r.want("m5.large", "")
	r.settled(1)
	r.want("m6i.large", "")
	r.until("the refresh has brought an instance", func() bool {
		return r.pool().Status.UpToDateReplicas != nil && *r.pool().Status.UpToDateReplicas == 1
	})
	config := &infrav1.AWSLaunchConfig{}
	if err := r.Get(r.Context(), client.ObjectKey{Namespace: "team", Name: "config"}, config); err != nil {
		t.Fatal(err)
	}
	lost := config.Status.LaunchTemplateID
	if _, err := r.ec2.DeleteLaunchTemplate(t.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &lost}); err != nil {
		t.Fatal(err)
	}
	config.Status = infrav1.AWSLaunchConfigStatus{LastLostTemplateID: lost}
	if err := r.Status().Update(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	r.want("m6i.large", "")
	if took := r.until("it is cancelled", func() bool { return len(r.told("InstanceRefreshSuperseded")) == 1 }); took > 30*time.Second {
		t.Errorf("it took %s until the refresh was cancelled", took)
	}
	if took := r.settled(1); took > 5*time.Minute {
		t.Errorf("it took %s until all instances ran the new template", took)
	}
	if cause := r.pool().Status.Rollout.Cause; cause != "launch template "+lost+" was deleted outside Slipway" {
		t.Errorf("the cause is %q", cause)
	}
}

// TestCauseIsTheDifference holds that the reason for a roll-out is what differs between what the
// instances run and what is wanted, and does not depend on what was wanted in between.
func TestCauseIsTheDifference(t *testing.T) {
	t.Parallel()
	r := newRollouts(t, nil)
	r.want("m5.large", "")
	r.settled(1)
	r.want("m5.large", "typo")
	r.reconcile(time.Second)
	if message := r.condition(infrav1.RolledOutCondition).Message; !strings.HasPrefix(message, "key pair none → typo; the roll-out starts when") {
		t.Errorf("while the edit settles: %q", message)
	}
	r.want("m5.large", "")
	r.reconcile(time.Second)
	if cause := ptr.Deref(r.pool().Status.Rollout, infrav1.RolloutStatus{}).Cause; cause != "" {
		t.Errorf("after it was taken back the cause is %q", cause)
	}
	r.want("m6i.large", "")
	r.settled(3)
	started := r.told("InstanceRefreshStarted")
	if len(started) != 1 || !strings.HasSuffix(started[0], ": instance type m5.large → m6i.large; 2 of 2 instances run version 1") {
		t.Errorf("events are %q", started)
	}
	if cause := r.pool().Status.Rollout.Cause; cause != "instance type m5.large → m6i.large" {
		t.Errorf("the cause is %q", cause)
	}
}

// TestBadEditDoesNotFreezeStatus holds that what runs is reported while the newest spec cannot be acted on.
func TestBadEditDoesNotFreezeStatus(t *testing.T) {
	t.Parallel()
	refused := func(r *rollouts) { // the launch config is not ready
		config := &infrav1.AWSLaunchConfig{}
		if err := r.Get(r.Context(), client.ObjectKey{Namespace: "team", Name: "config"}, config); err != nil {
			r.Fatal(err)
		}
		config.Status.Conditions[0].Status, config.Status.Conditions[0].Reason = metav1.ConditionFalse, infrav1.ImageNotFoundReason
		if err := r.Status().Update(r.Context(), config); err != nil {
			r.Fatal(err)
		}
	}
	unnamed := func(r *rollouts) { // the pass stops before the launch config
		machinePool := &clusterv1.MachinePool{}
		if err := r.Get(r.Context(), r.key, machinePool); err != nil {
			r.Fatal(err)
		}
		machinePool.Spec.Template.Spec.Bootstrap.DataSecretName = nil
		if err := r.Update(r.Context(), machinePool); err != nil {
			r.Fatal(err)
		}
	}
	for reason, edit := range map[string]func(*rollouts){"the launch config is not ready": refused, "the pass ends early": unnamed} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			r := newRollouts(t, nil)
			r.want("m5.large", "")
			r.settled(1)
			r.want("m6i.large", "")
			r.until("a refresh began", func() bool { return r.refreshStatus() != "" })
			edit(r)
			r.until("the end of the refresh shows", func() bool { return r.refreshStatus() == "Successful" })
			status := r.pool().Status
			if percent := status.Rollout.PercentageComplete; percent == nil || *percent != 100 {
				t.Errorf("the refresh is at %v %%", percent)
			}
			r.reconcile(time.Minute)
			r.reconcile(0)
			for _, instance := range r.pool().Status.Instances {
				if instance.LaunchTemplateVersion != "2" {
					t.Errorf("instance %s shows version %s", instance.InstanceID, instance.LaunchTemplateVersion)
				}
			}
		})
	}
}

// TestHookIsBackBeforeInstancesGo holds that a lifecycle hook which was deleted outside is restored
// before the group replaces or loses instances, however lately hooks were checked.
func TestHookIsBackBeforeInstancesGo(t *testing.T) {
	t.Parallel()
	r := newRollouts(t, func(pool *infrav1.AWSMachinePool) {
		pool.Spec.LifecycleHooks = []infrav1.AWSLifecycleHook{{Name: "ours", LifecycleTransition: infrav1.LifecycleTransitionInstanceTerminating, HeartbeatTimeout: &metav1.Duration{Duration: 30 * time.Second}}}
	})
	r.want("m5.large", "")
	r.settled(1)
	deleteHook := func() {
		t.Helper()
		if _, err := r.asg.DeleteLifecycleHook(t.Context(), &autoscaling.DeleteLifecycleHookInput{AutoScalingGroupName: ptr.To("pool"), LifecycleHookName: ptr.To("ours")}); err != nil {
			t.Fatal(err)
		}
		r.sim.ClearCalls()
	}
	// before returns what was called before an action that ends instances.
	before := func(action string) string {
		var calls []string
		for _, call := range r.sim.Calls() {
			if call.Action == action {
				return strings.Join(calls, " ")
			}
			calls = append(calls, call.Action)
		}
		return "no " + action
	}
	deleteHook()
	machinePool := &clusterv1.MachinePool{}
	if err := r.Get(t.Context(), r.key, machinePool); err != nil {
		t.Fatal(err)
	}
	machinePool.Spec.Replicas = ptr.To[int32](1)
	if err := r.Update(t.Context(), machinePool); err != nil {
		t.Fatal(err)
	}
	r.reconcile(0)
	if calls := before("UpdateAutoScalingGroup"); !strings.Contains(calls, "PutLifecycleHook") {
		t.Errorf("before a scale-in: %s", calls)
	}
	r.clock.Step(2 * time.Minute)
	deleteHook()
	r.want("m6i.large", "")
	r.until("a refresh began", func() bool { return r.refreshStatus() != "" })
	if calls := before("StartInstanceRefresh"); !strings.Contains(calls, "PutLifecycleHook") {
		t.Errorf("before a roll-out: %s", calls)
	}
}

// TestSettleWindow holds that the group is not changed before the window is over, wherever in a
// second an edit was seen.
func TestSettleWindow(t *testing.T) {
	t.Parallel()
	r := newRollouts(t, nil)
	r.want("m5.large", "")
	r.settled(1)
	r.clock.Step(r.clock.Now().Truncate(time.Second).Add(1900 * time.Millisecond).Sub(r.clock.Now()))
	r.want("m6i.large", "")
	r.reconcile(settleWindow - 50*time.Millisecond)
	r.reconcile(0)
	if version := *r.group().LaunchTemplate.Version; version != "1" {
		t.Errorf("the group is at version %s before the window is over", version)
	}
	r.clock.Step(1050 * time.Millisecond)
	r.reconcile(0)
	if version := *r.group().LaunchTemplate.Version; version != "2" {
		t.Errorf("the group is at version %s after the window", version)
	}
}

// TestSizesChangeWithAGoneImage holds that a pool grows and shrinks though AWS no longer takes its
// launch template.
func TestSizesChangeWithAGoneImage(t *testing.T) {
	t.Parallel()
	r := newRollouts(t, nil)
	own, err := r.ec2.CopyImage(t.Context(), &ec2.CopyImageInput{Name: ptr.To("own"), SourceImageId: &r.image, SourceRegion: ptr.To("us-east-1")})
	if err != nil {
		t.Fatal(err)
	}
	r.image = *own.ImageId
	r.want("m5.large", "")
	r.settled(1)
	if _, err := r.ec2.DeregisterImage(t.Context(), &ec2.DeregisterImageInput{ImageId: &r.image}); err != nil {
		t.Fatal(err)
	}
	size := func(replicas int32) {
		t.Helper()
		machinePool := &clusterv1.MachinePool{}
		if err := r.Get(t.Context(), r.key, machinePool); err != nil {
			t.Fatal(err)
		}
		machinePool.Spec.Replicas = &replicas
		if err := r.Update(t.Context(), machinePool); err != nil {
			t.Fatal(err)
		}
		r.reconcile(time.Second)
		if capacity := *r.group().DesiredCapacity; capacity != replicas {
			t.Errorf("the capacity is %d, want %d; %+v", capacity, replicas, r.condition(infrav1.ASGReadyCondition))
		}
	}
	size(1)
	// With an edit that AWS refuses for the same reason.
	r.want("m6i.large", "")
	r.reconcile(2 * settleWindow)
	size(3)
	if ready := r.condition(infrav1.ASGReadyCondition); ready.Status != metav1.ConditionFalse {
		t.Errorf("the refused launch template does not show: %+v", ready)
	}
}
