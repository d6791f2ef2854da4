package launching

import "time"

const (
	// quiet is how long no pod must have come for a batch to be complete, and longest how long one is kept open.
	quiet   = 100 * time.Millisecond
	longest = time.Second
	// calm is how long nothing must have been launched for a pod to be served at once.
	calm = 2 * time.Second
)

// Window says when to launch for pods that wait: at once when nothing was launched a moment ago, else when no more pods come. It is for one goroutine.
type Window struct {
	launched, opened, grew time.Time
	pods                   int
}

// Wait is how long to wait for further pods, 0 for no longer. Pods is how many wait now.
func (w *Window) Wait(now time.Time, pods int) time.Duration {
	if now.Sub(w.launched) >= calm {
		return 0
	}
	if w.opened.IsZero() {
		w.opened, w.pods, w.grew = now, pods, now
	}
	if pods != w.pods {
		w.pods, w.grew = pods, now
	}
	return max(min(w.grew.Add(quiet).Sub(now), w.opened.Add(longest).Sub(now)), 0)
}

// Launched begins anew.
func (w *Window) Launched(now time.Time) { *w = Window{launched: now} }
