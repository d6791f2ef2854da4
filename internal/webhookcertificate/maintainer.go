// Package webhookcertificate lets the manager serve its webhooks with a certificate that it makes
// itself, so that cert-manager is optional. A Secret has the authority and the serving certificate.
// The leading replica writes the Secret, and the certificates of the authority into the webhook
// configuration. All replicas read the Secret by name, and serve what it has without a mounted file.
//
// The package does not use github.com/open-policy-agent/cert-controller, which lists and watches all
// Secrets of its namespace and all webhook configurations, needs the Secret mounted, and trusts one
// authority at a time, so that requests fail between the renewal of the authority and the moment
// when the last replica sees the new certificate.
//
// Slipway's definitions have no conversion webhook. A definition that gets one needs the authority too.
package webhookcertificate

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// DefaultInterval is the interval at which the Secret and the webhook configuration are
	// checked. Each check is one or two small reads.
	DefaultInterval = 30 * time.Second
	// retry is the interval until there is a certificate, and after an error.
	retry = 2 * time.Second
)

// Served is the certificate that a webhook server has at the moment.
type Served struct {
	current atomic.Pointer[tls.Certificate]
}

// GetCertificate returns the certificate, as tls.Config wants it.
func (s *Served) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	certificate := s.current.Load()
	if certificate == nil {
		return nil, errors.New("there is no webhook certificate yet")
	}
	return certificate, nil
}

// Maintainer keeps the certificate of a webhook configuration valid, and the server supplied with it.
type Maintainer struct {
	// Reader reads past any cache: a cached read would list and hold all Secrets.
	Reader client.Reader
	Writer client.Writer
	// Secret must exist: its creation could not be limited to a name.
	Secret types.NamespacedName
	// Configuration is the name of the ValidatingWebhookConfiguration.
	Configuration string
	// Elected is closed once this replica leads.
	Elected <-chan struct{}
	Served  *Served
	// Clock must agree with the clock of the API server, which checks certificates.
	Clock     clock.WithTicker
	Lifetimes Lifetimes
	Interval  time.Duration
	Log       logr.Logger
}

// NeedLeaderElection implements manager.LeaderElectionRunnable. Replicas that wait serve webhooks too.
func (*Maintainer) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable. An error is logged when it is first seen, and what failed is
// retried until the context is done.
func (m *Maintainer) Start(ctx context.Context) error {
	said := ""
	for {
		err := m.maintain(ctx)
		next, message := m.Interval, ""
		if err != nil {
			next, message = retry, err.Error()
		} else if m.Served.current.Load() == nil {
			next = retry
		}
		if message != "" && message != said && ctx.Err() == nil && !apierrors.IsConflict(err) {
			m.Log.Error(err, "Cannot maintain the webhook certificate")
		}
		said = message
		elected := m.Elected
		if m.leads() {
			elected = nil
		}
		timer := m.Clock.NewTimer(next)
		select {
		case <-ctx.Done():
		case <-elected:
		case <-timer.C():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return nil
		}
	}
}

func (m *Maintainer) leads() bool {
	select {
	case <-m.Elected:
		return true
	default:
		return false
	}
}

// maintain brings everything up to date once. A certificate that cannot be renewed is served.
func (m *Maintainer) maintain(ctx context.Context) error {
	secret := &corev1.Secret{}
	if err := m.Reader.Get(ctx, m.Secret, secret); err != nil {
		return fmt.Errorf("reading Secret %s: %w", m.Secret, err)
	}
	var err error
	if m.leads() {
		err = m.renew(ctx, secret)
	}
	return errors.Join(err, m.serve(secret))
}

// renew renews what is due. The order has the API server trust an authority before it meets a
// certificate that the authority signed. The Secret is left as it is stored.
func (m *Maintainer) renew(ctx context.Context, secret *corev1.Secret) error {
	now := m.Clock.Now()
	signer, err := m.renewAuthority(ctx, secret, now)
	if err != nil {
		return err
	}
	hosts, err := m.inject(ctx, signer)
	if err != nil {
		return err
	}
	why := signer.suits(secret, hosts, now)
	if why == nil {
		return nil
	}
	changed := secret.DeepCopy()
	end, err := signer.issue(changed, hosts, now, m.Lifetimes.Serving)
	if err != nil {
		return err
	}
	if err := m.write(ctx, changed, secret); err != nil {
		return err
	}
	m.Log.Info("Issued a webhook certificate", "hosts", hosts, "expires", end.UTC().Format(time.RFC3339), "reason", reason(why))
	return nil
}

// renewAuthority returns the authority of the Secret, which is renewed if it is due. Certificates
// that have expired are dropped.
func (m *Maintainer) renewAuthority(ctx context.Context, secret *corev1.Secret, now time.Time) (*authority, error) {
	signer, why := readAuthority(secret)
	switch {
	case why != nil:
		signer = &authority{}
	case due(signer.certificates[0], now):
		why = fmt.Errorf("the authority expires at %s", signer.certificates[0].NotAfter.UTC().Format(time.RFC3339))
	case len(unexpired(signer.certificates, now)) == len(signer.certificates):
		return signer, nil
	}
	var err error
	if why != nil {
		signer, err = newAuthority(signer.certificates, now, m.Lifetimes.Authority)
	} else {
		signer.certificates = unexpired(signer.certificates, now)
	}
	if err != nil {
		return nil, err
	}
	changed := secret.DeepCopy()
	if err := signer.write(changed); err != nil {
		return nil, err
	}
	if err := m.write(ctx, changed, secret); err != nil {
		return nil, err
	}
	m.Log.Info("Renewed the authority of the webhook certificate", "trusted", len(signer.certificates), "reason", reason(why))
	return signer, nil
}

// write updates the stored Secret if it has not changed since it was read.
func (m *Maintainer) write(ctx context.Context, changed, secret *corev1.Secret) error {
	if err := m.Writer.Update(ctx, changed); err != nil {
		return fmt.Errorf("writing Secret %s: %w", m.Secret, err)
	}
	changed.DeepCopyInto(secret)
	return nil
}

// reason says why something was made. The first time, the Secret is empty.
func reason(why error) string {
	if why == nil {
		return "an earlier authority has expired"
	}
	return why.Error()
}

// serve has the server use the certificate of the Secret, if there is one.
func (m *Maintainer) serve(secret *corev1.Secret) error {
	if len(secret.Data[corev1.TLSCertKey]) == 0 {
		return nil
	}
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return fmt.Errorf("reading the webhook certificate in Secret %s: %w", m.Secret, err)
	}
	m.Served.current.Store(&pair)
	return nil
}
