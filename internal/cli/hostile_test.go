package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/slipway-project/slipway/internal/workload/workloadtest"
)

// escapes would clear the screen, set the title of the window, and change the direction of text. It is not UTF-8.
const escapes = "\x1b[2J\x1b]0;title\a\u202etxet\xff\u009b31m\r"

// TestCommandsOnHostileServers runs every command on API servers, and in an AWS, that refuse everything or answer
// nonsense. A command fails with a message, which a terminal does not interpret, and prints no data that is not valid.
func TestCommandsOnHostileServers(t *testing.T) {
	status := func(code int, reason string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": "no" + escapes + "\n" + strings.Repeat("long ", 5000)})
		}
	}
	body := func(code int, contentType, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.Header().Set("Warning", `299 - "beware \"`+"\u202e"+`"`)
			w.WriteHeader(code)
			_, _ = w.Write([]byte(text))
		}
	}
	for name, handler := range map[string]http.HandlerFunc{
		"Forbidden":    status(http.StatusForbidden, "Forbidden"),
		"Unauthorized": status(http.StatusUnauthorized, "Unauthorized"),
		"Missing":      status(http.StatusNotFound, "NotFound"),
		"Page":         body(http.StatusBadGateway, "text/html", "<html>"+escapes),
		"NotJSON":      body(http.StatusOK, "application/json", escapes),
		"OtherKind":    body(http.StatusOK, "application/json", `{"kind":"`+"\u202e"+`","apiVersion":"v1","items":[{}]}`),
		"Empty":        body(http.StatusOK, "application/json", ""),
	} {
		t.Run(name, func(t *testing.T) {
			account(t)
			server := httptest.NewTLSServer(handler)
			t.Cleanup(server.Close)
			amazon := httptest.NewServer(handler)
			t.Cleanup(amazon.Close)
			t.Setenv("AWS_ENDPOINT_URL", amazon.URL)
			t.Setenv("AWS_MAX_ATTEMPTS", "1")
			kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
			if err := os.WriteFile(kubeconfig, workloadtest.Kubeconfig(server, "{token: one}"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, line := range []string{
				"status", "status -A", "status workers", "status workers -w", "status workers -o json", "history workers", "history workers -o yaml", "diff workers 1 2",
				"explain workers", "explain pod/workers", "explain i-0a11000000000000a", "trace i-0a11000000000000a", "tree prod", "events workers -o json",
				"plan workers --set spec.maxSize=5", "plan workers --set spec.maxSize=5 -o json", "simulate workers --set spec.maxSize=5", "undo workers", "unpin workers",
				"rollout pause workers", "rollout resume workers", "rollout cancel workers", "rollout retry workers", "rollout approve workers", "migrate capa -o json", "migrate capa --execute --timeout 1s", "preflight",
			} {
				command, out, notes := New(), &bytes.Buffer{}, &bytes.Buffer{}
				command.SetArgs(append(strings.Fields(line), "--kubeconfig", kubeconfig))
				command.SetOut(out)
				command.SetErr(notes)
				command.SetIn(strings.NewReader(""))
				err := command.ExecuteContext(t.Context())
				if err == nil && !strings.HasPrefix(line, "status") {
					t.Errorf("slipway %s succeeded, and printed %s", line, out)
				}
				if strings.Contains(line, "json") && out.Len() > 0 && !json.Valid(out.Bytes()) {
					t.Errorf("slipway %s printed what is no JSON: %q", line, out)
				}
				shown := out.String() + notes.String()
				if err != nil {
					shown += errorText(err)
				}
				if at := strings.IndexFunc(shown, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); at >= 0 || !utf8.ValidString(shown) || len(shown) > 20000 {
					t.Errorf("slipway %s: %d bytes of text that a terminal interprets from byte %d: %.300q", line, len(shown), at, shown[max(at-40, 0):])
				}
			}
		})
	}
}
