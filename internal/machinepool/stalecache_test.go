package machinepool

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// TestStaleLaunchConfigReplacesNothing holds that a process whose cache shows an earlier launch
// config starts no refresh: the instances that it takes for outdated run a version that its cache
// does not show yet.
func TestStaleLaunchConfigReplacesNothing(t *testing.T) {
	t.Parallel()
	r := newRollouts(t, nil)
	r.want("m6i.large", "")
	r.settled(1)
	stale := &infrav1.AWSLaunchConfig{}
	r.must(r.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "config"}, stale))
	r.rotate()
	r.until("the group is at version 2", func() bool { return *r.group().LaunchTemplate.Version == "2" })
	_, err := r.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{*r.group().Instances[0].InstanceId}})
	r.must(err)
	r.until("an instance runs version 2", func() bool { return r.launchedFrom("2") != "" })
	r.clock.Step(2 * time.Minute)
	before := r.launchedFrom("2")

	r.restart(r.config)
	r.pools.kind.Client = interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
		if config, is := into.(*infrav1.AWSLaunchConfig); is {
			stale.DeepCopyInto(config)
			return nil
		}
		return c.Get(ctx, key, into, options...)
	}})
	for range 5 {
		r.reconcile(time.Minute)
	}
	r.restart(r.config)
	r.until("the group is at version 2", func() bool {
		return *r.group().LaunchTemplate.Version == "2" && r.condition(infrav1.RolledOutCondition).Status == metav1.ConditionTrue
	})
	if after := r.launchedFrom("2"); after != before {
		t.Errorf("instance %q runs version 2, and %q did before", after, before)
	}
	for _, call := range r.sim.Calls() {
		if call.Action == "StartInstanceRefresh" {
			t.Error("a refresh was started")
		}
	}
}

// TestStaleSizeRemovesNoInstance holds that a process whose cache shows an earlier size leaves the
// group as it is: an instance that AWS terminates for a smaller size would be launched anew, and one
// that it launches for a larger size would be terminated, or another in its place.
func TestStaleSizeRemovesNoInstance(t *testing.T) {
	t.Parallel()
	for reason, sizes := range map[string]struct{ earlier, present int32 }{
		"the earlier size is smaller": {earlier: 2, present: 4},
		"the earlier size is larger":  {earlier: 4, present: 2},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			r := newRollouts(t, nil)
			r.want("m6i.large", "")
			r.settled(1)
			instances := func() (ids []string) {
				for _, instance := range r.group().Instances {
					ids = append(ids, *instance.InstanceId)
				}
				slices.Sort(ids)
				return ids
			}
			ask := func(replicas int32) *clusterv1.MachinePool {
				machinePool := &clusterv1.MachinePool{}
				r.must(r.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "pool"}, machinePool))
				machinePool.Spec.Replicas = ptr.To(replicas)
				machinePool.Generation++
				r.must(r.Update(t.Context(), machinePool))
				r.until("the group has as many instances", func() bool { return len(instances()) == int(replicas) })
				return machinePool
			}
			stale := ask(sizes.earlier)
			ask(sizes.present)
			r.clock.Step(2 * time.Minute)
			before := instances()

			r.restart(r.config)
			r.pools.kind.Client = interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
				if machinePool, is := into.(*clusterv1.MachinePool); is {
					stale.DeepCopyInto(machinePool)
					return nil
				}
				return c.Get(ctx, key, into, options...)
			}})
			for range 5 {
				r.reconcile(time.Minute)
			}
			if size := *r.group().DesiredCapacity; size != sizes.present {
				t.Errorf("the desired capacity is %d, want %d", size, sizes.present)
			}
			r.restart(r.config)
			for range 5 {
				r.reconcile(time.Minute)
			}
			if after := instances(); !slices.Equal(after, before) {
				t.Errorf("instances are %q, and were %q", after, before)
			}
		})
	}
}
