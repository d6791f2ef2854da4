package packing_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/packing/packtest"
)

// TestExistingNodes holds that nodes that are on their way are used first, by pods of their launch
// template alone.
func TestExistingNodes(t *testing.T) {
	t.Parallel()
	node := packing.Node{Name: "n", Allocatable: packtest.Amounts("cpu", "2", "memory", "4Gi", "pods", "10"), Labels: map[string]string{
		provisioningv1.LabelProvisionerName: "default", provisioningv1.LabelLaunchTemplateName: "x", corev1.LabelTopologyZone: packtest.Zones[0], corev1.LabelHostname: "n",
	}}
	problem := packing.Problem{
		Provisioners: []packing.Provisioner{packtest.Provisioner()}, Types: packtest.FamilyTypes(), Nodes: []packing.Node{node},
		Templates: constraints.Templates{{Name: "x", Version: "latest"}: {Name: "x", Version: 1, Architecture: "amd64"}},
		Pods:      []packing.Pod{packtest.Pod("a", packtest.Selects(provisioningv1.LabelLaunchTemplateName, "x")), packtest.Pod("b")},
	}
	result := packing.Pack(&problem)
	nodes, _ := shape(result)
	if want := []string{fromDefault + "c5.large in abc: b"}; !slices.Equal(nodes, want) {
		t.Errorf("nodes are %q, want %q", nodes, want)
	}
	if got := packtest.Names(result.Existing["n"]); !slices.Equal(got, []string{"a"}) {
		t.Errorf("on the node that is there are %v", got)
	}
}

// TestPodsWithoutMemory holds that a pod that asks for no memory does not move the others of a node
// to a type that has too little for them.
func TestPodsWithoutMemory(t *testing.T) {
	t.Parallel()
	types := slices.DeleteFunc(packtest.FamilyTypes(), func(kind packing.InstanceType) bool { return kind.Name != "c5.2xlarge" && kind.Name != "r5.2xlarge" })
	types[1].Offerings[0].Unavailable = true // r5.2xlarge on demand in the first zone
	result := packing.Pack(&packing.Problem{Provisioners: []packing.Provisioner{packtest.Provisioner()}, Types: types, Pods: []packing.Pod{
		packtest.Pod("a", packtest.Asks("cpu", "1", "memory", "36Gi")), {Pod: packtest.Pod("b", packtest.Asks("cpu", "100m")).Pod, Zones: packtest.Zones[:1]},
	}})
	nodes, _ := shape(result)
	if want := []string{fromDefault + "r5.2xlarge in bc: a", fromDefault + "c5.2xlarge in a: b"}; !slices.Equal(nodes, want) {
		t.Errorf("nodes are %q, want %q", nodes, want)
	}
}

// TestReasonsOfShortages holds which reason pods get while AWS has none of the instances that suit
// them: the shortage, and not that the remaining types are too small.
func TestReasonsOfShortages(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		short  func(name, zone string) bool
		cpu    string
		edit   func(*corev1.Pod)
		says   string
	}{
		{"all that are large enough", func(name, _ string) bool { return name != "c5.large" }, "3", nil,
			"needs an instance for which AWS recently had no capacity: c5.16xlarge, c5.2xlarge, c5.4xlarge, and " +
				"12 more, on-demand, in us-east-1a, us-east-1b, us-east-1c. Slipway retries within minutes"},
		{"all", func(string, string) bool { return true }, "30", packtest.Selects(corev1.LabelInstanceTypeStable, "c5.8xlarge"),
			"needs an instance for which AWS recently had no capacity: c5.8xlarge, on-demand, in us-east-1a, " +
				"us-east-1b, us-east-1c. Slipway retries within minutes"},
		{"in the zone of the pod", func(_, zone string) bool { return zone == "us-east-1b" }, "3", packtest.Selects(corev1.LabelTopologyZone, "us-east-1b", corev1.LabelInstanceTypeStable, "c5.xlarge"),
			"needs an instance for which AWS recently had no capacity: c5.xlarge, on-demand, in us-east-1b. " +
				"Slipway retries within minutes"},
		{"what is short is too small too", func(name, _ string) bool { return name != "c5.large" }, "1000", nil,
			"requests 1000 CPU, but no suitable instance type leaves more than 63.92 CPU for pods"},
		{"none is", func(string, string) bool { return false }, "3", nil, ""},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			problem := packing.Problem{Types: packtest.FamilyTypes(), Provisioners: []packing.Provisioner{packtest.Provisioner()}}
			for i := range problem.Types {
				for j := range problem.Types[i].Offerings {
					offering := &problem.Types[i].Offerings[j]
					offering.Unavailable = row.short(problem.Types[i].Name, offering.Zone)
				}
			}
			edits := []func(*corev1.Pod){packtest.Asks("cpu", row.cpu)}
			if row.edit != nil {
				edits = append(edits, row.edit)
			}
			problem.Pods = []packing.Pod{packtest.Pod("a", edits...)}
			result := packing.Pack(&problem)
			says := ""
			if len(result.Unplaced) > 0 {
				says = result.Unplaced[0].Reason
			}
			if says != row.says {
				t.Errorf("the reason is\n%q, want\n%q", says, row.says)
			}
		})
	}
}
