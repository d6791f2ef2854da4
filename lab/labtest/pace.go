package labtest

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/awssim/simclock"
)

const (
	// stride is the real time for which simulated clocks run on for one answer of the API server,
	// and cadence the interval of requests to it where it answers at once.
	stride  = 50 * time.Millisecond
	cadence = stride / 2
	// patience is the multiple of its deadline that a test waits by real time, however slow the
	// machine is.
	patience = 5
)

// pace has the clocks of tests run no faster than the machine keeps up. At hundreds of simulated
// seconds in each real one, a controller that is held up for a few would otherwise find that a hook
// has timed out and a roll-out has passed by, as it never would in a world where a second is a
// second. The API server's answers are the measure: controllers depend on them for whatever they
// do.
type pace struct {
	mu     sync.Mutex
	clocks map[*simclock.Clock]struct{}
	// kept is for how much real time the machine has kept up so far, at the last answer.
	kept time.Duration
	last time.Time
}

// keep asks the API server again and again, and lets the clocks run on, until the context is done.
func (p *pace) keep(ctx context.Context, reader client.Reader) {
	for ctx.Err() == nil {
		asked := time.Now()
		if err := reader.Get(ctx, client.ObjectKey{Name: metav1.NamespaceDefault}, &corev1.Namespace{}); err == nil {
			p.goOn()
		}
		time.Sleep(time.Until(asked.Add(cadence)))
	}
}

// goOn lets all clocks run on for a stride.
func (p *pace) goOn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if !p.last.IsZero() {
		p.kept += min(now.Sub(p.last), stride)
	}
	p.last = now
	for clock := range p.clocks {
		clock.RunFor(stride)
	}
}

// join has a clock be one of those, until the function that it returns is called.
func (p *pace) join(clock *simclock.Clock) (leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.clocks == nil {
		p.clocks = map[*simclock.Clock]struct{}{}
	}
	p.clocks[clock] = struct{}{}
	clock.RunFor(stride)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.clocks, clock)
	}
}

// Kept returns for how much real time the machine has kept up since the laboratory started. It
// measures what a test waits for in real time: it passes as real time does on a machine with little
// else to do, and more slowly, like simulated time, on a busy one.
func (e *Env) Kept() time.Duration { return shared.pace.elapsed() }

func (p *pace) elapsed() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept
}
