package managedmachinepool

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"k8s.io/utils/ptr"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/noderole"
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

// TestDefaultRoleOfAnotherOwner holds that a pool which names no role does not give its nodes a role of another pool or
// cluster that happens to have the name, and whose owner may delete it. EKS clusters a and a-b have such names.
func TestDefaultRoleOfAnotherOwner(t *testing.T) {
	t.Parallel()
	name := infrav1.DefaultNodeRoleName(testEKSCluster, testNamespace+"_pool")
	for _, row := range []struct {
		reason string
		tags   map[string]string
		given  bool
		taken  bool
	}{
		{reason: "the role of another namespace's pool", tags: map[string]string{infrav1.TagManagedMachinePool: "attacker/blue/pool"}, taken: true},
		{reason: "the role of another cluster", tags: map[string]string{infrav1.KubernetesClusterTagKey("blue-team"): infrav1.TagValueOwned}, taken: true},
		{reason: "CAPA's role of another cluster", tags: map[string]string{infrav1.ClusterTagKey("blue-team"): infrav1.TagValueOwned}, taken: true},
		{reason: "the role of another namespace's pool, which the spec names", tags: map[string]string{infrav1.TagManagedMachinePool: "attacker/blue/pool"}, given: true},
		{reason: "CAPA's role of this cluster", tags: map[string]string{infrav1.KubernetesClusterTagKey(testEKSCluster): infrav1.TagValueOwned}},
		{reason: "a role that a user created for the pool", tags: map[string]string{"team": "a"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			request := &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: ptr.To(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":["ec2.amazonaws.com"]},"Action":["sts:AssumeRole"]}]}`)}
			for key, value := range row.tags {
				request.Tags = append(request.Tags, iamtypes.Tag{Key: &key, Value: &value})
			}
			_, err := w.iam.CreateRole(t.Context(), request)
			w.must(err)
			for _, policy := range noderole.NodePolicies("aws") {
				_, err = w.iam.AttachRolePolicy(t.Context(), &iam.AttachRolePolicyInput{RoleName: &name, PolicyArn: &policy})
				w.must(err)
			}
			w.create("pool", func(pool *infrav1.AWSManagedMachinePool) {
				if row.given {
					pool.Spec.RoleName = name
				}
			})
			w.sim.ClearCalls()
			if !row.taken {
				w.active("pool")
				return
			}
			for range 20 {
				w.reconcile("pool")
			}
			if writes := w.writes(); len(writes) > 0 {
				t.Errorf("writes to AWS: %q", writes)
			}
			shown := w.condition("pool", infrav1.NodeRoleReadyCondition)
			if shown.Reason != infrav1.NameTakenReason || !strings.Contains(shown.Message, name) || !strings.Contains(shown.Message, "spec.roleName") {
				t.Errorf("the condition is %+v", shown)
			}
			if strings.Contains(shown.Message, "attacker") {
				t.Errorf("the message names another tenant: %s", shown.Message)
			}
			w.delete("pool")
			if left := w.roles(); len(left) != 1 {
				t.Errorf("roles after the deletion of the pool: %q", left)
			}
		})
	}
}
