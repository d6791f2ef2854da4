// Package leadership keeps a process from writing with a lease that another process may have taken
// over. Leader election stops a process that cannot renew its lease, but only once its timers run:
// a process that was stopped, or whose machine was frozen, resumes in the middle of its work. So
// every writer asks for the age of the lease first.
package leadership

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// StaleError reports a write that was not sent because the lease was not renewed for too long.
type StaleError struct {
	// Age of the lease; 0 if it is not held.
	Age, Limit time.Duration
}

// Error implements error.
func (e *StaleError) Error() string {
	if e.Age == 0 {
		return "not sent: this process does not hold the leader lease"
	}
	return fmt.Sprintf("not sent: the leader lease was last renewed more than %s ago, so another process may be "+
		"the leader", e.Limit)
}

// reading is a point in time by two clocks. The wall clock goes on while the machine is frozen,
// once it is set right; the monotonic clock is never set back.
type reading struct {
	wall      time.Time
	monotonic time.Duration
}

// since returns the time from an earlier reading to this one, by the clock that shows more.
func (r reading) since(earlier reading) time.Duration {
	return max(r.wall.Sub(earlier.wall), r.monotonic-earlier.monotonic)
}

var started = time.Now() //nolint:forbidigo // leader election runs by real time, whatever clock the work goes by

func realTime() reading {
	now := time.Now() //nolint:forbidigo // as above
	return reading{wall: now.Round(0), monotonic: now.Sub(started)}
}

// Lease knows when the lease of this process was last renewed. A nil Lease belongs to a process
// without leader election, which may always write.
type Lease struct {
	limit time.Duration
	now   func() reading

	mu      sync.Mutex
	held    bool
	renewed reading
}

// NewLease returns a lease that is not held. Limit is the age from which on nothing is written.
// Where it is the renew deadline, which is shorter than the duration of a lease, no other process
// leads yet.
func NewLease(limit time.Duration) *Lease { return &Lease{limit: limit, now: realTime} }

// Check returns a *StaleError if this process may no longer be the leader.
func (l *Lease) Check() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.held {
		return &StaleError{Limit: l.limit}
	}
	if age := l.now().since(l.renewed); age > l.limit {
		return &StaleError{Age: age, Limit: l.limit}
	}
	return nil
}

// Watch returns a lock that notes when it is written, and logs which other process holds it.
func (l *Lease) Watch(lock resourcelock.Interface, log logr.Logger) resourcelock.Interface {
	return &watched{Interface: lock, lease: l, log: log}
}

// watched is a lock whose writes are noted.
type watched struct {
	resourcelock.Interface
	lease *Lease
	log   logr.Logger

	mu sync.Mutex
	// holder is whose the lease was when it was read last.
	holder string
}

// Get implements resourcelock.Interface.
func (w *watched) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := w.Interface.Get(ctx)
	if err == nil {
		w.see(record.HolderIdentity)
	}
	return record, raw, err
}

// see notes the holder. A process can wait for ever, if another installation has the same lease, so
// the log names each other holder once.
func (w *watched) see(holder string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if holder != "" && holder != w.holder && holder != w.Identity() {
		w.log.Info("Waiting until the lease is free, because another process is the leader", "lease", w.Describe(), "holder", holder)
	}
	w.holder = holder
}

// lost reports whether the lease was another's when it was read last.
func (w *watched) lost() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.holder != "" && w.holder != w.Identity()
}

// Create implements resourcelock.Interface.
func (w *watched) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return w.write(record, func() error { return w.Interface.Create(ctx, record) })
}

// Update implements resourcelock.Interface. When a process exits, it cuts off a renewal whose
// answer it does not wait for, and which can take effect all the same. The lease that is given back
// then conflicts with it, so it is read and given back again.
func (w *watched) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	update := func() error { return w.Interface.Update(ctx, record) }
	err := w.write(record, update)
	if record.HolderIdentity != "" || !apierrors.IsConflict(err) {
		return err
	}
	if _, _, err := w.Get(ctx); err != nil {
		return err
	}
	return w.write(record, update)
}

// write counts the age of the lease from before the write was sent: another process counts from
// when it sees it. A lease that is given back is not held from before that is sent. It is given
// back only by its holder: leader election reads it, and gives it back though another process took
// it over meanwhile.
func (w *watched) write(record resourcelock.LeaderElectionRecord, send func() error) error {
	begun := w.lease.now()
	mine := record.HolderIdentity == w.Identity()
	if !mine {
		w.lease.note(false, begun)
		if w.lost() {
			return &StaleError{Limit: w.lease.limit}
		}
	}
	err := send()
	if err == nil && mine {
		w.see(record.HolderIdentity)
		w.lease.note(true, begun)
	}
	return err
}

func (l *Lease) note(held bool, at reading) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held, l.renewed = held, at
}

// unled are API groups that a process which does not lead writes too: who asks for metrics, what
// happened, and the lease itself.
var unled = []string{"/apis/authentication.k8s.io/", "/apis/authorization.k8s.io/", "/apis/coordination.k8s.io/", "/apis/events.k8s.io/"}

// Guard returns a transport to an API server of Kubernetes that sends writes only while the lease
// is young. A nil Lease guards nothing.
func (l *Lease) Guard(next http.RoundTripper) http.RoundTripper {
	if l == nil {
		return next
	}
	return &guard{next: next, lease: l}
}

type guard struct {
	next  http.RoundTripper
	lease *Lease
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(request *http.Request) (*http.Response, error) {
	if writes(request) {
		if err := g.lease.Check(); err != nil {
			return nil, err
		}
	}
	return g.next.RoundTrip(request)
}

// WrappedRoundTripper implements net.RoundTripperWrapper, so that idle connections are found and closed.
func (g *guard) WrappedRoundTripper() http.RoundTripper { return g.next }

// writes reports whether a request changes what a leader alone may change.
func writes(request *http.Request) bool {
	if request.Method == http.MethodGet || request.Method == http.MethodHead {
		return false
	}
	for _, group := range unled {
		if strings.Contains(request.URL.Path, group) {
			return false
		}
	}
	// The events of leader election are of the core group.
	_, path, core := strings.Cut(request.URL.Path, "/api/v1/namespaces/")
	_, resource, _ := strings.Cut(path, "/")
	return !core || resource != "events" && !strings.HasPrefix(resource, "events/")
}
