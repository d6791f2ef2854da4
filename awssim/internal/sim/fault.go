package sim

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Place is the moment of a call at which a fault happens.
type Place string

// The places.
const (
	Before      Place = "before"       // nothing has happened yet
	AfterEffect Place = "after-effect" // the handler has run, nothing has been answered
	AfterAnswer Place = "after-answer" // the answer has been sent
	// InUpdate is later than the call: it succeeds, and the update that it begins fails.
	InUpdate Place = "in-update"
)

// updateActions are the actions that begin an update which may fail after they were answered.
var updateActions = []string{"UpdateNodegroupConfig", "UpdateNodegroupVersion"}

// Fault disturbs chosen calls. Empty Service, Action, and Principal match all. Of Delay, Callback,
// Drop, and Code, the ones that are set happen, in this order.
type Fault struct {
	ID      string
	Service string
	Action  string
	// Nth is the first matching call, counted from 1 since the fault was set, that is struck; 0 is
	// every one.
	Nth int
	// Count is how many calls are struck. 0 is one if Nth is set, else no limit.
	Count int
	// Chance is the share of those calls that is struck, chosen by the seed; 0 is all of them.
	Chance float64
	// Principal is the ARN of the caller or what follows its first slash, such as the access key id
	// of long-term credentials or role/session.
	Principal string
	Place     Place // Before if empty

	Code    string
	Message string
	Status  int // 0 is 400
	// Delay is on the simulated clock. At InUpdate it is how long the update runs before it fails; one that
	// is complete before succeeds.
	Delay time.Duration
	// Drop closes the connection.
	Drop     bool
	Callback func(*FaultContext) `json:"-"`
}

// FaultContext is the argument of a fault's callback. The callback runs outside the kernel's lock.
type FaultContext struct {
	Fault     Fault
	Service   string
	Action    string
	Account   string
	Region    string
	Principal string
	RequestID string
	Input     any   // pointer to the SDK's input type; not to be changed
	Output    any   // the SDK's output type once the handler has run and succeeded
	Err       error // the handler's error
	// Drop, set by the callback, closes the connection.
	Drop bool
}

type armedFault struct {
	Fault
	seen int
}

// Check reports what is wrong with a fault.
func (f Fault) Check() error {
	if !slices.Contains([]Place{"", Before, AfterEffect, AfterAnswer, InUpdate}, f.Place) {
		return fmt.Errorf("fault %q: place %q is none of %q, %q, %q and %q", f.ID, f.Place, Before, AfterEffect, AfterAnswer, InUpdate)
	}
	switch {
	case f.Nth < 0 || f.Count < 0 || f.Delay < 0:
		return fmt.Errorf("fault %q: nth, count and delay must not be negative", f.ID)
	case f.Chance < 0 || f.Chance > 1:
		return fmt.Errorf("fault %q: a chance is between 0 and 1", f.ID)
	case f.Code == "" && f.Delay == 0 && !f.Drop && f.Callback == nil:
		return fmt.Errorf("fault %q: has none of code, delay, drop and callback", f.ID)
	}
	return f.checkError()
}

func (f Fault) checkError() error {
	switch {
	case f.Code == "" && (f.Message != "" || f.Status != 0):
		return fmt.Errorf("fault %q: message and status need a code", f.ID)
	case f.Code == "":
		return f.checkUpdate()
	case f.Place == AfterAnswer:
		return fmt.Errorf("fault %q: an error can not follow the answer", f.ID)
	case f.Status != 0 && (f.Status < 400 || f.Status > 599):
		return fmt.Errorf("fault %q: status %d is no error", f.ID, f.Status)
	}
	return f.checkUpdate()
}

// checkUpdate reports what is wrong with a fault of an update.
func (f Fault) checkUpdate() error {
	switch {
	case f.Place != InUpdate:
	case f.Code == "" || f.Status != 0 || f.Drop || f.Callback != nil:
		return fmt.Errorf("fault %q: the failure of an update has a code, and perhaps a message and a delay", f.ID)
	case !slices.Contains(updateActions, f.Action):
		return fmt.Errorf("fault %q: no update of action %q fails after it was answered", f.ID, f.Action)
	}
	return nil
}

// FaultSet holds the faults that are set. Its methods may be called from anywhere.
type FaultSet struct {
	mu      sync.Mutex
	faults  []*armedFault
	seq     int
	chances idSource // decides what of a fault is left to chance
}

// Add sets a fault and returns its ID, which is generated if it is empty. A fault with an ID
// that is already set replaces that one and counts afresh.
func (s *FaultSet) Add(f Fault) (string, error) {
	if f.Place == "" {
		f.Place = Before
	}
	if err := f.Check(); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.ID == "" {
		s.seq++
		f.ID = fmt.Sprintf("fault-%d", s.seq)
	}
	armed := &armedFault{Fault: f}
	if i := s.index(f.ID); i >= 0 {
		s.faults[i] = armed
	} else {
		s.faults = append(s.faults, armed)
	}
	return f.ID, nil
}

func (s *FaultSet) index(id string) int {
	return slices.IndexFunc(s.faults, func(f *armedFault) bool { return f.ID == id })
}

// All returns the faults that are set.
func (s *FaultSet) All() []Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	faults := make([]Fault, len(s.faults))
	for i, f := range s.faults {
		faults[i] = f.Fault
	}
	return faults
}

// Remove takes a fault away and reports whether it was set. Remove("") takes all away.
func (s *FaultSet) Remove(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == "" {
		found := len(s.faults) > 0
		s.faults = nil
		return found
	}
	i := s.index(id)
	if i < 0 {
		return false
	}
	s.faults = slices.Delete(s.faults, i, i+1)
	return true
}

// Strikes counts a call with every fault that matches it and returns the faults that strike it. It
// is called once per call, at its start, so that Nth counts calls and not places.
func (s *FaultSet) Strikes(service, action, principal string) []Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	var struck []Fault
	for _, f := range s.faults {
		if !f.matches(service, action, principal) {
			continue
		}
		f.seen++
		if f.strikes() && (f.Chance == 0 || s.chances.share() < f.Chance) {
			struck = append(struck, f.Fault)
		}
	}
	return struck
}

// clear removes all faults. The seed decides what is left to chance from now on.
func (s *FaultSet) clear(seed uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.seq, s.chances = nil, 0, idSource{seed: seed, account: "chances"}
}

func (f *armedFault) matches(service, action, principal string) bool {
	_, name, _ := strings.Cut(principal, "/")
	return (f.Service == "" || f.Service == service) &&
		(f.Action == "" || f.Action == action) &&
		(f.Principal == "" || f.Principal == principal || f.Principal == name)
}

func (f *armedFault) strikes() bool {
	first, count := f.Nth, f.Count
	if first == 0 {
		first = 1
	} else if count == 0 {
		count = 1
	}
	return f.seen >= first && (count == 0 || f.seen < first+count)
}
