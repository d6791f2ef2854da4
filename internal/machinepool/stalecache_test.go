package machinepool

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
