package nodelifecycle_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/internal/provisioningtest"
	"github.com/slipway-project/slipway/internal/steadyclock"
)

// settable is the clock of a manager's machine, which can be set. AWS's and the API server's go on.
type settable struct {
	*simclock.Clock
	ahead time.Duration
}

func (s *settable) Now() time.Time { return s.Clock.Now().Add(s.ahead) }

// steadyOn returns the clock of a manager on a machine.
func steadyOn(machine *settable) *steadyclock.Clock {
	start := machine.Clock.Now()
	return steadyclock.New(machine, func() time.Duration { return machine.Since(start) })
}

// clockChanges change the clock of the manager.
var clockChanges = map[string]func(*provisioningtest.World, *settable){
	"a day ahead":                  func(_ *provisioningtest.World, machine *settable) { machine.ahead = 24 * time.Hour },
	"an hour back":                 func(_ *provisioningtest.World, machine *settable) { machine.ahead = -time.Hour },
	"another leader, hours ahead":  func(w *provisioningtest.World, _ *settable) { leads(w, 6*time.Hour) },
	"another leader, minutes back": func(w *provisioningtest.World, _ *settable) { leads(w, -10*time.Minute) },
}

// leads has a manager lead whose machine's clock is ahead of the API server's.
func leads(w *provisioningtest.World, ahead time.Duration) {
	steady := steadyOn(&settable{Clock: w.Clock, ahead: ahead})
	steady.Observe(w.Clock.Now())
	w.Machine = steady
	w.Restart()
}

// clockState is a state of a node in which the clock of the manager changes.
type clockState struct {
	// before leads to the state, and after goes on once the clock has changed.
	before, after func(*provisioningtest.World)
	// early counts the instances for a minute after the change, and late after that.
	early, late int
}

// started launches a node, and binds a pod to it.
func started(w *provisioningtest.World) *corev1.Pod {
	w.Helper()
	pod := w.Pod("one")
	w.Launch()
	w.Bind(pod, w.Members()[0].Name)
	w.Advance(time.Minute)
	return pod
}

// clockStates returns the states by what they are.
func clockStates() map[string]clockState {
	join := func(w *provisioningtest.World) { w.Join() }
	return map[string]clockState{
		"there is none": {
			before: func(w *provisioningtest.World) { w.Settle() },
			after: func(w *provisioningtest.World) {
				w.Pod("one")
				w.Advance(30 * time.Second)
				w.Join()
			},
			late: 1,
		},
		"its launch is not answered": {
			before: func(w *provisioningtest.World) {
				if _, err := w.Sim.AddFault(awssim.Fault{ID: "lost", Action: "CreateFleet", Place: awssim.AfterEffect, Drop: true}); err != nil {
					w.Fatal(err)
				}
				w.Faulty = true
				w.Pod("one")
				w.Settle()
				w.Advance(time.Minute)
			},
			after: func(w *provisioningtest.World) {
				w.Sim.RemoveFault("lost")
				w.Advance(2 * time.Minute)
				w.Join()
			},
			early: 1, late: 1,
		},
		"it starts": {
			before: func(w *provisioningtest.World) {
				w.Pod("one")
				w.Settle()
				w.Advance(30 * time.Second)
			},
			after: join, early: 1, late: 1,
		},
		"its kubelet is not ready": {
			before: func(w *provisioningtest.World) {
				started(w)
				setReady(w, &w.Members()[0], corev1.ConditionFalse)
				w.Advance(time.Minute)
			},
			after: func(w *provisioningtest.World) { setReady(w, &w.Members()[0], corev1.ConditionTrue) },
			early: 1, late: 1,
		},
		"its Node is away": {
			before: func(w *provisioningtest.World) {
				started(w)
				member := w.Members()[0]
				w.Update(&member, func() { member.Finalizers = nil })
				w.Delete(&member)
				w.Advance(time.Minute)
			},
			after: join, early: 1, late: 1,
		},
		"it is empty": {
			before: func(w *provisioningtest.World) {
				w.Delete(started(w))
				w.Advance(time.Minute)
			},
			after: func(w *provisioningtest.World) { w.Advance(8 * time.Minute) },
			early: 1,
		},
		"it drains": {
			before: func(w *provisioningtest.World) {
				pod := started(w)
				w.Update(pod, func() { pod.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"} })
				w.Delete(&w.Members()[0])
				w.Advance(time.Minute)
			},
			after: func(w *provisioningtest.World) {
				w.Join() // a node for the pod was launched
				w.Delete(&w.Pods()[0])
				w.Advance(12 * time.Minute)
			},
			early: 2,
		},
	}
}

// TestClockChanges holds for each state of a node that no clock of a manager terminates it early, launches
// it twice, or has it wait for ever.
func TestClockChanges(t *testing.T) {
	t.Parallel()
	for reason, state := range clockStates() {
		for change, does := range clockChanges {
			t.Run(reason+", "+change, func(t *testing.T) {
				t.Parallel()
				w := provisioningtest.New(t, provisioningtest.Options{})
				machine := &settable{Clock: w.Clock}
				w.Machine = steadyOn(machine)
				w.Restart()
				w.Provision("default", func(spec *provisioningv1.ProvisionerSpec) {
					spec.TerminationGracePeriod, spec.TTLSeconds = &metav1.Duration{Duration: time.Hour}, ptr.To[int64](300)
				})
				state.before(w)
				does(w, machine)
				for range 3 {
					w.Settle()
					w.Advance(20 * time.Second)
					if got := len(running(w)); got != state.early || w.Calls("TerminateInstances") > 0 {
						t.Fatalf("%d instances after %d terminations: %q", got, w.Calls("TerminateInstances"), w.Events())
					}
				}
				state.after(w)
				w.Advance(2 * time.Minute)
				nodes := w.Provisioned()
				if len(running(w)) != state.late || len(nodes) != state.late || w.Calls("TerminateInstances") != state.early*(1-state.late) {
					t.Errorf("%d instances and %d nodes after %d terminations: %q", len(running(w)), len(nodes), w.Calls("TerminateInstances"), w.Events())
				}
				for _, node := range nodes {
					if node.Status.ReadyTime == nil || node.DeletionTimestamp != nil {
						t.Errorf("node %s is %+v", node.Name, node.Status.Conditions)
					}
				}
			})
		}
	}
}
