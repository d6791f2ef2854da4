package sim

import "time"

// WakeUp has something done at the earliest of the times that it was asked for, once. The zero value
// is ready to use.
type WakeUp struct{ at time.Time }

// In has f run once d has passed, unless an earlier time is already due. Its caller passes the same
// function each time.
func (w *WakeUp) In(k *Kernel, d time.Duration, f func()) {
	at := k.Now().Add(max(d, 0))
	if !w.at.IsZero() && !at.Before(w.at) {
		return
	}
	w.at = at
	k.After(d, func() {
		if w.at.Equal(at) {
			w.at = time.Time{}
			f()
		}
	})
}
