package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/launchconfig"
	"github.com/slipway-project/slipway/internal/machinepool"
	"github.com/slipway-project/slipway/internal/managedmachinepool"
	"github.com/slipway-project/slipway/internal/provisioning/nodelifecycle"
	"github.com/slipway-project/slipway/internal/provisioning/provisionerstatus"
	"github.com/slipway-project/slipway/internal/provisioning/scheduler"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
)

const (
	// rest is for how long nothing must have been written before the second phase looks whether
	// everything is as it must be, patience how long that may take, and quiet for how long nothing
	// may be written afterwards. Launch configs are checked every eight minutes, and may then say
	// in status what they could not know before.
	rest     = 10 * time.Minute
	patience = 4 * time.Hour
	quiet    = 20 * time.Minute
	// tooMany bounds how often something may be reconciled while no time passes.
	tooMany = 1000
)

// effort bounds how often an object is reconciled, and how many calls to AWS these passes send.
type effort struct{ passes, calls int }

// atRest bounds the effort for an object at rest while nothing may be written, by the name of the
// controller. A pool, or a launch config, had at most half as much in 180 schedules, and the others had
// at most two thirds as much in 150.
var atRest = map[string]effort{
	machinepool.Name: {6, 18}, managedmachinepool.Name: {6, 18}, launchconfig.Name: {6, 18},
	// A node that an annotation, a PodDisruptionBudget, or a lack of places for its pods keeps is
	// checked every minute, without calls.
	nodelifecycle.Name: {30, 0},
	// Default launch templates are checked, and so are instances of another process.
	provisionerstatus.Name: {6, 60},
	// Pods that wait are considered every minute.
	scheduler.Name: {30, 120},
}

// Options choose a schedule.
type Options struct {
	// Kinds are what the API server serves.
	Kinds *apiserver.Kinds
	Seed  uint64
	// Kind is the kind of the object that the schedule is about; SelfManaged if empty.
	Kind string
	// Skip are the steps of the first phase that are left out.
	Skip map[int]bool
	// Flaw is the mistake of the process; none if empty.
	Flaw Flaw
	// Patience is how long it may take after the last fault until everything is as it must be; zero
	// for as long as the product may take by the time limits that it has.
	Patience time.Duration
	// Trace gets the events of the schedule as they happen; nil for not.
	Trace io.Writer
}

// Result holds the result of a schedule.
type Result struct {
	// Hash is the hash of the trace.
	Hash string
	// Events is how many lines the trace has, and Passed how much time passed in the schedule.
	Events int
	Passed time.Duration
	// Steps is the number of steps of the first phase, including steps that were left out.
	Steps int
	// Violation says which invariant did not hold; nil if all did.
	Violation error
}

// Run runs a schedule. The error is that the schedule could not be run.
func Run(ctx context.Context, options Options) (Result, error) {
	w, err := newWorld(ctx, options)
	if err != nil {
		return Result{}, fmt.Errorf("preparing a schedule: %w", err)
	}
	defer w.close()
	steps, err := w.run(ctx, options)
	if w.verdict.violation != nil {
		w.show(ctx)
	}
	return Result{Hash: w.trace.sum(), Events: w.trace.lines, Steps: steps, Passed: w.clock.Since(begin), Violation: w.verdict.violation}, err
}

// run runs both phases, and returns how many steps the first one had.
func (w *World) run(ctx context.Context, options Options) (int, error) {
	w.faults = drawFaults(w.chance)
	w.trace.event("faults %+v", w.faults)
	most := w.scene.length()
	count := most/4 + w.chance.IntN(most*3/4)
	for number := range count {
		w.chance = newChance(options.Seed, number+1)
		if options.Skip[number] {
			continue
		}
		if err := w.step(ctx); err != nil || w.verdict.violation != nil {
			return count, err
		}
	}
	w.faults, w.verdict.faultless = Faults{}, w.clock.Now()
	if err := w.scene.calm(ctx); err != nil {
		return count, err
	}
	w.trace.event("faults stop")
	if err := w.settle(ctx); err != nil || w.verdict.violation != nil {
		return count, err
	}
	w.trace.event("everything is as it must be")
	if err := w.quiet(ctx); err != nil || w.verdict.violation != nil {
		return count, err
	}
	if again, err := w.scene.letGo(ctx); err != nil {
		return count, err
	} else if again {
		w.trace.event("nothing is held back any longer")
		if err := w.settle(ctx); err != nil || w.verdict.violation != nil {
			return count, err
		}
		if err := w.quiet(ctx); err != nil {
			return count, err
		}
	}
	w.scene.foreignUnchanged(ctx)
	return count, nil
}

