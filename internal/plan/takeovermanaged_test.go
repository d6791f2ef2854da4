package plan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/aws/action"
	"github.com/slipway-project/slipway/internal/plan"
	"github.com/slipway-project/slipway/internal/plan/plantest"
	"github.com/slipway-project/slipway/internal/plan/plantest/owners"
)

// nodeRole is the role that CAPA gives node groups.
const nodeRole = "eks-nodegroup.cluster-api-provider-aws.sigs.k8s.io"

// TestTakeoverOfNodegroup holds what is found out about a node group of CAPA's before Slipway reconciles its pool.
func TestTakeoverOfNodegroup(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason  string
		change  func(*eks.Client) error
		adopted bool
		busy    string
	}{
		{reason: "CAPA's tags name the cluster.", adopted: true},
		{reason: "EKS is updating the node group for another user.", busy: "EKS is updating node group system", change: func(client *eks.Client) error {
			_, err := client.UpdateNodegroupVersion(t.Context(), &eks.UpdateNodegroupVersionInput{ClusterName: ptr.To(owners.EKSCluster), NodegroupName: &owners.ManagedKey.Name, Force: true})
			return err
		}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := plantest.NewEKS(t, 2)
			do := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			client := eks.NewFromConfig(w.AWS)
			_, err := client.CreateNodegroup(t.Context(), &eks.CreateNodegroupInput{
				ClusterName: ptr.To(owners.EKSCluster), NodegroupName: &owners.ManagedKey.Name, Subnets: []string{owners.Subnet},
				NodeRole: ptr.To("arn:aws:iam::" + awssim.DefaultAccount + ":role/" + nodeRole), AmiType: ekstypes.AMITypesAl2023X8664Standard,
				ScalingConfig: &ekstypes.NodegroupScalingConfig{MinSize: ptr.To[int32](1), MaxSize: ptr.To[int32](3), DesiredSize: ptr.To[int32](2)},
				Tags:          map[string]string{infrav1.KubernetesClusterTagKey(owners.EKSCluster): infrav1.TagValueOwned},
			})
			do(err)
			for range 12 {
				w.Clock.Step(10 * time.Second)
			}
			if row.change != nil {
				do(row.change(client))
				w.Clock.Step(time.Second)
			}
			machinePool := &clusterv1.MachinePool{}
			do(w.Cluster.Get(t.Context(), owners.ManagedKey, machinePool))
			pool := &infrav1.AWSManagedMachinePool{ObjectMeta: owners.Named(owners.ManagedKey.Name)}
			pool.Labels = map[string]string{clusterv1.ClusterNameLabel: "prod"}
			pool.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachinePool", Name: machinePool.Name, UID: machinePool.UID}}
			pool.Spec.EKSNodegroupName, pool.Spec.RoleName, pool.Spec.AMIType = owners.ManagedKey.Name, nodeRole, ptr.To(infrav1.AMITypeAL2023X86)
			pool.Spec.SubnetIDs, pool.Spec.Scaling = []string{owners.Subnet}, &infrav1.ManagedMachinePoolScaling{MinSize: ptr.To[int32](1), MaxSize: ptr.To[int32](3)}
			do(w.Cluster.Create(t.Context(), pool))
			w.Sim.ClearCalls()
			got := w.Planner.Takeovers(t.Context(), time.Minute, plan.PoolName{Kind: "AWSManagedMachinePool", ObjectKey: owners.ManagedKey})[0]
			do(got.Err)
			if slices.ContainsFunc(w.Sim.Calls(), func(call awssim.Call) bool { return action.Changes(call.Action) }) {
				t.Error("the plan of a takeover changed something")
			}
			adopted := slices.ContainsFunc(got.Steps, func(step plan.Step) bool { return slices.Contains(step.Calls, "eks:TagResource") })
			if len(got.Problems) > 0 || got.Creates || len(got.Replaced()) > 0 || adopted != row.adopted || (row.busy == "") != (got.Busy == "") || !strings.HasPrefix(got.Busy, row.busy) {
				t.Errorf("%s Got %+v", row.reason, got)
			}
		})
	}
}
