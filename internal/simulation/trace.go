package simulation

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"time"

	"k8s.io/utils/clock"
)

// trace records what happens in a schedule, one line per event and, indented below it, per call.
// Equal schedules have equal traces.
type trace struct {
	clock clock.PassiveClock
	start time.Time
	hash  hash.Hash
	out   io.Writer
	lines int
}

func newTrace(clk clock.PassiveClock, out io.Writer) *trace {
	return &trace{clock: clk, start: clk.Now(), hash: sha256.New(), out: out}
}

// event begins a new event.
func (t *trace) event(format string, values ...any) {
	t.line(fmt.Sprintf("%9s  %s", t.clock.Since(t.start).Truncate(time.Millisecond), fmt.Sprintf(format, values...)))
}

// detail adds to the present event.
func (t *trace) detail(format string, values ...any) {
	t.line("             " + fmt.Sprintf(format, values...))
}

func (t *trace) line(text string) {
	t.lines++
	_, _ = t.hash.Write([]byte(text + "\n")) // never fails
	if t.out != nil {
		_, _ = io.WriteString(t.out, text+"\n") // what cannot be shown is not shown
	}
}

func (t *trace) sum() string { return fmt.Sprintf("%x", t.hash.Sum(nil)) }
