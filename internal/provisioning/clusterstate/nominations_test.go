package clusterstate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
)

// nominatedBy has a pod nominated by a field manager.
func nominatedBy(manager, node string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.NominatedNodeName = node
		p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kube-controller-manager"}, {Manager: manager, Subresource: "status"}}
	}
}

// TestNominatedPodsWait holds that a pod waits while the nomination is Slipway's, in a cache too,
// and that it has its place where it is the scheduler's.
func TestNominatedPodsWait(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		edit   func(*corev1.Pod)
		waits  bool
	}{
		{"Slipway nominated the Node", nominatedBy(clusterstate.NominationManager, "n"), true},
		{"the scheduler preempts others for it", nominatedBy("kube-scheduler", "n"), false},
		{"Slipway's nomination was removed", nominatedBy("kube-controller-manager", ""), true},
		{"it was bound since", func(p *corev1.Pod) { nominatedBy(clusterstate.NominationManager, "n")(p); on("n")(p) }, false},
	} {
		got := pod("p", row.edit)
		cluster := &clusterstate.Cluster{Pods: []*corev1.Pod{got}, Nodes: []corev1.Node{{
			ObjectMeta: metav1.ObjectMeta{Name: "n"},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
		}}}
		if waits := len(cluster.Waiting()) == 1; waits != row.waits || len(got.ManagedFields) > 1 {
			t.Errorf("%s: it waits: %v, with managed fields %v", row.reason, waits, got.ManagedFields)
		}
	}
}

// TestNominable holds which Nodes the scheduler is pointed to.
func TestNominable(t *testing.T) {
	t.Parallel()
	registered := func(n *provisioningv1.ProvisionedNode) {
		launched(n)
		n.Status.Conditions = append(n.Status.Conditions, metav1.Condition{Type: provisioningv1.RegisteredCondition, Status: metav1.ConditionTrue})
		n.Spec.Taints = []provisioningv1.Taint{{Key: "team", Effect: "NoSchedule"}}
		n.Spec.StartupTaints = []provisioningv1.Taint{{Key: "network", Effect: "NoSchedule"}}
	}
	awaiting := func(n *provisioningv1.ProvisionedNode) { n.Spec.AwaitedResources = []string{"nvidia.com/gpu"} }
	tainted := func(keys ...string) func(*corev1.Node) {
		return func(n *corev1.Node) {
			for _, key := range keys {
				n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
			}
		}
	}
	type edits = []func(*provisioningv1.ProvisionedNode)
	for _, row := range []struct {
		reason  string
		launch  edits
		node    func(*corev1.Node)
		want    bool
		lagging bool
	}{
		{"its kubelet is not ready yet", edits{registered}, tainted("team", corev1.TaintNodeNotReady, "node.cloudprovider.kubernetes.io/uninitialized"), true, false},
		{"it has not registered", edits{launched}, tainted(), false, false},
		{"the cache shows it as it was before it registered", edits{registered}, tainted(clusterstate.UnregisteredTaint), false, true},
		{"a startup taint keeps pods away", edits{registered}, tainted("network"), false, false},
		{"an agent has not started there", edits{registered}, tainted("node.cilium.io/agent-not-ready"), false, false},
		{"it has a taint that its pods need not tolerate", edits{registered}, tainted("other"), false, false},
		{"it lacks a device", edits{registered, awaiting}, tainted(), false, false},
		{"it has the device", edits{registered, awaiting}, func(n *corev1.Node) {
			n.Status.Allocatable = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
		}, true, false},
		{"it leaves", edits{registered, replacing}, tainted(), false, false},
		{"it is cordoned", edits{registered}, func(n *corev1.Node) { n.Spec.Unschedulable = true }, false, false},
		{"it is deleted", edits{registered}, func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{} }, false, false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			cluster := clusterstate.Cluster{
				Nodes: []corev1.Node{member(corev1.ConditionFalse, row.node)}, Provisioned: []provisioningv1.ProvisionedNode{provisioned("a", row.launch...)},
			}
			want := map[string]string{}
			if row.want {
				want["a"] = cluster.Nodes[0].Name
			}
			got, lagging := cluster.Nominable()
			if diff := cmp.Diff(want, got); diff != "" || lagging != row.lagging {
				t.Errorf("Nodes (-want +got):\n%s\nlagging: %v", diff, lagging)
			}
		})
	}
}

// TestNominations holds that only Slipway's nominations, of pods that wait for the Node of a
// ProvisionedNode, are places of pods.
func TestNominations(t *testing.T) {
	t.Parallel()
	named := func(n *provisioningv1.ProvisionedNode) { n.Status.NodeName = "n" }
	cluster := clusterstate.Cluster{Provisioned: []provisioningv1.ProvisionedNode{provisioned("a", named)}, Pods: []*corev1.Pod{
		pod("ours", nominatedBy(clusterstate.NominationManager, "n")), pod("scheduler", nominatedBy("kube-scheduler", "n")), pod("gone", nominatedBy(clusterstate.NominationManager, "m")),
		pod("bound", nominatedBy(clusterstate.NominationManager, "n"), on("n")), pod("none"),
	}}
	if diff := cmp.Diff(map[types.UID]string{"ours": "a"}, cluster.Nominations()); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}
