package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/bench/workload"
)

// TestGoals holds that the table states for each goal whether it is met in every case.
func TestGoals(t *testing.T) {
	t.Parallel()
	of := func(templates int) workload.Case {
		return workload.Case{Kind: "diverse", Number: 100, Templates: templates}
	}
	took := func(cpu time.Duration, price float64) outcome { return outcome{Placed: 100, CPU: cpu, Price: price} }
	beside := func(cpu time.Duration, price float64) *outcome { one := took(cpu, price); return &one }
	for _, row := range []struct {
		reason string
		all    []measurement
		want   string
	}{
		{"all goals are met", []measurement{
			{of(1), took(time.Second, 1), beside(20*time.Second, 2)},
			{of(50), took(2*time.Second, 1), beside(60*time.Second, 1)},
		}, `
| goal | measured | |
|---|---|---|
| ten times Karpenter's pods per CPU second, in every case | 20 to 30 times, in 2 cases | met |
| flat in the number of launch templates: at most twice the CPU time for 50 times as many | at most 2.0 times for the same pods | met |
| nodes no dearer than Karpenter's, in every case | -50 % to +0 % | met |
`},
		{"one case misses each", []measurement{
			{of(1), took(time.Second, 1), beside(20*time.Second, 2)},
			{of(50), took(3*time.Second, 2.2), beside(15*time.Second, 2)},
		}, `
| goal | measured | |
|---|---|---|
| ten times Karpenter's pods per CPU second, in every case | 5 to 20 times, in 2 cases | **not met** |
| flat in the number of launch templates: at most twice the CPU time for 50 times as many | at most 3.0 times for the same pods | **not met** |
| nodes no dearer than Karpenter's, in every case | -50 % to +10 % | **not met** |
`},
		{"no other scheduler was measured", []measurement{{of(1), took(time.Second, 1), nil}}, ""},
	} {
		if diff := cmp.Diff(row.want, goals(row.all)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}
