package manager

import (
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"github.com/slipway-project/slipway/internal/aws/observe"
)

func TestWebhooksNeedPortAndCertificate(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason   string
		webhooks Webhooks
		served   bool
	}{
		{"outside a cluster there is no certificate", Webhooks{Port: DefaultWebhookPort}, false},
		{"off", Webhooks{CertificateDirectory: "/x"}, false},
		{"on", Webhooks{Port: 1, CertificateDirectory: "/x"}, true},
		{"on, with a certificate of the manager's own", Webhooks{Port: 1, CertificateSecret: "a/b"}, true},
	} {
		if served := row.webhooks.server() != nil; served != row.served {
			t.Errorf("%s: served is %v", row.reason, served)
		}
	}
}

// TestMissingCertificateIsSaidAtOnce: otherwise it is an error of one server among many, after the
// caches have been filled.
func TestMissingCertificateIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	err := Run(t.Context(), Options{
		RESTConfig: &rest.Config{Host: "http://127.0.0.1:1"}, AWS: credentials(nil), Intervals: observe.DefaultIntervals, Log: logr.Discard(),
		Webhooks: Webhooks{Port: 1, CertificateDirectory: t.TempDir()},
	})
	if err == nil || !strings.Contains(err.Error(), "--webhook-cert-dir") {
		t.Errorf("the error is %v", err)
	}
}
