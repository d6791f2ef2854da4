package manager

import (
	"bufio"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// freeAddress returns an address of this machine that nothing listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// TestDashboard holds that the manager shows its dashboard to those alone whom the API server lets, and
// watches nothing more for it.
func TestDashboard(t *testing.T) {
	t.Parallel()
	w := serve(t, managed()...)
	options := optionsFor(w)
	options.DashboardAddress = freeAddress(t)
	running(t, func(ctx context.Context) error { return Run(ctx, options) })
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	get := func(path, token string) (*http.Response, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+options.DashboardAddress+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		return client.Do(request)
	}
	eventually(t, "the dashboard is served", func() bool {
		answer, err := get("/dashboard/", "")
		if err == nil {
			_ = answer.Body.Close()
		}
		return err == nil && answer.StatusCode == http.StatusOK
	})
	for _, row := range []struct {
		reason, token string
		want          int
	}{
		{"a request without a token shows nothing", "", http.StatusUnauthorized},
		{"a token that the API server does not know shows nothing: controller-runtime takes it for an error", "stranger", http.StatusInternalServerError},
		{"a user who may not get the path sees nothing", "tenant", http.StatusForbidden},
		{"a user who may get the path sees the pools", "viewer", http.StatusOK},
	} {
		answer, err := get("/dashboard/api/events", row.token)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != row.want {
			t.Errorf("%s: got %s, want %d", row.reason, answer.Status, row.want)
		}
		if row.want == http.StatusOK {
			line, err := bufio.NewReader(answer.Body).ReadString('\n')
			if err != nil || !strings.HasPrefix(line, "event: rows") {
				t.Errorf("%s: the stream begins with %q, error %v", row.reason, line, err)
			}
		}
		_ = answer.Body.Close()
	}
	if diff := cmp.Diff(watched(), w.seen("WATCH")); diff != "" {
		t.Errorf("the dashboard watches something of its own: -want +got:\n%s", diff)
	}
}