// step lets the schedule choose among the events that are possible.
func (w *World) step(ctx context.Context) error {
	if w.process.dead {
		w.trace.event("a new process starts")
		return w.restart(ctx)
	}
	pending, ready, garbage := w.pending(), w.process.ready(), w.server.Garbage()
	moves, err := w.scene.moves(ctx)
	if err != nil {
		return err
	}
	type option struct {
		weight int
		do     func() error
	}
	options := []option{
		{2, func() error { return w.wait() }},
		{1, func() error { return w.act(ctx, w.trace.event) }},
	}
	if w.chance.happens(0.01) {
		options = append(options, option{4, func() error { w.trace.event("the process is replaced"); return w.restart(ctx) }})
	}
	if len(pending) > 0 {
		options = append(options, option{6, func() error { return w.deliver(pick(w.chance, pending...), w.trace.event) }})
	}
	if len(ready) > 0 {
		options = append(options, option{6, func() error { return w.reconcile(pick(w.chance, ready...)) }})
	}
	if len(garbage) > 0 {
		options = append(options, option{2, func() error { return w.collect(pick(w.chance, garbage...)) }})
	}
	if len(moves) > 0 {
		options = append(options, option{4, func() error { return w.move(ctx, pick(w.chance, moves...)) }})
	}
	total := 0
	for _, one := range options {
		total += one.weight
	}
	at := w.chance.IntN(total)
	for _, one := range options {
		if at < one.weight {
			return one.do()
		}
		at -= one.weight
	}
	return nil
}

// interlude has the user or another controller act in the middle of a pass.
func (w *World) interlude() {
	if pending := w.pending(); len(pending) > 0 && w.chance.happens(0.5) {
		if err := w.deliver(pick(w.chance, pending...), w.trace.detail); err != nil {
			w.verdict.violate(NoPanic, "%w", err)
		}
		return
	}
	faults := w.faults
	w.faults = Faults{}
	defer func() { w.faults = faults }()
	if err := w.act(w.process.ctx, w.trace.detail); err != nil {
		w.verdict.violate(NoPanic, "%w", err)
	}
}

// wait lets time pass: usually until something happens by itself, or for longer, as if the process
// had been held up.
func (w *World) wait() error {
	to := w.next()
	if w.chance.happens(0.3) {
		to = w.clock.Now().Add(time.Duration(1+w.chance.IntN(120)) * time.Second)
	}
	w.trace.event("wait for %s", to.Sub(w.clock.Now()))
	w.advance(to)
	return nil
}

// pending names the watches whose events can be delivered.
func (w *World) pending() []string {
	return slices.DeleteFunc(w.process.cache.Pending(), func(name string) bool { return w.flaw.Deaf != "" && w.flaw.Deaf == name })
}

func (w *World) deliver(name string, report func(string, ...any)) error {
	event, err := w.process.cache.Deliver(name)
	if err != nil {
		return err
	}
	report("deliver %s of %s %s at %s", event.Type, name, event.Object.GetName(), event.Object.GetResourceVersion())
	w.scene.passes(false)
	return nil
}

// move has another component of the cluster do something.
func (w *World) move(ctx context.Context, one move) error {
	w.trace.event("%s", one.what)
	if err := one.do(ctx); err != nil {
		return fmt.Errorf("%s: %w", one.what, err)
	}
	return nil
}

func (w *World) reconcile(one work) error {
	w.trace.event("reconcile %s %s", kindOf(one), one.request.Name)
	w.turn = kindOf(one) + " " + one.request.Name
	w.turns[w.turn]++
	defer func() { w.turn = "" }()
	if err := w.process.reconcile(one); err != nil {
		w.verdict.violate(NoPanic, "%w", err)
	}
	return nil
}

func (w *World) collect(object *apiserver.Object) error {
	w.trace.event("collect %s %s", object.GetKind(), object.GetName())
	return w.server.Collect(object)
}

