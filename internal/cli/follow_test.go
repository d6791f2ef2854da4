package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/terminal"
)

// jumpingClock is a clock that jumps to the end of each timer, and records how long the timers are.
type jumpingClock struct {
	*clocktesting.FakeClock
	mu     sync.Mutex
	pauses []time.Duration
	// paused receives a value for each timer.
	paused chan struct{}
}

// NewTimer implements clock.Clock.
func (c *jumpingClock) NewTimer(d time.Duration) clock.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	timer := c.FakeClock.NewTimer(d)
	c.pauses = append(c.pauses, d)
	c.Step(d)
	c.paused <- struct{}{}
	return timer
}

// outage lets requests of a world fail: those to come, and the watches that are open.
type outage struct {
	mu       sync.Mutex
	failures []error
	open     []watch.Interface
}

// begin closes the open watches, and lets as many requests fail as there are errors.
func (o *outage) begin(failures ...error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failures = append(o.failures, failures...)
	for _, one := range o.open {
		one.Stop()
	}
	o.open = nil
}

// failure returns why a request fails, nil if it does not.
func (o *outage) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.failures) == 0 {
		return nil
	}
	err := o.failures[0]
	o.failures = o.failures[1:]
	return err
}

// newOutage returns the outage of the API server of a world.
func newOutage(w *readWorld) (*outage, *jumpingClock) {
	away := &outage{}
	server := interceptor.NewClient(w.client, interceptor.Funcs{
		Get: func(ctx context.Context, store client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if err := away.failure(); err != nil {
				return err
			}
			return store.Get(ctx, key, object, options...)
		},
		Watch: func(ctx context.Context, store client.WithWatch, list client.ObjectList, options ...client.ListOption) (watch.Interface, error) {
			if err := away.failure(); err != nil {
				return nil, err
			}
			one, err := store.Watch(ctx, list, options...)
			if err == nil {
				away.mu.Lock()
				away.open = append(away.open, one)
				away.mu.Unlock()
			}
			return one, err
		},
	})
	jumping := &jumpingClock{FakeClock: clocktesting.NewFakeClock(shownAt), paused: make(chan struct{}, 100)}
	w.source.Client, w.source.watcher, w.source.pools.Cluster, w.source.clock = server, server, server, jumping
	return away, jumping
}

// refused returns the error of a client whose API server does not run.
func refused(t *testing.T) error {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	return requestError(t, &rest.Config{Host: "http://" + listener.Addr().String()})
}

// requestError returns the error of a request to an API server.
func requestError(t *testing.T, config *rest.Config) error {
	t.Helper()
	api, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	response, err := api.Get(config.Host + "/version") //nolint:noctx // the request fails at once
	if err == nil {
		response.Body.Close()
		t.Fatalf("a request to %s succeeds", config.Host)
	}
	return err
}

// next returns what is printed next. It fails the test if the command returns before.
func (s *shownOnce) next(t *testing.T, ended chan error) string {
	t.Helper()
	select {
	case text := <-s.texts:
		return text
	case err := <-ended:
		t.Fatalf("slipway status -w returned: %v", err)
		return ""
	}
}

// follow starts slipway status -w of a pool, and returns what it prints, and its result.
func (w *readWorld) follow(ctx context.Context, screen *terminal.Screen, args ...string) (out, notes *shownOnce, ended chan error) {
	out, notes, ended = &shownOnce{texts: make(chan string, 100)}, &shownOnce{texts: make(chan string, 100)}, make(chan error, 1)
	command := newStatusCommand(func(*readFlags) (*source, error) { return w.source, nil })
	command.SetOut(out)
	if screen != nil {
		command.SetOut(terminal.Writer{Writer: out, On: *screen})
	}
	command.SetErr(notes)
	command.SetArgs(append([]string{"workers", "-w"}, args...))
	go func() { ended <- command.ExecuteContext(ctx) }()
	return out, notes, ended
}

