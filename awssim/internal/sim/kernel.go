// Package sim is the kernel of the simulated AWS. It owns what all services share: accounts and
// regions, simulated time and the events waiting in it, identifiers, keyed collections whose reads
// may lag, the registry of handlers, and behavior as data (throttling, faults, capacity, the call
// log). It knows no service and no wire format.
//
// One lock guards everything. Handlers and events run under it, one at a time; decoding and
// encoding do not. Code that runs under the lock may call every method here except Do, Locked,
// Reset and OnChange.
package sim

import (
	"container/heap"
	"reflect"
	"sync"
	"time"

	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/awssim/world"
)

// Kernel holds one simulated AWS.
type Kernel struct {
	clock    *simclock.Clock
	registry *Registry
	world    *world.World
	initial  Settings

	mu  sync.Mutex
	now time.Time
	// a store is being built from the world: what is put was there before time began
	building bool
	serving  string               // account on whose behalf things happen; "" if none
	ids      map[string]*idSource // by account
	taken    map[string]bool      // identifiers
	requests idSource
	accounts map[string]*Account
	stores   map[reflect.Type]any // what no account owns, see GlobalStore
	events   eventQueue
	eventSeq uint64
	disarm   func() bool // takes back the clock's wake-up for the first event

	behavior      Behavior
	behaviorSince time.Time

	buckets buckets

	// Callers holds what access keys stand for.
	Callers Callers
	// Faults holds the faults that are set.
	Faults FaultSet
	// Log holds the calls that were answered.
	Log CallLog

	notify notifier
}

// Settings holds what a kernel starts with and what Reset returns to.
type Settings struct {
	Seed     uint64
	Behavior Behavior
	Faults   []Fault
}

// New returns a kernel with the handlers of registry and with accounts that look like w. It fails
// if a fault in the settings is not well-formed.
func New(clock *simclock.Clock, w *world.World, registry *Registry, settings Settings) (*Kernel, error) {
	k := &Kernel{clock: clock, world: w, registry: registry, initial: settings}
	k.clear()
	for _, fault := range settings.Faults {
		if _, err := k.Faults.Add(fault); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// Clock returns the clock that drives the kernel.
func (k *Kernel) Clock() *simclock.Clock { return k.clock }

// World returns the world that accounts are created from. It must not be changed.
func (k *Kernel) World() *world.World { return k.world }

// Registry returns the handlers.
func (k *Kernel) Registry() *Registry { return k.registry }

// Now returns the kernel's time: during an event, when it was due; else the time of the call being
// served. Only for code under the lock.
func (k *Kernel) Now() time.Time { return k.now }

// Locked runs f under the kernel's lock, after everything that is due has happened.
func (k *Kernel) Locked(f func()) {
	defer k.notify.deliver()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.catchUp()
	f()
	k.catchUp()
	k.arm()
}

// After runs f under the kernel's lock once d has passed; events of the same time run in the order
// they were asked for. Reset drops what has not run. Only for code under the lock.
func (k *Kernel) After(d time.Duration, f func()) {
	k.eventSeq++
	heap.Push(&k.events, &event{due: k.now.Add(max(d, 0)), seq: k.eventSeq, account: k.serving, run: f})
}

// catchUp runs every event that is due, each at its own time. The kernel does so before it serves a
// call, so that a call sees the same world however late the clock's own wake-up comes.
func (k *Kernel) catchUp() {
	now := k.clock.Now()
	for len(k.events) > 0 && !k.events[0].due.After(now) {
		e := heap.Pop(&k.events).(*event)
		if k.now.Before(e.due) {
			k.now = e.due
		}
		k.on(e.account, e.run)
	}
	if k.now.Before(now) {
		k.now = now
	}
}

// arm asks the clock to wake the kernel when the first event is due.
func (k *Kernel) arm() {
	if k.disarm != nil {
		k.disarm()
		k.disarm = nil
	}
	if len(k.events) > 0 {
		k.disarm = k.clock.AfterFunc(k.events[0].due.Sub(k.clock.Now()), func() { k.Locked(func() {}) })
	}
}

// Reset returns the kernel to the world, the behavior and the faults it started with: accounts,
// pending events, calls and sessions are gone. The clock keeps its time and rate.
func (k *Kernel) Reset() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.clear()
	for _, fault := range k.initial.Faults {
		// They were accepted by New, which used the same check.
		if _, err := k.Faults.Add(fault); err != nil {
			panic("sim: a fault that was well-formed at the start no longer is: " + err.Error())
		}
	}
}

func (k *Kernel) clear() {
	if k.disarm != nil {
		k.disarm()
		k.disarm = nil
	}
	k.now = k.clock.Now()
	k.ids = map[string]*idSource{}
	k.taken = map[string]bool{}
	k.requests = idSource{seed: ^k.initial.Seed}
	k.accounts = map[string]*Account{}
	k.stores = map[reflect.Type]any{}
	k.events = nil
	k.behavior, k.behaviorSince = k.initial.Behavior.clone(), k.now
	k.buckets = buckets{}
	k.Faults.clear(k.initial.Seed)
	k.Callers.clear()
	k.Log.Clear()
}

type event struct {
	due     time.Time
	seq     uint64
	account string // on whose behalf it was asked for
	run     func()
}

type eventQueue []*event

var _ heap.Interface = (*eventQueue)(nil)

func (q eventQueue) Len() int      { return len(q) }
func (q eventQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q eventQueue) Less(i, j int) bool {
	if q[i].due.Equal(q[j].due) {
		return q[i].seq < q[j].seq
	}
	return q[i].due.Before(q[j].due)
}

func (q *eventQueue) Push(x any) { *q = append(*q, x.(*event)) }

func (q *eventQueue) Pop() any {
	old := *q
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return e
}