// flush does all that can be done without that time passes.
func (w *World) flush(ctx context.Context) error {
	for passes := 0; w.verdict.violation == nil; {
		moves, err := w.scene.moves(ctx)
		if err != nil {
			return err
		}
		switch pending, ready, garbage := w.pending(), w.process.ready(), w.server.Garbage(); {
		case w.process.dead:
			w.trace.event("a new process starts")
			if err := w.restart(ctx); err != nil {
				return err
			}
		case len(pending) > 0:
			if err := w.deliver(pending[0], w.trace.event); err != nil {
				return err
			}
		case len(garbage) > 0:
			if err := w.collect(garbage[0]); err != nil {
				return err
			}
		case len(moves) > 0:
			if err := w.move(ctx, moves[0]); err != nil {
				return err
			}
		case len(ready) > 0:
			if passes++; passes > tooMany {
				w.verdict.violate(NoHotLoop, "%s %s is reconciled without end", kindOf(ready[0]), ready[0].request)
			}
			if err := w.reconcile(ready[0]); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

// pass runs for some time.
func (w *World) pass(ctx context.Context, time time.Duration) error {
	for until := w.clock.Now().Add(time); w.verdict.violation == nil; w.advance(w.next()) {
		if err := w.flush(ctx); err != nil || !w.clock.Now().Before(until) {
			return err
		}
	}
	return nil
}

// settle runs until everything is as it must be.
func (w *World) settle(ctx context.Context) error {
	w.lastWrite = w.clock.Now()
	patience := cmp.Or(w.patience, patience)
	deadline := w.clock.Now().Add(patience)
	look := w.whenChanged(w.scene.unsettled)
	for {
		if err := w.flush(ctx); err != nil || w.verdict.violation != nil {
			return err
		}
		if w.clock.Since(w.lastWrite) >= rest {
			err := look(ctx)
			if err == nil {
				return nil
			}
			if w.clock.Now().After(deadline) {
				w.verdict.violate(unmet(err), "%s after the last fault: %w", patience, err)
				return nil
			}
		}
		if w.clock.Now().After(deadline.Add(3 * rest)) {
			w.verdict.violate(ComesToRest, "the process has not come to rest %s after the last fault", patience+3*rest)
			return nil
		}
		w.advance(w.next())
	}
}

// unmet returns the invariant that a world violates which is not as it must be.
func unmet(err error) string {
	if own := (*ViolationError)(nil); errors.As(err, &own) {
		return own.Invariant
	}
	return ReachesSpec
}

// lookAnyway is the interval at which the world is checked again though nothing is known to have
// changed in it.
const lookAnyway = 5 * time.Minute

// whenChanged returns look, which repeats its answer for as long as nothing has changed in the API
// server or in AWS.
func (w *World) whenChanged(look func(context.Context) error) func(context.Context) error {
	type moment struct {
		version        uint64
		writes, events int
	}
	var seen moment
	var at time.Time
	var answer error
	events := 0
	w.sim.OnChange(func(awssim.Event) { events++ })
	return func(ctx context.Context) error {
		if now := (moment{w.server.Version(), w.writes, events}); now != seen || w.clock.Since(at) >= lookAnyway {
			seen, at, answer = now, w.clock.Now(), look(ctx)
		}
		return answer
	}
}

// quiet checks that nothing is written.
func (w *World) quiet(ctx context.Context) error {
	w.turns, w.asked = map[string]int{}, map[string]int{}
	before, until := w.writes, w.clock.Now().Add(quiet)
	for w.clock.Now().Before(until) {
		if err := w.flush(ctx); err != nil || w.verdict.violation != nil {
			return err
		}
		if w.writes > before {
			w.verdict.violate(NothingWrittenIdle, "something was written though everything was as it must be")
			return nil
		}
		w.advance(w.next())
	}
	w.restsWell()
	return nil
}

// restsWell checks how much effort each object took while nothing was written.
func (w *World) restsWell() {
	for _, object := range slices.Sorted(maps.Keys(w.turns)) {
		controller, _, _ := strings.Cut(object, " ")
		bound, passes, calls := atRest[controller], w.turns[object], w.asked[object]
		if passes > bound.passes || calls > bound.calls {
			w.verdict.violate(RestAsksLittle, "%s was reconciled %d times in %s at rest, and asked AWS %d times", object, passes, quiet, calls)
		}
	}
}

func kindOf(one work) string { return one.controller.name }
