package packing_test

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/packing/packtest"
)

// BenchmarkPack measures pods per second of processor time, what is allocated for each, and what the nodes cost.
func BenchmarkPack(b *testing.B) {
	for _, c := range []struct {
		name      string
		pods      func() []packing.Pod
		templates int
	}{
		{"diverse-1000", func() []packing.Pod { return packtest.Diverse(1000, 42) }, 0},
		{"diverse-5000", func() []packing.Pod { return packtest.Diverse(5000, 42) }, 0},
		{"diverse-20000", func() []packing.Pod { return packtest.Diverse(20000, 42) }, 0},
		{"equal-20000", func() []packing.Pod { return packtest.Equal(20000) }, 0},
		{"preferring-4000", func() []packing.Pod { return preferring(packtest.Diverse(4000, 42)) }, 0},
		{"diverse-5000/templates-1", func() []packing.Pod { return packtest.Diverse(5000, 42) }, 1},
		{"diverse-5000/templates-10", func() []packing.Pod { return packtest.Diverse(5000, 42) }, 10},
		{"diverse-5000/templates-50", func() []packing.Pod { return packtest.Diverse(5000, 42) }, 50},
		{"equal-20000/templates-1", func() []packing.Pod { return packtest.Equal(20000) }, 1},
		{"equal-20000/templates-10", func() []packing.Pod { return packtest.Equal(20000) }, 10},
		{"equal-20000/templates-50", func() []packing.Pod { return packtest.Equal(20000) }, 50},
	} {
		b.Run(c.name, func(b *testing.B) {
			problem := &packing.Problem{Provisioners: []packing.Provisioner{packtest.Provisioner()}, Types: packtest.LinearTypes(400), Pods: c.pods()}
			if c.templates > 0 {
				problem.Pods, problem.Templates = packtest.WithTemplates(problem.Pods, c.templates)
			}
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

// processorTime is what the process used of its processors.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(fmt.Errorf("reading the processor time: %w", err))
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
