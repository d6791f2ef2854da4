package bench

import (
	"strings"
	"testing"
	"time"
)

func TestProvisionerMarkdown(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		result ProvisionerResult
		want   []string
	}{
		{"both goals are met", ProvisionerResult{
			Options: ProvisionerOptions{Latency: 100 * time.Millisecond, Apart: 3 * time.Second, Pods: 20000},
			Waits:   []time.Duration{3 * time.Second, 100 * time.Millisecond, 200 * time.Millisecond}, Peak: 299 << 20,
		}, []string{"| 0.20 s; at best 0.10 s, at worst 3.00 s (3 pods, 3s apart, AWS answering in 100ms) | met |", "| at most 299 MB resident (20000 pods) | met |"}},
		{"both are missed", ProvisionerResult{Options: ProvisionerOptions{Pods: 20000}, Waits: []time.Duration{time.Second}, Peak: 301 << 20},
			[]string{"| 1.00 s; at best 1.00 s, at worst 1.00 s (1 pods, 0s apart, AWS answering in 0s) | **not met** |", "| at most 301 MB resident (20000 pods) | **not met** |"}},
		{"a stream costs little more", ProvisionerResult{
			Stream: Launched{Nodes: 12, USD: 10.9}, AtOnce: Launched{Nodes: 10, USD: 10}, StreamWaits: &Histogram{Bounds: []float64{1, 2}, Counts: []uint64{5, 12}, Count: 12},
		}, []string{"| +9.0 %: 12 nodes for 10.90 USD an hour rather than 10 for 10.00; a node's first pod waited at most 2 s at the median | met |"}},
		{"a stream costs much more", ProvisionerResult{Stream: Launched{Nodes: 20, USD: 20}, AtOnce: Launched{Nodes: 10, USD: 10}}, []string{"| +100.0 %: 20 nodes", "| **not met** |"}},
		{"few pods show nothing of many", ProvisionerResult{Options: ProvisionerOptions{Pods: 500}, Peak: 97 << 20}, []string{"| at most 97 MB resident (500 pods) | not measured |"}},
	} {
		text := ProvisionerMarkdown(&row.result)
		for _, want := range row.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: there is no %q in:\n%s", row.reason, want, text)
			}
		}
	}
}
