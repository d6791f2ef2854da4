package steadyclock_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/slipway-project/slipway/internal/steadyclock"
)

// TestObserve holds that a process begins at the time of the API server, follows it from then on, and
// goes on at a bounded speed when a clock is set.
func TestObserve(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		// server is how far the API server is ahead of the machine, and later how far at a second observation, after
		// which so much time passes.
		server, later, after time.Duration
		// shows is the time that the clock then shows, since the start of the machine.
		shows time.Duration
	}{
		{"the clocks agree", 0, 0, time.Minute, time.Minute},
		{"the clocks nearly agree", 40 * time.Second, -40 * time.Second, time.Minute, time.Minute},
		{"the machine is six hours ahead", -6 * time.Hour, -6 * time.Hour, time.Minute, -6*time.Hour + time.Minute},
		{"the machine is an hour behind", time.Hour, time.Hour, time.Minute, time.Hour + time.Minute},
		{"the API server's clock is set ahead later", 0, 6 * time.Hour, time.Minute, 2 * time.Minute},
		{"the API server's clock is set back later", 0, -6 * time.Hour, time.Minute, 30 * time.Second},
		{"the clocks agree later", -time.Hour, 0, 3 * time.Hour, 3 * time.Hour},
	} {
		m := newMachine()
		start := m.Now()
		steady := steadyclock.New(m, func() time.Duration { return m.elapsed })
		steady.Observe(start.Add(row.server))
		steady.Observe(start.Add(row.later))
		m.pass(row.after)
		if got := steady.Since(start); got != row.shows {
			t.Errorf("%s: it shows %s, want %s", row.reason, got, row.shows)
		}
	}
}

// TestMachineIsSetUnderAServer holds that a clock which follows the API server's is right again when the next
// answer shows that only the machine's clock was set.
func TestMachineIsSetUnderAServer(t *testing.T) {
	t.Parallel()
	m := newMachine()
	server := m.Now()
	steady := steadyclock.New(m, func() time.Duration { return m.elapsed })
	steady.Observe(server)
	m.set(24 * time.Hour)
	steady.Observe(server)
	m.pass(time.Minute)
	if got := steady.Since(server); got != time.Minute {
		t.Errorf("it went on by %s", got)
	}
}

// answering answers every request after a time with a date.
type answering struct {
	machine *machine
	took    time.Duration
	date    string
	err     error
}

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	a.machine.pass(a.took)
	return &http.Response{Header: http.Header{"Date": {a.date}}, Body: http.NoBody}, a.err
}

// TestFollowServer holds which answers of the API server show what time it is.
func TestFollowServer(t *testing.T) {
	t.Parallel()
	ahead := newMachine().Now().Add(time.Hour).Format(http.TimeFormat)
	for _, row := range []struct {
		reason string
		answering
		follows bool
	}{
		{"an answer", answering{date: ahead, took: time.Second}, true},
		{"a slow answer", answering{date: ahead, took: time.Minute}, false},
		{"an answer without a date", answering{}, false},
		{"no answer", answering{date: ahead, err: errors.New("refused")}, false},
	} {
		m := newMachine()
		row.machine = m
		steady := steadyclock.New(m, func() time.Duration { return m.elapsed })
		response, err := steady.FollowServer(row.answering).RoundTrip(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/version", http.NoBody))
		if !errors.Is(err, row.err) {
			t.Errorf("%s: the error is %v", row.reason, err)
		}
		if closeErr := response.Body.Close(); closeErr != nil {
			t.Error(closeErr)
		}
		if got := steady.Now().Sub(m.Now()) > 50*time.Minute; got != row.follows {
			t.Errorf("%s: it shows %s at %s", row.reason, steady.Now(), m.Now())
		}
	}
}
