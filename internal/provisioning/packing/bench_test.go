package packing_test

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-project/slipway/bench/workload"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/packing/packtest"
)

// BenchmarkPack measures pods per second of processor time, what is allocated for each, and what
// the nodes cost. It is for profiles; what is compared with others is measured by bench/packing.
func BenchmarkPack(b *testing.B) {
	problems := map[string]*packing.Problem{
		"4000 preferring": {Provisioners: []packing.Provisioner{packtest.Provisioner()}, Types: packtest.LinearTypes(400), Pods: preferring(packtest.Diverse(4000, 42))},
	}
	for _, c := range workload.Cases {
		problems[c.Name()] = c.Problem().Packing()
	}
	for _, name := range slices.Sorted(maps.Keys(problems)) {
		b.Run(name, func(b *testing.B) {
			problem := problems[name]
			var result *packing.Result
			b.ReportAllocs()
			runtime.GC()
			before := processorTime(b)
			for b.Loop() {
				result = packing.Pack(problem)
			}
			spent := processorTime(b) - before
			placed := len(problem.Pods) - len(result.Unplaced)
			b.ReportMetric(float64(len(problem.Pods))*float64(b.N)/spent.Seconds(), "pods/cpu-s")
			b.ReportMetric(float64(len(result.New)), "nodes")
			b.ReportMetric(result.Price(), "price")
			b.ReportMetric(float64(placed), "placed")
		})
	}
}

// preferring has pods prefer what they required of others.
func preferring(pods []packing.Pod) []packing.Pod {
	for i := range pods {
		spec := &pods[i].Spec
		for j := range spec.TopologySpreadConstraints {
			spec.TopologySpreadConstraints[j].WhenUnsatisfiable = corev1.ScheduleAnyway
		}
		if affinity := spec.Affinity; affinity != nil && affinity.PodAffinity != nil {
			affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = weighted(affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
			affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
		}
		if affinity := spec.Affinity; affinity != nil && affinity.PodAntiAffinity != nil {
			affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = weighted(affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
			affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
		}
	}
	return pods
}

func weighted(terms []corev1.PodAffinityTerm) []corev1.WeightedPodAffinityTerm {
	var all []corev1.WeightedPodAffinityTerm
	for _, term := range terms {
		all = append(all, corev1.WeightedPodAffinityTerm{Weight: 50, PodAffinityTerm: term})
	}
	return all
}

// processorTime returns the processor time that the process has used so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(fmt.Errorf("reading the processor time: %w", err))
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
