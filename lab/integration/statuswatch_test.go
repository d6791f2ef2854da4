package integration

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/cli"
)

// shownText holds the text that a command has printed so far.
type shownText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (s *shownText) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(data)
}

// last returns the status that was printed last: each begins with the time at which it was read.
func (s *shownText) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.text.String()
	return text[strings.LastIndex(text, "AWSMachinePool "):]
}

// shows is nil once the last status has all of some texts.
func (s *shownText) shows(texts ...string) error {
	last := s.last()
	for _, text := range texts {
		if !strings.Contains(last, text) {
			return fmt.Errorf("no %q in\n%s", text, last)
		}
	}
	return nil
}

// TestStatusWatch holds that slipway status -w follows a roll-out of a real API server's pool that a
// PodDisruptionBudget holds, shows the pool at rest afterwards, and stops when the pool is deleted.
func TestStatusWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool(drainTimeout("24h")...)
	w.servePods()

	ctx, cancel := context.WithTimeout(w.Context(), 5*time.Minute)
	defer cancel()
	out, ended := &shownText{}, make(chan error, 1)
	fmt.Fprintln(out, "AWSMachinePool ")
	command := cli.New()
	command.SetArgs([]string{"status", poolName, "-w", "-n", w.Namespace, "--kubeconfig", w.Lab.Kubeconfig()})
	command.SetOut(out)
	command.SetErr(io.Discard)
	go func() { ended <- command.ExecuteContext(ctx) }()
	w.Eventually("the pool is shown at rest", func() error {
		return out.shows("State     Converged", "2 of 2 with the wanted configuration")
	})

	w.editType("m6i.large")
	w.Eventually("the drain is shown, and what holds it", func() error {
		return out.shows(
			"Versions  2: 1 instance, wanted (instance type t3.large → m6i.large)", "because: instance type t3.large → m6i.large",
			"1 pod held by", "PodDisruptionBudget "+w.Namespace+"/web holds web-", "NodesDrained is False, Draining",
		)
	})
	w.allowDisruptions(2)
	w.Eventually("the end of the roll-out is shown", func() error {
		return out.shows("State     Converged", "2 of 2 ready, 2 of 2 with the wanted configuration", "Versions  2: 2 instances, wanted (instance type t3.large → m6i.large)\nEdited")
	})
	select {
	case err := <-ended:
		t.Fatalf("the command stopped before the pool was deleted: %v", err)
	default:
	}

	if err := w.Client.Delete(w.Context(), &clusterv1.MachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: poolName}}); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	w.Eventually("the command stops with the pool", func() error {
		select {
		case err := <-ended:
			if want := fmt.Sprintf("AWSMachinePool %s was deleted", w.key()); err == nil || err.Error() != want {
				t.Errorf("the command stops with error %v, want %s", err, want)
			}
			return nil
		default:
			return fmt.Errorf("it still shows\n%s", out.last())
		}
	})
}
