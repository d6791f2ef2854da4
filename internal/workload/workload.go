// Package workload reaches the API servers of workload clusters, by the kubeconfig Secret that Cluster API's contract says every Cluster has. It owns
// one client for each cluster, remade when the Secret is another, and makes sure that a cluster which does not answer costs nobody time: each
// call has a limit, is never repeated by the client itself, and after one without an answer the next fail at once for a while.
package workload

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// callLimit is how long one call may take.
	callLimit = 5 * time.Second
	// silence is how long a cluster that gave no answer is left alone.
	silence = 20 * time.Second
	// secretSuffix and secretKey say where the kubeconfig is (Cluster API: contracts/control-plane, "Cluster kubeconfig management").
	secretSuffix = "-kubeconfig"
	secretKey    = "value"
)

// UnreachableError says why a cluster can not be talked to. Waiting may end it.
type UnreachableError struct {
	Cluster types.NamespacedName
	Reason  string
}

// Error implements error.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("workload cluster %s can not be reached: %s", e.Cluster.Name, e.Reason)
}

// Explain says in words why something in a workload cluster failed, without addresses and ports, so that a condition that shows it stays the same.
func Explain(err error) string {
	var unreachable *UnreachableError
	var refusal apierrors.APIStatus
	switch {
	case errors.As(err, &unreachable):
		return unreachable.Error()
	case errors.As(err, &refusal):
		return "the workload cluster's API server says: " + refusal.Status().Message
	}
	return "the workload cluster's API server does not answer"
}

// Clusters are the workload clusters of a management cluster. It is safe for concurrent use.
type Clusters struct {
	// Wrap wraps the transport to every cluster, to watch or to break it; nil for not. It is set before the first use.
	Wrap func(http.RoundTripper) http.RoundTripper

	// secrets reads past caches: a cached read would hold all Secrets.
	secrets client.Reader
	clock   clock.PassiveClock

	mu      sync.Mutex
	entries map[types.NamespacedName]*entry
}

// entry is a cluster's client and the kubeconfig that it was made from.
type entry struct {
	digest [sha256.Size]byte
	api    kubernetes.Interface
	health *health
	// transport holds the connections.
	transport http.RoundTripper
}

// New returns the clusters whose Secrets a reader reads.
func New(secrets client.Reader, clk clock.PassiveClock) *Clusters {
	return &Clusters{secrets: secrets, clock: clk, entries: map[types.NamespacedName]*entry{}}
}

// Client returns the client of a cluster. It reads the Secret each time, so that rotated credentials, such as EKS's tokens of 15 minutes, are
// taken up at once, and calls nothing in the workload cluster. The error is an UnreachableError if there is no way to it now.
func (c *Clusters) Client(ctx context.Context, cluster types.NamespacedName) (kubernetes.Interface, error) {
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
	kubeconfig := secret.Data[secretKey]
	digest := sha256.Sum256(kubeconfig)
	present := c.entries[cluster]
	if present == nil || present.digest != digest {
		made, err := c.connect(kubeconfig)
		if err != nil {
			return nil, &UnreachableError{cluster, fmt.Sprintf("Secret %s: %v", key.Name, err)}
		}
		c.drop(cluster)
		made.digest = digest
		c.entries[cluster], present = made, made
	}
	if present.health.silent() {
		return nil, &UnreachableError{cluster, "its API server does not answer"}
	}
	return present.api, nil
}

// Forget drops the client of a cluster.
func (c *Clusters) Forget(cluster types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(cluster)
}

// Close drops all clients, and the connections that nobody uses.
func (c *Clusters) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for cluster := range c.entries {
		c.drop(cluster)
	}
}

// drop forgets a cluster. The clusters are locked.
func (c *Clusters) drop(cluster types.NamespacedName) {
	if present := c.entries[cluster]; present != nil {
		utilnet.CloseIdleConnectionsFor(present.transport)
		delete(c.entries, cluster)
	}
}

// connect makes a client. It calls nothing.
func (c *Clusters) connect(kubeconfig []byte) (*entry, error) {
	config, err := restConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.Timeout, config.UserAgent = callLimit, "slipway"
	config.QPS = -1 // a look is bounded by itself; the API server has its own fairness
	state := &health{clock: c.clock}
	if c.Wrap != nil {
		config.Wrap(c.Wrap)
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &guarded{next: next, health: state} })
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("preparing connections: %w", err)
	}
	api, err := kubernetes.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("making the client: %w", err)
	}
	return &entry{api: api, health: state, transport: httpClient.Transport}, nil
}

// restConfig reads a kubeconfig that somebody else may have written: one that would run a program or read a file of this process is refused.
func restConfig(kubeconfig []byte) (*rest.Config, error) {
	raw, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	for _, user := range raw.AuthInfos {
		switch {
		case user.Exec != nil, user.AuthProvider != nil:
			return nil, errors.New("the kubeconfig names a program or plugin to authenticate with, which is not run here")
		case user.TokenFile != "", user.ClientCertificate != "", user.ClientKey != "":
			return nil, errFiles
		}
	}
	for _, cluster := range raw.Clusters {
		if cluster.CertificateAuthority != "" {
			return nil, errFiles
		}
	}
	config, err := clientcmd.NewDefaultClientConfig(*raw, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return config, nil
}

var errFiles = errors.New("the kubeconfig names files, which are not read here: embed their data")

// health is whether a cluster's API server answers.
type health struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	until time.Time
}

// silent is true while the cluster is left alone.
func (h *health) silent() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.clock.Now().Before(h.until)
}

// heard records whether there was an answer.
func (h *health) heard(answered bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.until = time.Time{}
	if !answered {
		h.until = h.clock.Now().Add(silence)
	}
}

var errSilent = errors.New("the API server did not answer a moment ago")

// guarded is a transport that gives up on a cluster after one call without an answer.
type guarded struct {
	next   http.RoundTripper
	health *health
}

// RoundTrip implements http.RoundTripper.
func (g *guarded) RoundTrip(request *http.Request) (*http.Response, error) {
	if g.health.silent() {
		return nil, errSilent
	}
	response, err := g.next.RoundTrip(request)
	// A caller that went away says nothing of the cluster; one whose time ran out does.
	if err == nil || !errors.Is(request.Context().Err(), context.Canceled) {
		g.health.heard(err == nil)
	}
	if response != nil {
		// The client would wait and repeat the call by itself (client-go: rest.Request, retry after), which is the reconciler's to do.
		response.Header.Del("Retry-After")
	}
	return response, err
}

// WrappedRoundTripper implements net.RoundTripperWrapper, so that connections are found to be closed.
func (g *guarded) WrappedRoundTripper() http.RoundTripper { return g.next }
