package machinepool

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
)

// newWarmed returns a pool without nodes whose warm pool has two instances.
func newWarmed(t *testing.T, change func(*infrav1.AWSMachinePool)) *rollouts {
	t.Helper()
	r := newRollouts(t, func(pool *infrav1.AWSMachinePool) {
		pool.Spec.MinSize, pool.Spec.WarmPool = 0, &infrav1.WarmPool{MinSize: 2, MaxGroupPreparedCapacity: ptr.To[int32](0)}
		if change != nil {
			change(pool)
		}
	})
	r.replicas(0)
	r.want("m5.large", "")
	r.until("two warm instances run version 1", func() bool { return r.warmRun("1") && r.rolledOut() })
	return r
}

// warm returns the instances of the warm pool.
func (r *rollouts) warm() []asgtypes.Instance {
	r.Helper()
	out, err := r.asg.DescribeWarmPool(r.Context(), &autoscaling.DescribeWarmPoolInput{AutoScalingGroupName: ptr.To("pool")})
	if err != nil {
		return nil
	}
	return out.Instances
}

// warmRun reports whether the warm pool has two instances that run a version, and no other.
func (r *rollouts) warmRun(version string) bool {
	r.Helper()
	warm := r.warm()
	for _, instance := range warm {
		if *instance.LaunchTemplate.Version != version {
			return false
		}
	}
	return len(warm) == 2
}

func (r *rollouts) rolledOut() bool {
	r.Helper()
	return r.condition(infrav1.RolledOutCondition).Reason == infrav1.RolledOutReason
}

// TestWarmInstancesAreRolledOut holds that a roll-out replaces the instances of a warm pool although
// the pool has no node, and that RolledOut is not True before. An instance that joins the group
// afterwards is not replaced.
func TestWarmInstancesAreRolledOut(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*infrav1.AWSMachinePool){
		"nodes are not drained": nil,
		"nodes are drained":     func(pool *infrav1.AWSMachinePool) { pool.Spec.NodeDrain = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newWarmed(t, change)
			r.want("m6i.large", "")
			took := r.until("the pool is rolled out", func() bool {
				r.reconcile(0)
				return ptr.Deref(r.group().LaunchTemplate, asgtypes.LaunchTemplateSpecification{}).Version != nil && *r.group().LaunchTemplate.Version == "2" && r.rolledOut()
			})
			if !r.warmRun("2") {
				t.Fatalf("RolledOut is True, but the warm pool has %+v", r.warm())
			}
			if took > 5*time.Minute {
				t.Errorf("it took %s", took)
			}
			refreshes := r.starts()
			r.replicas(1)
			r.until("a node is in service", func() bool { return r.group().Instances != nil && r.rolledOut() })
			for range 30 {
				r.clock.Step(20 * time.Second)
				r.reconcile(0)
			}
			if started := r.starts() - refreshes; started > 0 {
				t.Errorf("%d refreshes followed the scale-out", started)
			}
		})
	}
}

// starts returns how many refreshes were started.
func (r *rollouts) starts() (count int) { return r.calls("StartInstanceRefresh") }

// calls returns how often an action of AWS was called.
func (r *rollouts) calls(action string) (count int) {
	for _, call := range r.sim.Calls() {
		if call.Action == action {
			count++
		}
	}
	return count
}

// TestWarmInstanceWithoutReplacement holds that a warm instance which a refresh replaces is released
// although EC2 can launch none in its place, and that the roll-out ends once EC2 can.
func TestWarmInstanceWithoutReplacement(t *testing.T) {
	t.Parallel()
	r := newWarmed(t, func(pool *infrav1.AWSMachinePool) { pool.Spec.NodeDrain = nil })
	behavior := r.sim.Behavior()
	behavior.Capacity = []awssim.CapacityRule{{InstanceType: "m6i.large"}}
	r.sim.SetBehavior(behavior)
	r.want("m6i.large", "")
	held := func() bool {
		return slices.ContainsFunc(r.warm(), func(instance asgtypes.Instance) bool {
			return instance.LifecycleState == asgtypes.LifecycleStateWarmedTerminatingWait
		})
	}
	r.until("a warm instance is held", held)
	if took := r.until("it is released", func() bool { return !held() }); took > time.Minute {
		t.Errorf("it was held for %s", took)
	}
	behavior.Capacity = nil
	r.sim.SetBehavior(behavior)
	r.until("the pool is rolled out", func() bool { return r.warmRun("2") && r.rolledOut() })
	if count := r.starts(); count != 1 {
		t.Errorf("%d refreshes were started", count)
	}
}

// TestWarmPoolAtRest holds that a warm pool is not described again while nothing changes, whether
// its instances run what is wanted or the user wants no refresh.
func TestWarmPoolAtRest(t *testing.T) {
	t.Parallel()
	for name, disable := range map[string]bool{"rolled out": false, "refreshes are disabled": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newWarmed(t, func(pool *infrav1.AWSMachinePool) {
				pool.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Disable: disable}
			})
			want := infrav1.RolledOutReason
			if disable {
				r.want("m6i.large", "")
				want = infrav1.RefreshDisabledReason
			}
			r.until("the pool rests", func() bool { return r.condition(infrav1.RolledOutCondition).Reason == want })
			if message := r.condition(infrav1.RolledOutCondition).Message; disable && !strings.Contains(message, "2 of 2 warm instances run version 1") {
				t.Errorf("RolledOut says %q", message)
			}
			for range 10 {
				r.reconcile(5 * time.Second)
			}
			r.sim.ClearCalls()
			for range 60 {
				r.reconcile(time.Minute)
			}
			if calls := r.calls("DescribeWarmPool"); calls > 0 {
				t.Errorf("an hour at rest took %d calls of DescribeWarmPool", calls)
			}
		})
	}
}

// TestWarmPoolThatCannotBeDescribed holds that nodes are replaced although AWS refuses to describe the warm pool, that
// RolledOut is not True before the warm instances are known, and that they are replaced once AWS describes them.
func TestWarmPoolThatCannotBeDescribed(t *testing.T) {
	t.Parallel()
	for name, nodes := range map[string]int32{"no nodes": 0, "two nodes": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newWarmed(t, nil)
			r.replicas(nodes)
			r.until("the pool has its nodes", func() bool { return len(r.group().Instances) == int(nodes) && r.warmRun("1") && r.rolledOut() })
			id := r.struck("autoscaling", "DescribeWarmPool", denied, 0)
			r.want("m6i.large", "")
			r.until("the condition says so", func() bool {
				condition := r.condition(infrav1.RolledOutCondition)
				return condition.Reason == infrav1.AccessDeniedReason && strings.Contains(condition.Message, "DescribeWarmPool") && (nodes == 0 || r.allRun(2))
			})
			r.sim.RemoveFault(id)
			r.until("the pool is rolled out", func() bool { return r.warmRun("2") && r.rolledOut() })
		})
	}
}
