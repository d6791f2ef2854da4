package provisionerstatus

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// reachable answers that AWS does.
type reachable struct{}

func (reachable) Outage(...string) (*aws.Outage, bool) { return nil, true }

// TestAct holds what each action on nodes leaves in the API server, and that the lists of the pass
// show the same, so that the next decision does not plan it again.
func TestAct(t *testing.T) {
	t.Parallel()
	replaced, allowed := provisioningv1.ReplaceAnnotation, provisioningv1.DisruptionAllowedAnnotation
	for _, row := range []struct {
		reason string
		action reconcile.Action
		left   map[string]map[string]string // annotations of the nodes in the API server
		told   []string
		fails  bool
	}{
		{reason: "a node may be disrupted", action: allowDisruptions{[]allowance{{"a", "Empty"}}},
			left: map[string]map[string]string{"a": {allowed: "Empty"}, "b": {allowed: "Expired", replaced: "Drifted: x"}}},
		{reason: "a node may no longer be disrupted", action: revokeDisruptions{[]string{"b"}}, left: map[string]map[string]string{"a": nil, "b": {replaced: "Drifted: x"}}},
		{reason: "a node is marked", action: markDrifted{Why: "its image is old", Nodes: []string{"a"}},
			left: map[string]map[string]string{"a": {replaced: "Drifted: its image is old"}, "b": {allowed: "Expired", replaced: "Drifted: x"}},
			told: []string{"Replacing ProvisionedNode a (Node node-a): its image is old."}},
		{reason: "a mark is removed", action: unmarkDrifted{[]string{"b"}}, left: map[string]map[string]string{"a": nil, "b": {allowed: "Expired"}}},
		{reason: "nodes are deleted", action: deleteNodes{[]string{"a", "b"}}, left: map[string]map[string]string{}},
		{reason: "a node is not the Provisioner's", action: deleteNodes{[]string{"c"}}, left: map[string]map[string]string{"a": nil, "b": {allowed: "Expired", replaced: "Drifted: x"}}, fails: true},
		{reason: "a node that may be disrupted is not the Provisioner's", action: allowDisruptions{[]allowance{{"c", "Empty"}}}, left: map[string]map[string]string{"a": nil, "b": {allowed: "Expired", replaced: "Drifted: x"}}, fails: true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			scheme := runtime.NewScheme()
			if err := provisioningv1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			a, b := nodeOf("a"), nodeOf("b")
			b.Annotations = map[string]string{allowed: "Expired", replaced: "Drifted: x"}
			store := fake.NewClientBuilder().WithScheme(scheme).WithObjects(&a, &b).Build()
			kind := &Kind{Client: store, Live: store, AWS: reachable{}, Clock: clocktesting.NewFakePassiveClock(noon)}
			seen := &Observed{Allowing: list(t, kind), Marking: list(t, kind), Nodes: list(t, kind).Items}
			told, err := kind.Act(t.Context(), pass{Object: atRest().Object, Seen: seen, Memory: &Memory{}}, row.action)
			if (err != nil) != row.fails {
				t.Fatalf("error %v", err)
			}
			var notes []string
			for _, event := range told {
				notes = append(notes, event.Note)
			}
			if difference := cmp.Diff(row.told, notes); difference != "" {
				t.Errorf("events (-want +got):\n%s", difference)
			}
			if difference := cmp.Diff(row.left, annotations(list(t, kind).Items)); difference != "" {
				t.Errorf("the API server (-want +got):\n%s", difference)
			}
			for _, nodes := range [][]provisioningv1.ProvisionedNode{seen.Nodes, seen.Allowing.Items, seen.Marking.Items} {
				nodes = slices.DeleteFunc(slices.Clone(nodes), func(node provisioningv1.ProvisionedNode) bool { return node.DeletionTimestamp != nil })
				if difference := cmp.Diff(row.left, annotations(nodes)); difference != "" {
					t.Errorf("the pass (-want +got):\n%s", difference)
				}
			}
		})
	}
}

// list lists the nodes that the API server has.
func list(t *testing.T, kind *Kind) NodeList {
	t.Helper()
	var nodes provisioningv1.ProvisionedNodeList
	if err := kind.Client.List(t.Context(), &nodes); err != nil {
		t.Fatal(err)
	}
	return NodeList{Read: true, Items: nodes.Items}
}

func annotations(nodes []provisioningv1.ProvisionedNode) map[string]map[string]string {
	all := map[string]map[string]string{}
	for i := range nodes {
		all[nodes[i].Name] = maps.Clone(nodes[i].Annotations)
		if len(nodes[i].Annotations) == 0 {
			all[nodes[i].Name] = nil
		}
	}
	return all
}

// TestActUsedVersions holds that versions are kept which any Provisioner's node names.
func TestActUsedVersions(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := provisioningv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mine, other, elsewhere := nodeOf("a"), nodeOf("b"), nodeOf("c")
	other.Spec.Provisioner, other.Spec.LaunchTemplate.Version = "other", 2
	elsewhere.Spec.LaunchTemplate = provisioningv1.LaunchTemplateVersion{ID: "lt-2", Version: 7}
	store := fake.NewClientBuilder().WithScheme(scheme).WithObjects(&mine, &other, &elsewhere).Build()
	used, err := actor{Kind: &Kind{Live: store}}.usedVersions(t.Context(), "lt-1")
	if difference := cmp.Diff(map[int64]bool{1: true, 2: true}, used); err != nil || difference != "" {
		t.Errorf("error %v, versions (-want +got):\n%s", err, difference)
	}
}

// TestWoken holds which Provisioners a change wakes.
func TestWoken(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := provisioningv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	changed, another := &provisioningv1.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, &provisioningv1.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
	controller := &Controller{kind: &Kind{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(changed, another).Build()}}
	if got := controller.others(t.Context(), changed); len(got) != 1 || got[0].Name != "b" {
		t.Errorf("a change of Provisioner a wakes %v", got)
	}
	node := nodeOf("x")
	if got := ofNode(t.Context(), &node); got != nil {
		t.Errorf("a node without a label wakes %v", got)
	}
	node.Labels = map[string]string{provisioningv1.LabelProvisionerName: "b"}
	if got := ofNode(t.Context(), &node); len(got) != 1 || got[0].Name != "b" {
		t.Errorf("a node of Provisioner b wakes %v", got)
	}
}
