package managedmachinepool

import (
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/internal/ownership"
)

// foreignGroup creates a node group as CAPA would, and returns its ARN.
func (w *world) foreignGroup(name string, tags map[string]string) string {
	w.Helper()
	out, err := w.eks.CreateNodegroup(w.Context(), &eks.CreateNodegroupInput{
		ClusterName: awssdk.String(testEKSCluster), NodegroupName: &name, NodeRole: awssdk.String("arn:aws:iam::" + testAccount + ":role/eks-nodegroup.cluster-api-provider-aws.sigs.k8s.io"), Subnets: []string{testSubnet},
		ScalingConfig: &ekstypes.NodegroupScalingConfig{MinSize: ptr.To[int32](1), MaxSize: ptr.To[int32](3), DesiredSize: ptr.To[int32](1)}, Tags: tags,
	})
	if err != nil {
		w.Fatal(err)
	}
	for range 60 {
		if w.nodegroup(name).Status == ekstypes.NodegroupStatusActive {
			break
		}
		w.clock.Step(30e9)
	}
	w.sim.ClearCalls()
	return *out.Nodegroup.NodegroupArn
}

func capasTags() map[string]string {
	return map[string]string{infrav1.KubernetesClusterTagKey(testEKSCluster): infrav1.TagValueOwned}
}

// refer has the MachinePool of a pool refer to it, as Cluster API does.
func (w *world) refer(name string) {
	w.Helper()
	machinePool := &clusterv1.MachinePool{}
	if err := w.store.Get(w.Context(), named(name), machinePool); err != nil {
		w.Fatal(err)
	}
	machinePool.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: infrav1.GroupVersion.Group, Kind: "AWSManagedMachinePool", Name: name,
	}
	machinePool.Spec.Template.Spec.Bootstrap.DataSecretName = ptr.To("bootstrap-data")
	if err := w.store.Update(w.Context(), machinePool); err != nil {
		w.Fatal(err)
	}
}

// deleteMachinePool has the MachinePool of a pool be deleted, as long as the pool exists.
func (w *world) deleteMachinePool(name string) {
	w.Helper()
	machinePool := &clusterv1.MachinePool{}
	if err := w.store.Get(w.Context(), named(name), machinePool); err != nil {
		w.Fatal(err)
	}
	machinePool.Finalizers = []string{clusterv1.MachinePoolFinalizer}
	if err := w.store.Update(w.Context(), machinePool); err != nil {
		w.Fatal(err)
	}
	if err := w.store.Delete(w.Context(), machinePool); err != nil {
		w.Fatal(err)
	}
}

// writes returns the calls that changed something.
func (w *world) writes() []string { return awssimtest.Writes(w.sim) }

// TestNodegroupIsAdoptedOnProof holds that a node group of CAPA's is adopted only for a pool of the
// one namespace that has its EKS cluster.
func TestNodegroupIsAdoptedOnProof(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason    string
		namesake  bool
		unrelated bool
		ending    bool
		adopted   bool
	}{
		{reason: "one namespace has the EKS cluster", adopted: true},
		{reason: "another namespace says that it has the EKS cluster too", namesake: true},
		{reason: "the MachinePool refers to another pool", unrelated: true},
		{reason: "the MachinePool is being deleted, and the pool not yet", ending: true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.foreignGroup("golden", capasTags())
			if row.namesake {
				if err := w.store.Create(t.Context(), &eksv1.AWSManagedControlPlane{
					ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "control-plane"},
					Spec:       eksv1.AWSManagedControlPlaneSpec{EKSClusterName: testEKSCluster, Region: testRegion},
				}); err != nil {
					t.Fatal(err)
				}
			}
			w.create("pool", func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.EKSNodegroupName = "golden" })
			if !row.unrelated {
				w.refer("pool")
			}
			if row.ending {
				w.deleteMachinePool("pool")
			}
			for range 5 {
				w.reconcile("pool")
			}
			tagged := w.nodegroup("golden").Tags[infrav1.TagManagedMachinePool] != ""
			condition := w.condition("pool", infrav1.NodegroupReadyCondition)
			if tagged != row.adopted || (condition.Reason == infrav1.AdoptionBlockedReason) == row.adopted {
				t.Errorf("the node group is adopted: %t, want %t; the condition is %+v", tagged, row.adopted, condition)
			}
			if writes := w.writes(); !row.adopted && len(writes) != 0 {
				t.Errorf("writes to AWS: %q", writes)
			}
			w.expectNodegroups("golden")
		})
	}
}

// TestDeletionDoesNotAdoptANodegroup holds that deleting a pool leaves a node group that the pool
// does not own, and says so.
func TestDeletionDoesNotAdoptANodegroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	arn := w.foreignGroup("golden", capasTags())
	w.create("pool", func(pool *infrav1.AWSManagedMachinePool) {
		pool.Spec.EKSNodegroupName = "golden"
		pool.Finalizers = []string{infrav1.ManagedMachinePoolFinalizer}
		ownership.SetLocation(pool, ownership.Location{Region: testRegion, Cluster: testCluster})
		pool.Annotations[ownership.EKSClusterAnnotation] = testEKSCluster
	})
	if err := w.store.Delete(t.Context(), w.pool("pool")); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		w.reconcile("pool")
	}
	if writes := w.writes(); len(writes) != 0 {
		t.Errorf("writes to AWS: %q", writes)
	}
	condition := w.condition("pool", infrav1.DeletingCondition)
	if condition.Reason != infrav1.OwnerTagMissingReason || !strings.Contains(condition.Message, arn) || !strings.Contains(condition.Message, "remove finalizer") {
		t.Errorf("the condition is %+v", condition)
	}
	if _, err := w.eks.TagResource(t.Context(), &eks.TagResourceInput{ResourceArn: &arn, Tags: map[string]string{infrav1.TagManagedMachinePool: "team/blue/pool"}}); err != nil {
		t.Fatal(err)
	}
	w.passes("pool", "the node group is being deleted", func() bool { return w.made("DeleteNodegroup") == 1 })
}

// TestNodegroupWithoutAnyTagIsNotAdoptedAgain holds that a pool whose node group lost all tags of
// Slipway's does not set them by itself, though CAPA's is left.
func TestNodegroupWithoutAnyTagIsNotAdoptedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pool", nil)
	w.refer("pool")
	w.active("pool")
	group := w.nodegroup("team_pool")
	var keys []string
	for key := range group.Tags {
		if strings.HasPrefix(key, infrav1.TagSlipwayPrefix) {
			keys = append(keys, key)
		}
	}
	if _, err := w.eks.UntagResource(t.Context(), &eks.UntagResourceInput{ResourceArn: group.NodegroupArn, TagKeys: keys}); err != nil {
		t.Fatal(err)
	}
	w.sim.ClearCalls()
	w.restart()
	for range 5 {
		w.reconcile("pool")
	}
	if condition := w.condition("pool", infrav1.NodegroupReadyCondition); condition.Reason != infrav1.OwnerTagMissingReason {
		t.Errorf("the condition is %+v", condition)
	}
	if writes := w.writes(); len(writes) != 0 {
		t.Errorf("writes to AWS: %q", writes)
	}
}
