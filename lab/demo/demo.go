// Package demo walks the main job of Slipway in front of a person: the manifest of the machine pool
// documentation is applied to a real API server, edited and deleted, and what the simulated AWS and
// Cluster API hold afterwards is compared with what was expected.
package demo

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/slipway-project/slipway/lab"
)

// stepDeadline is the real time that a step may take.
const stepDeadline = 60 * time.Second

// steady is the real time for which the expected state must be seen to count: over two minutes of
// simulated time.
const steady = time.Second

// step is one thing that a user does, and what is to follow from it.
type step struct {
	// title says what the user does.
	title string
	// act does it.
	act func(context.Context, *stage) error
	// expected describes what should be seen; see describes what is seen, in the same words when
	// all is well.
	expected string
	see      func(context.Context, *stage) (string, error)
}

// result holds the result of a step.
type result struct {
	step
	seen string
	took time.Duration
	// asPlanned is what an edit did that did what its plan says, and otherwise is how it differs.
	asPlanned, otherwise string
}

func (r result) passed() bool { return r.seen == r.expected && r.otherwise == "" }

// Run walks the story in a laboratory with a ready cluster named "capa" in namespace default,
// Slipway's manager and provisioner, and kube-scheduler. It returns how many steps did not show
// what was expected. A step that cannot even be tried is an error.
func Run(ctx context.Context, l *lab.Lab, out io.Writer) (failures int, err error) {
	stage, err := newStage(l, out)
	if err != nil {
		return 0, err
	}
	var results []result
	steps := slices.Concat(story, managedStory, sharedStory, justInTimeStory)
	for i, step := range steps {
		fmt.Fprintf(out, "\n%d/%d %s\n", i+1, len(steps), step.title)
		result, err := stage.play(ctx, step, out)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", step.title, err)
		}
		results = append(results, result)
	}
	return report(out, results), nil
}

// play does a step and watches until what is expected is seen, or the deadline.
func (s *stage) play(ctx context.Context, step step, out io.Writer) (result, error) {
	begin, simulated := time.Now(), s.lab.Cloud.AWS.Clock().Now()
	s.refusal, s.planned = "", nil
	if err := step.act(ctx, s); err != nil {
		return result{}, err
	}
	if s.refusal != "" {
		fmt.Fprintf(out, "    %s\n", s.refusal)
	}
	ctx, cancel := context.WithTimeout(ctx, stepDeadline)
	defer cancel()
	progress, last := "", sighting{}
	for {
		last.look(ctx, s, step)
		if line := s.progress(ctx); line != "" && line != progress {
			progress = line
			fmt.Fprintf(out, "    %s\n", line)
		}
		if steadily := last.seen == step.expected && time.Since(last.since) > steady; steadily || ctx.Err() != nil {
			var err error
			done := result{step: step, seen: last.seen, took: time.Since(begin)}
			if done.asPlanned, done.otherwise, err = s.cameTrue(context.WithoutCancel(ctx)); err != nil {
				return result{}, fmt.Errorf("comparing what happened with the plan: %w", err)
			}
			if done.otherwise == "" || ctx.Err() != nil {
				done.show(out, s.lab.Cloud.AWS.Clock().Since(simulated))
				return done, nil
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// sighting is the state that a step shows, and since when it has shown it.
type sighting struct {
	seen  string
	since time.Time
}

// look updates the sighting. The last state before the deadline counts, and not that the time to check has
// run out.
func (s *sighting) look(ctx context.Context, stage *stage, step step) {
	now, err := step.see(ctx, stage)
	if err != nil {
		now = err.Error()
	}
	if now != s.seen && ctx.Err() == nil {
		s.seen, s.since = now, time.Now()
	}
}

// show prints the result of a step.
func (r result) show(out io.Writer, simulated time.Duration) {
	fmt.Fprintf(out, "    => %s  (%.1fs, %v of simulated time)\n", r.seen, r.took.Seconds(), simulated.Round(time.Second))
	switch {
	case r.otherwise != "":
		fmt.Fprintf(out, "    => NOT AS PLANNED: %s\n", r.otherwise)
	case r.asPlanned != "":
		fmt.Fprintf(out, "    => as planned: %s\n", r.asPlanned)
	}
}

// report prints the expected state next to what was seen, and the verdict.
func report(out io.Writer, results []result) (failures int) {
	fmt.Fprintln(out)
	for i, result := range results {
		verdict := "ok"
		if !result.passed() {
			verdict = "DIFFERS"
			failures++
		}
		fmt.Fprintf(out, "%d %-58s %5.1fs  %s\n", i+1, result.title, result.took.Seconds(), verdict)
		fmt.Fprintf(out, "  expected  %s\n  seen      %s\n", result.expected, strings.ReplaceAll(result.seen, "\n", " "))
		if result.otherwise != "" {
			fmt.Fprintf(out, "  not as planned: %s\n", result.otherwise)
		} else if result.asPlanned != "" {
			fmt.Fprintf(out, "  as planned: %s\n", result.asPlanned)
		}
	}
	if failures > 0 {
		fmt.Fprintf(out, "\nFAIL %d\n", failures)
	} else {
		fmt.Fprint(out, "\nPASS\n")
	}
	return failures
}
