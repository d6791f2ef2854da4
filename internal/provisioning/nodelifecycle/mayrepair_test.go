package nodelifecycle

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

func TestMayRepair(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	zone := func(name string, well, failed, replaced, ended int) []provisioningv1.ProvisionedNode {
		var nodes []provisioningv1.ProvisionedNode
		for i := range well + failed + replaced + ended {
			node := provisioningv1.ProvisionedNode{}
			node.Status.InstanceID, node.Status.Zone, node.Status.ReadyTime = "i-1", name, &now
			if i >= well && i < well+failed+replaced {
				node.Status.FailedSince = &now
			}
			if i >= well+failed {
				node.DeletionTimestamp = &now
			}
			nodes = append(nodes, node)
		}
		return nodes
	}
	starting := provisioningv1.ProvisionedNode{}
	starting.Status.InstanceID, starting.Status.Zone = "i-1", "a"
	away := starting
	away.Status.AwaySince = &now
	for _, row := range []struct {
		reason string
		nodes  []provisioningv1.ProvisionedNode
		want   bool
	}{
		{"the only node of a zone", zone("a", 0, 1, 0, 0), true},
		{"one of five is being replaced", zone("a", 3, 1, 1, 0), false},
		{"one of six is", zone("a", 4, 1, 1, 0), false},
		{"one of nine is", zone("a", 7, 1, 1, 0), false},
		{"one of ten is", zone("a", 8, 1, 1, 0), true},
		{"two of ten are", zone("a", 0, 8, 2, 0), false},
		{"the only two nodes of a zone", zone("a", 0, 1, 1, 0), false},
		{"nodes that end for another reason take no place", zone("a", 5, 1, 0, 4), true},
		{"nor do they add places", zone("a", 4, 1, 1, 4), false},
		{"nor do nodes of another zone", append(zone("b", 0, 0, 5, 0), zone("a", 4, 1, 0, 0)...), true},
		{"a node that is starting takes one", append(zone("a", 3, 1, 0, 0), starting), false},
		{"a node takes none that never started, and whose Node is gone", append(zone("a", 1, 0, 0, 0), away), true},
		{"nor do several of them", append(zone("a", 1, 0, 0, 0), away, away), true},
		{"nor do nodes of another zone add places", append(zone("b", 50, 0, 0, 0), zone("a", 3, 1, 1, 0)...), false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			if got := mayRepair(row.nodes, "a"); got != row.want {
				t.Errorf("a further node may be replaced: %t", got)
			}
		})
	}
}
