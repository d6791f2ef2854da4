package scheduler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/slipway-project/slipway/internal/metrics"
)

// TestStartups holds how long pods are seen to take from when they wait to when they are placed,
// bound, and running, and that nothing is kept of pods that run or are gone.
func TestStartups(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	clk := clocktesting.NewFakePassiveClock(start)
	startups := &Startups{Progress: metrics.NewProgress(), Clock: clk}
	at := func(seconds int) { clk.SetTime(start.Add(time.Duration(seconds) * time.Second)) }
	pod := func(name string, edit ...func(*corev1.Pod)) *corev1.Pod {
		made := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Status: corev1.PodStatus{
			Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}},
		}}
		for _, one := range edit {
			one(made)
		}
		return made
	}
	bound := func(pod *corev1.Pod) { pod.Spec.NodeName = "n" }
	running := func(pod *corev1.Pod) { bound(pod); pod.Status.Phase = corev1.PodRunning }
	startups.See(pod("one"))
	startups.See(pod("never waited", running))
	at(1)
	startups.See(pod("two"))
	startups.See(pod("three"))
	at(2)
	startups.Place(map[types.UID]string{"one": "a", "two": "a", "stranger": "a"})
	startups.Place(map[types.UID]string{"one": "b"})
	if unbound, unstarted := startups.Oldest(); !unbound.Equal(start) || !unstarted.Equal(start) {
		t.Errorf("the oldest wait since %v and %v", unbound, unstarted)
	}
	at(40)
	startups.See(pod("one", bound))
	startups.See(pod("one", bound))
	if unbound, unstarted := startups.Oldest(); unbound.Sub(start) != time.Second || !unstarted.Equal(start) {
		t.Errorf("the oldest wait since %v and %v", unbound, unstarted)
	}
	at(50)
	startups.See(pod("one", running))
	startups.See(pod("one", running))
	startups.See(pod("two", running)) // its binding was not seen
	startups.Forget("three")
	if unbound, unstarted := startups.Oldest(); len(startups.pods) > 0 || !unbound.IsZero() || !unstarted.IsZero() {
		t.Errorf("it remembers %v, waiting since %v and %v", startups.pods, unbound, unstarted)
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(startups.Progress)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][2]float64{}
	for _, family := range families {
		if family.GetName() != "slipway_pod_startup_seconds" {
			continue
		}
		for _, metric := range family.GetMetric() {
			got[metric.GetLabel()[0].GetValue()] = [2]float64{float64(metric.GetHistogram().GetSampleCount()), metric.GetHistogram().GetSampleSum()}
		}
	}
	if diff := cmp.Diff(map[string][2]float64{"placed": {2, 3}, "bound": {2, 89}, "running": {2, 99}}, got); diff != "" {
		t.Errorf("samples and sums (-want +got):\n%s", diff)
	}
	var none *Startups
	none.See(pod("one"))
	none.Place(nil)
	none.Forget("one")
	if unbound, unstarted := none.Oldest(); !unbound.IsZero() || !unstarted.IsZero() {
		t.Errorf("without measurements, the oldest wait since %v and %v, want never", unbound, unstarted)
	}
}
