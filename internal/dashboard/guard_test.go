package dashboard

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"
)

// handlerOf returns a dashboard without objects, for the user of this machine.
func handlerOf(t *testing.T) http.Handler {
	t.Helper()
	clock := clocktesting.NewFakeClock(now)
	return New(Options{Clock: clock, Log: logr.Discard()}).LocalHandler("secret", "127.0.0.1:8090", "localhost:8090")
}

func TestLocalHandler(t *testing.T) {
	t.Parallel()
	const pool = "/dashboard/api/pool?kind=Secret&namespace=a&name=b"
	for name, tc := range map[string]struct {
		reason       string
		method, path string
		host         string
		header       map[string]string
		want         int
	}{
		"Page":       {reason: "The page itself is not secret: it asks for the token.", path: "/dashboard/", want: http.StatusOK},
		"Root":       {reason: "The address without a path leads to the page.", path: "/", want: http.StatusFound},
		"NoToken":    {reason: "Another user of the machine can connect to the port.", path: pool, want: http.StatusUnauthorized},
		"WrongToken": {reason: "A wrong token is none.", path: pool, header: map[string]string{"Authorization": "Bearer secrets"}, want: http.StatusUnauthorized},
		"InQuery":    {reason: "A token in the query would be in logs and in the history.", path: pool + "&token=secret", want: http.StatusUnauthorized},
		"Token":      {reason: "With the token the API answers: it shows no Secrets.", path: pool, header: map[string]string{"Authorization": "Bearer secret"}, want: http.StatusBadRequest},
		"Rebound":    {reason: "A name of an attacker resolves to this machine.", path: "/dashboard/", host: "attacker.example:8090", want: http.StatusMisdirectedRequest},
		"NoPort":     {reason: "The host must be the whole address.", path: "/dashboard/", host: "127.0.0.1", want: http.StatusMisdirectedRequest},
		"Localhost":  {reason: "Users also know their machine as localhost.", path: "/dashboard/", host: "localhost:8090", want: http.StatusOK},
		"Origin": {
			reason: "A page of another site cannot use the API, even with the token.", path: pool,
			header: map[string]string{"Authorization": "Bearer secret", "Origin": "http://attacker.example"}, want: http.StatusForbidden,
		},
		"NullOrigin": {
			reason: "A sandboxed frame has no origin.", path: pool,
			header: map[string]string{"Authorization": "Bearer secret", "Origin": "null"}, want: http.StatusForbidden,
		},
		"CrossSite": {
			reason: "Browsers report the site of requests without an Origin, too.", path: pool,
			header: map[string]string{"Authorization": "Bearer secret", "Sec-Fetch-Site": "cross-site"}, want: http.StatusForbidden,
		},
		"OwnOrigin": {
			reason: "The page itself uses the API.", path: pool,
			header: map[string]string{"Authorization": "Bearer secret", "Origin": "http://127.0.0.1:8090", "Sec-Fetch-Site": "same-origin"}, want: http.StatusBadRequest,
		},
		"Write":     {reason: "Nothing can be written.", method: http.MethodPost, path: pool, header: map[string]string{"Authorization": "Bearer secret"}, want: http.StatusMethodNotAllowed},
		"Traversal": {reason: "Only the files of the page are served.", path: "/dashboard/../../go.mod", want: http.StatusTemporaryRedirect},
		"NoFile":    {reason: "Other files do not exist.", path: "/dashboard/go.mod", want: http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			method, host := tc.method, tc.host
			if method == "" {
				method = http.MethodGet
			}
			if host == "" {
				host = "127.0.0.1:8090"
			}
			request := httptest.NewRequest(method, tc.path, http.NoBody)
			request.Host = host
			for key, value := range tc.header {
				request.Header.Set(key, value)
			}
			answer := httptest.NewRecorder()
			handlerOf(t).ServeHTTP(answer, request)
			if answer.Code != tc.want {
				t.Errorf("%s %s %s: got status %d %s, want %d", tc.reason, method, tc.path, answer.Code, answer.Body, tc.want)
			}
		})
	}
}

// TestPageIsConfined holds that the page can load and send nothing elsewhere, and can be framed nowhere.
func TestPageIsConfined(t *testing.T) {
	t.Parallel()
	request := httptest.NewRequest(http.MethodGet, "/dashboard/", http.NoBody)
	request.Host = "127.0.0.1:8090"
	answer := httptest.NewRecorder()
	handlerOf(t).ServeHTTP(answer, request)
	policy := answer.Header().Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the content security policy %q lacks %s", policy, part)
		}
	}
	for _, part := range []string{"unsafe", "http:", "https:", "*"} {
		if strings.Contains(policy, part) {
			t.Errorf("the content security policy %q has %s", policy, part)
		}
	}
	if got := answer.Header().Get("Referrer-Policy"); got != "no-referrer" {
		t.Errorf("Referrer-Policy: got %q, want no-referrer", got)
	}
}

func TestNewToken(t *testing.T) {
	t.Parallel()
	if a, b := NewToken(), NewToken(); a == b || len(a) < 40 {
		t.Errorf("tokens %q and %q are not long and different", a, b)
	}
}
