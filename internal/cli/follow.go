package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/poolview"
	"github.com/slipway-project/slipway/internal/terminal"
)

const (
	// watchPause is the time between two watches, so that an API server that ends them at once is
	// left alone.
	watchPause = time.Second
	// longestPause bounds the time between two attempts to reach an API server that does not
	// answer.
	longestPause = 30 * time.Second
)

// follower prints the status of a pool whenever an object of the pool changes.
type follower struct {
	*statusFlags
	from       *source
	kind       string
	name       client.ObjectKey
	out, notes io.Writer

	// shown is the status that was printed last, at the time readAt, and noted the note about what
	// it lacks. Facts is the status as JSON, without what follows from the time at which it was read.
	shown  []byte
	facts  string
	readAt time.Time
	noted  string
	// away is true while the API server does not answer, and pause is the time until the next
	// attempt.
	away  bool
	pause time.Duration
}

// run prints the status until the context is done, the pool is deleted, or the user may not read
// it. It outlasts an API server that does not answer.
func (f *follower) run(ctx context.Context) error {
	for {
		err := f.watch(ctx)
		pause := watchPause
		var away *awayError
		switch {
		case ctx.Err() != nil:
			return nil // the user interrupted the command
		case errors.As(err, &away):
			pause = f.pause
			if err := f.report(away, f.from.clock.Now().Add(pause)); err != nil {
				return err
			}
			f.pause = min(2*f.pause, longestPause)
		case err != nil:
			return err
		}
		if sleep(ctx, f.from.clock, pause) != nil {
			return nil
		}
	}
}

// watch prints the status whenever something changes, until a watch is closed.
func (f *follower) watch(ctx context.Context) error {
	watches, err := watchPool(ctx, f.from.watcher, f.name.Namespace)
	if err != nil {
		return outageOr(err)
	}
	defer watches.stop()
	for {
		view, missing, err := f.read(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case apierrors.IsNotFound(err):
			return fmt.Errorf("%s %s was deleted", f.kind, f.name)
		case err != nil:
			return outageOr(err)
		}
		if err := f.print(&view, missing); err != nil {
			return err
		}
		select {
		case <-watches.changed:
		case <-watches.ended:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// read reads the view of the pool within a time.
func (f *follower) read(ctx context.Context) (view poolview.View, missing, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return f.view(ctx, f.from, f.kind, f.name)
}

// screen returns the screen as it is now: a user may resize it.
func (f *follower) screen() terminal.Screen { return terminal.ScreenOf(f.out, os.Getenv) }

// replaces reports whether a status is shown in place of the one before.
func (f *follower) replaces() bool { return f.output == textOutput && f.screen().Interactive }

// clearScreen moves the cursor of a terminal to its corner, and clears what is below.
const clearScreen = "\x1b[H\x1b[J"

// print prints a status if it differs from the one before, or if the API server did not answer
// since. A terminal shows the status in place of the one before, and what is missing from it below.
func (f *follower) print(view *poolview.View, missing error) error {
	if f.away && !f.replaces() {
		fmt.Fprintln(f.notes, "The API server answers again.")
	}
	returned := f.away
	f.away, f.pause, f.readAt = false, watchPause, f.from.clock.Now()
	text, lacks := &bytes.Buffer{}, &bytes.Buffer{}
	noted(lacks, nodesMissing, missing)
	printer := f.from.printer(f.out)
	printer.Out = text
	if err := show(&f.readFlags, text, view, printer.Status); err != nil {
		return err
	}
	if f.replaces() {
		text.WriteString(f.screen().Fold(lacks.String()))
	} else if f.noted != lacks.String() {
		f.noted = lacks.String()
		fmt.Fprint(f.notes, f.noted)
	}
	facts, err := factsOf(*view)
	if err != nil {
		return err
	}
	same := bytes.Equal(text.Bytes(), f.shown) || facts == f.facts && f.output == textOutput && !f.replaces()
	if same && !returned {
		return nil
	}
	f.facts = facts
	f.shown = bytes.Clone(text.Bytes())
	before := ""
	switch {
	case f.replaces():
		before = clearScreen
	case f.output == textOutput:
		before = f.readAt.UTC().Format(time.RFC3339) + "\n"
	}
	if _, err := fmt.Fprintf(f.out, "%s%s", before, f.shown); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// factsOf returns what a status describes, without what follows from the time at which it was read.
func factsOf(view poolview.View) (string, error) {
	if view.Rollout != nil {
		rollout := *view.Rollout
		rollout.ETA = nil
		view.Rollout = &rollout
	}
	facts, err := json.Marshal(view)
	if err != nil {
		return "", fmt.Errorf("encoding the status: %w", err)
	}
	return string(facts), nil
}

// report writes that the API server did not answer, and when the next attempt is. A terminal shows
// each failure below the last status, in place of the one before. Without a terminal, an outage is
// reported once.
func (f *follower) report(away *awayError, next time.Time) error {
	began := !f.away
	f.away = true
	problem, at := unansweredText(away.err), next.UTC().Format("15:04:05 UTC")
	if !f.replaces() {
		if began {
			fmt.Fprintf(f.notes, "%s. The next attempt is at %s, and later ones follow at growing intervals.\n", problem, at)
		}
		return nil
	}
	screen, below := f.screen(), &strings.Builder{}
	fmt.Fprintln(below, screen.Paint(terminal.Yellow, problem+"."))
	if !f.readAt.IsZero() {
		fmt.Fprintf(below, "The status above is from %s.\n", f.readAt.UTC().Format("15:04:05 UTC"))
	}
	fmt.Fprintf(below, "Next attempt at %s. Press Ctrl+C to stop.\n", at)
	if _, err := fmt.Fprintf(f.out, "%s%s\n%s", clearScreen, f.shown, screen.Fold(below.String())); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// watched are watches of the objects of a pool.
type watched struct {
	// changed receives a value after a change; several changes that were not read yet are one.
	// Ended receives a value when a watch is closed, which the API server does after minutes.
	changed, ended chan struct{}
	watches        []watch.Interface
}

// watchPool watches the objects of a pool, which are in its namespace. Each watch begins with the
// objects that there are, so that no change is missed between two watches.
func watchPool(ctx context.Context, watcher client.WithWatch, namespace string) (*watched, error) {
	lists := []client.ObjectList{&infrav1.AWSMachinePoolList{}, &infrav1.AWSManagedMachinePoolList{}, &infrav1.AWSLaunchConfigList{}, &clusterv1.MachinePoolList{}}
	all := &watched{changed: make(chan struct{}, 1), ended: make(chan struct{}, len(lists))}
	for _, list := range lists {
		one, err := watcher.Watch(ctx, list, client.InNamespace(namespace))
		if err != nil {
			all.stop()
			return nil, fmt.Errorf("watching the objects of the pool: %w", err)
		}
		all.watches = append(all.watches, one)
		go all.forward(one)
	}
	return all, nil
}

// stop stops the watches.
func (w *watched) stop() {
	for _, one := range w.watches {
		one.Stop()
	}
}

// forward passes the changes of a watch on until the watch is closed.
func (w *watched) forward(from watch.Interface) {
	for range from.ResultChan() {
		select {
		case w.changed <- struct{}{}:
		default:
		}
	}
	w.ended <- struct{}{}
}
