package constraints_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

func TestNamedTemplates(t *testing.T) {
	t.Parallel()
	provisioner := constraints.Provisioner{Template: constraints.Reference{Name: "web", Version: "latest"}, Allowed: anything}
	pod := decode[corev1.PodSpec](t, `{nodeSelector: {node.k8s.aws/launch-template-name: arm, node.k8s.aws/launch-template-version: "2"}}`)
	ways, _ := constraints.PodRequirements(&pod)
	want := []constraints.Reference{{Name: "web", Version: "latest"}, {Name: "arm", Version: "2"}}
	if diff := cmp.Diff(want, constraints.Named(&provisioner, append(ways, ways...))); diff != "" {
		t.Errorf("templates to read (-want +got):\n%s", diff)
	}
	provisioner.Allowed = constraints.Allowed{Names: []string{"other"}}
	if diff := cmp.Diff(want[:1], constraints.Named(&provisioner, ways)); diff != "" {
		t.Errorf("templates to read where pods may name others (-want +got):\n%s", diff)
	}
}

// TestExtraResourcesAreOfTheProvisionersTemplate checks that what is declared of nodes is not
// promised of nodes from other launch templates, and that amounts are whole.
func TestExtraResourcesAreOfTheProvisionersTemplate(t *testing.T) {
	t.Parallel()
	spec := decode[provisioningv1.ProvisionerSpec](t, `{labels: {node.k8s.aws/launch-template-name: web}, extraResources: {hugepages-2Mi: 1Gi, example.com/fpga: 1500m}}`)
	provisioner := constraints.FromSpec("default", &spec)
	provisioner.Allowed = anything
	for selector, want := range map[string]string{
		`{}`: "1073741824 1", `{nodeSelector: {node.k8s.aws/launch-template-name: arm}}`: "0 0", `{nodeSelector: {kubernetes.io/arch: arm64}}`: "0 0",
	} {
		pod := decode[corev1.PodSpec](t, selector)
		ways, _ := constraints.PodRequirements(&pod)
		ask, reason := constraints.Resolve(&provisioner, known, ways[0])
		if reason != "" {
			t.Fatal(reason)
		}
		pages, devices := ask.Resources["hugepages-2Mi"], ask.Resources["example.com/fpga"]
		if got := fmt.Sprintf("%d %d", pages.Value(), devices.Value()); got != want {
			t.Errorf("%s: extra resources are %s, want %s", selector, got, want)
		}
	}
}

// TestPlacesOfSubnets holds the reason that pods get where a provisioner has no subnet for them,
// unless the launch template has one.
func TestPlacesOfSubnets(t *testing.T) {
	t.Parallel()
	zone := func(zones ...string) constraints.Requirements {
		return constraints.Requirements{corev1.LabelTopologyZone: constraints.In(zones...)}
	}
	own := constraints.Templates{{Name: "own", Version: "latest"}: {Name: "own", Version: 1, Architecture: "amd64", Zones: []string{"z"}, FixesSubnet: true}}
	for _, row := range []struct {
		reason string
		edit   func(*constraints.Provisioner)
		pod    constraints.Requirements
		zones  string
		says   string
	}{
		{"zones with a subnet", func(*constraints.Provisioner) {}, nil, "a or b", ""},
		{"of them those that the pod asks for", func(*constraints.Provisioner) {}, zone("b", "c"), "b", ""},
		{"a pod elsewhere", func(*constraints.Provisioner) {}, zone("c"), "", "requires topology.kubernetes.io/zone: " +
			"c, but Provisioner default has subnets with free addresses only in a or b"},
		{"a provisioner elsewhere", func(p *constraints.Provisioner) { p.Zones = []string{"c"} }, nil, "",
			"waits, because Provisioner default allows only zone c, but has subnets with free addresses only in " +
				"a or b"},
		{"nodes can be nowhere", func(p *constraints.Provisioner) { p.SubnetZones, p.SubnetProblem = []string{}, "none has an address" }, nil, "",
			"waits, because Provisioner default can launch no node: none has an address"},
		{"the launch template has the subnet", func(p *constraints.Provisioner) {
			p.SubnetZones, p.SubnetProblem, p.Template = []string{}, "none has an address", constraints.Reference{Name: "own", Version: "latest"}
		}, nil, "z", ""},
	} {
		p := constraints.Provisioner{Name: "default", SubnetZones: []string{"a", "b"}}
		row.edit(&p)
		ask, says := constraints.Resolve(&p, own, row.pod)
		if says != row.says || says == "" && ask.Requirements.Get(corev1.LabelTopologyZone).String() != row.zones {
			t.Errorf("%s: zones are %s, and it says %q", row.reason, ask.Requirements.Get(corev1.LabelTopologyZone), says)
		}
	}
}

// TestProblemsOfDefaultTemplates holds that a default launch template from which nothing can be
// launched keeps pods from the provisioner, of its architecture alone.
func TestProblemsOfDefaultTemplates(t *testing.T) {
	t.Parallel()
	p := constraints.Provisioner{Name: "default", DefaultProblems: map[string]string{"amd64": "EC2 refuses it"}}
	arm := constraints.Requirements{corev1.LabelArchStable: constraints.In("arm64")}
	if _, says := constraints.Resolve(&p, nil, nil); says != "waits, because EC2 refuses it" {
		t.Errorf("for amd64 it says %q", says)
	}
	if _, says := constraints.Resolve(&p, nil, arm); says != "" {
		t.Errorf("for arm64 it says %q", says)
	}
}
