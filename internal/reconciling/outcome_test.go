package reconciling_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/slipway-project/slipway/internal/reconciling"
)

func TestRun(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	type outcomes []reconciling.Outcome
	for _, row := range []struct {
		reason string
		steps  outcomes
		ran    int
		after  time.Duration
		err    string
	}{
		{"no steps", nil, 0, 0, ""},
		{"all run", outcomes{reconciling.Continue(), reconciling.Continue()}, 2, 0, ""},
		{"one stops, and something watched will wake the object", outcomes{reconciling.Continue(), reconciling.Stop("x"), reconciling.Continue()}, 2, 0, ""},
		{"one stops until later", outcomes{reconciling.ComeBack(time.Minute, "x"), reconciling.Continue()}, 1, time.Minute, ""},
		{"later is now: not never", outcomes{reconciling.ComeBack(0, "x")}, 1, time.Nanosecond, ""},
		{"later has passed", outcomes{reconciling.ComeBack(-time.Minute, "x")}, 1, time.Nanosecond, ""},
		{"later has passed while others go on", outcomes{reconciling.ContinueAndComeBack(0, "x"), reconciling.Continue()}, 2, time.Nanosecond, ""},
		{"the soonest counts", outcomes{reconciling.ContinueAndComeBack(time.Hour, "x"), reconciling.ContinueAndComeBack(time.Minute, "y"), reconciling.ComeBack(2*time.Minute, "z")}, 3, time.Minute, ""},
		{"the last may be the soonest", outcomes{reconciling.ContinueAndComeBack(time.Hour, "x"), reconciling.ComeBack(time.Second, "z")}, 2, time.Second, ""},
		{"what was asked for stays when one stops", outcomes{reconciling.ContinueAndComeBack(time.Hour, "x"), reconciling.Stop("y")}, 2, time.Hour, ""},
		{"an error ends it, under the name of its step", outcomes{reconciling.ContinueAndComeBack(time.Hour, "x"), reconciling.Fail(broken), reconciling.Continue()}, 2, 0, "step 1: broken"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			var ran []int
			var steps []reconciling.Step[int]
			for i, outcome := range row.steps {
				steps = append(steps, reconciling.Step[int]{Name: "step " + string(rune('0'+i)), Run: func(_ context.Context, subject int) reconciling.Outcome {
					if subject != 7 {
						t.Errorf("subject %d", subject)
					}
					ran = append(ran, i)
					return outcome
				}})
			}
			result, err := reconciling.Run(t.Context(), 7, steps)
			if want := []int{0, 1, 2}[:row.ran]; !slices.Equal(ran, want) {
				t.Errorf("ran %v, want %v", ran, want)
			}
			if result.RequeueAfter != row.after {
				t.Errorf("after %s, want %s", result.RequeueAfter, row.after)
			}
			if row.err == "" && err != nil || row.err != "" && (err == nil || err.Error() != row.err || !errors.Is(err, broken)) {
				t.Errorf("error %v, want %q", err, row.err)
			}
		})
	}
}
