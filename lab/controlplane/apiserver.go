package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/rest"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// setup guards the part of an API server's start that touches process-wide
// state (feature gates, capabilities, metrics), so that two control planes may
// start at once. Serving itself runs in parallel.
var setup sync.Mutex

type apiServer struct {
	listener *cuttingListener
	cancel   context.CancelFunc
	done     chan struct{}
	err      error // valid once done is closed
}

// startAPIServer builds an API server and begins to run it; waitReady waits until it serves.
func startAPIServer(ctx context.Context, p *pki, etcdEndpoint, serviceRange string) (*apiServer, error) {
	listener, err := listenLoopback()
	if err != nil {
		return nil, err
	}
	// The server outlives the context that its start was bounded by; stop stops it.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	run, err := buildAPIServer(ctx, listener, p, etcdEndpoint, serviceRange)
	if err != nil {
		cancel()
		return nil, errors.Join(err, listener.Close())
	}
	server := &apiServer{listener: listener, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(server.done)
		server.err = run(ctx)
	}()
	return server, nil
}

// buildAPIServer does what the kube-apiserver command does between parsing its flags and serving.
func buildAPIServer(ctx context.Context, listener *cuttingListener, p *pki, etcdEndpoint, serviceRange string) (func(context.Context) error, error) {
	setup.Lock()
	defer setup.Unlock()

	// An own registry of versions and feature gates: the default one can be set only once per process.
	gates := utilfeature.DefaultMutableFeatureGate.DeepCopy()
	registry := basecompatibility.NewComponentGlobalsRegistry()
	if err := registry.Register(basecompatibility.DefaultKubeComponent, compatibility.DefaultBuildEffectiveVersion(), gates); err != nil {
		return nil, fmt.Errorf("registering the component's version: %w", err)
	}
	run := options.NewServerRunOptions()
	run.GenericServerRunOptions.ComponentGlobalsRegistry = registry
	run.SecureServing.Listener = listener
	flags := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	for _, set := range run.Flags().FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse(apiServerFlags(listener.tcpAddr().Port, p, etcdEndpoint, serviceRange)); err != nil {
		return nil, fmt.Errorf("parsing the API server's flags: %w", err)
	}
	if err := registry.Set(); err != nil {
		return nil, fmt.Errorf("setting the API server's feature gates: %w", err)
	}
	completed, err := run.Complete(ctx)
	if err != nil {
		return nil, fmt.Errorf("completing the API server's options: %w", err)
	}
	if err := utilerrors.NewAggregate(completed.Validate()); err != nil {
		return nil, fmt.Errorf("validating the API server's options: %w", err)
	}
	config, err := app.NewConfig(completed)
	if err != nil {
		return nil, fmt.Errorf("configuring the API server: %w", err)
	}
	completedConfig, err := config.Complete()
	if err != nil {
		return nil, fmt.Errorf("completing the API server's configuration: %w", err)
	}
	chain, err := app.CreateServerChain(completedConfig)
	if err != nil {
		return nil, fmt.Errorf("building the API server: %w", err)
	}
	prepared, err := chain.PrepareRun()
	if err != nil {
		return nil, fmt.Errorf("preparing the API server: %w", err)
	}
	return prepared.Run, nil
}

func apiServerFlags(port int, p *pki, etcdEndpoint, serviceRange string) []string {
	return []string{
		"--etcd-servers=" + etcdEndpoint,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--cert-dir=" + p.dir,
		"--tls-cert-file=" + p.file("apiserver.crt"),
		"--tls-private-key-file=" + p.file("apiserver.key"),
		"--client-ca-file=" + p.file("ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + p.file("service-account.key"),
		"--service-account-signing-key-file=" + p.file("service-account.key"),
		"--service-cluster-ip-range=" + serviceRange,
		"--authorization-mode=Node,RBAC",
		// Nodes join with bootstrap tokens, as on a kubeadm cluster.
		"--enable-bootstrap-token-auth",
		// There is no Service to keep endpoints for, and no second API server.
		"--endpoint-reconciler-type=none",
		// Tests are one client; fairness between many costs memory and start time.
		"--enable-priority-and-fairness=false",
		"--profiling=false",
	}
}

// waitReady polls /readyz until every check of the API server passes.
func (s *apiServer) waitReady(ctx context.Context, config *rest.Config) error {
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("making an HTTP client: %w", err)
	}
	defer transport.CloseIdleConnections()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		if ready(ctx, transport, config.Host) {
			return nil
		}
		select {
		case <-ticker.C:
		case <-s.done:
			return fmt.Errorf("the API server ended: %w", s.err)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func ready(ctx context.Context, client *http.Client, host string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, host+"/readyz", nil)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false // not listening yet
	}
	return response.Body.Close() == nil && response.StatusCode == http.StatusOK
}

// address returns host:port.
func (s *apiServer) address() string { return s.listener.Addr().String() }

// stop stops the server. It closes its listener, which cuts every connection, so that it does not
// wait for the watches of others.
func (s *apiServer) stop(deadline time.Time) error {
	s.cancel()
	if err := waitUntil(deadline, s.done, "the API server"); err != nil {
		return err
	}
	if s.err != nil {
		return fmt.Errorf("running the API server: %w", s.err)
	}
	return nil
}
