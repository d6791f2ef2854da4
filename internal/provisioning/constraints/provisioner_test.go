package constraints_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

func layerOf(t *testing.T, spec string) constraints.Provisioner {
	t.Helper()
	decoded := decode[provisioningv1.ProvisionerSpec](t, spec)
	return constraints.FromSpec("default", &decoded)
}

// TestTemplateOfSpec holds which launch template a spec means, and which of its labels nodes carry:
// labels that choose launches are not labels of nodes.
func TestTemplateOfSpec(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, spec string
		want         constraints.Reference
		inWords      string
		labels       map[string]string
	}{
		{"none is named", `{labels: {team: web}}`, constraints.Reference{}, "the default launch template", map[string]string{"team": "web"}},
		{"a field, by ID", `{launchTemplateRef: {id: lt-01234567, version: "5"}}`, constraints.Reference{ID: "lt-01234567", Version: "5"}, "launch template lt-01234567", nil},
		{"a field, by name, without a version", `{launchTemplateRef: {name: web}}`, constraints.Reference{Name: "web", Version: "latest"}, "launch template web", nil},
		{"an AWSLaunchConfig", `{launchConfigRef: {namespace: team, name: web}}`, constraints.Reference{Config: "team/web", Version: "latest"}, "launch template team/web", nil},
		{"the field before the label", `{launchTemplateRef: {name: web}, labels: {node.k8s.aws/launch-template-name: other}}`, constraints.Reference{Name: "web", Version: "latest"}, "launch template web", nil},
		{"a label", `{labels: {node.k8s.aws/launch-template-name: web, node.k8s.aws/launch-template-version: "3", team: web}}`, constraints.Reference{Name: "web", Version: "3"},
			"launch template web", map[string]string{"team": "web"}},
		{"the version as the document spells it", `{labels: {node.k8s.aws/launch-template-name: web, node.k8s.aws/launch-template-version: $LATEST}}`, constraints.Reference{Name: "web", Version: "latest"},
			"launch template web", nil},
		{"labels of before 2021", `{labels: {kubernetes.amazonaws.com/launchTemplateId: lt-01234567, kubernetes.amazonaws.com/launchTemplateVersion: "5"}}`, constraints.Reference{ID: "lt-01234567", Version: "5"},
			"launch template lt-01234567", nil},
		{"the present label before the former one", `{labels: {node.k8s.aws/launch-template-name: web, kubernetes.amazonaws.com/launchTemplateId: lt-01234567}}`, constraints.Reference{Name: "web", Version: "latest"},
			"launch template web", nil},
	} {
		p := layerOf(t, row.spec)
		if p.Template != row.want || p.Template.String() != row.inWords || p.Template.IsDefault() != (row.want == constraints.Reference{}) {
			t.Errorf("%s: %+v, %q", row.reason, p.Template, p.Template)
		}
		if diff := cmp.Diff(row.labels, p.Labels); len(row.labels)+len(p.Labels) > 0 && diff != "" {
			t.Errorf("%s: labels (-want +got):\n%s", row.reason, diff)
		}
	}
}

// TestRequirementsOfSpec holds that requirements of a spec are merged, and that one which the API
// server should have refused admits nothing, rather than everything.
func TestRequirementsOfSpec(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ reason, requirements, want string }{
		{"none", `[]`, ""},
		{"the operating system, which is always Linux", `[{key: kubernetes.io/os, operator: In, values: [linux]}]`, ""},
		{"two of one label", `[{key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: ["2"]}, {key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: ["9"]}]`,
			"karpenter.k8s.aws/instance-cpu: anything above 2 below 9"},
		{"an alias", `[{key: karpenter.sh/capacity-type, operator: In, values: [spot]}]`, "node.k8s.aws/capacity-type: spot"},
		{"an alias, and what it stands for", `[{key: karpenter.sh/capacity-type, operator: In, values: [spot]}, {key: node.k8s.aws/capacity-type, operator: In, values: [on-demand]}]`, "node.k8s.aws/capacity-type: nothing"},
		{"an operator that there is not", `[{key: a, operator: Near, values: ["1"]}]`, "a: nothing"},
		{"a bound that is no number", `[{key: a, operator: Gt, values: [x]}]`, "a: nothing"},
		{"a bound beyond 64 bits", `[{key: a, operator: Lt, values: ["9223372036854775808"]}]`, "a: nothing"},
	} {
		p := layerOf(t, `{requirements: `+row.requirements+`}`)
		if got := p.Requirements.String(); got != row.want {
			t.Errorf("%s: %q, want %q", row.reason, got, row.want)
		}
	}
}

