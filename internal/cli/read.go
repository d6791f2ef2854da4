package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/buildinfo"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/internal/poolread"
	"github.com/slipway-project/slipway/internal/pooltext"
	"github.com/slipway-project/slipway/internal/poolview"
	"github.com/slipway-project/slipway/internal/terminal"
	"github.com/slipway-project/slipway/internal/workload"
)

const (
	// readTimeout bounds a command that reads and does not watch.
	readTimeout = time.Minute
	// completionTimeout bounds how long a shell waits for the names of pools.
	completionTimeout = 3 * time.Second
)

// source holds the clients that the commands that show pools read with.
type source struct {
	planCluster
	// watcher watches the management cluster.
	watcher client.WithWatch
	pools   poolread.Reader
	// aws returns a reader of AWS. It fails if there are no credentials.
	aws   func(context.Context) (*poolread.AWS, error)
	clock clock.Clock
}

// readFlags holds the flags of the commands that show pools. They change nothing.
type readFlags struct {
	kubeconfigFlags
	namespace, output string
	secretNamespace   string
	// connect finds the clusters; tests have their own.
	connect func(*readFlags) (*source, error)
}

// newReadCommands returns the commands that show pools.
func newReadCommands(connect func(*readFlags) (*source, error)) []*cobra.Command {
	return []*cobra.Command{
		newStatusCommand(connect), newHistoryCommand(connect), newDiffCommand(connect), newExplainCommand(connect), newTraceCommand(connect),
		newTreeCommand(connect), newEventsCommand(connect),
	}
}

// bind adds the flags to a command, and the completion of its first argument.
func (f *readFlags) bind(command *cobra.Command, complete func(context.Context, *source) ([]string, error)) {
	set := command.Flags()
	f.kubeconfigFlags.bind(set)
	set.StringVarP(&f.namespace, "namespace", "n", "", "namespace of the object; the namespace of the kubeconfig's context if empty")
	bindOutput(set, &f.output)
	command.ValidArgsFunction = func(command *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return f.completions(command, prefix, complete), cobra.ShellCompDirectiveNoFileComp
	}
}

// bindAWS adds the flag of commands that read AWS.
func (f *readFlags) bindAWS(set *pflag.FlagSet) {
	BindSecretNamespace(set, &f.secretNamespace)
}

// completions returns the names that begin with a prefix. A shell shows no errors.
func (f *readFlags) completions(command *cobra.Command, prefix string, complete func(context.Context, *source) ([]string, error)) []string {
	ctx, cancel := context.WithTimeout(command.Context(), completionTimeout)
	defer cancel()
	from, err := f.connect(f)
	if err != nil {
		return nil
	}
	names, err := complete(ctx, from)
	if err != nil {
		return nil
	}
	return withPrefix(names, prefix)
}

// poolNames returns the names of the pools of the namespace.
func poolNames(ctx context.Context, from *source) ([]string, error) {
	pools, _, err := from.pools.Pools(ctx, from.namespace)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(pools))
	for _, view := range viewsOf(pools, from.clock.Now()) {
		names = append(names, view.Name)
	}
	return names, nil
}

// viewsOf returns the views of pools.
func viewsOf(pools []poolview.Objects, now time.Time) []poolview.View {
	views := make([]poolview.View, 0, len(pools))
	for _, pool := range pools {
		views = append(views, poolview.Of(pool, now))
	}
	return views
}

// start checks the flags and connects. The context is bounded.
func (f *readFlags) start(command *cobra.Command) (context.Context, context.CancelFunc, *source, error) {
	if err := checkOutput(f.output); err != nil {
		return nil, nil, nil, err
	}
	from, err := f.connect(f)
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel := context.WithTimeout(command.Context(), readTimeout)
	return ctx, cancel, from, nil
}

// withPool connects, reads a pool, and runs the rest of a command with it.
func (f *readFlags) withPool(command *cobra.Command, pool string, run func(context.Context, *source, poolview.Objects) error) error {
	ctx, cancel, from, err := f.start(command)
	if err != nil {
		return err
	}
	defer cancel()
	objects, err := from.objects(ctx, pool)
	if err != nil {
		return err
	}
	return run(ctx, from, objects)
}

