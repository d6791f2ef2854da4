package machinepool

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
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
