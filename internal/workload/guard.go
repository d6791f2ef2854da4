package workload

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/slipway-project/slipway/internal/boundedhttp"
)

// health records whether a cluster's API server answers.
type health struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	until  time.Time
	reason string
}

// silent returns why the cluster is left alone, or "" if it is not.
func (h *health) silent() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.clock.Now().Before(h.until) {
		return h.reason
	}
	return ""
}

// answered records a good answer.
func (h *health) answered() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.until = time.Time{}
}

// failed records that there was no answer, or one that cannot be used.
func (h *health) failed(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.until, h.reason = h.clock.Now().Add(silence), "its API server does not respond"
	if refused := boundedhttp.Explain(err); refused != "" {
		h.reason = refused
	}
}

// calls bounds how many calls are under way, in all and for the clusters of one namespace, so that
// a tenant whose API servers hang takes neither the memory nor the workers of others.
type calls struct {
	most, mostInOne int

	mu    sync.Mutex
	all   int
	inOne map[string]int
}

func newCalls(most, mostInOne int) *calls {
	return &calls{most: most, mostInOne: mostInOne, inOne: map[string]int{}}
}

// begin reports whether another call may begin. The caller must call end after it.
func (c *calls) begin(namespace string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all >= c.most || c.inOne[namespace] >= c.mostInOne {
		return false
	}
	c.all++
	c.inOne[namespace]++
	return true
}

func (c *calls) end(namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.inOne[namespace]--; c.inOne[namespace] == 0 {
		delete(c.inOne, namespace)
	}
}

var (
	errSilent = errors.New("the API server did not respond recently")
	errBusy   = errors.New("the limit of concurrent calls to workload clusters is reached; Slipway retries soon")
)

// guarded is a transport that gives up on a cluster after one call without a usable answer.
type guarded struct {
	next      http.RoundTripper
	health    *health
	calls     *calls
	namespace string
}

// RoundTrip implements http.RoundTripper.
func (g *guarded) RoundTrip(request *http.Request) (*http.Response, error) {
	if g.health.silent() != "" {
		return nil, errSilent
	}
	if !g.calls.begin(g.namespace) {
		return nil, errBusy
	}
	response, err := g.next.RoundTrip(request)
	if err != nil {
		g.calls.end(g.namespace)
		// A caller that went away says nothing about the cluster; one whose time ran out does.
		if !errors.Is(request.Context().Err(), context.Canceled) {
			g.health.failed(err)
		}
		return nil, err
	}
	g.health.answered()
	// The client would wait and repeat the call by itself (client-go: rest.Request, retry after),
	// which is the reconciler's to do.
	response.Header.Del("Retry-After")
	response.Body = &guardedBody{ReadCloser: response.Body, guard: g, ctx: request.Context()}
	return response, nil
}

// WrappedRoundTripper implements net.RoundTripperWrapper, so that connections are found to be closed.
func (g *guarded) WrappedRoundTripper() http.RoundTripper { return g.next }

// guardedBody is the body of a response. The call is under way until it is closed.
type guardedBody struct {
	io.ReadCloser
	guard *guarded
	ctx   context.Context //nolint:containedctx // of the request that this is the answer to
	once  sync.Once
}

// Read implements io.Reader.
func (b *guardedBody) Read(target []byte) (int, error) {
	n, err := b.ReadCloser.Read(target)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(b.ctx.Err(), context.Canceled) {
		b.guard.health.failed(err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *guardedBody) Close() error {
	b.once.Do(func() { b.guard.calls.end(b.guard.namespace) })
	return b.ReadCloser.Close()
}
