package provisionerstatus

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// TestBefore holds which provisioner is warned about: only the one whose pods another takes.
func TestBefore(t *testing.T) {
	t.Parallel()
	of := func(name, template string, architecture provisioningv1.Architecture, policy provisioningv1.IncompatibleArchitecturePolicy) provisioningv1.Provisioner {
		made := provisioningv1.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: name}}
		made.Spec.IncompatibleArchitecturePolicy = policy
		if template != "" {
			made.Spec.Labels = provisioningv1.Labels{provisioningv1.LabelLaunchTemplateName: template}
		}
		made.Status.LaunchTemplates = []provisioningv1.ResolvedLaunchTemplate{{Architecture: architecture}}
		return made
	}
	going := of("a", "web", "amd64", "")
	going.DeletionTimestamp = &metav1.Time{}
	b := of("b", "", "amd64", "")
	heavy := func(made provisioningv1.Provisioner) provisioningv1.Provisioner {
		made.Spec.Weight = ptr.To[int32](10)
		return made
	}
	for _, row := range []struct {
		reason string
		one    provisioningv1.Provisioner
		other  provisioningv1.Provisioner
		want   string
	}{
		{"another template, and first by name", b, of("a", "web", "amd64", ""), "a"},
		{"first by weight", b, heavy(of("c", "web", "amd64", "")), "c"},
		{"second by weight, though first by name", heavy(b), of("a", "web", "amd64", ""), ""},
		{"not first", b, of("c", "web", "amd64", ""), ""},
		{"the same", b, of("a", "", "amd64", ""), ""},
		{"on its way out", b, going, ""},
		{"for another architecture, whose pods it would give its own default template", of("b", "arm", "arm64", ""), of("a", "web", "amd64", ""), "a"},
		{"for another architecture, whose pods it leaves alone", of("b", "arm", "arm64", ""), of("a", "web", "amd64", provisioningv1.Ignore), ""},
		{"for the same architecture", of("b", "other", "amd64", ""), of("a", "web", "amd64", provisioningv1.Ignore), "a"},
	} {
		first, _ := before(&row.one, []provisioningv1.Provisioner{row.one, row.other})
		if first.Name != row.want {
			t.Errorf("%s: %q, want %q", row.reason, first.Name, row.want)
		}
	}
}
