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

// TestStaleSizeRemovesNoNode holds that a process whose cache shows an earlier, smaller size does not
// make the node group smaller: the node that EKS chose to terminate would be launched anew.
func TestStaleSizeRemovesNoNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pool", nil)
	w.active("pool")
	present, stale := &clusterv1.MachinePool{}, &clusterv1.MachinePool{}
	if err := w.store.Get(w.Context(), named("pool"), stale); err != nil {
		t.Fatal(err)
	}
	stale.DeepCopyInto(present)
	present.Spec.Replicas = ptr.To[int32](3)
	present.Generation++
	if err := w.store.Update(w.Context(), present); err != nil {
		t.Fatal(err)
	}
	size := func() int32 { return *w.nodegroup(w.nodegroups()[0]).ScalingConfig.DesiredSize }
	w.passes("pool", "the node group has three nodes", func() bool { return size() == 3 && w.nodegroup(w.nodegroups()[0]).Status == "ACTIVE" })
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
	if again := w.made("UpdateNodegroupConfig") - updates; again > 0 || size() != 3 {
		t.Errorf("the node group was updated %d times more, and has %d nodes", again, size())
	}
}
