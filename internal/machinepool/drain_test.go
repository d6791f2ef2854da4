package machinepool

import (
	"testing"
	"time"

	"github.com/slipway-project/slipway/internal/autoscalinggroup"
)

// TestDrainSaysUntilWhen holds that a node whose pods are held is shown with the time at which its
// instance is terminated all the same, which is the same in every pass.
func TestDrainSaysUntilWhen(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, time.November, 22, 10, 0, 0, 700_000_000, time.FixedZone("", 3600))
	held := departure{
		Instance: autoscalinggroup.Instance{ID: "i-1"}, node: "one", state: "1 pod held by PodDisruptionBudget default/web",
		since: since, until: since.Add(15 * time.Minute),
	}
	recorded := held // as a later pass has it, from the annotation
	recorded.since = since.Truncate(time.Second)
	recorded.until = recorded.since.Add(15 * time.Minute)
	const want = "node one (i-1): 1 pod held by PodDisruptionBudget default/web, until 2026-11-22T09:15:00Z at the latest"
	for reason, d := range map[string]departure{"in the first pass": held, "in a later one": recorded} {
		if got := describe([]departure{d}); got != want {
			t.Errorf("%s: %q, want %q", reason, got, want)
		}
	}
	if got := describe([]departure{held, held}); got != want+"; "+want {
		t.Errorf("two nodes: %q", got)
	}
}
