package managertest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/lab/product"
)

// configureStrictWebhooks installs config/webhook under its own name, and without an authority. The
// API server refuses requests for which it cannot ask the manager.
func (w *world) configureStrictWebhooks(port int) {
	w.Helper()
	text, err := os.ReadFile("../../config/webhook/manifests.yaml")
	if err != nil {
		w.Fatal(err)
	}
	configuration := &admissionv1.ValidatingWebhookConfiguration{}
	if err := yaml.UnmarshalStrict(text, configuration); err != nil {
		w.Fatal(err)
	}
	configuration.Annotations = nil
	for i := range configuration.Webhooks {
		webhook := &configuration.Webhooks[i]
		webhook.FailurePolicy = ptr.To(admissionv1.Fail)
		webhook.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.Namespace}}
		webhook.ClientConfig = admissionv1.WebhookClientConfig{URL: ptr.To(fmt.Sprintf("https://127.0.0.1:%d%s", port, *webhook.ClientConfig.Service.Path))}
	}
	if err := w.Client.Create(w.Context(), configuration); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		if err := w.Client.Delete(context.WithoutCancel(w.Context()), configuration); err != nil {
			w.Error(err)
		}
	})
}

// TestManagerMakesItsCertificate runs the manager with the rights of config/self-managed-certificate,
// without cert-manager and without a certificate. The API server refuses what one of the webhook's
// rules refuses, and only that.
func TestManagerMakesItsCertificate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	port := quietPort(t)
	w.configureStrictWebhooks(port)
	recorded := &requests{}
	identify := w.asServiceAccount(recorded)
	for _, file := range []string{"secret", "role", "role_binding"} {
		w.ApplyFile("../../config/self-managed-certificate/" + file + ".yaml")
	}
	pool := w.warned("v1beta2")
	if err := w.Client.Create(t.Context(), pool.DeepCopy()); !apierrors.IsInternalError(err) {
		t.Fatalf("without a manager that answers, the API server says %v", err)
	}
	w.StartManager(product.Manager(product.Settings{Change: func(options *manager.Options) {
		identify(options)
		options.Webhooks = manager.Webhooks{Port: port, CertificateSecret: "slipway-system/slipway-webhook-authority"}
	}}))
	w.Eventually("the API server asks the manager, and a pool is admitted", func() error { return w.Client.Create(t.Context(), pool.DeepCopy()) })
	stored := pool.DeepCopy()
	if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(pool), stored); err != nil {
		t.Fatal(err)
	}
	approval := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"7"}}}`, infrav1.ApprovedVersionAnnotation))
	if err := w.Client.Patch(t.Context(), stored, approval); !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "no version with this number") {
		t.Errorf("the approval of a version that does not exist is answered with %v", err)
	}
}
