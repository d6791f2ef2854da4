package packing_test

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

// BenchmarkPack measures pods per second of processor time, what is allocated for each, and what the nodes cost.
func BenchmarkPack(b *testing.B) {
	for _, c := range []struct {
		name      string
		pods      func() []packing.Pod
		templates int
	}{
		{"diverse-1000", func() []packing.Pod { return diverse(1000, 42) }, 0},
		{"diverse-5000", func() []packing.Pod { return diverse(5000, 42) }, 0},
		{"diverse-20000", func() []packing.Pod { return diverse(20000, 42) }, 0},
		{"equal-20000", func() []packing.Pod { return equal(20000) }, 0},
		{"diverse-5000/templates-1", func() []packing.Pod { return diverse(5000, 42) }, 1},
		{"diverse-5000/templates-10", func() []packing.Pod { return diverse(5000, 42) }, 10},
		{"diverse-5000/templates-50", func() []packing.Pod { return diverse(5000, 42) }, 50},
		{"equal-20000/templates-1", func() []packing.Pod { return equal(20000) }, 1},
		{"equal-20000/templates-10", func() []packing.Pod { return equal(20000) }, 10},
		{"equal-20000/templates-50", func() []packing.Pod { return equal(20000) }, 50},
	} {
		b.Run(c.name, func(b *testing.B) {
			problem := &packing.Problem{Provisioners: []packing.Provisioner{provisioner()}, Types: linearTypes(400), Pods: c.pods()}
			if c.templates > 0 {
				problem.Pods, problem.Templates = withTemplates(problem.Pods, c.templates)
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

// processorTime is what the process used of its processors.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(fmt.Errorf("reading the processor time: %w", err))
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
