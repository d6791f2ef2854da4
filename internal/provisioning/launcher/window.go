package launcher

import (
	"slices"
	"time"

	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

const (
	// quiet is the time without a new pod after which a batch is complete.
	quiet = 500 * time.Millisecond
	// calm is the time without a launch after which a pod is served at once. It also finishes a
	// stream of pods.
	calm = 2 * time.Second

	// DefaultLongest bounds how long a batch is kept open while pods keep coming. With longer
	// batches the median pod of a stream would wait for more than a second.
	DefaultLongest = 1500 * time.Millisecond

	// expectedOfBatch and expectedOfStream bound for how many future pods nodes have room: a
	// multiple of the pods of the last batch, and of the pods of the stream. The second bounds how
	// much room stays empty at the end of a stream. Both were measured: see
	// TestStreamsCostLittleMore.
	expectedOfBatch  = 2
	expectedOfStream = 0.1

	// mostRecent bounds how many pods of a stream are kept, as what those to come are like.
	mostRecent = 200
)

// Window decides when to launch for waiting pods: at once if nothing was launched recently, else
// when pods stop coming. It also decides for how many future pods the nodes should have room, while
// pods keep coming. It must be used by one goroutine.
type Window struct {
	longest                time.Duration
	launched, opened, grew time.Time
	pods                   int
	// streamed is how many pods nodes were launched for since the last calm, and recent the last of them.
	streamed int
	recent   []packing.Pod
}

// NewWindow returns a window that is open for some time at most.
func NewWindow(longest time.Duration) *Window { return &Window{longest: longest} }

// Wait returns how long to wait for further pods, 0 for no longer. Pods is the number of pods that
// wait now.
func (w *Window) Wait(now time.Time, pods int) time.Duration {
	if w.opened.IsZero() {
		if now.Sub(w.launched) >= calm {
			w.streamed, w.recent = 0, nil
			return 0
		}
		w.opened, w.pods, w.grew = now, pods, now
	}
	if pods != w.pods {
		w.pods, w.grew = pods, now
	}
	return max(min(w.grew.Add(quiet).Sub(now), w.opened.Add(w.longest).Sub(now)), 0)
}

// Waited returns for how long the window has been open.
func (w *Window) Waited(now time.Time) time.Duration {
	if w.opened.IsZero() {
		return 0
	}
	return now.Sub(w.opened)
}

// Expected returns the future pods that nodes for new pods should have room for in addition: copies
// of the pods of the stream, the latest first. A batch alone has too few sizes to decide which
// nodes suit the stream.
func (w *Window) Expected(pods []packing.Pod) []packing.Pod {
	if w.streamed == 0 {
		return nil
	}
	like := lastOf(w.recent, pods, min(int(float64(len(pods))*expectedOfBatch), int(float64(w.streamed+len(pods))*expectedOfStream)))
	slices.Reverse(like)
	return like
}

// lastOf returns the last of two lists that follow one another, a number of them at most. It keeps
// neither list alive: a backlog can be many thousand pods.
func lastOf(earlier, later []packing.Pod, number int) []packing.Pod {
	later = later[max(len(later)-number, 0):]
	return slices.Concat(earlier[max(len(earlier)-(number-len(later)), 0):], later)
}

// Launched begins anew, after nodes were launched for new pods.
func (w *Window) Launched(now time.Time, pods []packing.Pod) {
	*w = Window{longest: w.longest, launched: now, streamed: w.streamed + len(pods), recent: lastOf(w.recent, pods, mostRecent)}
}

// Idle closes a window that nothing was launched for: the next pod does not wait because of it.
func (w *Window) Idle() {
	w.opened, w.pods, w.grew = time.Time{}, 0, time.Time{}
}
