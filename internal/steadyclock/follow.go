package steadyclock

import (
	"net/http"
	"time"
)

const (
	// tolerance is the difference to the API server's clock that is left alone: clocks which are kept
	// right agree to within seconds, and Date headers have whole ones.
	tolerance = time.Minute
	// slow is the time after which an answer no longer shows what the time is now.
	slow = 10 * time.Second
)

// Observe has the clock follow another one from now on, which shows a time. The first time that it is
// called, the clock is set to it: a process has decided nothing yet. Later it is followed at a bounded
// speed, like the clock of the machine.
func (c *Clock) Observe(other time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	machine := c.WithTicker.Now().Round(0)
	c.correction = other.Sub(machine)
	if c.correction.Abs() <= tolerance {
		c.correction = 0
	}
	if !c.observed {
		c.observed, c.last, c.time = true, c.elapsed(), machine.Add(c.correction)
	}
}

// FollowServer wraps a transport to the API server, and has the clock follow the server's, which the
// answers show. The times that a leader records are then right for the next one, whatever the clocks of
// their machines show.
func (c *Clock) FollowServer(next http.RoundTripper) http.RoundTripper {
	return transport{clock: c, next: next}
}

type transport struct {
	clock *Clock
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := t.clock.elapsed()
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return response, err
	}
	if shown, parseErr := http.ParseTime(response.Header.Get("Date")); parseErr == nil && t.clock.elapsed()-sent < slow {
		t.clock.Observe(shown)
	}
	return response, err
}

// WrappedRoundTripper returns the wrapped transport, for client-go to cancel requests.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.next }
