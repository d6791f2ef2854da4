package provisioner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// warnings are what the API server told a client.
type warnings struct {
	mu   sync.Mutex
	said []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, text)
}

func (w *warnings) taken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := w.said
	w.said = nil
	return said
}

// TestPeopleAreWarnedOfOldSpellings has the API server answer whoever writes an old label with its successor, and take it; the new ones go without a word.
func TestPeopleAreWarnedOfOldSpellings(t *testing.T) {
	w := newWorldWith(t, options{unstarted: true})
	w.ApplyFile("../../config/provisioner/admission_policy.yaml")
	heard := &warnings{}
	config := rest.CopyConfig(w.Lab.RESTConfig())
	config.WarningHandlerWithContext = heard
	person, err := client.New(config, client.Options{Scheme: w.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	write := func(labels map[string]string) []string {
		heard.taken()
		asked := &provisioningv1.Provisioner{}
		asked.Name, asked.Spec.Cluster.Name, asked.Spec.Labels = "old", cluster, labels
		if err := person.Create(t.Context(), asked, client.DryRunAll); err != nil {
			t.Errorf("%v is refused: %v", labels, err)
		}
		return heard.taken()
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
