package managedmachinepool

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// TestCopiedPool holds that a pool that another one was copied from, with its annotations and status,
// keeps its node group and its role as they are, whatever the copy asks for and though it is deleted.
func TestCopiedPool(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		to     client.ObjectKey
	}{
		{"into another namespace, with the cluster's objects", client.ObjectKey{Namespace: "attacker", Name: "pool"}},
		{"in its namespace", client.ObjectKey{Namespace: testNamespace, Name: "copy"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("pool", nil)
			w.active("pool")
			original := w.pool("pool")
			seen := func() (nodegroup string, roles []string) {
				group, err := w.eks.DescribeNodegroup(t.Context(), &eks.DescribeNodegroupInput{ClusterName: ptr.To(testEKSCluster), NodegroupName: &original.Status.Nodegroup.Name})
				if err != nil {
					t.Fatal(err)
				}
				text, err := json.MarshalIndent(group.Nodegroup, "", " ")
				if err != nil {
					t.Fatal(err)
				}
				list, err := w.iam.ListRoles(t.Context(), &iam.ListRolesInput{})
				if err != nil {
					t.Fatal(err)
				}
				for i := range list.Roles {
					roles = append(roles, *list.Roles[i].Arn)
				}
				return string(text), roles
			}
			groupBefore, rolesBefore := seen()
			w.copyTo(original, row.to)
			request := ctrl.Request{NamespacedName: row.to}
			passes := func(count int) {
				for range count {
					if _, err := w.controller.Reconcile(t.Context(), request); err != nil {
						t.Logf("a pass failed: %v", err)
					}
					w.clock.Step(10 * time.Second)
				}
			}
			passes(30)
			copied := &infrav1.AWSManagedMachinePool{}
			if err := w.store.Get(t.Context(), row.to, copied); err != nil {
				t.Fatal(err)
			}
			if err := w.store.Delete(t.Context(), copied); err != nil {
				t.Fatal(err)
			}
			passes(60)
			groupAfter, rolesAfter := seen()
			if diff := cmp.Diff(groupBefore, groupAfter); diff != "" {
				t.Errorf("the node group (-before +after):\n%s", diff)
			}
			for _, role := range rolesBefore {
				if !slices.Contains(rolesAfter, role) {
					t.Errorf("role %s is gone", role)
				}
			}
		})
	}
}

// copyTo copies a pool, its MachinePool, and, into another namespace, the objects of its cluster.
func (w *world) copyTo(original *infrav1.AWSManagedMachinePool, to client.ObjectKey) {
	w.Helper()
	create := func(object client.Object) {
		object.SetNamespace(to.Namespace)
		object.SetResourceVersion("")
		if err := w.store.Create(w.Context(), object); err != nil {
			w.Fatal(err)
		}
	}
	if to.Namespace != original.Namespace {
		for _, object := range clusterObjects() {
			create(object)
		}
	}
	machinePool := &clusterv1.MachinePool{}
	if err := w.store.Get(w.Context(), client.ObjectKeyFromObject(original), machinePool); err != nil {
		w.Fatal(err)
	}
	machinePool.Name, machinePool.UID = to.Name, "another"
	create(machinePool)
	copied := original.DeepCopy()
	copied.Name, copied.UID = to.Name, "another-pool"
	copied.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachinePool", Name: to.Name}}
	copied.Spec.EKSNodegroupName, copied.Spec.Scaling = original.Status.Nodegroup.Name, &infrav1.ManagedMachinePoolScaling{MaxSize: ptr.To[int32](9)}
	status := copied.Status
	create(copied)
	copied.Status = status
	if err := w.store.Status().Update(w.Context(), copied); err != nil {
		w.Fatal(err)
	}
}
