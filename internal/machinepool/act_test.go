package machinepool

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconcile/reconciletest"
)

// configReady plays the part of the launch config's controller, which has taken over a template.
func (r *rig) configReady(namespace, template string) {
	r.Helper()
	config := r.config(namespace)
	config.Status = infrav1.AWSLaunchConfigStatus{LaunchTemplateID: template, LaunchTemplateName: poolName}
	versionsOf(config, 1)
	if err := r.Status().Update(r.Context(), config); err != nil {
		r.Fatal(err)
	}
}

// config returns the pool's launch config, empty if there is none.
func (r *rig) config(namespace string) *infrav1.AWSLaunchConfig {
	r.Helper()
	config := &infrav1.AWSLaunchConfig{}
	if err := r.Get(r.Context(), client.ObjectKey{Namespace: namespace, Name: poolName}, config); client.IgnoreNotFound(err) != nil {
		r.Fatal(err)
	}
	return config
}

// tagsOf returns the tags of a group.
func (r *rig) tagsOf(name string) map[string]string {
	r.Helper()
	tags := map[string]string{}
	for _, tag := range r.find(name).Tags {
		tags[*tag.Key] = *tag.Value
	}
	return tags
}

// TestPoolIsTakenOverAndGivenBack takes over a group that CAPA created and releases it again. No
// instance is replaced by either, and the group is in the end as CAPA had it.
func TestPoolIsTakenOverAndGivenBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, clusterIn(victim)...)
	template := r.template(poolName, map[string]string{infrav1.TagLaunchConfig: "victim/prod/workers"}, launchedFor(victim))
	arn := r.group(poolName, template, 1, capaTags())
	instance := *r.find(poolName).Instances[0].InstanceId
	pool := poolIn(victim, arn)
	pool.Spec.NodeDrain, pool.Spec.Subnets = &infrav1.NodeDrain{Disable: true}, []infrav1.AWSResourceReference{{ID: ptr.To(subnet)}}
	if err := r.Create(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	r.condition(r.pass(victim), infrav1.AdoptedCondition, infrav1.AdoptingReason, poolName)
	if writes := r.writes(); len(writes) > 0 {
		t.Errorf("the group is changed before its launch template is taken over: %q", writes)
	}
	r.configReady(victim, template)
	pool = r.pass(victim)
	if owner := r.tagsOf(poolName)[infrav1.TagMachinePool]; owner != "victim/prod/workers" {
		t.Fatalf("the owner tag is %q, conditions %+v", owner, pool.Status.Conditions)
	}
	if version := *r.find(poolName).LaunchTemplate.Version; version != "1" {
		t.Errorf("the group launches version %s, and should name it by its number", version)
	}
	r.condition(pool, infrav1.ASGReadyCondition, infrav1.ReadyReason)

	pool.Annotations[infrav1.ReleaseAnnotation] = "true"
	if err := r.Update(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	r.condition(r.pass(victim), infrav1.ReleasedCondition, infrav1.ReleasingReason, "launch template")
	config := r.config(victim)
	if config.Annotations[infrav1.ReleaseAnnotation] != "true" {
		t.Fatalf("the launch config is not released: annotations %v", config.Annotations)
	}
	if r.tagsOf(poolName)[infrav1.TagMachinePool] == "" {
		t.Error("the group is left before its launch template is as CAPA wants it")
	}
	meta.SetStatusCondition(&config.Status.Conditions, metav1.Condition{Type: infrav1.ReleasedCondition, Status: metav1.ConditionTrue, Reason: infrav1.ReleasedReason, ObservedGeneration: config.Generation})
	if err := r.Status().Update(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	r.condition(r.pass(victim), infrav1.ReleasedCondition, infrav1.ReleasingReason, "the launch config is being deleted")
	if config = r.config(victim); config.Name != "" { // its controller lets it go
		config.Finalizers = nil
		if err := r.Update(t.Context(), config); err != nil {
			t.Fatal(err)
		}
	}
	r.condition(r.pass(victim), infrav1.ReleasedCondition, infrav1.ReleasedReason, infrav1.ReleaseAnnotation)
	ours := func(key, _ string) bool { return !strings.HasPrefix(key, infrav1.TagSlipwayPrefix) }
	left := r.tagsOf(poolName)
	maps.DeleteFunc(left, ours)
	if len(left) > 0 {
		t.Errorf("tags of Slipway's are left: %v", left)
	}
	if version := *r.find(poolName).LaunchTemplate.Version; version != "$Latest" {
		t.Errorf("the group launches version %s, and CAPA's groups follow the newest", version)
	}
	if config := r.config(victim); config.Name != "" {
		t.Errorf("the launch config is still there: %+v", config)
	}
	if still := *r.find(poolName).Instances[0].InstanceId; still != instance {
		t.Errorf("instance %s was replaced by %s", instance, still)
	}
}

// TestReplicasFollowAnAutoscaler holds that the MachinePool gets the size that an external
// autoscaler gave the group, and that Slipway leaves that size alone.
func TestReplicasFollowAnAutoscaler(t *testing.T) {
	t.Parallel()
	r, machinePool := newAutoscaled(t), &clusterv1.MachinePool{}
	for _, size := range []int32{3, 0, 4} {
		if _, err := r.asg.UpdateAutoScalingGroup(t.Context(), &autoscaling.UpdateAutoScalingGroupInput{
			AutoScalingGroupName: awssdk.String("pool"), MinSize: ptr.To[int32](0), DesiredCapacity: &size,
		}); err != nil {
			t.Fatal(err)
		}
		want := max(size, r.pool().Spec.MinSize)
		r.until("the MachinePool follows", func() bool {
			r.must(r.Get(t.Context(), r.key, machinePool))
			return ptr.Deref(machinePool.Spec.Replicas, -1) == want
		})
		if capacity := *r.group().DesiredCapacity; capacity != want {
			t.Errorf("the group's desired capacity is %d, want %d", capacity, want)
		}
	}
	if told := r.told(infrav1.ReplicasFollowedEvent); len(told) == 0 {
		t.Error("no event says that the MachinePool followed")
	}
}

// TestRefreshWithoutCapacityIsExplained holds that a pool shows why a refresh does not proceed that launches an
// instance before it terminates another, so that the group has its capacity meanwhile, and that the refresh goes on
// once there is capacity.
func TestRefreshWithoutCapacityIsExplained(t *testing.T) {
	t.Parallel()
	r := newRollouts(t, func(pool *infrav1.AWSMachinePool) {
		pool.Spec.RefreshPreferences = &infrav1.RefreshPreferences{MinHealthyPercentage: ptr.To[int64](100), MaxHealthyPercentage: ptr.To[int64](150)}
	})
	r.want("m5.large", "")
	r.settled(1)
	plenty := r.sim.Behavior()
	scarce := plenty
	scarce.Capacity = []awssim.CapacityRule{{InstanceType: "m6i.large"}}
	r.sim.SetBehavior(scarce)
	r.want("m6i.large", "")
	r.until("the shortage is shown", func() bool {
		condition := r.condition(infrav1.CapacityAvailableCondition)
		return condition.Reason == infrav1.InsufficientCapacityReason && strings.Contains(condition.Message, "m6i.large") && strings.Contains(condition.Message, "us-east-1a")
	})
	if told := r.told(infrav1.CapacityMissingEvent); len(told) != 1 || !strings.Contains(told[0], "cannot launch the instances that replace others") {
		t.Errorf("events %q, want one", told)
	}
	r.sim.ClearCalls()
	for range 60 {
		r.reconcile(time.Minute)
	}
	if asked := r.calls("DescribeScalingActivities"); asked < 1 || asked > 12 {
		t.Errorf("AWS was asked %d times in an hour why there is no capacity", asked)
	}
	if told := r.told(infrav1.CapacityMissingEvent); len(told) > 0 {
		t.Errorf("it is reported again and again: %q", told)
	}
	r.sim.SetBehavior(plenty)
	r.until("the first instance is replaced", func() bool { return ptr.Deref(r.pool().Status.UpToDateReplicas, 0) == 1 })
	r.until("all instances are replaced", func() bool {
		if condition := r.condition(infrav1.CapacityAvailableCondition); condition.Status != metav1.ConditionTrue {
			t.Errorf("the shortage is over, and the condition is %+v", condition)
		}
		return r.allRun(2)
	})
	r.settled(2)
}

// TestShortageIsExplained holds that a pool shows why instances do not come, that AWS is asked for
// that the more rarely the longer it lasts, and that the condition goes with the shortage.
func TestShortageIsExplained(t *testing.T) {
	t.Parallel()
	r := newRollouts(t, nil)
	scarce := r.sim.Behavior()
	plenty := scarce
	scarce.Capacity = []awssim.CapacityRule{{InstanceType: "m5.large", Available: 1}}
	r.sim.SetBehavior(scarce)
	r.want("m5.large", "")
	r.until("the shortage is shown", func() bool {
		return r.condition(infrav1.CapacityAvailableCondition).Reason == infrav1.InsufficientCapacityReason
	})
	if told := r.told(infrav1.CapacityMissingEvent); len(told) != 1 {
		t.Errorf("events %q, want one", told)
	}
	r.sim.ClearCalls()
	for range 60 {
		r.reconcile(time.Minute)
	}
	asked := 0
	for _, call := range r.sim.Calls() {
		if call.Action == "DescribeScalingActivities" {
			asked++
		}
	}
	if asked < 1 || asked > 6 {
		t.Errorf("AWS was asked %d times in an hour why there is no capacity", asked)
	}
	if ready := r.condition(infrav1.ReadyCondition).Status; ready != metav1.ConditionTrue {
		t.Errorf("the pool is not ready for want of capacity: %s", ready)
	}
	if told := r.told(infrav1.CapacityMissingEvent); len(told) > 0 {
		t.Errorf("it is reported again and again: %q", told)
	}
	r.sim.SetBehavior(plenty)
	r.settled(1)
	if condition := r.condition(infrav1.CapacityAvailableCondition); condition.Status != metav1.ConditionTrue {
		t.Errorf("the shortage is over, and the condition is %+v", condition)
	}
}

// TestOthersChangesAreTakenBack holds that Slipway reverts changes that another client makes to a
// group, and reports them in an event, unlike changes that the pool's user makes to the spec.
func TestOthersChangesAreTakenBack(t *testing.T) {
	t.Parallel()
	r := newRollouts(t, func(pool *infrav1.AWSMachinePool) { pool.Spec.AdditionalTags = infrav1.Tags{"team": "blue"} })
	r.want("m5.large", "")
	r.settled(1)
	r.told("")
	for _, row := range []struct {
		reason string
		change func() error
		is     func() bool
	}{
		{"the bounds", func() error {
			_, err := r.asg.UpdateAutoScalingGroup(t.Context(), &autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: awssdk.String("pool"), MaxSize: ptr.To[int32](9)})
			return err
		}, func() bool { return *r.group().MaxSize == 4 }},
		{"a tag", func() error {
			_, err := r.asg.CreateOrUpdateTags(t.Context(), &autoscaling.CreateOrUpdateTagsInput{Tags: []asgtypes.Tag{{
				ResourceId: awssdk.String("pool"), ResourceType: awssdk.String("auto-scaling-group"), Key: awssdk.String("team"), Value: awssdk.String("red"), PropagateAtLaunch: awssdk.Bool(false),
			}}})
			return err
		}, func() bool {
			return slices.ContainsFunc(r.group().Tags, func(tag asgtypes.TagDescription) bool { return *tag.Key == "team" && *tag.Value == "blue" })
		}},
	} {
		r.clock.Step(time.Hour) // what Slipway gave the group itself is long visible
		r.must(row.change())
		r.until(row.reason+" is set back", row.is)
		if told := r.told(""); len(told) != 1 || !strings.Contains(told[0], infrav1.ASGChangedOutsideEvent) {
			t.Errorf("%s: events %q", row.reason, told)
		}
	}
	pool := r.pool()
	pool.Spec.MaxSize, pool.Generation = 5, pool.Generation+1
	r.must(r.Update(t.Context(), pool))
	r.until("the user's bounds are there", func() bool { return *r.group().MaxSize == 5 })
	if told := r.told(infrav1.ASGChangedOutsideEvent); len(told) > 0 {
		t.Errorf("the user's edit is taken for another program's change: %q", told)
	}
}

// TestLostGroupIsReportedOnce holds that a group that was deleted outside Slipway is made again,
// and that one event says so however often that is tried.
func TestLostGroupIsReportedOnce(t *testing.T) {
	t.Parallel()
	r := newRollouts(t, nil)
	r.want("m5.large", "")
	r.settled(1)
	r.told("")
	if _, err := r.asg.DeleteAutoScalingGroup(t.Context(), &autoscaling.DeleteAutoScalingGroupInput{AutoScalingGroupName: awssdk.String("pool"), ForceDelete: awssdk.Bool(true)}); err != nil {
		t.Fatal(err)
	}
	r.struck("autoscaling", "CreateAutoScalingGroup", denied, 3)
	r.sim.ClearCalls()
	r.until("creating another was tried more than once", func() bool {
		return len(slices.DeleteFunc(r.sim.Calls(), func(call awssim.Call) bool { return call.Action != "CreateAutoScalingGroup" })) > 1
	})
	r.settled(1)
	lost := r.told("")
	if count := len(slices.DeleteFunc(slices.Clone(lost), func(note string) bool { return !strings.Contains(note, infrav1.ASGLostEvent) })); count != 1 {
		t.Errorf("it was reported %d times: %q", count, lost)
	}
}

// TestPausedPoolIsLeftAlone holds that nothing in AWS is called for a paused pool, by its own
// annotation or by its Cluster, and that what was asked for meanwhile is done afterwards.
func TestPausedPoolIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		pause  func(r *rollouts, paused bool)
	}{
		{"by annotation", func(r *rollouts, paused bool) {
			pool := r.pool()
			if delete(pool.Annotations, clusterv1.PausedAnnotation); paused {
				pool.Annotations[clusterv1.PausedAnnotation] = ""
			}
			r.must(r.Update(r.Context(), pool))
		}},
		{"by the Cluster", func(r *rollouts, paused bool) {
			cluster := &clusterv1.Cluster{}
			r.must(r.Get(r.Context(), client.ObjectKey{Namespace: "team", Name: "blue"}, cluster))
			cluster.Spec.Paused = &paused
			r.must(r.Update(r.Context(), cluster))
		}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRollouts(t, nil)
			r.want("m5.large", "")
			r.settled(1)
			row.pause(r, true)
			r.want("m6i.large", "")
			r.replicas(3)
			r.sim.ClearCalls()
			for range 5 {
				r.reconcile(time.Minute)
			}
			if calls := r.sim.Calls(); len(calls) > 0 {
				t.Errorf("AWS was called: %v", calls)
			}
			if condition := r.condition(infrav1.PausedCondition); condition.Status != metav1.ConditionTrue {
				t.Errorf("the condition is %+v", condition)
			}
			row.pause(r, false)
			r.replicas(2)
			r.settled(2)
		})
	}
}

