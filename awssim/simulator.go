// Package awssim is a simulated AWS: EC2, Auto Scaling, EKS, IAM, STS, S3, SQS, EventBridge's rules
// that fill its queues, and Systems Manager's parameters in memory, behind the real wire protocols,
// so that the unmodified AWS SDKs and the AWS CLI talk to it over HTTP. Time, latency, throttling,
// faults and capacity are data (see Options). The same is available over HTTP below /_sim/;
// README.md shows each endpoint.
package awssim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/awssim/world"
)

// The kernel's types that users meet.
type (
	// Behavior says how the simulated AWS departs from the ideal one.
	Behavior = sim.Behavior
	// InstanceTimes holds how long an instance stays in its states.
	InstanceTimes = sim.InstanceTimes
	// ClusterTimes holds how long EKS takes for a cluster and its add-ons.
	ClusterTimes = sim.ClusterTimes
	// CapacityRule bounds how many instances of a type an account may have in a zone.
	CapacityRule = sim.CapacityRule
	// SpotPriceRule is the price of a Spot Instance of a type in a zone.
	SpotPriceRule = sim.SpotPriceRule
	// Fault disturbs chosen calls.
	Fault = sim.Fault
	// FaultContext is the argument of a fault's callback.
	FaultContext = sim.FaultContext
	// Place is the moment of a call at which a fault happens.
	Place = sim.Place
	// Event reports that something in the simulated AWS has changed.
	Event = sim.Event
	// Call is one line of the call log.
	Call = sim.CallRecord
)

// The places of a fault.
const (
	Before      = sim.Before
	AfterEffect = sim.AfterEffect
	AfterAnswer = sim.AfterAnswer
	InUpdate    = sim.InUpdate
)

// DefaultAccount is the account of credentials whose access key ID does not have twelve digits at
// the end.
const DefaultAccount = sim.DefaultAccount

// Options holds what a simulated AWS starts with. The zero value is the default world in real time,
// where everything happens at once and never fails.
type Options struct {
	// World is what every account starts as; nil is world.Default().
	World *world.World
	// Clock drives everything. The caller keeps it, and closes it. If nil, the simulator has one of
	// its own that starts now with rate 1.
	Clock *simclock.Clock
	// Seed decides the generated identifiers.
	Seed     uint64
	Behavior Behavior
	Faults   []Fault
}

// Simulator is a simulated AWS. Its methods may be called from any goroutine.
type Simulator struct {
	kernel  *sim.Kernel
	clock   *simclock.Clock
	ownsIt  bool // the clock
	handler http.Handler
	server  *http.Server
	serving sync.WaitGroup
	forget  func() bool // stops waiting for Start's context
}

// New returns a simulated AWS. It panics if a fault is malformed (see Fault.Check) or the embedded
// world cannot be read, which are programming errors.
func New(o Options) *Simulator {
	s := &Simulator{clock: o.Clock}
	if s.clock == nil {
		s.clock, s.ownsIt = simclock.NewReal(), true
	}
	if o.World == nil {
		o.World = world.Default()
	}
	kernel, err := sim.New(s.clock, o.World, registry(), sim.Settings{
		Seed: o.Seed, Behavior: o.Behavior, Faults: o.Faults,
	})
	if err != nil {
		panic("awssim: " + err.Error())
	}
	s.kernel = kernel
	controlled, front := control{s}.handler(), &frontDoor{kernel: kernel}
	// A ServeMux would redirect requests whose path has empty or dotted parts, as S3's keys can
	// have.
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/_sim/") {
			controlled.ServeHTTP(w, r)
			return
		}
		front.ServeHTTP(w, r)
	})
	return s
}

// Handler returns the HTTP handler: AWS's endpoints at every path but /_sim/.
func (s *Simulator) Handler() http.Handler { return s.handler }

// Start serves on listen, such as "127.0.0.1:0", until ctx is done or Close is called, and returns
// the URL. It may be called once.
func (s *Simulator) Start(ctx context.Context, listen string) (url string, err error) {
	if s.server != nil {
		return "", errors.New("starting the simulated AWS: it has been started before")
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return "", fmt.Errorf("starting the simulated AWS: %w", err)
	}
	// Requests do not inherit ctx: a call that is being served is completed.
	s.server = &http.Server{Handler: s.handler, ReadHeaderTimeout: time.Minute}
	s.serving.Go(func() {
		// It returns ErrServerClosed; nothing else can be done about any other error here, and
		// clients see it as refused connections.
		_ = s.server.Serve(listener)
	})
	s.forget = context.AfterFunc(ctx, func() { _ = s.server.Close() })
	return "http://" + listener.Addr().String(), nil
}

// Close stops serving, drops connections, and closes the clock if it is the simulator's own.
func (s *Simulator) Close() error {
	var err error
	if s.server != nil {
		s.forget()
		err = s.server.Close()
		s.serving.Wait()
	}
	if s.ownsIt {
		s.clock.Close()
	}
	if err != nil {
		return fmt.Errorf("closing the simulated AWS: %w", err)
	}
	return nil
}

// Clock returns the clock that drives everything.
func (s *Simulator) Clock() *simclock.Clock { return s.clock }

// World returns what every account starts as. It must not be changed.
func (s *Simulator) World() *world.World { return s.kernel.World() }

// Calls returns the call log, in the order in which the calls were answered.
func (s *Simulator) Calls() []Call { return s.kernel.Log.Calls() }

// ClearCalls empties the call log.
func (s *Simulator) ClearCalls() { s.kernel.Log.Clear() }

// AddFault sets a fault and returns its id. One with the same id is replaced.
func (s *Simulator) AddFault(f Fault) (id string, err error) { return s.kernel.Faults.Add(f) }

// Faults returns the faults that are set.
func (s *Simulator) Faults() []Fault { return s.kernel.Faults.All() }

// RemoveFault takes a fault away and reports whether it was set. An empty id takes all away.
func (s *Simulator) RemoveFault(id string) bool { return s.kernel.Faults.Remove(id) }

// Behavior returns the present behavior.
func (s *Simulator) Behavior() (b Behavior) {
	s.kernel.Locked(func() { b = s.kernel.Behavior() })
	return b
}

// SetBehavior replaces the behavior. Scheduled events keep their time.
func (s *Simulator) SetBehavior(b Behavior) { s.kernel.SetBehavior(b) }

// Reset returns to the world, behavior and faults of the start; accounts, calls and pending events
// are gone. The clock keeps its time and rate.
func (s *Simulator) Reset() { s.kernel.Reset() }

// OnChange has f called for every later event, in order and outside of all locks, until cancel is
// called. f may call AWS but must not step the clock.
func (s *Simulator) OnChange(f func(Event)) (cancel func()) { return s.kernel.OnChange(f) }
