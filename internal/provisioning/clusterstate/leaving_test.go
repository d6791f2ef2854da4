package clusterstate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

func ofSet(p *corev1.Pod) {
	p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", UID: "set", Controller: ptr.To(true)}}
}

func replacing(n *provisioningv1.ProvisionedNode) {
	n.Status.Conditions = append(n.Status.Conditions, metav1.Condition{Type: provisioningv1.ReplacingCondition, Status: metav1.ConditionTrue})
}

func ending(n *provisioningv1.ProvisionedNode) { n.DeletionTimestamp = &metav1.Time{} }

// claiming has a pod use the claim of a name.
func claiming(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
	}
}

// bound returns a claim that is bound to the volume of the same name.
func bound(name string) corev1.PersistentVolumeClaim {
	claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	claim.Spec.VolumeName = name
	return claim
}

// volumeOf returns a volume that only Nodes with a label have.
func volumeOf(name, key, value string) corev1.PersistentVolume {
	volume := corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}},
	}}}}
	return volume
}

// TestPodsOfLeavingNodes holds which pods of a node are packed as if they waited, and that they
// count where they will be, and not where they are.
func TestPodsOfLeavingNodes(t *testing.T) {
	t.Parallel()
	elsewhere := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	for _, row := range []struct {
		reason         string
		node           func(*provisioningv1.ProvisionedNode)
		pod            []func(*corev1.Pod)
		promised       map[types.UID]string
		packed, counts int // pods to pack, and pods that count on the node that leaves
		there          int // pods that count elsewhere
	}{
		{"a node that stays", func(*provisioningv1.ProvisionedNode) {}, []func(*corev1.Pod){ofSet}, nil, 0, 1, 0},
		{"a node that ends", ending, []func(*corev1.Pod){ofSet}, nil, 1, 0, 0},
		{"a node that is to end", replacing, []func(*corev1.Pod){ofSet}, nil, 1, 0, 0},
		{"a pod that no controller recreates", ending, nil, nil, 0, 1, 0},
		{"a pod on its way out", ending, []func(*corev1.Pod){ofSet, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }}, nil, 0, 1, 0},
		{"a pod with a place elsewhere", replacing, []func(*corev1.Pod){ofSet}, map[types.UID]string{"p": "other"}, 0, 0, 1},
		{"a pod of a disk of the node", ending, []func(*corev1.Pod){ofSet, claiming("disk")}, nil, 0, 1, 0},
		{"a pod of a volume of the zone", ending, []func(*corev1.Pod){ofSet, claiming("zonal")}, nil, 1, 0, 0},
		{"a place on the node itself is none", replacing, []func(*corev1.Pod){ofSet}, map[types.UID]string{"p": "n"}, 1, 0, 0},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			one := pod("p", append(row.pod, on("node-1"), func(p *corev1.Pod) { p.Status.Phase, p.Status.Conditions = corev1.PodRunning, nil })...)
			cluster := clusterstate.Cluster{
				Provisioned: []provisioningv1.ProvisionedNode{provisioned("n", launched, ready, row.node)}, Nodes: []corev1.Node{member(corev1.ConditionTrue), elsewhere},
				Pods: []*corev1.Pod{one}, Promised: row.promised,
				Claims:  []corev1.PersistentVolumeClaim{bound("disk"), bound("zonal")},
				Volumes: []corev1.PersistentVolume{volumeOf("disk", corev1.LabelHostname, "node-1"), volumeOf("zonal", corev1.LabelTopologyZone, "b")},
			}
			problem := cluster.Problem([]constraints.Provisioner{{Name: "default"}}, types1())
			if len(problem.Pods) != row.packed {
				t.Errorf("%d pods are to be packed", len(problem.Pods))
			}
			for i := range problem.Nodes {
				node := &problem.Nodes[i]
				want := map[string]int{"node-1": row.counts, "other": row.there}[node.Name]
				if len(node.Pods) != want {
					t.Errorf("%d pods count on %s, want %d", len(node.Pods), node.Name, want)
				}
				if leaves := clusterstate.Leaves(&cluster.Provisioned[0]); node.Name == "node-1" && node.Closed != leaves {
					t.Errorf("it is closed: %v", node.Closed)
				}
			}
		})
	}
}

// TestRenamed holds that a promise of a place on a Node becomes one of its ProvisionedNode, once it is
// known whose the Node is.
func TestRenamed(t *testing.T) {
	t.Parallel()
	promised := map[types.UID]string{"p": "node-1", "q": "other", "r": "n"}
	for _, row := range []struct {
		reason string
		nodes  []provisioningv1.ProvisionedNode
		want   map[types.UID]string
	}{
		{"the Node is a ProvisionedNode's", []provisioningv1.ProvisionedNode{provisioned("n", launched)}, map[types.UID]string{"p": "n"}},
		{"the instance is not known yet", []provisioningv1.ProvisionedNode{provisioned("n")}, map[types.UID]string{}},
		{"the Node is of others", nil, map[types.UID]string{}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			cluster := clusterstate.Cluster{Provisioned: row.nodes, Nodes: []corev1.Node{member(corev1.ConditionTrue)}}
			if diff := cmp.Diff(row.want, cluster.Renamed(promised)); diff != "" {
				t.Errorf("promises are renamed (-want +got):\n%s", diff)
			}
		})
	}
}
