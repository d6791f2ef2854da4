package clusterstate_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
)

// TestMemberOf holds which of several Nodes that name one instance is the Node of its ProvisionedNode,
// whatever their order is, and that pods get places on that one alone.
func TestMemberOf(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	node := func(name string, age time.Duration) corev1.Node {
		return corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(now.Add(-age))}, Spec: corev1.NodeSpec{ProviderID: "aws:///us-east-1a/i-1"},
		}
	}
	for _, row := range []struct {
		reason, recorded string
		nodes            []corev1.Node
		want             string
	}{
		{"there is none", "", nil, ""},
		{"the only one", "", []corev1.Node{node("a", 0)}, "a"},
		{"the only one, under another name than before", "b", []corev1.Node{node("a", 0)}, "a"},
		{"the recorded one, although another is older", "b", []corev1.Node{node("a", time.Hour), node("b", 0)}, "b"},
		{"the first one before one is recorded", "", []corev1.Node{node("a", 0), node("b", time.Hour)}, "b"},
		{"by name if both are as old", "", []corev1.Node{node("b", 0), node("a", 0)}, "a"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			provisioned := provisioningv1.ProvisionedNode{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
			provisioned.Status.InstanceID, provisioned.Status.NodeName = "i-1", row.recorded
			for range row.nodes {
				row.nodes = append(row.nodes[1:], row.nodes[0])
				var claiming []*corev1.Node
				for i := range row.nodes {
					claiming = append(claiming, &row.nodes[i])
				}
				if got := clusterstate.MemberOf(&provisioned, claiming, ""); got.Name != row.want {
					t.Errorf("it is %s, want %s", got.Name, row.want)
				}
				if got := clusterstate.MemberOf(&provisioned, claiming, "a"); got.Name != "a" {
					t.Errorf("it is %s, although a has the name of the instance", got.Name)
				}
				cluster := clusterstate.Cluster{Nodes: row.nodes, Provisioned: []provisioningv1.ProvisionedNode{provisioned}}
				for _, one := range cluster.Problem(nil, nil).Nodes {
					// One that is not ready is closed, unless it is the Node of the ProvisionedNode, which starts.
					if one.Closed != (one.Name != row.want) {
						t.Errorf("Node %s is closed: %t", one.Name, one.Closed)
					}
				}
			}
			if got := clusterstate.MemberOf(&provisioned, nil, ""); got != nil {
				t.Errorf("without Nodes it is %s", got.Name)
			}
		})
	}
}
