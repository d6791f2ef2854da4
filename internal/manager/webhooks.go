package manager

import (
	"context"
	"crypto/tls"
	"fmt"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/slipway-project/slipway/internal/webhookcertificate"
	"github.com/slipway-project/slipway/internal/webhooks"
)

// DefaultWebhookPort is the port on which webhooks are served unless another one is configured.
const DefaultWebhookPort = 9443

// DefaultWebhookConfiguration is the name of the webhook configuration in config/webhook.
const DefaultWebhookConfiguration = "slipway-validating-webhook"

// Webhooks say where webhooks are served. They are off without a port, and without a certificate.
type Webhooks struct {
	// Port is on all interfaces.
	Port int
	// CertificateDirectory has tls.crt and tls.key. They are read anew when they change, as a
	// mounted Secret does.
	CertificateDirectory string
	// CertificateSecret is the NAMESPACE/NAME of a Secret, in which the manager keeps a certificate
	// that it makes itself. It has the webhook configuration trust it.
	CertificateSecret string
	// Configuration is the name of the webhook configuration; DefaultWebhookConfiguration if empty.
	Configuration string

	// served is the certificate from CertificateSecret. Set by Run.
	served *webhookcertificate.Served
}

func (w Webhooks) on() bool {
	return w.Port != 0 && (w.CertificateDirectory != "" || w.CertificateSecret != "")
}

// selfManaged reports whether the manager makes the certificate.
func (w Webhooks) selfManaged() bool { return w.on() && w.CertificateSecret != "" }

// secret returns the namespace and name of CertificateSecret.
func (w Webhooks) secret() (key types.NamespacedName, valid bool) {
	key.Namespace, key.Name, valid = strings.Cut(w.CertificateSecret, "/")
	return key, valid && key.Namespace != "" && key.Name != "" && !strings.Contains(key.Name, "/")
}

// server returns the server with which the manager serves webhooks, nil if they are off.
func (w Webhooks) server() webhook.Server {
	if !w.on() {
		return nil
	}
	return webhook.NewServer(webhook.Options{
		Port: w.Port, CertDir: w.CertificateDirectory,
		// HTTP/2 off, as for metrics.
		TLSOpts: []func(*tls.Config){func(config *tls.Config) {
			config.NextProtos = []string{"http/1.1"}
			if w.selfManaged() {
				config.GetCertificate = w.served.GetCertificate
			}
		}},
	})
}

// check says at once what is wrong with the certificate: the server would say it after everything
// else has started.
func (w Webhooks) check() error {
	if !w.on() || w.selfManaged() {
		return nil
	}
	if _, err := tls.LoadX509KeyPair(filepath.Join(w.CertificateDirectory, "tls.crt"), filepath.Join(w.CertificateDirectory, "tls.key")); err != nil {
		return fmt.Errorf("reading the webhooks' certificate in --webhook-cert-dir: %w", err)
	}
	return nil
}

// addWebhooks serves webhooks from every manager, the leader or not: the API server asks any of them.
func addWebhooks(ctx context.Context, manager ctrl.Manager, options Webhooks) error {
	if !options.on() {
		return nil
	}
	if err := webhooks.Register(ctx, manager, manager.GetClient()); err != nil {
		return err
	}
	if err := addCertificate(manager, options); err != nil {
		return err
	}
	if err := manager.AddReadyzCheck("webhooks", manager.GetWebhookServer().StartedChecker()); err != nil {
		return fmt.Errorf("adding health checks: %w", err)
	}
	return nil
}

// addCertificate has the manager maintain the webhook certificate, if it makes that itself. Certificates
// are valid by real time, whatever clock the controllers go by.
func addCertificate(manager ctrl.Manager, options Webhooks) error {
	if !options.selfManaged() {
		return nil
	}
	secret, _ := options.secret()
	configuration := options.Configuration
	if configuration == "" {
		configuration = DefaultWebhookConfiguration
	}
	if err := manager.Add(&webhookcertificate.Maintainer{
		Reader: manager.GetAPIReader(), Writer: manager.GetClient(), Secret: secret, Configuration: configuration,
		Elected: manager.Elected(), Served: options.served, Clock: clock.RealClock{},
		Lifetimes: webhookcertificate.DefaultLifetimes, Interval: webhookcertificate.DefaultInterval,
		Log: manager.GetLogger().WithName("webhook-certificate"),
	}); err != nil {
		return fmt.Errorf("adding the maintainer of the webhook certificate: %w", err)
	}
	return nil
}
