package managedmachinepool

import (
	"context"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// TestStaleLaunchConfigReplacesNothing holds that a process whose cache shows an earlier launch
// config does not take the node group back to an earlier version, which would replace all nodes
// twice.
func TestStaleLaunchConfigReplacesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	template := w.template("t3.large", "m5.large")
	w.create("pool", func(pool *infrav1.AWSManagedMachinePool) {
		pool.Spec.InstanceType, pool.Spec.AWSLaunchTemplate = nil, &infrav1.AWSLaunchTemplate{InstanceType: "t3.large"}
	})
	w.passes("pool", "there is a launch config", func() bool {
		return w.store.Get(w.Context(), named("pool"), &infrav1.AWSLaunchConfig{}) == nil
	})
	w.configured("pool", template, 1)
	w.active("pool")
	stale := &infrav1.AWSLaunchConfig{}
	if err := w.store.Get(w.Context(), named("pool"), stale); err != nil {
		t.Fatal(err)
	}
	w.configured("pool", template, 2)
	runs := func(version string) bool {
		group := w.nodegroup(w.nodegroups()[0])
		return group.Status == "ACTIVE" && *group.LaunchTemplate.Version == version
	}
	w.passes("pool", "the node group runs version 2", func() bool { return runs("2") && w.condition("pool", infrav1.RolledOutCondition).Status == "True" })
	updates := w.made("UpdateNodegroupVersion")

	w.restart()
	w.controller.kind.Client = interceptor.NewClient(w.store.(client.WithWatch), interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
		if config, is := into.(*infrav1.AWSLaunchConfig); is {
			stale.DeepCopyInto(config)
			return nil
		}
		return c.Get(ctx, key, into, options...)
	}})
	for range 60 {
		w.reconcile("pool")
	}
	w.restart()
	w.passes("pool", "the node group runs version 2", func() bool { return runs("2") && w.condition("pool", infrav1.RolledOutCondition).Status == "True" })
	if again := w.made("UpdateNodegroupVersion") - updates; again > 0 {
		t.Errorf("the node group was updated %d times more", again)
	}
}
