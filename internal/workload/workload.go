// Package workload reaches the API servers of workload clusters, by the kubeconfig Secret that
// every Cluster has according to Cluster API's contract. Both the kubeconfig and the server belong
// to a tenant. A kubeconfig cannot make this process run a program, read a file, or connect to its
// own machine, and a server cannot make it hold more than a little memory, follow a redirect, or
// wait. Each call has a deadline and is never repeated by the client, a server that does not answer
// is left alone for a while, and only a few calls are under way at a time.
package workload

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/bounded"
	"github.com/slipway-project/slipway/internal/boundedhttp"
	"github.com/slipway-project/slipway/internal/drain"
)

const (
	// callLimit bounds how long one call may take.
	callLimit = 5 * time.Second
	// silence is the time for which a cluster that gave no answer is left alone.
	silence = 20 * time.Second
	// secretSuffix and secretKey say where the kubeconfig is (Cluster API: contracts/control-plane,
	// "Cluster kubeconfig management").
	secretSuffix = "-kubeconfig"
	secretKey    = "value"
	// longestKubeconfig is several times what any provider writes. A parser needs a hundred times
	// as much memory as the text is long.
	longestKubeconfig = 64 << 10
	// longestHeader bounds the header of a response.
	longestHeader = 64 << 10
	// mostClients bounds how many clients are kept. Tenants choose how many clusters they have.
	mostClients = 500
	// renewAfter is the time for which a client is used. Then it is dropped, so that the clients of
	// deleted clusters do not stay.
	renewAfter = 15 * time.Minute
	// callsInNamespace and callsInAll bound how many calls are under way at a time. Each may hold
	// some megabytes and, at worst, a worker.
	callsInNamespace = 8
	callsInAll       = 32
)

// limits bound what is read of one response. Lists are decoded as they are read, so that a page of
// them is never held in whole.
var limits = boundedhttp.Limits{Body: 16 << 20, Failure: 64 << 10}

// UnreachableError reports why a cluster cannot be reached. It may be reachable later.
type UnreachableError struct {
	Cluster types.NamespacedName
	Reason  string
}

// Error implements error.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("workload cluster %s cannot be reached: %s", e.Cluster.Name, e.Reason)
}

// Explain describes why something in a workload cluster failed, without addresses and ports, so
// that a condition that shows it stays the same.
func Explain(err error) string {
	var unreachable *UnreachableError
	var answer *AnswerError
	var refusal apierrors.APIStatus
	switch {
	case errors.As(err, &unreachable):
		return unreachable.Error()
	case errors.As(err, &answer):
		return answer.Error()
	case errors.Is(err, errBusy):
		return errBusy.Error()
	case errors.As(err, &refusal):
		return "the workload cluster's API server responded: " + shortened(refusal.Status().Message)
	}
	if refused := boundedhttp.Explain(err); refused != "" {
		return "the workload cluster's API server cannot be used: " + refused
	}
	return "the workload cluster's API server does not respond"
}

// longestMessage bounds how much of an API server's message is repeated.
const longestMessage = 500

func shortened(message string) string {
	if runes := []rune(message); len(runes) > longestMessage {
		return string(runes[:longestMessage]) + "…"
	}
	return message
}

// Clusters are the workload clusters of a management cluster. It is safe for concurrent use.
type Clusters struct {
	// Wrap wraps the transport to every cluster, to watch or to break it; nil for not. It is set
	// before the first use.
	Wrap func(http.RoundTripper) http.RoundTripper
	// Loopback allows API servers on this machine, for development.
	Loopback bool

	// secrets reads past caches: a cached read would hold all Secrets.
	secrets client.Reader
	clock   clock.PassiveClock
	// limit bounds how long one call may take: callLimit, except in tests of how much memory calls take.
	limit time.Duration

	calls *calls
	// mu keeps a client from being built twice.
	mu      sync.Mutex
	entries *bounded.Map[types.NamespacedName, *entry]
}

// entry is a cluster's client and the kubeconfig that it was created from.
type entry struct {
	digest [sha256.Size]byte
	api    *API
	health *health
	// transport holds the connections.
	transport http.RoundTripper
}

// New returns the clusters whose Secrets a reader reads.
func New(secrets client.Reader, clk clock.PassiveClock) *Clusters {
	closed := func(_ types.NamespacedName, dropped *entry) { utilnet.CloseIdleConnectionsFor(dropped.transport) }
	return &Clusters{
		secrets: secrets, clock: clk, limit: callLimit, calls: newCalls(callsInAll, callsInNamespace),
		entries: bounded.NewMap(clk, mostClients, renewAfter, closed),
	}
}

// Client returns the client of a cluster. It reads the Secret each time, so that rotated
// credentials, such as EKS's tokens of 15 minutes, are taken up at once, and calls nothing in the
// workload cluster. The error is an UnreachableError if there is no way to it now.
func (c *Clusters) Client(ctx context.Context, cluster types.NamespacedName) (drain.API, error) {
	found, err := c.API(ctx, cluster)
	if err != nil {
		return nil, err
	}
	return found, nil
}

