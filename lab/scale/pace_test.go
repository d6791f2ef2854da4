package scale

import (
	"net/http"
	"sync"
	"time"

	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/lab/labtest"
)

const (
	// working is the clock's rate while the manager does something: slow enough that a call takes
	// about as long as it does of AWS.
	working = 20
	// still is for how long the manager must have asked for nothing, in real time, before the clock
	// is stepped.
	still = 8 * time.Millisecond
	// stirring bounds how long a manager may be at work on one moment.
	stirring = 3 * time.Minute
)

// pace moves the clock of a manager by what the manager does: while it works the clock goes slowly,
// and when it has nothing to do the clock is stepped. So simulated hours take as long as the work
// in them, and a busy machine delays no call.
type pace struct {
	*labtest.Env
	clock *simclock.Clock
	// still is for how long the manager must have asked for nothing.
	still time.Duration
	// surely has the API server have answered meanwhile, too, so that a manager that has no turn on
	// a busy machine is not taken for one at rest.
	surely bool

	mu sync.Mutex
	// under counts the requests under way, last and kept are when one began or finished, by real
	// time and by what the machine kept up with.
	under int
	last  time.Time
	kept  time.Duration
}

func newPace(env *labtest.Env, clock *simclock.Clock) *pace {
	return &pace{Env: env, clock: clock, still: still, last: time.Now()}
}

// wrap wraps a transport of the manager's.
func (p *pace) wrap(next http.RoundTripper) http.RoundTripper { return paced{p, next} }

type paced struct {
	*pace
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (p paced) RoundTrip(request *http.Request) (*http.Response, error) {
	p.stir(1)
	defer p.stir(-1)
	return p.next.RoundTrip(request)
}

// WrappedRoundTripper implements net.RoundTripperWrapper, so that connections are found to be closed.
func (p paced) WrappedRoundTripper() http.RoundTripper { return p.next }

func (p *pace) stir(under int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.under += under
	p.last, p.kept = time.Now(), p.Kept()
}

// stirred notes a change by another party that the manager will notice.
func (p *pace) stirred() { p.stir(0) }

func (p *pace) isStill() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.under == 0 && time.Since(p.last) >= p.still && (!p.surely || p.Kept() > p.kept)
}

// settle waits until the manager has nothing to do at this time.
func (p *pace) settle() {
	p.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	end := time.Now().Add(stirring)
	for !p.isStill() {
		select {
		case <-tick.C:
		case <-p.Context().Done():
			p.Fatal("the test has run out of time")
		}
		if time.Now().After(end) {
			p.Fatalf("the manager has been at work for %v without a pause", stirring)
		}
	}
}

// advance lets time pass, step by step.
func (p *pace) advance(total, step time.Duration) {
	p.Helper()
	for passed := time.Duration(0); passed < total; passed += step {
		p.clock.Step(step)
		p.stirred() // the woken controller has not asked for anything yet
		p.settle()
	}
}
