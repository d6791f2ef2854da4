package simulation

import "math/rand/v2"

// chance draws the choices of a schedule. One goroutine at a time draws them, in an order that the
// choices before determine.
type chance struct{ *rand.Rand }

// newChance returns the choices of one step of a schedule. Each step has its own, so that one can
// be left out and the others stay as they are.
func newChance(seed uint64, step int) chance {
	return chance{rand.New(rand.NewPCG(seed, 0x510b+uint64(step)<<16))} //nolint:gosec // a schedule is no secret
}

// happens returns true with a probability.
func (c chance) happens(probability float64) bool {
	return probability > 0 && c.Float64() < probability
}

// pick returns one of the options, which must not be empty.
func pick[T any](c chance, options ...T) T { return options[c.IntN(len(options))] }

// Faults holds the probabilities of each result of a call of the process.
type Faults struct {
	// Refused calls have no effect and fail with an error of the server: AWS throttles, the API
	// server is unavailable.
	Refused float64
	// Unsent calls fail in the network before the server sees them.
	Unsent float64
	// Lost calls have their effect, and fail as if they had none.
	Lost float64
	// Crash is the probability that the process crashes right before a call, and that it crashes
	// right after.
	Crash float64
	// Interlude is the probability that the user or another controller acts right before a call.
	Interlude float64
}

// drawFaults chooses how bad a schedule is. Some have no faults at all: what goes wrong in them is
// easiest to understand.
func drawFaults(c chance) Faults {
	worst := pick(c, 0, 0.005, 0.02, 0.08)
	return Faults{
		Refused: worst * c.Float64(), Unsent: worst * c.Float64(), Lost: worst * c.Float64(),
		Crash: worst * c.Float64() / 2, Interlude: worst * c.Float64(),
	}
}

// fate names the result of a call.
type fate int

const (
	answered fate = iota
	refused
	unsent
	lost
	crashBefore
	crashAfter
)

// draw chooses the fate of a call.
func (f Faults) draw(c chance) fate {
	at := c.Float64()
	for _, option := range []struct {
		probability float64
		fate        fate
	}{{f.Refused, refused}, {f.Unsent, unsent}, {f.Lost, lost}, {f.Crash, crashBefore}, {f.Crash, crashAfter}} {
		if at < option.probability {
			return option.fate
		}
		at -= option.probability
	}
	return answered
}
