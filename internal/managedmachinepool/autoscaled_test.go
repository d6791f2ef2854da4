package managedmachinepool

import (
	"testing"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// machinePool returns the MachinePool of a pool.
func (w *world) machinePool(name string) *clusterv1.MachinePool {
	w.Helper()
	machinePool := &clusterv1.MachinePool{}
	if err := w.store.Get(w.Context(), named(name), machinePool); err != nil {
		w.Fatal(err)
	}
	return machinePool
}

// autoscaled has an external autoscaler decide the size of a pool, or not.
func (w *world) autoscaled(name string, is bool) {
	w.Helper()
	machinePool := w.machinePool(name)
	machinePool.Annotations = nil
	if is {
		machinePool.Annotations = map[string]string{clusterv1.ReplicasManagedByAnnotation: "external-autoscaler"}
	}
	if err := w.store.Update(w.Context(), machinePool); err != nil {
		w.Fatal(err)
	}
}

// TestSizeOfAnUpdateIsNoAutoscalers holds that the nodes that EKS adds while it replaces others are
// not taken for a size that an external autoscaler chose: the replicas of the MachinePool stay at every
// pass, and the node group has as many nodes when the annotation of the autoscaler is removed.
func TestSizeOfAnUpdateIsNoAutoscalers(t *testing.T) {
	t.Parallel()
	for reason, forgetful := range map[string]bool{"a manager that stays": false, "a manager that is restarted before each pass": true} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.forgetful = forgetful
			template := w.template("t3.large", "m5.large")
			w.create("pool", func(pool *infrav1.AWSManagedMachinePool) {
				pool.Spec.InstanceType, pool.Spec.AWSLaunchTemplate = nil, &infrav1.AWSLaunchTemplate{InstanceType: "t3.large"}
				pool.Spec.Scaling = &infrav1.ManagedMachinePoolScaling{MinSize: ptr.To[int32](0), MaxSize: ptr.To[int32](6)}
			})
			w.setReplicas("pool", 2)
			w.autoscaled("pool", true)
			w.reconcile("pool")
			w.reconcile("pool")
			w.configured("pool", template, 1)
			w.active("pool")
			w.configured("pool", template, 2)
			largest := int32(0)
			w.passes("pool", "nodes are replaced", func() bool {
				group := w.nodegroup("team_pool")
				largest = max(largest, w.pool("pool").Status.Replicas)
				if replicas := *w.machinePool("pool").Spec.Replicas; replicas != 2 {
					t.Fatalf("the MachinePool has %d replicas while the node group is %s", replicas, group.Status)
				}
				return *group.LaunchTemplate.Version == "2" && w.condition("pool", infrav1.RolledOutCondition).Status == "True"
			})
			if largest <= 2 {
				t.Errorf("EKS added no node: there were %d at most", largest)
			}
			w.autoscaled("pool", false)
			for range 5 {
				w.reconcile("pool")
			}
			if size := *w.nodegroup("team_pool").ScalingConfig.DesiredSize; size != 2 {
				t.Errorf("the node group has %d nodes", size)
			}
		})
	}
}
