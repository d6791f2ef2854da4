package reconciling

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TestTurnsDoNotDependOnTheProcess holds that what is checked at rest is checked once in every
// interval, however often the manager is started.
func TestTurnsDoNotDependOnTheProcess(t *testing.T) {
	t.Parallel()
	const interval = time.Hour
	for _, share := range []float64{0, 0.25, 0.999} {
		at := time.Date(2026, time.November, 22, 10, 17, 31, 0, time.UTC)
		turn := nextTurn(at, interval, share)
		if wait := turn.Sub(at); wait <= 0 || wait > interval {
			t.Errorf("share %v: the turn is in %s", share, wait)
		}
		if again := nextTurn(turn.Add(-time.Second), interval, share); !again.Equal(turn) {
			t.Errorf("share %v: a process that starts a second before the turn waits until %s, not %s", share, again, turn)
		}
		if after := nextTurn(turn, interval, share); !after.Equal(turn.Add(interval)) {
			t.Errorf("share %v: the turn after %s is %s", share, turn, after)
		}
	}
}

// TestTurnsAreSpread holds that the turns of pools with similar names do not come together: no hour
// of a day, and no minute of an hour, has many more than its share. A random spread would exceed
// these bounds less than once in a thousand times.
func TestTurnsAreSpread(t *testing.T) {
	t.Parallel()
	const pools = 1000
	for _, row := range []struct {
		interval, slot time.Duration
		least, most    int
	}{
		{24 * time.Hour, time.Hour, 20, 70},
		{time.Hour, time.Minute, 3, 38},
	} {
		start := time.Date(2026, time.November, 22, 0, 0, 0, 0, time.UTC)
		turns := map[int]int{}
		for i := range pools {
			pool := types.NamespacedName{Namespace: "default", Name: fmt.Sprint("pool-", i)}
			turns[int(NextTurn(start, row.interval, pool).Sub(start)/row.slot)]++
		}
		for slot := range int(row.interval / row.slot) {
			if got := turns[slot]; got < row.least || got > row.most {
				t.Errorf("%s %d of %s: %d of %d pools have their turn", row.slot, slot, row.interval, got, pools)
			}
		}
	}
}
