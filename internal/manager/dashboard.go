package manager

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"

	"k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"

	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/clouds"
	clusterfacts "github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/dashboard"
	"github.com/slipway-project/slipway/internal/prices"
)

// addDashboard serves the dashboard from every manager, the leader or not. A user who may get the path in
// the cluster sees every pool that the manager reconciles, and nothing that the manager does not watch.
func addDashboard(manager ctrl.Manager, options Options, sessions *aws.Sessions, registry *clouds.Registry) error {
	if options.DashboardAddress == "" {
		return nil
	}
	authorized, err := filters.WithAuthenticationAndAuthorization(manager.GetConfig(), manager.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("adding the authorization of the dashboard: %w", err)
	}
	probe, err := dashboard.ProbeOf(manager.GetConfig())
	if err != nil {
		return fmt.Errorf("adding the dashboard: %w", err)
	}
	log := manager.GetLogger().WithName("dashboard")
	page := dashboard.New(dashboard.Options{
		Reader: manager.GetCache(), Informers: manager.GetCache(), Kinds: dashboard.PoolKinds(), Title: "management cluster", Namespace: options.Namespace,
		Probe: probe, Budgets: sessions.Budgets, Prices: prices.NewTable(priceSources{manager.GetClient(), registry}, clock.RealClock{}),
		// Pages are updated in real time, whatever clock the controllers go by.
		Clock: clock.RealClock{}, Log: log,
	})
	var failed error
	handler := page.Handler(func(next http.Handler) http.Handler {
		protected, err := authorized(log, next)
		failed = err
		return protected
	})
	if failed != nil {
		return fmt.Errorf("adding the authorization of the dashboard: %w", failed)
	}
	if err := manager.Add(page); err != nil {
		return fmt.Errorf("adding the dashboard: %w", err)
	}
	if err := manager.Add(&dashboardServer{address: options.DashboardAddress, handler: handler}); err != nil {
		return fmt.Errorf("adding the server of the dashboard: %w", err)
	}
	return nil
}

// dashboardServer serves a handler over HTTPS, with a certificate that it signs itself.
type dashboardServer struct {
	address string
	handler http.Handler
}

// NeedLeaderElection returns false: every replica serves the page.
func (*dashboardServer) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (s *dashboardServer) Start(ctx context.Context) error {
	certificate, key, err := cert.GenerateSelfSignedCertKeyWithFixtures("localhost", []net.IP{{127, 0, 0, 1}}, nil, "")
	if err != nil {
		return fmt.Errorf("creating the certificate of the dashboard: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return fmt.Errorf("creating the certificate of the dashboard: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.address)
	if err != nil {
		return fmt.Errorf("listening on --dashboard-address: %w", err)
	}
	// HTTP/2 off, as for metrics.
	config := &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12}
	return dashboard.Serve(ctx, tls.NewListener(listener, config), s.handler)
}

// priceSources finds prices as the identities of clusters read them, in the clouds of the controllers.
type priceSources struct {
	reader client.Reader
	clouds *clouds.Registry
}

// Source implements prices.Sources.
func (s priceSources) Source(ctx context.Context, place prices.Place) (prices.Source, error) {
	_, facts, err := clusterfacts.LoadNamed(ctx, s.reader, place.Namespace, place.Cluster)
	if err != nil {
		return nil, err
	}
	cloud, err := s.clouds.For(ctx, facts.Identity, facts.Namespace, facts.Region)
	if err != nil {
		return nil, err
	}
	return cloud.Discovery.Prices, nil
}