// connectClusters finds the management cluster by the flags.
func connectClusters(f *readFlags) (*source, error) {
	config, err := f.config()
	if err != nil {
		return nil, err
	}
	scheme, err := manager.NewScheme()
	if err != nil {
		return nil, err
	}
	if err := provisioningv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("building the scheme: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	streaming := rest.CopyConfig(config)
	streaming.Timeout = 0 // a watch lasts
	watcher, err := client.NewWithWatch(streaming, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	namespace, err := f.namespaceOr(f.namespace)
	if err != nil {
		return nil, err
	}
	workloads := workload.New(c, clock.RealClock{})
	workloads.Loopback = true // the clusters of a developer run on the machine of this command
	return &source{
		planCluster: planCluster{Client: c, namespace: namespace}, watcher: watcher, pools: poolread.Reader{Cluster: c, Workloads: workloads},
		aws: func(ctx context.Context) (*poolread.AWS, error) {
			base, err := aws.LoadBase(ctx)
			if err != nil {
				return nil, err
			}
			return poolread.NewAWS(c, base, f.secretNamespace, buildinfo.Version()), nil
		},
		clock: wallClock,
	}, nil
}

// objects returns the objects of the pool of a name, which may have its kind before it.
func (s *source) objects(ctx context.Context, name string) (poolview.Objects, error) {
	object, err := s.pool(ctx, name)
	if err != nil {
		return poolview.Objects{}, err
	}
	return s.pools.Pool(ctx, object.GetKind(), client.ObjectKeyFromObject(object))
}

// printer returns a printer to a writer.
func (s *source) printer(out io.Writer) *pooltext.Printer {
	return &pooltext.Printer{Out: out, Screen: terminal.ScreenOf(out, os.Getenv), Now: s.clock.Now()}
}

// show prints a value in the format of the flags, as text by a method of the printer.
func show[T any](f *readFlags, out io.Writer, value T, text func(T) error) error {
	printed := text
	if f.output != textOutput {
		printed = func(value T) error { return encode(out, value, f.output) }
	}
	if err := printed(value); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// noted writes why something is missing from the output.
func noted(notes io.Writer, what string, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(notes, "%s: %s\n", what, printable(explained(err)))
	}
}

// workloadText describes an error without the addresses of a workload cluster, if it is about one.
func workloadText(err error) string {
	var unreachable *workload.UnreachableError
	var answer *workload.AnswerError
	if errors.As(err, &unreachable) || errors.As(err, &answer) {
		return workload.Explain(err)
	}
	return err.Error()
}

// eventsOf returns the events about objects of a namespace, given by kind and name.
func eventsOf(ctx context.Context, from client.Reader, namespace string, about map[string]bool) ([]poolview.Event, error) {
	list := &corev1.EventList{}
	if err := from.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing events: %w", err)
	}
	var found []poolview.Event
	for i := range list.Items {
		event := &list.Items[i]
		if object := event.InvolvedObject.Kind + "/" + event.InvolvedObject.Name; about[object] {
			found = append(found, poolview.Event{
				Time: latest(event), Source: object, Warning: event.Type == corev1.EventTypeWarning, Reason: event.Reason, Message: poolview.EventText(event.Message), Count: countOf(event),
			})
		}
	}
	poolview.SortEvents(found)
	return found, nil
}

// latest returns when an event happened last. Events of the two APIs have it in different fields.
func latest(event *corev1.Event) time.Time {
	switch {
	case event.Series != nil:
		return event.Series.LastObservedTime.UTC()
	case !event.LastTimestamp.IsZero():
		return event.LastTimestamp.UTC()
	case !event.EventTime.IsZero():
		return event.EventTime.UTC()
	}
	return event.CreationTimestamp.UTC()
}

// countOf returns how often an event happened.
func countOf(event *corev1.Event) int32 {
	if event.Series != nil {
		return event.Series.Count
	}
	return event.Count
}
