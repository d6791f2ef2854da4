package report_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-project/slipway/internal/report"
)

func TestStopwatches(t *testing.T) {
	t.Parallel()
	var watches report.Stopwatches
	start := time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC)
	one, two := types.NamespacedName{Name: "one"}, types.NamespacedName{Name: "two"}
	for _, step := range []struct {
		reason string
		object types.NamespacedName
		after  time.Duration
		want   time.Duration
	}{
		{"the first time", one, 0, 0},
		{"a while later", one, time.Minute, time.Minute},
		{"another object", two, time.Minute, 0},
		{"both run on", one, 2 * time.Minute, 2 * time.Minute},
		{"both run on", two, 2 * time.Minute, time.Minute},
	} {
		if got := watches.Elapsed(step.object, start.Add(step.after)); got != step.want {
			t.Errorf("%s: %s, want %s", step.reason, got, step.want)
		}
	}
	watches.Reset(one)
	if got := watches.Elapsed(one, start.Add(time.Hour)); got != 0 {
		t.Errorf("after a reset: %s", got)
	}
	if got := watches.Elapsed(two, start.Add(time.Hour)); got != 59*time.Minute {
		t.Errorf("the other: %s", got)
	}
}
