package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/watch"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/poolview"
)

// statusFlags holds the flags of `slipway status`.
type statusFlags struct {
	readFlags
	watch, all bool
}

func newStatusCommand(connect func(*readFlags) (*source, error)) *cobra.Command {
	flags := &statusFlags{readFlags: readFlags{connect: connect}}
	command := &cobra.Command{
		Use:   "status [POOL]",
		Short: "Show what a pool does now: versions, roll-out, drains, and what needs you",
		Long: `Show what a pool does now: which launch template versions its instances run, how far a roll-out is and why it
happens, which drains are blocked and by which PodDisruptionBudget, who edited the pool, and what you must do.
Without a name, show one line for each pool.

The command changes nothing. It reads the management cluster. The names of nodes and of blocked pods come from the workload
cluster, and are left out if you cannot read its kubeconfig Secret.

The time that a roll-out needs is computed from its pace so far. It is a range, and unknown until the first instance is
replaced.`,
		Example: `  slipway status                   # all pools of the namespace
  slipway status workers -n blue   # one pool
  slipway status workers -w        # follow a roll-out
  slipway status -A -o json        # all pools, for a script`,
		Args: cobra.MaximumNArgs(1),
		RunE: flags.run,
	}
	flags.bind(command, poolNames)
	command.Flags().BoolVarP(&flags.watch, "watch", "w", false, "show the status again whenever it changes, until the command is interrupted")
	command.Flags().BoolVarP(&flags.all, "all-namespaces", "A", false, "show the pools of all namespaces")
	return command
}

func (f *statusFlags) run(command *cobra.Command, args []string) error {
	switch {
	case f.watch && len(args) == 0:
		return errors.New("--watch needs the name of a pool")
	case f.all && len(args) > 0:
		return errors.New("--all-namespaces shows all pools: leave out the name")
	case f.watch && f.output == "yaml":
		return errors.New("--watch prints text or json")
	}
	ctx, cancel, from, err := f.start(command)
	if err != nil {
		return err
	}
	defer cancel()
	if len(args) == 0 {
		return f.list(ctx, command.OutOrStdout(), from)
	}
	object, err := from.pool(ctx, args[0])
	if err != nil {
		return err
	}
	name := client.ObjectKeyFromObject(object)
	if f.watch {
		return f.follow(command.Context(), command.OutOrStdout(), command.ErrOrStderr(), from, object.GetKind(), name)
	}
	view, err := f.view(ctx, command.ErrOrStderr(), from, object.GetKind(), name)
	if err != nil {
		return err
	}
	return show(&f.readFlags, command.OutOrStdout(), &view, from.printer(command.OutOrStdout()).Status)
}

// list prints one line for each pool.
func (f *statusFlags) list(ctx context.Context, out io.Writer, from *source) error {
	namespace := from.namespace
	if f.all {
		namespace = ""
	}
	pools, err := from.pools.Pools(ctx, namespace)
	if err != nil {
		return err
	}
	return show(&f.readFlags, out, viewsOf(pools, from.clock.Now()), func(views []poolview.View) error {
		if len(views) == 0 {
			text := "There are no pools."
			if namespace != "" {
				text = fmt.Sprintf("There are no pools in namespace %s. Use -A for all namespaces.", printable(namespace))
			}
			_, err := fmt.Fprintln(out, text)
			return err
		}
		return from.printer(out).List(views, f.all)
	})
}

// view returns the view of a pool, with what the workload cluster adds.
func (f *statusFlags) view(ctx context.Context, notes io.Writer, from *source, kind string, name client.ObjectKey) (poolview.View, error) {
	objects, err := from.pools.Pool(ctx, kind, name)
	if err != nil {
		return poolview.View{}, err
	}
	failure := from.pools.WithNodes(ctx, &objects)
	view := poolview.Of(objects, from.clock.Now())
	if failure == nil {
		failure = from.pools.WithPods(ctx, objects, &view)
	}
	noted(notes, "The names of nodes are missing", failure)
	return view, nil
}

// follow prints the status again whenever an object of the pool changes.
func (f *statusFlags) follow(ctx context.Context, out, notes io.Writer, from *source, kind string, name client.ObjectKey) error {
	var shown []byte
	for {
		watches, err := watchPool(ctx, from.watcher, name.Namespace)
		switch {
		case ctx.Err() != nil && err != nil:
			return nil // the user interrupted the command
		case err != nil:
			return err
		}
		shown, err = f.showUntil(ctx, watches, out, notes, shown, from, kind, name)
		watches.stop()
		if err != nil || ctx.Err() != nil {
			return err
		}
		pause := time.NewTimer(watchPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil
		}
	}
}

// watchPause is the time between two watches, so that an API server that ends them at once is left alone.
const watchPause = time.Second

// showUntil prints the status whenever something changes, until a watch is closed. It returns what
// it printed last.
func (f *statusFlags) showUntil(ctx context.Context, watches *watched, out, notes io.Writer, shown []byte, from *source, kind string, name client.ObjectKey) ([]byte, error) {
	for {
		view, err := f.bounded(ctx, notes, from, kind, name)
		switch {
		case ctx.Err() != nil:
			return shown, nil
		case err != nil:
			return shown, err
		}
		notes = io.Discard // what is missing is said once
		if shown, err = f.redraw(out, shown, from, &view); err != nil {
			return shown, err
		}
		select {
		case <-watches.changed:
		case <-watches.ended:
			return shown, nil
		case <-ctx.Done():
			return shown, nil
		}
	}
}

// bounded is view within a time.
func (f *statusFlags) bounded(ctx context.Context, notes io.Writer, from *source, kind string, name client.ObjectKey) (poolview.View, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return f.view(ctx, notes, from, kind, name)
}

// clearScreen moves the cursor of a terminal to its corner, and clears what is below.
const clearScreen = "\x1b[H\x1b[J"

// redraw prints a status if it differs from the one before. A terminal shows it in place of that.
func (f *statusFlags) redraw(out io.Writer, shown []byte, from *source, view *poolview.View) ([]byte, error) {
	text := &bytes.Buffer{}
	printer := from.printer(out)
	printer.Out = text
	if err := show(&f.readFlags, text, view, printer.Status); err != nil {
		return shown, err
	}
	if bytes.Equal(text.Bytes(), shown) {
		return shown, nil
	}
	shown = bytes.Clone(text.Bytes())
	before := ""
	switch {
	case f.output == "text" && printer.Screen.Interactive:
		before = clearScreen
	case f.output == "text":
		before = printer.Now.UTC().Format(time.RFC3339) + "\n"
	}
	if _, err := fmt.Fprintf(out, "%s%s", before, shown); err != nil {
		return shown, fmt.Errorf("printing: %w", err)
	}
	return shown, nil
}

// watched are watches of the objects of a pool.
type watched struct {
	// changed receives a value after a change; several changes that were not read yet are one.
	// Ended receives a value when a watch is closed, which the API server does after minutes.
	changed, ended chan struct{}
	watches        []watch.Interface
}

// watchPool watches the objects of a pool, which are in its namespace. Each watch begins with the objects that
// there are, so that no change is missed between two watches.
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
