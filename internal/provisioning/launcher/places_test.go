package launcher_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

func TestPlaces(t *testing.T) {
	t.Parallel()
	seen := time.Unix(1000, 0)
	subnet := func(id string, free int, public bool) discovery.Subnet {
		return discovery.Subnet{ID: id, Zone: "a", Free: free, Public: public, Seen: seen}
	}
	underWay := func(launched time.Duration, zone string, subnets ...string) (node provisioningv1.ProvisionedNode) {
		for _, id := range subnets {
			node.Spec.Offerings = append(node.Spec.Offerings, provisioningv1.NodeOffering{InstanceType: "m5.large", Zone: "a", SubnetID: id})
		}
		if zone != "" {
			node.Status.Zone, node.Status.LaunchTime = zone, &metav1.Time{Time: seen.Add(launched)}
		}
		return node
	}
	for _, row := range []struct {
		reason string
		found  []discovery.Subnet
		full   string
		nodes  []provisioningv1.ProvisionedNode
		want   []string
	}{
		{"the one with most free addresses", []discovery.Subnet{subnet("s1", 5, false), subnet("s2", 9, false)}, "", nil, []string{"s2", "s1"}},
		{"private before public", []discovery.Subnet{subnet("s1", 5, false), subnet("s2", 9, true)}, "", nil, []string{"s1", "s2"}},
		{"none without addresses", []discovery.Subnet{subnet("s1", 0, false), subnet("s2", 9, true)}, "", nil, []string{"s2"}},
		{"none that EC2 said is full", []discovery.Subnet{subnet("s1", 5, false), subnet("s2", 9, false)}, "s2", nil, []string{"s1"}},
		{"of equal ones the first by id", []discovery.Subnet{subnet("s2", 5, false), subnet("s1", 5, false)}, "", nil, []string{"s1", "s2"}},
		{
			"launches under way take addresses", []discovery.Subnet{subnet("s1", 5, false), subnet("s2", 6, false)}, "",
			[]provisioningv1.ProvisionedNode{underWay(0, "", "s2"), underWay(time.Second, "a", "s2")}, []string{"s1", "s2"},
		},
		{
			"what EC2 counted counts once", []discovery.Subnet{subnet("s1", 5, false), subnet("s2", 6, false)}, "",
			[]provisioningv1.ProvisionedNode{underWay(-time.Second, "a", "s2"), underWay(-time.Second, "a", "s2")}, []string{"s2", "s1"},
		},
		{
			"an instance elsewhere takes none", []discovery.Subnet{subnet("s1", 5, false), subnet("s2", 6, false)}, "",
			[]provisioningv1.ProvisionedNode{underWay(time.Second, "b", "s2"), underWay(time.Second, "b", "s2")}, []string{"s2", "s1"},
		},
		{"where counts are not known", []discovery.Subnet{{ID: "s1", Zone: "a"}}, "", nil, []string{"s1"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, place := range launcher.NewPlaces(row.found, func(id string) bool { return id == row.full }, row.nodes)["a"] {
				got = append(got, place.SubnetID)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("the subnets are others:\n%s", diff)
			}
		})
	}
}

// TestAllSubnetsOfAZone holds that nodes of one pass fill a subnet and go on with the next of its
// zone.
func TestAllSubnetsOfAZone(t *testing.T) {
	t.Parallel()
	given := surroundings(nil)
	given.Places = launcher.Places{"a": {{SubnetID: "s1", Free: 2}, {SubnetID: "s2", Free: 1}}}
	option := packing.Option{Type: "small", Zone: "a", CapacityType: "on-demand", Price: 1}
	launches, homeless := launcher.Plan([]packing.NewNode{node("p", option), node("q", option), node("r", option), node("s", option)}, given, counting())
	got := map[string]int{}
	for _, launch := range launches {
		for _, one := range launch.Nodes {
			got[one.Spec.Offerings[0].SubnetID]++
		}
	}
	// The fourth may fit as well, because counts are estimates: EC2 says so.
	if diff := cmp.Diff(map[string]int{"s1": 3, "s2": 1}, got); diff != "" || len(homeless) != 0 {
		t.Errorf("%d pods have no place, and the nodes are elsewhere:\n%s", len(homeless), diff)
	}
}

// TestPlacesProblem holds the messages about subnets that no node can be in.
func TestPlacesProblem(t *testing.T) {
	t.Parallel()
	subnets := []discovery.Subnet{{ID: "s1", Zone: "a"}, {ID: "s2", Zone: "b"}, {ID: "s3", Zone: "b"}}
	for _, row := range []struct {
		reason string
		limits constraints.Provisioner
		full   string
		want   string
	}{
		{"there are some", constraints.Provisioner{}, "s1", ""},
		{"there are some in the zones", constraints.Provisioner{Zones: []string{"b", "z"}}, "s2", ""},
		{"all are full", constraints.Provisioner{}, "s1 s2 s3", "none of its subnets has a free IP address: s1 in a, s2 in b, and s3 in b. No node is launched until a subnet has one"},
		{"all in the zones are full", constraints.Provisioner{Zones: []string{"a"}}, "s1", "none of its subnets in a zone that " +
			"spec.zones allows has a free IP address: s1 in a. No node is launched until a subnet has one"},
		{"none is in the zones", constraints.Provisioner{Zones: []string{"z"}}, "",
			"none of its subnets is in a zone that spec.zones allows: they are in a and b. No node is launched. " +
				"Add a subnet, or allow another zone"},
		{"the limits contradict each other", constraints.Provisioner{Zones: []string{"a"}, Requirements: constraints.Requirements{"topology.kubernetes.io/zone": constraints.NotIn("a")}}, "", ""},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			is := func(id string) bool { return slices.Contains(strings.Fields(row.full), id) }
			if got := launcher.NewPlaces(subnets, is, nil).Problem(subnets, &row.limits); got != row.want {
				t.Errorf("it says %q, want %q", got, row.want)
			}
		})
	}
}