// API does the same as Client for a caller that reads more than a drain does.
func (c *Clusters) API(ctx context.Context, cluster types.NamespacedName) (*API, error) {
	secret := &corev1.Secret{}
	key := types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name + secretSuffix}
	err := c.secrets.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		c.Forget(cluster)
		return nil, &UnreachableError{cluster, fmt.Sprintf("Secret %s does not exist", key.Name)}
	}
	if err != nil {
		return nil, fmt.Errorf("reading Secret %q: %w", key.Name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries.Expire()
	kubeconfig := secret.Data[secretKey]
	digest := sha256.Sum256(kubeconfig)
	present, known, _ := c.entries.Get(cluster)
	if !known || present.digest != digest {
		made, err := c.connect(cluster.Namespace, kubeconfig)
		if err != nil {
			return nil, &UnreachableError{cluster, fmt.Sprintf("Secret %s: %v", key.Name, err)}
		}
		made.digest, present = digest, made
		c.entries.Put(cluster.Namespace, cluster, made)
	}
	if reason := present.health.silent(); reason != "" {
		return nil, &UnreachableError{cluster, reason}
	}
	return present.api, nil
}

// Forget drops the client of a cluster.
func (c *Clusters) Forget(cluster types.NamespacedName) { c.entries.Delete(cluster) }

// Close drops all clients, and the connections that nothing uses.
func (c *Clusters) Close() { c.entries.Clear() }

// connect creates a client. It sends no request.
func (c *Clusters) connect(namespace string, kubeconfig []byte) (*entry, error) {
	config, err := restConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.UserAgent, config.NegotiatedSerializer = "slipway", statuses()
	config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
	config.QPS = -1 // a drain is bounded by itself; the API server has its own fairness
	config.WarningHandler = rest.NoWarnings{}
	base, err := c.transport(config)
	if err != nil {
		return nil, err
	}
	transport := http.RoundTripper(base)
	if c.Wrap != nil {
		transport = c.Wrap(transport)
	}
	state := &health{clock: c.clock}
	transport = &guarded{next: &boundedhttp.Transport{Next: transport, Limits: limits}, health: state, calls: c.calls, namespace: namespace}
	authenticated, err := rest.HTTPWrappersForConfig(config, transport)
	if err != nil {
		return nil, fmt.Errorf("preparing connections: %w", err)
	}
	httpClient := &http.Client{Transport: authenticated, Timeout: c.limit, CheckRedirect: boundedhttp.RefuseRedirects}
	api, err := rest.RESTClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("building the client: %w", err)
	}
	return &entry{api: &API{client: api}, health: state, transport: authenticated}, nil
}

// transport returns the connections to an API server. It does not use client-go's transports:
// client-go keeps every transport that it ever created, and decompresses.
func (c *Clusters) transport(config *rest.Config) (*http.Transport, error) {
	target, err := c.target(config.Host)
	if err != nil {
		return nil, err
	}
	security, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("preparing TLS: %w", err)
	}
	if security == nil {
		security = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	// HTTP/1.1 alone: a server may have HTTP/2 buffer megabytes for each stream.
	security.NextProtos = []string{"http/1.1"}
	dialer := &net.Dialer{Timeout: callLimit, KeepAlive: 30 * time.Second}
	// The operator's own proxy, by HTTPS_PROXY, resolves names itself. Without one, addresses are
	// checked when they are connected to.
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: target})
	if err != nil {
		return nil, fmt.Errorf("finding the proxy: %w", err)
	}
	if proxy == nil {
		boundedhttp.GuardDialer(dialer, c.Loopback)
	}
	return &http.Transport{
		Proxy: http.ProxyURL(proxy), DialContext: dialer.DialContext, TLSClientConfig: security, TLSHandshakeTimeout: callLimit,
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}, DisableCompression: true,
		MaxResponseHeaderBytes: longestHeader, ResponseHeaderTimeout: callLimit,
		MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute,
	}, nil
}

// target returns the URL of an API server, if it is one that may be called.
func (c *Clusters) target(host string) (*url.URL, error) {
	target, err := url.Parse(host)
	if err != nil || target.Scheme != "https" || target.Hostname() == "" {
		return nil, errors.New("the server in the kubeconfig is not an https URL: Slipway connects only over https")
	}
	if address, err := netip.ParseAddr(target.Hostname()); err == nil {
		if err := boundedhttp.CheckAddress(address, c.Loopback); err != nil {
			return nil, err
		}
	}
	return target, nil
}

// restConfig reads a kubeconfig that a tenant may have written. It refuses one that would run a
// program, read a file of this process, or go through a proxy.
func restConfig(kubeconfig []byte) (*rest.Config, error) {
	if len(kubeconfig) > longestKubeconfig {
		return nil, fmt.Errorf("the kubeconfig is longer than the limit of %d KiB", longestKubeconfig>>10)
	}
	raw, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	for _, user := range raw.AuthInfos {
		switch {
		case user.Exec != nil, user.AuthProvider != nil:
			return nil, errors.New("the kubeconfig uses a program or plugin for authentication, which Slipway " +
				"does not run")
		case user.TokenFile != "", user.ClientCertificate != "", user.ClientKey != "":
			return nil, errFiles
		}
	}
	for _, cluster := range raw.Clusters {
		if cluster.CertificateAuthority != "" {
			return nil, errFiles
		}
		if cluster.ProxyURL != "" {
			return nil, errors.New("the kubeconfig has a proxy, which Slipway does not use: set HTTPS_PROXY of " +
				"the manager if it needs one")
		}
	}
	config, err := clientcmd.NewDefaultClientConfig(*raw, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return config, nil
}

var errFiles = errors.New("the kubeconfig refers to files, which Slipway does not read: embed their data")