// TestActionsOnObjects does actions on the objects of the management cluster, and again: each can
// be repeated after a crash.
func TestActionsOnObjects(t *testing.T) {
	t.Parallel()
	machine := &infrav1.AWSMachinePoolMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: machineName("pool", "i-1")}}
	for _, row := range []struct {
		reason string
		action reconcile.Action
		holds  func(r *rollouts, config *infrav1.AWSLaunchConfig) bool
		tells  string
	}{
		{"a roll-back", rollBack{Rollback: infrav1.Rollback{From: "config-2", Version: 1, Reason: "it failed"}}, func(_ *rollouts, config *infrav1.AWSLaunchConfig) bool {
			return config.Spec.Rollback != nil && config.Spec.Rollback.Version == 1 && config.Spec.InstanceType == "m5.large"
		}, infrav1.RolledBackEvent},
		{"an edit", updateLaunchConfig{Spec: infrav1.AWSLaunchConfigSpec{ClusterName: "blue"}, Labels: map[string]string{"a": "b"}}, func(_ *rollouts, config *infrav1.AWSLaunchConfig) bool {
			return config.Spec.InstanceType == "" && config.Labels["a"] == "b"
		}, ""},
		{"a release", markReleased{}, func(_ *rollouts, config *infrav1.AWSLaunchConfig) bool {
			return config.Annotations[infrav1.ReleaseAnnotation] == "true"
		}, ""},
		{"the end of the launch config", deleteLaunchConfig{}, func(_ *rollouts, config *infrav1.AWSLaunchConfig) bool { return config.Name == "" }, ""},
		{"a drain", recordDrain{Since: map[string]time.Time{"i-1": noon}}, func(r *rollouts, _ *infrav1.AWSLaunchConfig) bool {
			return drainingSince(r.pool())["i-1"].Equal(noon)
		}, ""},
		{"a size", followAutoscaler{Replicas: 7}, func(r *rollouts, _ *infrav1.AWSLaunchConfig) bool {
			machinePool := &clusterv1.MachinePool{}
			r.must(r.Get(r.Context(), r.key, machinePool))
			return *machinePool.Spec.Replicas == 7
		}, infrav1.ReplicasFollowedEvent},
		{"the object of an instance", syncMachines{MachinePool: "pool", Cluster: "blue", Create: []autoscalinggroup.Instance{member("i-1", 1)}}, func(r *rollouts, _ *infrav1.AWSLaunchConfig) bool {
			found := machine.DeepCopy()
			r.must(r.Get(r.Context(), client.ObjectKeyFromObject(machine), found))
			return found.Spec.InstanceID == "i-1" && len(found.Finalizers) == 1 && metav1.GetControllerOf(found) == nil
		}, ""},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRollouts(t, nil)
			r.want("m5.large", "")
			config, machinePool := &infrav1.AWSLaunchConfig{}, &clusterv1.MachinePool{}
			key := client.ObjectKey{Namespace: "team", Name: "config"}
			r.must(r.Get(t.Context(), key, config))
			for range 2 {
				r.must(client.IgnoreNotFound(r.Get(t.Context(), key, config)))
				r.must(r.Get(t.Context(), r.key, machinePool))
				seen := &Observed{MachinePool: machinePool, ClusterName: "blue", Machines: map[string]Machine{}, Holds: map[string]Hold{}}
				seen.LaunchConfig.Object, seen.Leftovers.Config = config.DeepCopy(), config.DeepCopy()
				events, err := r.pools.kind.Act(t.Context(), pass{Object: r.pool(), Seen: seen, Memory: &Memory{}}, row.action)
				if err != nil {
					t.Fatal(err)
				}
				if difference := cmp.Diff(strings.Fields(row.tells), strings.Fields(reconciletest.Told(reconcile.Plan{Events: events}))); difference != "" {
					t.Errorf("tells:\n%s", difference)
				}
				found := &infrav1.AWSLaunchConfig{}
				r.must(client.IgnoreNotFound(r.Get(t.Context(), key, found)))
				if !row.holds(r, found) {
					t.Errorf("it does not hold for %+v", found)
				}
			}
			if calls := slices.DeleteFunc(r.sim.Calls(), func(call awssim.Call) bool { return call.Service != "autoscaling" }); len(calls) > 0 {
				t.Errorf("AWS was called: %v", calls)
			}
		})
	}
}

// strange is no action on an AWSMachinePool.
type strange struct{}

func (strange) String() string { return "do something else" }

func TestUnknownActionIsRefused(t *testing.T) {
	t.Parallel()
	r := newRollouts(t, nil)
	if _, err := r.pools.kind.Act(t.Context(), pass{Object: r.pool(), Seen: &Observed{}, Memory: &Memory{}}, strange{}); err == nil {
		t.Error("it was done")
	}
}