// TestExtraResourcesAreWhole holds that a part of a device, none, or less than none is not declared.
func TestExtraResourcesAreWhole(t *testing.T) {
	t.Parallel()
	for amount, want := range map[string]int64{"3": 3, "1": 1, "1999m": 1, "999m": 0, "0": 0, "-2": 0, "1Gi": 1 << 30} {
		resources := layerOf(t, `{extraResources: {example.com/device: "`+amount+`"}}`).Resources
		quantity, declared := resources["example.com/device"]
		if quantity.Value() != want || declared != (want > 0) {
			t.Errorf("of %s devices %s are declared: %v", amount, quantity.String(), declared)
		}
	}
	if none := layerOf(t, `{}`).Resources; none != nil {
		t.Errorf("without extra resources there are %v", none)
	}
}

// TestOrderOfProvisioners holds which of several provisioners a pod goes to: by weight, then by name,
// in whatever order they are listed.
func TestOrderOfProvisioners(t *testing.T) {
	t.Parallel()
	all := []*constraints.Provisioner{{Name: "c", Weight: 1}, {Name: "a"}, {Name: "b", Weight: 100}, {Name: "d", Weight: 1}, {Name: "e", Weight: -1}}
	for range len(all) {
		all = append(all[1:], all[0])
		sorted := slices.SortedFunc(slices.Values(all), constraints.Before)
		var names []string
		for _, p := range sorted {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); got != "b c d a e" {
			t.Errorf("the order is %s", got)
		}
	}
	if constraints.Before(all[0], all[0]) != 0 {
		t.Error("a provisioner comes before itself")
	}
}

// TestLimitsOfProvisioners holds which nodes the limits of a provisioner exclude, and how the
// reason is worded. Limits on zones and the capacity type never exclude an instance type.
func TestLimitsOfProvisioners(t *testing.T) {
	t.Parallel()
	const cpus = provisioningv1.InstanceLabelPrefix + "cpu"
	node := map[string]string{corev1.LabelTopologyZone: "a", corev1.LabelInstanceTypeStable: "m5.large", corev1.LabelArchStable: "amd64", provisioningv1.LabelCapacityType: "spot", cpus: "2"}
	for _, row := range []struct {
		reason, spec string
		forbids      string
		allowsType   bool
	}{
		{"no limits", `{}`, "", true},
		{"all admit it", `{zones: [a], instanceTypes: [m5.large], architecture: x86_64, requirements: [{key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: ["3"]}]}`, "", true},
		{"its zone", `{zones: [b, c]}`, "its topology.kubernetes.io/zone is a, but spec.zones now allows b or c", true},
		{"its zone, by a requirement", `{requirements: [{key: topology.kubernetes.io/zone, operator: NotIn, values: [a]}]}`, "its topology.kubernetes.io/zone is a, " +
			"but spec.requirements now allows not a", true},
		{"its capacity type", `{requirements: [{key: node.k8s.aws/capacity-type, operator: In, values: [on-demand]}]}`, "its node.k8s.aws/capacity-type is spot, " +
			"but spec.requirements now allows on-demand", true},
		{"its type", `{instanceTypes: [c5.large]}`, "its node.kubernetes.io/instance-type is m5.large, but " +
			"spec.instanceTypes now allows c5.large", true},
		{"its architecture", `{architecture: arm64}`, "its kubernetes.io/arch is amd64, but spec.architecture " +
			"now allows arm64", true},
		{"its size", `{requirements: [{key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: ["2"]}]}`, "its karpenter.k8s.aws/instance-cpu is " +
			"2, but spec.requirements now allows anything above 2", false},
		{"a label that it lacks", `{requirements: [{key: karpenter.k8s.aws/instance-gpu-count, operator: Exists}]}`, "it has no " +
			"karpenter.k8s.aws/instance-gpu-count, but spec.requirements allows only anything", false},
		{"of many values the first are named", `{zones: [b, c, d, e, f, g, h]}`, "its topology.kubernetes.io/zone is a, " +
			"but spec.zones now allows b, c, d, e, f, or 2 more", true},
	} {
		p := layerOf(t, row.spec)
		if got := p.Forbids(node); got != row.forbids {
			t.Errorf("%s: %q, want %q", row.reason, got, row.forbids)
		}
		if got := p.AllowsType(node); got != row.allowsType {
			t.Errorf("%s: it allows the type: %v", row.reason, got)
		}
	}
}

