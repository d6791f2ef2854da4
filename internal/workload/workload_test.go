package workload

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/slipway-project/slipway/internal/drain"
	"github.com/slipway-project/slipway/internal/workload/workloadtest"
)

var capa = types.NamespacedName{Namespace: "default", Name: "capa"}

// server is a workload cluster's API server.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	tokens []string // of the requests
	status int
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{status: http.StatusOK}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tokens = append(s.tokens, strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer "))
		w.Header().Set("Content-Type", "application/json")
		if s.status != http.StatusOK {
			w.Header().Set("Retry-After", "10")
			w.WriteHeader(s.status)
			fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"not now","code":%d}`, s.status)
			return
		}
		fmt.Fprint(w, `{"kind":"NodeList","apiVersion":"v1","items":[]}`)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) answer(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

func (s *server) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tokens
}

func (s *server) kubeconfig(user string) []byte {
	return workloadtest.Kubeconfig(s.Server, user)
}

// rig is the management cluster's Secret and the clusters behind it.
type rig struct {
	*testing.T
	client.Client
	clock    *testclock.FakeClock
	clusters *Clusters
}

func newRig(t *testing.T, kubeconfig []byte) *rig {
	t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: capa.Namespace, Name: "capa-kubeconfig"}, Data: map[string][]byte{"value": kubeconfig},
	}
	r := &rig{
		T: t, Client: fake.NewClientBuilder().WithObjects(secret).Build(),
		clock: testclock.NewFakeClock(time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC)),
	}
	r.clusters = New(r.Client, r.clock)
	r.clusters.Loopback = true
	t.Cleanup(r.clusters.Close)
	return r
}

func (r *rig) rotate(kubeconfig []byte) {
	r.Helper()
	secret := &corev1.Secret{}
	if err := r.Get(r.Context(), types.NamespacedName{Namespace: capa.Namespace, Name: "capa-kubeconfig"}, secret); err != nil {
		r.Fatal(err)
	}
	secret.Data["value"] = kubeconfig
	if err := r.Update(r.Context(), secret); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) mustClient() drain.API {
	r.Helper()
	api, err := r.clusters.Client(r.Context(), capa)
	if err != nil {
		r.Fatal(err)
	}
	return api
}

func (r *rig) list(api drain.API) error {
	return api.EachNode(r.Context(), func(*corev1.Node) bool { return true })
}

// TestClientFollowsTheSecret holds that there is one client for as long as the Secret is the same,
// and another for another, with nothing called in between.
func TestClientFollowsTheSecret(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	r := newRig(t, s.kubeconfig(`{token: one}`))
	first := r.mustClient()
	if again := r.mustClient(); again != first {
		t.Error("the same Secret makes another client")
	}
	if got := s.requests(); len(got) != 0 {
		t.Errorf("making a client called %q", got)
	}
	if err := r.list(first); err != nil {
		t.Fatal(err)
	}
	r.rotate(s.kubeconfig(`{token: two}`))
	if err := r.list(r.mustClient()); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.requests(), " "); got != "one two" {
		t.Errorf("tokens %q", got)
	}
}

// TestNoWay holds that an unusable kubeconfig is reported, without addresses.
func TestNoWay(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, row := range []struct {
		reason, want string
		kubeconfig   []byte
	}{
		{"no kubeconfig", "Secret capa-kubeconfig: reading the kubeconfig", nil},
		{"none that can be read", "Secret capa-kubeconfig: reading the kubeconfig", []byte("{")},
		{"one that runs a program", "which Slipway does not run", s.kubeconfig(`{exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, interactiveMode: Never}}`)},
		{"one that reads a file", "which Slipway does not read", s.kubeconfig(`{tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token}`)},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, row.kubeconfig)
			_, err := r.clusters.Client(t.Context(), capa)
			var unreachable *UnreachableError
			if !errors.As(err, &unreachable) || !strings.Contains(Explain(err), row.want) {
				t.Errorf("error %v", err)
			}
		})
	}
	r := newRig(t, nil)
	_, err := r.clusters.Client(t.Context(), types.NamespacedName{Namespace: "default", Name: "other"})
	if want := "workload cluster other cannot be reached: Secret other-kubeconfig does not exist"; err == nil || Explain(err) != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestSilence holds that a cluster that does not answer is left alone for a while, and then asked once again.
func TestSilence(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	r := newRig(t, s.kubeconfig(`{token: one}`))
	api := r.mustClient()
	s.CloseClientConnections()
	s.Close()
	err := r.list(api)
	if words := Explain(err); err == nil || words != "the workload cluster's API server does not respond" {
		t.Errorf("error %v, in words %q", err, words)
	}
	if err := r.list(api); !errors.Is(err, errSilent) {
		t.Errorf("the next call: %v", err)
	}
	var unreachable *UnreachableError
	if _, err := r.clusters.Client(t.Context(), capa); !errors.As(err, &unreachable) {
		t.Errorf("the next client: %v", err)
	}
	r.clock.Step(silence)
	if err := r.list(r.mustClient()); err == nil || errors.Is(err, errSilent) {
		t.Errorf("after a while: %v", err)
	}
	// A cluster that moved is asked at once.
	moved := newServer(t)
	r.rotate(moved.kubeconfig(`{token: one}`))
	if err := r.list(r.mustClient()); err != nil {
		t.Errorf("after it moved: %v", err)
	}
}

// TestRefusalsAreAnswers holds that the client never waits and repeats by itself, and that a
// refusal is no silence.
func TestRefusalsAreAnswers(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusUnauthorized} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			r := newRig(t, s.kubeconfig(`{token: one}`))
			s.answer(status)
			err := r.list(r.mustClient())
			if words := Explain(err); err == nil || !strings.HasPrefix(words, "the workload cluster's API server "+
				"responded: ") {
				t.Errorf("error %v, in words %q", err, words)
			}
			if got := s.requests(); len(got) != 1 {
				t.Errorf("%d requests", len(got))
			}
			s.answer(http.StatusOK)
			if err := r.list(r.mustClient()); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}
