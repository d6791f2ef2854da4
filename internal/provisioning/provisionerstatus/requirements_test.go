package provisionerstatus_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// TestDriftOfRequirements holds that a node is replaced which changed limits of its Provisioner no
// longer allow, by one within them; that without spec.drift nothing is; and that a change which
// still allows the node replaces nothing.
func TestDriftOfRequirements(t *testing.T) {
	t.Parallel()
	require := func(key string, operator provisioningv1.RequirementOperator, values ...string) func(*provisioningv1.ProvisionerSpec) {
		return func(spec *provisioningv1.ProvisionerSpec) {
			spec.Requirements = []provisioningv1.Requirement{{Key: provisioningv1.RequirementKey(key), Operator: operator, Values: values}}
		}
	}
	const generation = "karpenter.k8s.aws/instance-generation"
	for _, row := range []struct {
		reason  string
		edit    func(*provisioningv1.ProvisionerSpec)
		follows bool // spec.drift is set
		says    string
	}{
		{"another zone", func(spec *provisioningv1.ProvisionerSpec) { spec.Zones = []string{"us-east-1b"} }, true, "its topology.kubernetes.io/zone is " +
			"us-east-1a, but spec.zones now allows us-east-1b"},
		{"other types", func(spec *provisioningv1.ProvisionerSpec) { spec.InstanceTypes = []string{"c5.large"} }, true,
			"its node.kubernetes.io/instance-type is m5.large, but spec.instanceTypes now allows c5.large"},
		{"a newer generation", require(generation, "Gt", "5"), true, "its " + generation + " is 5, but spec.requirements now allows anything above 5"},
		{"a label that its type lacks", require("karpenter.k8s.aws/instance-local-nvme", "Exists"), true, "it has no karpenter.k8s.aws/instance-local-nvme"},
		{"Spot only", require(provisioningv1.LabelCapacityType, "In", "spot"), true, "its node.k8s.aws/capacity-type is on-demand"},
		{"drift is not followed", func(spec *provisioningv1.ProvisionerSpec) { spec.Zones = []string{"us-east-1b"} }, false, ""},
		{"the node is within them", require(generation, "Gt", "4"), true, ""},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := provisioningtest.New(t, provisioningtest.Options{})
			one := w.Provision("default", func(spec *provisioningv1.ProvisionerSpec) {
				spec.Zones = []string{"us-east-1a"}
				if row.follows {
					spec.Drift = &provisioningv1.Drift{MaxReplacing: intstr.FromInt32(1)}
				}
			})
			pod := w.Pod("one")
			w.Launch()
			w.Bind(pod, w.Members()[0].Name)
			w.Settle()
			w.Update(one, func() {
				one.Spec.Zones, one.Spec.InstanceTypes = nil, nil
				row.edit(&one.Spec)
				one.Generation++
			})
			w.Advance(time.Minute)
			current := meta.FindStatusCondition(w.Provisioner("default").Status.Conditions, provisioningv1.NodesCurrentCondition)
			if row.says == "" {
				if len(w.Provisioned()) != 1 || current != nil && current.Status != metav1.ConditionTrue {
					t.Errorf("there are %d nodes, and the condition is %+v", len(w.Provisioned()), current)
				}
				return
			}
			if current == nil || current.Status != metav1.ConditionFalse || !strings.Contains(current.Message, row.says) || len(w.Told("NodeDrifted default:", row.says)) != 1 {
				t.Errorf("the condition is %+v, and the events are %q", current, w.Events())
			}
			if nodes := w.Provisioned(); len(nodes) != 2 {
				t.Errorf("there are %d nodes: %q", len(nodes), w.Events())
			}
		})
	}
}
