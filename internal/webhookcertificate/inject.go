package webhookcertificate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// operation is one of a JSON patch.
type operation struct {
	Operation string `json:"op"`
	Path      string `json:"path"`
	Value     any    `json:"value"`
}

// inject has the webhook configuration trust the authority, and returns the hosts that the API
// server asks. It patches nothing but the bundles, so that fields which this version of the API does
// not have are kept. The patch fails if the webhooks are others by then.
func (m *Maintainer) inject(ctx context.Context, signer *authority) ([]string, error) {
	configuration := &admissionv1.ValidatingWebhookConfiguration{}
	if err := m.Reader.Get(ctx, types.NamespacedName{Name: m.Configuration}, configuration); err != nil {
		return nil, fmt.Errorf("reading ValidatingWebhookConfiguration %s: %w", m.Configuration, err)
	}
	bundle, err := signer.bundle()
	if err != nil {
		return nil, err
	}
	var hosts []string
	var patch []operation
	for i := range configuration.Webhooks {
		webhook := &configuration.Webhooks[i]
		host, err := HostOf(webhook.ClientConfig)
		if err != nil {
			return nil, fmt.Errorf("reading webhook %s: %w", webhook.Name, err)
		}
		if !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
		if !bytes.Equal(webhook.ClientConfig.CABundle, bundle) {
			patch = append(patch, operation{"test", fmt.Sprintf("/webhooks/%d/name", i), webhook.Name},
				operation{"add", fmt.Sprintf("/webhooks/%d/clientConfig/caBundle", i), bundle})
		}
	}
	if len(hosts) == 0 {
		return nil, fmt.Errorf("ValidatingWebhookConfiguration %s has no webhooks", m.Configuration)
	}
	if len(patch) == 0 {
		return hosts, nil
	}
	encoded, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encoding the patch of ValidatingWebhookConfiguration %s: %w", m.Configuration, err)
	}
	if err := m.Writer.Patch(ctx, configuration, client.RawPatch(types.JSONPatchType, encoded)); err != nil {
		return nil, fmt.Errorf("writing the authority into ValidatingWebhookConfiguration %s: %w", m.Configuration, err)
	}
	m.Log.Info("Wrote the authority into the webhook configuration", "configuration", m.Configuration)
	return hosts, nil
}

// HostOf returns the host that the API server asks, and verifies the certificate for.
func HostOf(config admissionv1.WebhookClientConfig) (string, error) {
	if service := config.Service; service != nil {
		return service.Name + "." + service.Namespace + ".svc", nil
	}
	if config.URL == nil {
		return "", errors.New("it has neither a service nor a URL")
	}
	parsed, err := url.Parse(*config.URL)
	if err != nil {
		return "", fmt.Errorf("parsing its URL: %w", err)
	}
	return parsed.Hostname(), nil
}
