package managedmachinepool

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/ownership"
)

// TestPoolStaysInItsCluster holds that a pool whose MachinePool was replaced by one of another Cluster creates no
// node group there, and that its deletion finds the one that it has.
func TestPoolStaysInItsCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(w.sim.Region(testAccount, testRegion).SetCluster(awssim.Cluster{Name: "green", Version: "1.34", Subnets: []string{testSubnet}}))
	for _, object := range clusterObjects() {
		object.SetName("green")
		switch object := object.(type) {
		case *clusterv1.Cluster:
			object.Spec.ControlPlaneRef.Name = "green"
		case *eksv1.AWSManagedControlPlane:
			object.Spec.EKSClusterName = "green"
		}
		w.must(w.store.Create(t.Context(), object))
	}
	w.create("pool", nil)
	w.active("pool")
	machinePool := w.machinePool("pool")
	machinePool.Spec.ClusterName, machinePool.Spec.Replicas = "green", ptr.To[int32](2)
	w.must(w.store.Update(t.Context(), machinePool))
	w.sim.ClearCalls()
	for range 10 {
		w.reconcile("pool")
	}
	if writes := w.writes(); len(writes) > 0 {
		t.Errorf("writes to AWS: %q", writes)
	}
	if got := w.pool("pool").Annotations; got[ownership.ClusterAnnotation] != testCluster || got[ownership.EKSClusterAnnotation] != testEKSCluster {
		t.Errorf("the pool forgot where its node group is: %v", got)
	}
	if shown := w.condition("pool", infrav1.ClusterInfrastructureReadyCondition); shown.Reason != infrav1.ClusterChangedReason || !strings.Contains(shown.Message, `"green"`) {
		t.Errorf("the condition is %+v", shown)
	}
	w.delete("pool")
	if left := w.nodegroups(); len(left) > 0 {
		t.Errorf("node groups outlive their pool: %q", left)
	}
}
