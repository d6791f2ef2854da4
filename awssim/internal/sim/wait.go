package sim

import "time"

// NotYetError is what a handler returns in place of an answer if there is nothing to answer yet.
// The request is served once more, as Resumed, when Wake is closed or Until has come, whichever is
// first. Nobody holds the kernel's lock meanwhile.
type NotYetError struct {
	Until time.Time
	Wake  <-chan struct{}
}

// Error implements error.
func (w *NotYetError) Error() string { return "waiting until " + w.Until.Format(time.RFC3339Nano) }
