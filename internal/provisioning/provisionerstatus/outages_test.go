package provisionerstatus_test

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/provisioning/provisionerstatus"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// watched is a world whose Provisioners are woken by outages alone.
type watched struct {
	*provisioningtest.World
	woken chan client.ObjectKey
}

// watch runs Outages until the test finishes.
func watch(w *provisioningtest.World) *watched {
	w.Helper()
	seen := &watched{World: w, woken: make(chan client.ObjectKey, 10)}
	outages := &provisionerstatus.Outages{Client: w.Client, AWS: w.Provisioners.Kind.(*provisionerstatus.Kind).AWS, Clock: w.Clock, Probe: w.Nodes.Fleets.Probe, Wake: func(name client.ObjectKey) { seen.woken <- name }}
	ctx, end := context.WithCancel(w.Context())
	ended := make(chan error, 1)
	go func() { ended <- outages.Start(ctx) }()
	w.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			w.Error(err)
		}
	})
	return seen
}

// next lets time pass until a Provisioner is woken, and reconciles it.
func (w *watched) next() {
	w.Helper()
	for range 1000 {
		select {
		case name := <-w.woken:
			if _, err := w.Provisioners.Reconcile(w.Context(), ctrl.Request{NamespacedName: name}); err != nil {
				w.Logf("reconciling: %v", err) // as it does during an outage
			}
			return
		case <-time.After(time.Millisecond):
			w.Clock.Step(15 * time.Second)
		}
	}
	w.Fatal("no Provisioner is woken")
}

// call has EC2 called, by whatever calls it while a Provisioner is at rest.
func (w *watched) call() {
	w.Helper()
	_, err := w.Nodes.Fleets.Describe(w.Context(), []string{"i-0123456789abcdef0"})
	w.Logf("EC2: %v", err)
}

// TestOutagesWakeProvisioners holds that a Provisioner at rest is not Ready seconds after other
// calls have found an outage of AWS, with the time when it began, and Ready again seconds after it
// is over, though nothing else calls AWS.
func TestOutagesWakeProvisioners(t *testing.T) {
	t.Parallel()
	w := watch(provisioningtest.New(t, provisioningtest.Options{}))
	w.Provision("default")
	w.Settle()
	if got := ready(w.World, "default"); got == nil || got.Status != metav1.ConditionTrue {
		t.Fatalf("Ready is %+v", got)
	}
	fault, err := w.Sim.AddFault(awssim.Fault{Service: "ec2", Code: "InternalError", Status: 500})
	if err != nil {
		t.Fatal(err)
	}
	began := w.Clock.Now().UTC().Format(time.RFC3339)
	w.call()
	w.Clock.Step(provisionerstatus.OutageAfter)
	w.call()
	w.next()
	got := ready(w.World, "default")
	if got.Status != metav1.ConditionFalse || got.Reason != infrav1.AWSUnavailableReason || !strings.Contains(got.Message, "EC2 in us-east-1 has not answered since "+began) {
		t.Errorf("during the outage, Ready is %+v", got)
	}
	for range 20 {
		w.Clock.Step(15 * time.Second)
	}
	if len(w.woken) > 0 {
		t.Error("the Provisioner is woken again while the outage goes on")
	}
	if !w.Sim.RemoveFault(fault) {
		t.Fatal("no fault")
	}
	w.next() // nothing else calls EC2
	if got := ready(w.World, "default"); got.Status != metav1.ConditionTrue {
		t.Errorf("after the outage, Ready is %+v", got)
	}
}
