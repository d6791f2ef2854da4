package nodelifecycle_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// counted returns a counter by the value of one of its labels.
func counted(w *provisioningtest.World, name, label string) map[string]float64 {
	w.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(w.Progress)
	families, err := registry.Gather()
	if err != nil {
		w.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, series := range family.GetMetric() {
			for _, pair := range series.GetLabel() {
				if family.GetName() == name && pair.GetName() == label {
					values[pair.GetValue()] += series.GetCounter().GetValue()
				}
			}
		}
	}
	return values
}

// TestEveryEndIsCounted holds that slipway_node_disruptions_total counts each node that Slipway
// deletes once, by reason, and that slipway_node_decisions_total counts it as terminated.
func TestEveryEndIsCounted(t *testing.T) {
	t.Parallel()
	launched := func(t *testing.T) *provisioningtest.World { return inOneZone(t, 1) }
	unlaunched := func(code string) func(t *testing.T) *provisioningtest.World {
		return func(t *testing.T) *provisioningtest.World {
			w := provisioningtest.New(t, provisioningtest.Options{})
			w.Provision("default")
			if _, err := w.Sim.AddFault(awssim.Fault{Service: "ec2", Action: "CreateFleet", Code: code, Status: 400, Count: 1}); err != nil {
				t.Fatal(err)
			}
			w.Pod("pod")
			return w
		}
	}
	for _, row := range []struct {
		reason string
		world  func(t *testing.T) *provisioningtest.World
		happen func(w *provisioningtest.World)
	}{
		{"NodeNotReady", launched, func(w *provisioningtest.World) {
			setReady(w, &w.Members()[0], corev1.ConditionFalse)
			w.Advance(12 * time.Minute)
		}},
		{"InstanceStopped", launched, func(w *provisioningtest.World) {
			if _, err := w.EC2.StopInstances(w.Context(), &ec2.StopInstancesInput{InstanceIds: []string{w.Provisioned()[0].Status.InstanceID}}); err != nil {
				w.Fatal(err)
			}
			w.Advance(13 * time.Minute)
		}},
		{"StatusChecksFailed", launched, func(w *provisioningtest.World) {
			failChecks(w, awssim.SystemStatusCheck)
			w.Advance(13 * time.Minute)
		}},
		{"NodeGone", launched, func(w *provisioningtest.World) {
			member := w.Members()[0]
			w.Update(&member, func() { member.Finalizers = nil })
			w.Delete(&member)
			w.Advance(17 * time.Minute)
		}},
		{"NodeNotInitialized", func(t *testing.T) *provisioningtest.World {
			w := provisioningtest.New(t, provisioningtest.Options{})
			w.Provision("default")
			w.Pod("pod")
			w.Settle()
			return w
		}, func(w *provisioningtest.World) { w.Advance(16 * time.Minute) }},
		{"InstanceGone", launched, func(w *provisioningtest.World) {
			if _, err := w.EC2.TerminateInstances(w.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{w.Provisioned()[0].Status.InstanceID}}); err != nil {
				w.Fatal(err)
			}
			w.Advance(time.Minute)
		}},
		{"LaunchFailed", unlaunched("InvalidKeyPair.NotFound"), func(w *provisioningtest.World) { w.Settle() }},
		{"NodeDeleted", launched, func(w *provisioningtest.World) {
			w.Delete(&w.Members()[0])
			w.Advance(time.Minute)
		}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := row.world(t)
			w.Faulty = true
			row.happen(w)
			got := counted(w, "slipway_node_disruptions_total", "reason")
			if diff := cmp.Diff([]string{row.reason}, slices.Sorted(maps.Keys(got))); diff != "" {
				t.Errorf("the reasons are others (-want +got):\n%s\n%q", diff, w.Events())
			}
			if ended := counted(w, "slipway_node_decisions_total", "decision")["terminate"]; ended != got[row.reason] || ended == 0 {
				t.Errorf("%v nodes were disrupted, and %v terminated", got, ended)
			}
		})
	}
}
