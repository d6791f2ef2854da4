package observe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/internal/aws"
)

// held has descriptions wait until they are let go. It returns a function that waits until so many
// are under way.
func (r *rig) held() (underWay func(int), letGo func()) {
	gate, arrived := make(chan struct{}), make(chan struct{}, 100)
	r.fail = func([]string) error {
		arrived <- struct{}{}
		<-gate
		return nil
	}
	return func(n int) {
		for range n {
			<-arrived
		}
	}, func() { close(gate) }
}

// waiting blocks until so many names wait to be asked, each counted once per caller.
func (r *rig) waiting(names int) {
	for {
		r.sweep.batches.mu.Lock()
		count := 0
		for _, question := range r.sweep.batches.questions {
			for _, askers := range question.askers {
				count += len(askers)
			}
		}
		r.sweep.batches.mu.Unlock()
		if count == names {
			return
		}
	}
}

// TestQuestionsAreAskedTogether holds that questions that come while descriptions are under way are
// asked together: a thousand objects that ask at once cost a few calls.
func TestQuestionsAreAskedTogether(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4)
	underWay, letGo := r.held()
	var askers sync.WaitGroup
	ask := func(who int, fresh bool, names ...string) {
		for _, name := range names {
			r.set(name, "value of "+name)
		}
		askers.Go(func() {
			found, err := r.sweep.Get(t.Context(), object(fmt.Sprint(who)), names, fresh)
			if err != nil || len(found) != len(names) {
				t.Errorf("%d found %v, error %v", who, found, err)
			}
			for name, value := range found {
				if value != "value of "+name {
					t.Errorf("%d found %v", who, found)
				}
			}
		})
	}
	for i := range askedAtOnce {
		ask(i, false, fmt.Sprint("first", i))
		underWay(1)
	}
	ask(10, false, "a", "a-hash")
	r.waiting(2)
	ask(11, true, "a", "a-hash")
	r.waiting(4)
	ask(12, false, "b", "b-hash")
	r.waiting(6)
	ask(13, false, "c", "c-hash")
	r.waiting(8)
	letGo()
	askers.Wait()
	slices.SortFunc(r.calls, slices.Compare)
	r.expect("a full question is followed by another one, and no object that asked is woken", [][]string{
		{"a", "a-hash", "b", "b-hash"}, {"c", "c-hash"}, {"first0"}, {"first1"},
	})
}

// TestQuestionsAreSpaced holds that callers that ask one after the other share descriptions too, if
// they ask within the same moment, and that a single caller is answered at once.
func TestQuestionsAreSpaced(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10)
	real := simclock.New(time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC), 0)
	t.Cleanup(real.Close)
	const spacing = 200 * time.Millisecond
	r.sweep.batches.clock, r.sweep.batches.spacing = real, spacing
	r.get("one", false, "a")
	var askers sync.WaitGroup
	for _, name := range []string{"b", "c", "d"} {
		askers.Go(func() { r.get(name, false, name) })
	}
	r.waiting(3)
	for real.Step(spacing - 1); ; {
		if _, waits := real.Next(); waits {
			break
		}
	}
	r.expect("the second question waits for its turn", [][]string{{"a"}})
	real.Step(spacing)
	askers.Wait()
	r.expect("and is asked for all who came meanwhile", [][]string{{"b", "c", "d"}})
	real.Step(spacing)
	r.get("one", true, "a")
	r.expect("later one is asked for at once", [][]string{{"a"}})
}

func TestWhoGivesUpDoesNotFailOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4)
	r.set("a", "1")
	underWay, letGo := r.held()
	ctx, cancel := context.WithCancel(t.Context())
	var askers sync.WaitGroup
	askers.Go(func() {
		if _, err := r.sweep.Get(ctx, object("one"), []string{"a"}, false); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
	underWay(1)
	cancel()
	askers.Wait()
	letGo()
	// The answer comes without the one who asked for it.
	for {
		if found, known := r.sweep.known([]string{"a"}); known {
			if found["a"] != "1" {
				t.Errorf("found %v", found)
			}
			return
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10)
	broken, lists := errors.New("broken"), 0
	var failure error
	r.sweep.source.List = func(context.Context) (map[string]string, error) {
		lists++
		return maps.Collect(func(yield func(string, string) bool) {
			for i := range 5 {
				name := fmt.Sprint("ours", i)
				if value, exists := r.world[name]; exists && !yield(name, value) {
					return
				}
			}
		}), failure
	}
	for i := range 5 {
		r.set(fmt.Sprint("ours", i), "1")
	}
	r.set("foreign", "1")
	failure = broken
	if _, err := r.sweep.Get(t.Context(), object("0"), []string{"ours0"}, false); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	failure = nil
	for i := range 3 {
		name := fmt.Sprint("ours", i)
		if found := r.get(fmt.Sprint(i), false, name, name+"-hash"); found[name] != "1" || len(found) != 1 {
			t.Errorf("%d found %v", i, found)
		}
	}
	r.expect("what was listed is not asked for, and neither is the other name that it might have", nil)
	if found := r.get("foreigner", false, "foreign", "foreign-hash"); found["foreign"] != "1" {
		t.Errorf("found %v", found)
	}
	r.expect("what was not listed is asked for, because another party may own it", [][]string{{"foreign", "foreign-hash"}})
	r.sweep.Forget(object("0"))
	r.get("0", false, "ours0")
	r.expect("what was listed is good for one watch", [][]string{{"ours0"}})
	r.set("ours3", "2")
	if found := r.get("3", true, "ours3"); found["ours3"] != "2" {
		t.Errorf("found %v", found)
	}
	r.expect("who wants it fresh gets it fresh", [][]string{{"ours3"}})
	r.sweep.sweep(t.Context(), true)
	r.expect("", [][]string{{"foreign", "ours0", "ours1", "ours2", "ours3"}})
	r.get("4", false, "ours4")
	r.expect("after a sweep the list is too old", [][]string{{"ours4"}})
	if lists != 2 {
		t.Errorf("listed %d times, want once after a failure", lists)
	}
}

// TestQuestionsHeldBackAreAskedTogether holds that names which the request budget held back are asked
// with the first caller that returns: of a thousand callers that wait, each few need not send a request
// of their own.
func TestQuestionsHeldBackAreAskedTogether(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4)
	r.fail = func([]string) error {
		return &aws.ThrottledError{Service: "autoscaling", Action: "DescribeAutoScalingGroups", RetryAfter: time.Second}
	}
	names := []string{"a", "b", "c", "d", "e", "f"}
	for _, name := range names {
		r.set(name, "1")
		if _, err := r.sweep.Get(t.Context(), object(name), []string{name}, false); !aws.IsHeldBack(err) {
			t.Errorf("%s gets error %v", name, err)
		}
	}
	r.calls, r.fail = nil, nil
	for _, name := range slices.Backward(names) {
		if found := r.get(name, false, name); found[name] != "1" {
			t.Errorf("%s finds %v", name, found)
		}
	}
	r.expect("as many names as fit are asked together, and no object that asked is woken", [][]string{{"a", "b", "c", "f"}, {"d", "e"}})
}