// TestStatusWatchOutlastsOutage holds that a watch goes on when the API server does not answer for
// a while, and reports that once.
func TestStatusWatchOutlastsOutage(t *testing.T) {
	t.Parallel()
	w := newReadWorld(t)
	away, clock := newOutage(w)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, notes, ended := w.follow(ctx, nil)
	first := out.next(t, ended)
	unanswered := refused(t)
	w.setUpToDate(3)
	if second := out.next(t, ended); !strings.Contains(second, "75 % · 3 of 4 instances") {
		t.Errorf("the status before the outage: %s", second)
	}
	var failures []error
	for range 7 {
		failures = append(failures, unanswered)
	}
	away.begin(append(failures, apierrors.NewServiceUnavailable("etcd has no leader"), apierrors.NewTooManyRequests("busy", 1))...)
	third := out.next(t, ended)
	if !strings.Contains(third, "75 % · 3 of 4 instances") {
		t.Errorf("the status after the outage: %s", third)
	}
	w.setUpToDate(4)
	if fourth := out.next(t, ended); !strings.Contains(fourth, "100 % · 4 of 4 instances") {
		t.Errorf("the status of a change after the outage: %s", fourth)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("slipway status -w: got error %v after an interrupt, want none", err)
	}
	lost, back := <-notes.texts, <-notes.texts
	if !strings.Contains(lost, " refuses connections. The next attempt is at 10:00:02 UTC, and later ones follow at growing intervals.\n") || back != "The API server answers again.\n" || len(notes.texts) > 0 {
		t.Errorf("notes about the outage: %q and %q, and %d more; first status: %s", lost, back, len(notes.texts), first)
	}
	var want []time.Duration
	for _, seconds := range []time.Duration{1, 1, 2, 4, 8, 16, 30, 30, 30, 30} {
		want = append(want, seconds*time.Second)
	}
	if diff := cmp.Diff(want, clock.pauses); diff != "" {
		t.Errorf("pauses after the watch ended, -want +got:\n%s", diff)
	}
}

// TestStatusWatchShowsOutage holds that a terminal shows the last status with the outage below it,
// in place of the one before, and the status alone afterwards.
func TestStatusWatchShowsOutage(t *testing.T) {
	t.Parallel()
	w := newReadWorld(t)
	w.workload = nil
	away, _ := newOutage(w)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, notes, ended := w.follow(ctx, &terminal.Screen{Width: 60, Interactive: true})
	first := out.next(t, ended)
	if !strings.HasPrefix(first, clearScreen+"AWSMachinePool") || !strings.Contains(first, "The names of nodes are missing: ") {
		t.Errorf("the first status does not replace the screen, or lacks what is missing: %q", first)
	}
	away.begin(refused(t), apierrors.NewInternalError(errors.New("etcdserver: leader changed")))
	for _, want := range []string{" refuses connections.", "The API server failed: "} {
		text := out.next(t, ended)
		for _, part := range []string{want, "The status above is from 10:00:00 UTC.", "Next attempt at 10:00:0"} {
			if !strings.Contains(strings.Join(strings.Fields(text), " "), part) {
				t.Errorf("a screen during the outage lacks %q: %q", part, text)
			}
		}
		if !strings.HasPrefix(text, first) || strings.Count(text, "Next attempt") != 1 {
			t.Errorf("a screen during the outage does not begin with the last status, or repeats itself: %q", text)
		}
		for line := range strings.Lines(strings.TrimPrefix(text, first)) {
			if len([]rune(strings.TrimSuffix(line, "\n"))) > 60 {
				t.Errorf("a line is wider than the screen: %q", line)
			}
		}
	}
	if after := out.next(t, ended); strings.Contains(after, "Next attempt") || !strings.HasPrefix(after, clearScreen+"AWSMachinePool") {
		t.Errorf("the screen after the outage: %q", after)
	}
	cancel()
	if err := <-ended; err != nil || len(notes.texts) > 0 {
		t.Errorf("slipway status -w: got error %v and %d notes besides the screen, want none", err, len(notes.texts))
	}
}

// TestStatusWatchEnds holds what ends a watch: a pool that is deleted, and a user who may not read
// it.
func TestStatusWatchEnds(t *testing.T) {
	t.Parallel()
	pools := schema.GroupResource{Group: infrav1.GroupVersion.Group, Resource: "awsmachinepools"}
	for name, tc := range map[string]struct {
		reason  string
		failure error
		want    string
	}{
		"Deleted":      {reason: "A pool that is gone has no status.", want: "AWSMachinePool blue/workers was deleted"},
		"Forbidden":    {reason: "A permission that is missing does not come back by waiting.", failure: apierrors.NewForbidden(pools, "workers", errors.New("no role")), want: "forbidden"},
		"Unauthorized": {reason: "Credentials that expired do not come back by waiting.", failure: apierrors.NewUnauthorized("Unauthorized"), want: "Unauthorized"},
		"Other":        {reason: "An answer that cannot be read is no outage.", failure: errors.New("no object"), want: "no object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newReadWorld(t)
			away, _ := newOutage(w)
			out, _, ended := w.follow(t.Context(), nil)
			out.next(t, ended)
			if tc.failure != nil {
				away.begin(tc.failure)
			} else {
				w.check(w.client.Delete(t.Context(), &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "workers"}}))
			}
			if err := <-ended; err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s Got error %v, want one with %q", tc.reason, err, tc.want)
			}
		})
	}
}

