package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
replaced.

--watch outlasts an API server that does not answer for a while. It stops if the pool is deleted, or if you may not read it.`,
		Example: `  slipway status                   # all pools of the namespace
  slipway status workers -n blue   # one pool
  slipway status workers -w        # follow a roll-out
  slipway status -A -o json        # all pools, for a script`,
		Args: atMostOne,
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
		return f.list(ctx, command.OutOrStdout(), command.ErrOrStderr(), from)
	}
	object, err := from.pool(ctx, args[0])
	if err != nil {
		return err
	}
	name := client.ObjectKeyFromObject(object)
	if f.watch {
		follower := &follower{
			statusFlags: f, from: from, kind: object.GetKind(), name: name, out: command.OutOrStdout(), notes: command.ErrOrStderr(), pause: watchPause,
		}
		return follower.run(command.Context())
	}
	view, missing, err := f.view(ctx, from, object.GetKind(), name)
	if err != nil {
		return err
	}
	noted(command.ErrOrStderr(), nodesMissing, missing)
	return show(&f.readFlags, command.OutOrStdout(), &view, from.printer(command.OutOrStdout()).Status)
}

// list prints one line for each pool.
func (f *statusFlags) list(ctx context.Context, out, notes io.Writer, from *source) error {
	namespace := from.namespace
	if f.all {
		namespace = ""
	}
	pools, missing, err := from.pools.Pools(ctx, namespace)
	if err != nil {
		return err
	}
	noted(notes, poolsMissing, missing)
	return show(&f.readFlags, out, viewsOf(pools, from.clock.Now()), func(views []poolview.View) error {
		if len(views) == 0 {
			text := "There are no pools."
			switch {
			case missing != nil:
				text = "There are no pools that you may list."
			case namespace != "":
				text = fmt.Sprintf("There are no pools in namespace %s. Use -A for all namespaces.", printable(namespace))
			}
			_, err := fmt.Fprintln(out, text)
			return err
		}
		return from.printer(out).List(views, f.all)
	})
}

// poolsMissing begins the note about a kind of pools that the user may not list.
const poolsMissing = "Some pools may be missing"

// nodesMissing begins the note about a workload cluster that cannot be read.
const nodesMissing = "The names of nodes are missing"

// view returns the view of a pool, and why it lacks what the workload cluster adds.
func (f *statusFlags) view(ctx context.Context, from *source, kind string, name client.ObjectKey) (view poolview.View, missing, err error) {
	objects, err := from.pools.Pool(ctx, kind, name)
	if err != nil {
		return poolview.View{}, nil, err
	}
	missing = from.pools.WithNodes(ctx, &objects)
	view = poolview.Of(objects, from.clock.Now())
	if missing == nil {
		missing = from.pools.WithPods(ctx, objects, &view)
	}
	return view, missing, nil
}
