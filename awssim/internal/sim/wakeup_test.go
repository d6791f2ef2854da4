package sim

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWakeUp(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		asked  []time.Duration
		want   []string
	}{
		{"an earlier time takes the place of a later one", []time.Duration{3 * time.Second, time.Second}, []string{"1s"}},
		{"a later time adds nothing", []time.Duration{time.Second, 3 * time.Second}, []string{"1s"}},
		{"the same time adds nothing", []time.Duration{time.Second, time.Second}, []string{"1s"}},
		{"a time that has passed is now", []time.Duration{-time.Second}, []string{"0s"}},
	} {
		k, clock := newKernel(t, Settings{})
		var (
			ran    []string
			wakeUp WakeUp
		)
		note := func() { ran = append(ran, fmt.Sprint(k.Now().Sub(start))) }
		k.Locked(func() {
			for _, d := range row.asked {
				wakeUp.In(k, d, note)
			}
		})
		clock.Step(time.Hour)
		if diff := cmp.Diff(row.want, ran); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
		k.Locked(func() { wakeUp.In(k, time.Second, note) })
		clock.Step(time.Hour)
		if len(ran) != len(row.want)+1 {
			t.Errorf("%s: not woken once more: %q", row.reason, ran)
		}
	}
}
