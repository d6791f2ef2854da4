package constraints_test

import (
	"strings"
	"testing"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

func TestContradiction(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, spec string
		template     constraints.Template
		says         string
	}{
		{reason: "nothing is said", spec: `{}`, template: constraints.Template{CapacityType: "spot", Zones: []string{"a-1a"}}},
		{reason: "Spot by both", spec: `{labels: {node.k8s.aws/capacity-type: spot}}`, template: constraints.Template{CapacityType: "spot"}},
		{
			reason: "a market cannot be overridden", spec: `{labels: {node.k8s.aws/capacity-type: on-demand}}`, template: constraints.Template{CapacityType: "spot"},
			says: "it is for spot instances, but spec.labels has node.k8s.aws/capacity-type: on-demand",
		},
		{reason: "one zone in common", spec: `{zones: [a-1a, a-1b]}`, template: constraints.Template{Zones: []string{"a-1b", "a-1c"}}},
		{reason: "nor can a subnet", spec: `{zones: [a-1a]}`, template: constraints.Template{Zones: []string{"a-1b"}}, says: "it launches in a-1b, but spec.zones has " +
			"a-1a"},
	} {
		spec := decode[provisioningv1.ProvisionerSpec](t, row.spec)
		provisioner := constraints.FromSpec("default", &spec)
		if got := provisioner.Contradiction(&row.template); got != row.says && (row.says == "" || !strings.Contains(got, row.says)) {
			t.Errorf("%s: %q", row.reason, got)
		}
	}
}

func TestAlike(t *testing.T) {
	t.Parallel()
	const web = `{labels: {node.k8s.aws/launch-template-name: web}}`
	for _, row := range []struct {
		reason, one, other string
		want               bool
	}{
		{"the template alone is another", web, `{}`, true},
		{"so is its version", web, `{labels: {node.k8s.aws/launch-template-name: web, node.k8s.aws/launch-template-version: "3"}}`, true},
		{"one template, said in two ways", web, `{labels: {node.k8s.aws/launch-template-name: web, node.k8s.aws/launch-template-version: latest}}`, false},
		{"pods choose by a label", web, `{labels: {team: web}}`, false},
		{"by a taint", web, `{taints: [{key: team, value: web, effect: NoSchedule}]}`, false},
		{"by zones", web, `{zones: [us-east-1a]}`, false},
		{"zones in another order are the same", `{labels: {node.k8s.aws/launch-template-name: web}, zones: [us-east-1a, us-east-1b]}`, `{zones: [us-east-1b, us-east-1a]}`, true},
		{"by types", web, `{instanceTypes: [m5.large]}`, false},
		{"by how capacity is bought", web, `{labels: {node.k8s.aws/capacity-type: spot}}`, false},
		{"by architecture", web, `{architecture: arm64}`, false},
		{"by requirements", web, `{requirements: [{key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: ["4"]}]}`, false},
		{"by extra resources", web, `{extraResources: {example.com/fpga: 1}}`, false},
		{"not by weight", web, `{weight: 10}`, true},
	} {
		first, second := decode[provisioningv1.ProvisionerSpec](t, row.one), decode[provisioningv1.ProvisionerSpec](t, row.other)
		one, other := constraints.FromSpec("one", &first), constraints.FromSpec("other", &second)
		if one.Alike(&other) != row.want || other.Alike(&one) != row.want {
			t.Errorf("%s: %v and %v", row.reason, one.Alike(&other), other.Alike(&one))
		}
	}
}
