// Package crashsweep proves that a crash loses nothing and doubles nothing: it runs what users do,
// kills the manager at every call to AWS and at every write to the API server, before the effect,
// after it, and after the answer, starts another manager, and compares the world with the world of
// a run without a crash.
package crashsweep

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/slipway-project/slipway/awssim"
)

// Place says where in a call the manager dies.
type Place string

// The places of a call.
const (
	// BeforeEffect: the request is never sent.
	BeforeEffect Place = "before the effect"
	// AfterEffect: the request has its effect, and the answer never arrives.
	AfterEffect Place = "after the effect"
	// AfterAnswer: the answer arrives, and nothing is done with it.
	AfterAnswer Place = "after the answer"
)

// places are all of them.
var places = []Place{BeforeEffect, AfterEffect, AfterAnswer}

// Point is one place of the n-th call of a name. Calls are counted by name, because the number of
// calls that read AWS in between depends on how busy the machine is.
type Point struct {
	Call  string
	Nth   int
	Place Place
}

// String implements fmt.Stringer.
func (p Point) String() string { return fmt.Sprintf("%s number %d %s", p.Call, p.Nth, p.Place) }

// repeated reports whether a call reads again what was read before: most runs read that often, and
// some do not.
func (p Point) repeated() bool { return p.Nth > 3 && strings.HasPrefix(p.Call, "AWS Describe") }

// Crasher is a manager's way to the outside, through which it dies. A dead manager's requests are
// never answered, as if its process were gone.
type Crasher struct {
	mu      sync.Mutex
	armed   bool
	point   Point
	calls   []string
	dead    bool
	crashed chan struct{}
	release chan struct{}
}

// NewCrasher returns a way to the outside that lets everything through.
func NewCrasher() *Crasher {
	return &Crasher{crashed: make(chan struct{}), release: make(chan struct{})}
}

// Arm starts counting calls, and kills the manager at the point. A zero point only counts.
func (c *Crasher) Arm(point Point) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed, c.point, c.calls = true, point, nil
}

// Calls returns the calls that counted since Arm, in order.
func (c *Crasher) Calls() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.calls...)
}

// Crashed returns a channel that is closed when the manager dies.
func (c *Crasher) Crashed() <-chan struct{} { return c.crashed }

// Release lets the requests of a dead manager fail, so that what is left of it can be cleared away.
func (c *Crasher) Release() { close(c.release) }

// WrapAWS wraps the transport to AWS: every call counts.
func (c *Crasher) WrapAWS(next http.RoundTripper) http.RoundTripper {
	return &transport{crasher: c, next: next, name: awsCall}
}

// WrapKubernetes wraps the transport to an API server, of the management cluster or of a workload
// cluster: writes count. Events do not: they are written by a broadcaster of their own, at any time
// between the calls around them, and a crash there is a crash between those calls.
func (c *Crasher) WrapKubernetes(next http.RoundTripper) http.RoundTripper {
	return &transport{crasher: c, next: next, name: kubernetesWrite}
}

// unnamed is the name of a call whose action cannot be found.
const unnamed = "AWS "

// awsCall names a call by its action.
func awsCall(request *http.Request) string { return unnamed + awssim.ActionOf(request) }

// chance matches the parts of a path that differ in each run.
var chance = regexp.MustCompile(`/namespaces/[^/]+|/i-[^/]+|/web-[^/]+|-t[0-9a-f]{5}$|-i-?[0-9a-f]{17}|(/provisionednodes|/nodes)/[^/]+`)

// kubernetesWrite returns "" for a request that does not count.
func kubernetesWrite(request *http.Request) string {
	if request.Method == http.MethodGet || strings.Contains(request.URL.Path, "/events") {
		return ""
	}
	return request.Method + " " + chance.ReplaceAllString(request.URL.Path, "$1")
}

type transport struct {
	crasher *Crasher
	next    http.RoundTripper
	name    func(*http.Request) string
}

// WrappedRoundTripper implements net.RoundTripperWrapper, so that connections are found to be closed.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

var errDead = errors.New("the manager is dead")

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	place, dead := t.crasher.count(t.name(request))
	if dead || place == BeforeEffect {
		return nil, t.crasher.hang(request)
	}
	response, err := t.next.RoundTrip(request)
	switch place {
	case AfterEffect:
		if err == nil {
			err = response.Body.Close()
		}
		t.crasher.die()
		return nil, errors.Join(t.crasher.hang(request), err)
	case AfterAnswer:
		t.crasher.die()
	case BeforeEffect:
	}
	return response, err
}

// count counts a call with a name, and says where in it the manager dies, if it does.
func (c *Crasher) count(name string) (place Place, dead bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return "", true
	}
	if !c.armed || name == "" {
		return "", false
	}
	c.calls = append(c.calls, name)
	if name != c.point.Call {
		return "", false
	}
	c.point.Nth--
	if c.point.Nth != 0 {
		return "", false
	}
	if c.point.Place == BeforeEffect {
		c.kill()
	}
	return c.point.Place, false
}

func (c *Crasher) die() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kill()
}

// kill marks the manager as dead. The crasher is locked.
func (c *Crasher) kill() {
	if !c.dead {
		c.dead = true
		close(c.crashed)
	}
}

// hang holds a request of a dead manager until it is cleared away.
func (c *Crasher) hang(request *http.Request) error {
	select {
	case <-request.Context().Done():
	case <-c.release:
	}
	return errDead
}
