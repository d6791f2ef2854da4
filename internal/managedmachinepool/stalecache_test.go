package managedmachinepool

import (
	"context"
	"testing"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
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

// TestStaleSizeRemovesNoNode holds that a process whose cache shows an earlier size leaves the node
// group as it is: a node that EKS terminates for a smaller size would be launched anew, and one that
// it launches for a larger size would be terminated, or another in its place.
func TestStaleSizeRemovesNoNode(t *testing.T) {
	t.Parallel()
	for reason, sizes := range map[string]struct{ earlier, present int32 }{
		"the earlier size is smaller": {earlier: 2, present: 3},
		"the earlier size is larger":  {earlier: 3, present: 2},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("pool", nil)
			w.active("pool")
			size := func() int32 { return *w.nodegroup(w.nodegroups()[0]).ScalingConfig.DesiredSize }
			ask := func(replicas int32) *clusterv1.MachinePool {
				machinePool := &clusterv1.MachinePool{}
				if err := w.store.Get(w.Context(), named("pool"), machinePool); err != nil {
					t.Fatal(err)
				}
				machinePool.Spec.Replicas = ptr.To(replicas)
				machinePool.Generation++
				if err := w.store.Update(w.Context(), machinePool); err != nil {
					t.Fatal(err)
				}
				w.passes("pool", "the node group has the size", func() bool { return size() == replicas && w.nodegroup(w.nodegroups()[0]).Status == "ACTIVE" })
				return machinePool
			}
			stale := ask(sizes.earlier)
			ask(sizes.present)
			updates := w.made("UpdateNodegroupConfig")

			w.restart()
			w.controller.kind.Client = interceptor.NewClient(w.store.(client.WithWatch), interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
				if machinePool, is := into.(*clusterv1.MachinePool); is {
					stale.DeepCopyInto(machinePool)
					return nil
				}
				return c.Get(ctx, key, into, options...)
			}})
			for range 60 {
				w.reconcile("pool")
			}
			w.restart()
			for range 5 {
				w.reconcile("pool")
			}
			if again := w.made("UpdateNodegroupConfig") - updates; again > 0 || size() != sizes.present {
				t.Errorf("the node group was updated %d times more, and has %d nodes", again, size())
			}
		})
	}
}
