package dashboard

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

// TestOutage holds that an open page receives a row while the API server does not answer, with the time of the last
// answer.
func TestOutage(t *testing.T) {
	t.Parallel()
	answers := make(chan error)
	c := newClusterWith(t, func(options *Options) {
		options.Probe = func(context.Context) error { return <-answers }
	}, machinePool("web", 1))
	page := c.open()
	if _, all := page.next(); len(all.Rows[outageKey]) > 0 {
		t.Errorf("the page begins with an outage: %s", all.Rows[outageKey])
	}
	const waiters = 4 // for new rows, for the next probe, and the page for a heartbeat and for streamTime
	c.step(probeInterval, waiters)
	answers <- nil
	c.step(probeInterval, waiters)
	answers <- errors.New("connection refused")
	for shown := ""; shown == ""; {
		_, rows := page.next()
		shown = string(rows.Rows[outageKey])
		if diff := cmp.Diff(`{"since":"2026-11-27T08:00:10Z"}`, shown); shown != "" && diff != "" {
			t.Errorf("row -want +got:\n%s", diff)
		}
	}
	c.step(probeInterval, waiters)
	answers <- nil
	for {
		if _, rows := page.next(); slices.Contains(rows.Gone, outageKey) {
			return
		}
	}
}

// TestProbeOf holds which answers of an API server count as answers.
func TestProbeOf(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		status int
		away   bool
	}{
		{"the API server answers", http.StatusOK, false},
		{"the user may not ask", http.StatusForbidden, false},
		{"the token has expired", http.StatusUnauthorized, false},
		{"a load balancer answers for an API server that is away", http.StatusBadGateway, true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(row.status) }))
			defer server.Close()
			// Closing any server of package httptest closes the idle connections of http.DefaultTransport.
			probe, err := ProbeOf(&rest.Config{Host: server.URL, Transport: server.Client().Transport})
			if err != nil {
				t.Fatal(err)
			}
			if err := probe(t.Context()); (err != nil) != row.away {
				t.Errorf("the probe returned %v, away is %v", err, row.away)
			}
			server.Close()
			if err := probe(t.Context()); err == nil {
				t.Error("the probe returned no error after the server was closed")
			}
		})
	}
}
