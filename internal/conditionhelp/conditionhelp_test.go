package conditionhelp

import (
	"os"
	"strings"
	"testing"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

func TestFor(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason       string
		kind, about  string
		known, human bool
	}{
		"Nothing":      {reason: "A remedy of none needs no human.", kind: "AWSMachinePool", about: infrav1.RollingOutReason, known: true},
		"Remedy":       {reason: "What must be corrected needs a human.", kind: "AWSMachinePool", about: infrav1.RefreshFailedReason, known: true, human: true},
		"Provisioning": {reason: "The other group has reasons of its own.", kind: "Provisioner", about: provisioningv1.ReadyReason, known: true},
		"Unknown":      {reason: "A newer manager may report a reason that this program does not know.", kind: "AWSMachinePool", about: "Unheard"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			help, known := For(tc.kind, tc.about)
			if known != tc.known || help.NeedsHuman() != tc.human {
				t.Errorf("%s For(%s, %s): got %+v, %t", tc.reason, tc.kind, tc.about, help, known)
			}
		})
	}
}

// TestLink holds that links lead to headings of the page.
func TestLink(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	for _, condition := range []string{infrav1.RolledOutCondition, infrav1.ASGReadyCondition, infrav1.NodeRoleReadyCondition} {
		heading := strings.TrimPrefix(Link(condition), page+"#")
		if !strings.Contains(strings.ToLower(string(content)), "\n### "+heading+"\n") {
			t.Errorf("the page has no heading for %s", Link(condition))
		}
	}
}