// TestStatusWatchNotesOnce holds that what is missing from a status is noted once, although watches
// end and begin.
func TestStatusWatchNotesOnce(t *testing.T) {
	t.Parallel()
	w := newReadWorld(t)
	w.workload = nil
	away, clock := newOutage(w)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, notes, ended := w.follow(ctx, nil, "-o", "json")
	out.next(t, ended)
	away.begin()
	<-clock.paused
	w.setUpToDate(3)
	out.next(t, ended)
	cancel()
	if err := <-ended; err != nil || len(notes.texts) != 1 {
		t.Errorf("slipway status -w: got error %v and %d notes, want one note", err, len(notes.texts))
	}
}

// TestStatusWatchIgnoresAges holds that a file gets no status that differs from the one before only in how long ago
// something happened.
func TestStatusWatchIgnoresAges(t *testing.T) {
	t.Parallel()
	w := newReadWorld(t)
	clock := clocktesting.NewFakeClock(shownAt)
	w.source.clock = clock
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, _, ended := w.follow(ctx, nil)
	out.next(t, ended)
	clock.Step(10 * time.Minute)
	w.setUpToDate(2) // as it is
	select {
	case text := <-out.texts:
		t.Errorf("slipway status -w printed a status again in which nothing changed:\n%s", text)
	case <-time.After(500 * time.Millisecond):
	}
	w.setUpToDate(3)
	if text := out.next(t, ended); !strings.Contains(text, "3 of 4 with the wanted") {
		t.Errorf("slipway status -w: got\n%s\nwant the change", text)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("slipway status -w: got error %v", err)
	}
}

// setUpToDate changes how many instances of the pool run what they should.
func (w *readWorld) setUpToDate(instances int32) {
	w.Helper()
	pool := &infrav1.AWSMachinePool{}
	w.check(w.client.Get(w.Context(), client.ObjectKey{Namespace: "blue", Name: "workers"}, pool))
	*pool.Status.UpToDateReplicas = instances
	w.check(w.client.Update(w.Context(), pool))
}

// TestUnanswered holds what a user reads about an API server that does not answer.
func TestUnanswered(t *testing.T) {
	t.Parallel()
	closes := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			connection.Close()
		}
	}))
	t.Cleanup(closes.Close)
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog, untrusted.TLS = log.New(io.Discard, "", 0), &tls.Config{}
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"Refused":   {refused(t), "refuses connections"},
		"Closed":    {requestError(t, &rest.Config{Host: closes.URL}), "closed the connection"},
		"Untrusted": {requestError(t, &rest.Config{Host: untrusted.URL}), "has a certificate that is not valid"},
		"Silent":    {requestError(t, &rest.Config{Host: "http://" + silent.Addr().String(), Timeout: time.Millisecond}), "did not answer in time"},
		"Name":      {requestError(t, &rest.Config{Host: "http://api.invalid", Dial: noSuchHost}), "The name api.invalid of the API server cannot be resolved"},
		"Deadline":  {context.DeadlineExceeded, "The API server did not answer in time"},
		"Cut":       {io.ErrUnexpectedEOF, "The API server closed the connection"},
		"Overload":  {apierrors.NewTooManyRequests("slow down", 1), "The API server is overloaded: slow down"},
		"NotReady":  {apierrors.NewServiceUnavailable("not synced"), "The API server is not available: not synced"},
		"Failure":   {apierrors.NewInternalError(errors.New("no leader")), "The API server failed: Internal error occurred: no leader"},
	} {
		if got := unansweredText(tc.err); !temporary(tc.err) || !strings.Contains(got, tc.want) || strings.Contains(got, "Get ") {
			t.Errorf("%s: temporary %t, and %q, want one with %q, for %v", name, temporary(tc.err), got, tc.want, tc.err)
		}
	}
}

func noSuchHost(context.Context, string, string) (net.Conn, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "api.invalid", IsNotFound: true}}
}
