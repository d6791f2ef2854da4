package scheduler

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/report"
)

// TestTold holds that a pass reports at most the allowed number of pods and none twice for one
// reason; that all pods are reported in the end though others' reasons change each time; and that
// the last reason of each is among the reported ones once reasons stay.
func TestTold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		pods, most := rapid.IntRange(1, 20).Draw(rt, "pods"), rapid.IntRange(1, 5).Draw(rt, "most")
		restless := rapid.IntRange(0, pods).Draw(rt, "pods whose reason changes")
		unplaced := make([]packing.Unplaced, pods)
		for i := range unplaced {
			unplaced[i] = packing.Unplaced{Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint(i))}}, Reason: "is large"}
		}
		var all told
		said := map[types.UID][]string{}
		pass := func() int {
			all.keep(unplaced, nil)
			next := all.next(unplaced, most)
			if len(next) > most {
				rt.Fatalf("%d pods are told of", len(next))
			}
			for _, one := range next {
				before := said[one.Pod.UID]
				if len(before) > 0 && before[len(before)-1] == one.Reason {
					rt.Fatalf("pod %s is told twice: %q", one.Pod.UID, before)
				}
				said[one.Pod.UID] = append(before, one.Reason)
			}
			return len(next)
		}
		enough := (pods + most - 1) / most
		for i := range enough {
			for j := range restless {
				unplaced[j].Reason = fmt.Sprintf("is large, for reason %d", i)
			}
			pass()
		}
		if len(said) != pods || len(all) != pods {
			rt.Fatalf("of %d pods %d are told in %d passes, and %d known", pods, len(said), enough, len(all))
		}
		for range enough {
			pass()
		}
		if again := pass(); again > 0 {
			rt.Errorf("%d pods are told again, though nothing is another", again)
		}
		for i := range unplaced {
			notes := said[unplaced[i].Pod.UID]
			if last := notes[len(notes)-1]; last != unplaced[i].Reason {
				rt.Errorf("pod %d was told last that it %s, and it %s", i, last, unplaced[i].Reason)
			}
		}
		all.keep(unplaced[:1], nil)
		if len(all) != 1 {
			rt.Errorf("%d pods are remembered, and one waits", len(all))
		}
	})
}

// TestReportsAreBounded holds that a backlog of pods is reported within minutes, by a bounded
// number of events per minute to the API server, and with no further pass when all pods are
// reported though their reasons change.
func TestReportsAreBounded(t *testing.T) {
	t.Parallel()
	clk := testclock.NewFakeClock(time.Unix(1_000_000, 0))
	events := newPodEvents(report.Reporter{}, clk)
	unplaced := make([]packing.Unplaced, 20_000)
	for i := range unplaced {
		unplaced[i] = packing.Unplaced{Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint(i))}}, Reason: "is large"}
	}
	var all told
	var written []time.Time
	began := clk.Now()
	for {
		again := events.write(&all, unplaced, func(packing.Unplaced) { written = append(written, clk.Now()) })
		if again == 0 {
			break
		}
		if again < tellAgain {
			t.Fatalf("the next pass comes after %s", again)
		}
		clk.Step(again)
	}
	if took := clk.Since(began); took > 10*time.Minute || len(written) != len(unplaced) {
		t.Errorf("%d pods are told within %s", len(written), took)
	}
	for i := mostEvents; i < len(written); i++ {
		if within := written[i].Sub(written[i-mostEvents]); within < time.Minute {
			t.Fatalf("%d events are written within %s", mostEvents+1, within)
		}
	}
	for i := range unplaced {
		unplaced[i].Reason = "is larger"
	}
	clk.Step(time.Minute)
	if again := events.write(&all, unplaced, func(packing.Unplaced) {}); again != 0 {
		t.Errorf("reasons have changed, and the next pass comes after %s", again)
	}
}

// TestUnkept holds when a pod that has a place and is not put there is reported: once per place,
// and no sooner than the scheduler may take.
func TestUnkept(t *testing.T) {
	t.Parallel()
	pods := []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{UID: "a"}}, {ObjectMeta: metav1.ObjectMeta{UID: "b"}}}
	began := time.Now()
	var all unkept
	for _, row := range []struct {
		reason string
		after  time.Duration
		places map[types.UID]string
		told   int
	}{
		{"places are found", 0, map[types.UID]string{"a": "n", "b": "n"}, 0},
		{"the scheduler may take its time", bindingTime - 1, map[types.UID]string{"a": "n", "b": "n"}, 0},
		{"one is told of at a time", bindingTime, map[types.UID]string{"a": "n", "b": "n"}, 1},
		{"then the other", bindingTime, map[types.UID]string{"a": "n", "b": "n"}, 1},
		{"none is told of again", 2 * bindingTime, map[types.UID]string{"a": "n", "b": "n"}, 0},
		{"another place is a new beginning", 3 * bindingTime, map[types.UID]string{"a": "m", "b": "n"}, 0},
		{"of which is told too", 4 * bindingTime, map[types.UID]string{"a": "m", "b": "n"}, 1},
		{"who lost its place is forgotten", 5 * bindingTime, nil, 0},
		{"and begins anew", 6 * bindingTime, map[types.UID]string{"a": "m"}, 0},
	} {
		if told := all.next(row.places, pods, began.Add(row.after), 1); len(told) != row.told {
			t.Errorf("%s: %d are told of, want %d", row.reason, len(told), row.told)
		}
	}
}
