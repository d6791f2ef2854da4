package manager

import (
	"crypto/tls"
	"fmt"
	"path/filepath"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/slipway-project/slipway/internal/webhooks"
)

// DefaultWebhookPort is where webhooks are served unless something else is said.
const DefaultWebhookPort = 9443

// Webhooks say where webhooks are served. They are off without a port or a directory.
type Webhooks struct {
	// Port is on all interfaces.
	Port int
	// CertificateDirectory has tls.crt and tls.key. They are read anew when they change, as a
	// mounted Secret does.
	CertificateDirectory string
}

func (w Webhooks) on() bool { return w.Port != 0 && w.CertificateDirectory != "" }

// server is what the manager serves webhooks with; nil where they are off.
func (w Webhooks) server() webhook.Server {
	if !w.on() {
		return nil
	}
	return webhook.NewServer(webhook.Options{
		Port: w.Port, CertDir: w.CertificateDirectory,
		// HTTP/2 off, as for metrics.
		TLSOpts: []func(*tls.Config){func(config *tls.Config) { config.NextProtos = []string{"http/1.1"} }},
	})
}

// check says at once what is wrong with the certificate: the server would say it after everything
// else has started.
func (w Webhooks) check() error {
	if !w.on() {
		return nil
	}
	if _, err := tls.LoadX509KeyPair(filepath.Join(w.CertificateDirectory, "tls.crt"), filepath.Join(w.CertificateDirectory, "tls.key")); err != nil {
		return fmt.Errorf("reading the webhooks' certificate in --webhook-cert-dir: %w", err)
	}
	return nil
}

// addWebhooks serves webhooks from every manager, the leader or not: the API server asks any of them.
func addWebhooks(manager ctrl.Manager, options Webhooks) error {
	if !options.on() {
		return nil
	}
	if err := webhooks.Register(manager, manager.GetClient()); err != nil {
		return err
	}
	if err := manager.AddReadyzCheck("webhooks", manager.GetWebhookServer().StartedChecker()); err != nil {
		return fmt.Errorf("adding health checks: %w", err)
	}
	return nil
}
