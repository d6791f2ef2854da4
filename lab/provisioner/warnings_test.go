package provisioner

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// TestPeopleAreWarnedOfOldSpellings holds that the API server accepts an old label with a warning
// that names its successor; the new ones are accepted without a warning.
func TestPeopleAreWarnedOfOldSpellings(t *testing.T) {
	w := newWorldWith(t, options{unstarted: true})
	w.ApplyFile("../../config/provisioner/admission_policy.yaml")
	person, heard := w.Listening()
	write := func(labels map[string]string) []string {
		heard.Taken()
		asked := &provisioningv1.Provisioner{}
		asked.Name, asked.Spec.Cluster.Name, asked.Spec.Labels = "old", cluster, labels
		if err := person.Create(t.Context(), asked, client.DryRunAll); err != nil {
			t.Errorf("%v is refused: %v", labels, err)
		}
		return heard.Taken()
	}
	old := map[string]string{
		provisioningv1.LegacyLabelLaunchTemplateID: "lt-0123456789abcdef0", provisioningv1.LegacyLabelLaunchTemplateVersion: "3", provisioningv1.LegacyLabelCapacityType: "spot",
	}
	w.Eventually("the API server knows the policy, and names each successor", func() error {
		said := write(old)
		for _, successor := range []string{provisioningv1.LabelLaunchTemplateName, provisioningv1.LabelLaunchTemplateVersion, provisioningv1.LabelCapacityType} {
			if !slices.ContainsFunc(said, func(warning string) bool { return strings.Contains(warning, successor) }) {
				return fmt.Errorf("it says %q", said)
			}
		}
		return nil
	})
	if said := write(map[string]string{provisioningv1.LabelCapacityType: "spot"}); len(said) > 0 {
		t.Errorf("of a label that is current it is said %q", said)
	}
}
