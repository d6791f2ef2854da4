package sim

import (
	"slices"
	"sync"
	"time"
)

// CallRecord is one line of the call log. Code is empty and Status 200 for a call that succeeded;
// Status is 0 for one whose connection was dropped before it was answered.
type CallRecord struct {
	Time        time.Time `json:"time"`
	Service     string    `json:"service"`
	Action      string    `json:"action"`
	Principal   string    `json:"principal"`
	RequestID   string    `json:"requestId"`
	ClientToken string    `json:"clientToken"`
	UserAgent   string    `json:"userAgent"`
	Status      int       `json:"status"`
	Code        string    `json:"code"`

	Account string `json:"account"`
	Region  string `json:"region"`
}

// Begin gives a request its id and the time it arrived. Request ids have a source of their own, so
// that polling does not change which identifiers resources get.
func (k *Kernel) Begin() (requestID string, at time.Time) {
	k.Locked(func() { requestID, at = uuid(k.requests.hex(32)), k.now })
	return requestID, at
}

// CallLog holds the calls that were answered. Its methods may be called from anywhere.
type CallLog struct {
	mu    sync.Mutex
	calls []CallRecord
}

// Record adds a call to the log. Calls are logged in the order in which they took effect, or were
// answered if they had none.
func (l *CallLog) Record(c CallRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, c)
}

// Calls returns the log.
func (l *CallLog) Calls() []CallRecord {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.calls)
}

// Clear empties the log.
func (l *CallLog) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = nil
}
