package machinepool

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim/awssimtest"
)

// TestCopiedPool holds that a copy of a pool in another namespace, with the status and the annotations of
// all objects, neither changes nor deletes the group of the pool that it was copied from.
func TestCopiedPool(t *testing.T) {
	t.Parallel()
	r := newRollouts(t, nil)
	r.want("m5.large", "")
	r.settled(1)
	instances := r.instanceIDs()
	for object, name := range map[client.Object]string{
		&capav1.AWSCluster{}: "blue", &clusterv1.Cluster{}: "blue", &clusterv1.MachinePool{}: "pool", &infrav1.AWSLaunchConfig{}: "config", &infrav1.AWSMachinePool{}: "pool",
	} {
		r.must(r.Get(t.Context(), client.ObjectKey{Namespace: r.key.Namespace, Name: name}, object))
		object.SetNamespace("attacker")
		object.SetResourceVersion("")
		object.SetUID("copy-of-" + object.GetUID())
		status := object.DeepCopyObject().(client.Object)
		r.must(r.Create(t.Context(), object))
		status.SetResourceVersion(object.GetResourceVersion())
		r.must(client.IgnoreNotFound(r.Status().Update(t.Context(), status)))
	}
	r.sim.ClearCalls()
	key := client.ObjectKey{Namespace: "attacker", Name: r.key.Name}
	passes := func() {
		for range 30 {
			if _, err := r.pools.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
				t.Logf("a pass failed: %v", err)
			}
			r.clock.Step(10 * time.Second)
		}
	}
	passes()
	copied := &infrav1.AWSMachinePool{}
	r.must(r.Get(t.Context(), key, copied))
	r.must(r.Delete(t.Context(), copied))
	passes()
	if writes := awssimtest.Writes(r.sim); len(writes) > 0 {
		t.Errorf("writes to AWS: %q", writes)
	}
	if after := r.instanceIDs(); !slices.Equal(after, instances) {
		t.Errorf("the instances (-before +after):\n%s", cmp.Diff(instances, after))
	}
}
