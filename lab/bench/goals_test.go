package bench

import (
	"strings"
	"testing"
	"time"
)

func TestGoalsTable(t *testing.T) {
	t.Parallel()
	calls := func(n int) map[string]int { return map[string]int{"DescribeAutoScalingGroups": n} }
	thousand := Result{Options: Options{Pools: 1000, Own: true, Latency: 100 * time.Millisecond}, Phases: []Phase{
		{Name: creating, Took: time.Minute, Calls: calls(5000), Memory: 140 << 20, CPU: 30 * time.Second},
		{Name: oneEdit, Answered: 600 * time.Millisecond},
		{Name: quietHour, Calls: calls(195)},
	}}
	hundred := Result{Options: Options{Pools: 100, Own: true, Unbounded: true}, Phases: []Phase{{Name: creating, Answered: 2500 * time.Millisecond, Calls: calls(340)}}}
	table := goalsTable([]Result{thousand, hundred})
	for start, end := range map[string]string{
		"| a quiet pool":                  "| 0.195 (1000 pools, AWS answering in 100ms) | met |",
		"| 100 pools are created in 3 s":  "| 2.50 s (100 pools, AWS answering in 0s, no bound to request rates) | met |",
		"| 100 pools are created in 12 s": "|  | not measured |",
		"| creating 100 pools costs":      "| 3.40 (100 pools, AWS answering in 0s, no bound to request rates) | met |",
		"| an edit":                       "| 0.60 s (1000 pools, AWS answering in 100ms) | **not met** |",
		"| a cold start with":             "|  | not measured |",
		"| memory":                        "140 MB (1000 pools, AWS answering in 100ms); 0 MB (100 pools, AWS answering in 0s, no bound to request rates) | met |",
		"| 99.9 %":                        "| not measured |",
	} {
		found := false
		for line := range strings.Lines(table) {
			found = found || strings.HasPrefix(line, start) && strings.HasSuffix(strings.TrimSpace(line), end)
		}
		if !found {
			t.Errorf("no row %q ends in %q:\n%s", start, end, table)
		}
	}
	few := goalsTable([]Result{{Options: Options{Pools: 100, Own: true}, Phases: []Phase{{Name: quietHour, Calls: calls(10)}}}})
	if !strings.Contains(few, "| a quiet pool among 1,000 costs at most 0.2 calls an hour | 0.100 (100 pools, AWS answering in 0s) | not measured |") {
		t.Errorf("a hundred pools show nothing of a thousand:\n%s", few)
	}
	three := Result{Options: Options{Pools: 100, Own: true, Managed: true}, Phases: []Phase{{Name: quietHour, Hours: 3, Calls: calls(330)}}}
	managed := goalsTable([]Result{three})
	if !strings.Contains(managed, "| a quiet managed pool among 100 costs at most 1.2 calls an hour | 1.100 (100 managed pools, AWS answering in 0s) | met |") {
		t.Errorf("three hours are not one:\n%s", managed)
	}
	if strings.Contains(managed, "| a quiet pool") || strings.Contains(table, "| a quiet managed pool") {
		t.Errorf("goals are about other pools:\n%s%s", managed, table)
	}
	three.Phases[0].Calls = calls(390)
	if missed := goalsTable([]Result{three}); !strings.Contains(missed, "| 1.300 (100 managed pools, AWS answering in 0s) | **not met** |") {
		t.Errorf("a goal is missed:\n%s", missed)
	}
}

// TestGrowth compares what a pool costs among many and among some.
func TestGrowth(t *testing.T) {
	t.Parallel()
	result := func(pools int, create, edit time.Duration, options Options) Result {
		options.Pools, options.Own = pools, true
		return Result{Options: options, Phases: []Phase{{Name: creating, CPU: create}, {Name: allEdited, CPU: edit}}}
	}
	for _, row := range []struct {
		reason  string
		results []Result
		want    string
	}{
		{"a tenth more", []Result{result(100, 3*time.Second, 2*time.Second, Options{}), result(1000, 33*time.Second, 20*time.Second, Options{})},
			"create: 33ms among 1000, 30ms among 100 (+10 %); all edited: 20ms among 1000, 20ms among 100 (+0 %) | met |"},
		{"half more of edits", []Result{result(100, 3*time.Second, 2*time.Second, Options{}), result(1000, 30*time.Second, 30*time.Second, Options{})},
			"create: 30ms among 1000, 30ms among 100 (+0 %); all edited: 30ms among 1000, 20ms among 100 (+50 %) | **not met** |"},
		{"only some pools", []Result{result(100, 3*time.Second, 2*time.Second, Options{})}, ""},
		{"some pools under other conditions", []Result{result(100, 3*time.Second, 2*time.Second, Options{Unbounded: true}), result(1000, 33*time.Second, 20*time.Second, Options{})}, ""},
	} {
		got := growth(row.results)
		if row.want == "" && got != "" || !strings.HasSuffix(strings.TrimSpace(got), row.want) {
			t.Errorf("%s: %q, want %q", row.reason, got, row.want)
		}
	}
}
