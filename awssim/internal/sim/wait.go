package sim

import "time"

// NotYetError is returned by a handler that has nothing to answer yet. The request is served again,
// as Resumed, when Wake is closed or Until has come, whichever is first. The kernel's lock is free
// meanwhile.
type NotYetError struct {
	Until time.Time
	Wake  <-chan struct{}
}

// Error implements error.
func (w *NotYetError) Error() string { return "waiting until " + w.Until.Format(time.RFC3339Nano) }
