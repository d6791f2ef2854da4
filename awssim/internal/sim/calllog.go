package sim

import (
	"slices"
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

// Record adds a call to the log. Calls are logged in the order in which they took effect, or were
// answered if they had none.
func (k *Kernel) Record(c CallRecord) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls = append(k.calls, c)
}

// Calls returns the log.
func (k *Kernel) Calls() []CallRecord {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.calls)
}

// ClearCalls empties the log.
func (k *Kernel) ClearCalls() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls = nil
}
