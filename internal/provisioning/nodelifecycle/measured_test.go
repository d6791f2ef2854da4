package nodelifecycle_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// sampled returns how many samples a histogram has, by the value of one of its labels.
func sampled(w *provisioningtest.World, name, label string) map[string]uint64 {
	w.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(w.Progress)
	families, err := registry.Gather()
	if err != nil {
		w.Fatal(err)
	}
	values := map[string]uint64{}
	for _, family := range families {
		for _, series := range family.GetMetric() {
			for _, pair := range series.GetLabel() {
				if family.GetName() == name && pair.GetName() == label {
					values[pair.GetValue()] += series.GetHistogram().GetSampleCount()
				}
			}
		}
	}
	return values
}

// TestLifeIsMeasured holds what is measured of a node from its launch to its deletion: the batches,
// the eviction of its pod, each stage of the deletion, and its lifetime.
func TestLifeIsMeasured(t *testing.T) {
	t.Parallel()
	w := inOneZone(t, 1)
	w.Delete(&w.Members()[0])
	w.Advance(time.Minute)
	w.Advance(time.Minute)
	if diff := cmp.Diff(map[string]float64{"accepted": 1}, counted(w, "slipway_evictions_total", "outcome")); diff != "" {
		t.Errorf("evictions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]uint64{"drained": 1, "terminated": 1, "gone": 1}, sampled(w, "slipway_node_termination_seconds", "stage")); diff != "" {
		t.Errorf("stages of the end (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]uint64{"default": 1}, sampled(w, "slipway_node_lifetime_seconds", "provisioner")); diff != "" {
		t.Errorf("lifetimes (-want +got):\n%s", diff)
	}
	// The pod gets another node before it is evicted.
	if diff := cmp.Diff(map[string]uint64{"pods": 2, "launch": 2, "terminate": 1}, sampled(w, "slipway_batch_size", "batch")); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
}

// TestLaunchFailuresAreCounted holds that failures of launches are counted by what they are about.
func TestLaunchFailuresAreCounted(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		fault awssim.Fault
		want  string
	}{
		{awssim.Fault{Code: "InvalidKeyPair.NotFound", Status: 400}, "Template"},
		{awssim.Fault{Code: "UnauthorizedOperation", Status: 403}, "Account"},
		{awssim.Fault{Code: "InternalError", Status: 500}, "Moment"},
	} {
		w := provisioningtest.New(t, provisioningtest.Options{})
		w.Faulty = true
		w.Provision("default")
		row.fault.Service, row.fault.Action = "ec2", "CreateFleet"
		if _, err := w.Sim.AddFault(row.fault); err != nil {
			t.Fatal(err)
		}
		w.Pod("pod")
		w.Settle()
		if got := counted(w, "slipway_launch_failures_total", "reason"); got[row.want] == 0 || len(got) != 1 {
			t.Errorf("%s is counted as %v, want %s", row.fault.Code, got, row.want)
		}
	}
}