// TestLimitsTogether holds the zones that limits leave, and why they leave none of a label's values.
func TestLimitsTogether(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ reason, spec, zones, fields, says string }{
		{"none", `{}`, "any value or no label", "", ""},
		{"zones", `{zones: [b, a]}`, "a or b", "spec.zones", ""},
		{"a requirement", `{requirements: [{key: topology.kubernetes.io/zone, operator: NotIn, values: [a]}]}`, "not a", "spec.requirements", ""},
		{"both", `{zones: [a, b], requirements: [{key: topology.kubernetes.io/zone, operator: NotIn, values: [a]}]}`, "b", "spec.zones with spec.requirements", ""},
		{"both, and nothing is left", `{zones: [a], requirements: [{key: failure-domain.beta.kubernetes.io/zone, operator: NotIn, values: [a]}]}`, "nothing", "spec.zones with spec.requirements",
			"spec.zones and spec.requirements allow no common value of topology.kubernetes.io/zone"},
		{"one requirement alone", `{requirements: [{key: a, operator: Gt, values: ["5"]}, {key: a, operator: Lt, values: ["6"]}]}`, "any value or no label", "",
			"spec.requirements allow no common value of a"},
		{"another label", `{instanceTypes: [m5.large], requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [c5.large]}]}`, "any value or no label", "",
			"spec.instanceTypes and spec.requirements allow no common value of node.kubernetes.io/instance-type"},
	} {
		p := layerOf(t, row.spec)
		if zones, fields := p.AllowedZones(); zones.String() != row.zones || fields != row.fields {
			t.Errorf("%s: zones are %s by %q", row.reason, zones, fields)
		}
		if got := p.Unsatisfiable(); got != row.says {
			t.Errorf("%s: %q, want %q", row.reason, got, row.says)
		}
		if _, says := constraints.Resolve(&p, nil, nil); row.says != "" && says != "waits, because Provisioner default can "+
			"launch no node: "+row.says {
			t.Errorf("%s: pods are told %q", row.reason, says)
		}
	}
}

// TestPlain holds what a node is that is launched for pods which ask for nothing: from the launch
// template that is given, whichever the provisioner has.
func TestPlain(t *testing.T) {
	t.Parallel()
	p := layerOf(t, `{labels: {node.k8s.aws/launch-template-name: arm, team: web}, zones: [us-east-1b]}`)
	for _, row := range []struct {
		reason string
		from   constraints.Reference
		way    constraints.Requirements
		want   string
		says   string
	}{
		{"its own launch template", p.Template, nil, "kubernetes.io/arch: arm64; node.k8s.aws/capacity-type: on-demand; topology.kubernetes.io/zone: us-east-1b", ""},
		{"the default one", constraints.Reference{}, nil, "kubernetes.io/arch: amd64; node.k8s.aws/capacity-type: on-demand; topology.kubernetes.io/zone: us-east-1b", ""},
		{"a way, by an alias", constraints.Reference{}, constraints.Requirements{"beta.kubernetes.io/arch": constraints.In("arm64")},
			"kubernetes.io/arch: arm64; node.k8s.aws/capacity-type: on-demand; topology.kubernetes.io/zone: us-east-1b", ""},
		{"one that has a problem", constraints.Reference{Name: "gone", Version: "latest"}, nil, "", "needs launch template gone: EC2 has no launch template of that name"},
		{"one that was not read", constraints.Reference{Name: "unread", Version: "latest"}, nil, "", "needs launch template unread, which " +
			"Slipway has not read yet because pending pods specify too many launch templates"},
		{"a way beyond the limits", constraints.Reference{}, constraints.Requirements{corev1.LabelTopologyZone: constraints.In("us-east-1a")}, "",
			"requires topology.kubernetes.io/zone: us-east-1a, which Provisioner default and the default launch " +
				"template exclude"},
	} {
		ask, says := constraints.Plain(&p, known, row.from, row.way)
		if got := ask.Requirements.String(); got != row.want || says != row.says {
			t.Errorf("%s: %q, and it says %q", row.reason, got, says)
		}
		if row.says == "" && (ask.Template != row.from || ask.Labels["team"] != "web" || ask.Provisioner != "default") {
			t.Errorf("%s: the node is %+v", row.reason, ask)
		}
	}
}
