package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/aws/smithy-go/middleware"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	ctrlreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/aws/observe"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/drain"
	"github.com/slipway-project/slipway/internal/forecast"
	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/launchconfig"
	"github.com/slipway-project/slipway/internal/machinepool"
	"github.com/slipway-project/slipway/internal/managedmachinepool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/report"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
)

// world holds what the controllers of one plan see: the management cluster and AWS, as their writes
// would leave them.
type world struct {
	clock   *aheadClock
	cluster *cluster
	aws     *forecast.AWS
	controllers
	settle time.Duration
	steps  []Step
}

// errPlan is the answer to a write that would reach AWS. The forecast answers all of them before.
var errPlan = errors.New("a plan changes nothing in AWS")

// newWorld returns a world of a management cluster in which nothing has been written, and the context of its
// calls.
func (p *Planner) newWorld(ctx context.Context, reader client.Reader) (*world, context.Context) {
	clk := &aheadClock{WithTicker: p.Clock}
	w := &world{clock: clk, aws: forecast.New(clk), settle: p.SettleWindow}
	w.cluster = newCluster(reader, apiserver.New(p.Kinds, clk, 0))
	w.controllers = p.newControllers(w.cluster, p.sessions, clk, noWorkloads{})
	return w, forecast.With(ctx, w.aws)
}

// once returns a planner for one plan. All its worlds see the management cluster and AWS as they were
// when the first of them read them, and share the clients of AWS.
func (p *Planner) once() *Planner {
	planner := *p
	planner.Cluster = newSnapshot(p.Cluster)
	config := p.AWS.Copy()
	config.APIOptions = append(slices.Clone(config.APIOptions), forecast.Install)
	planner.sessions = aws.NewSessions(config, aws.WithClock(p.Clock), aws.WithLimits(p.Limits), aws.WithMayWrite(func() error { return errPlan }),
		aws.WithMiddleware(func() func(*middleware.Stack) error {
			reads := &forecast.Reads{Ahead: planner.ahead}
			return func(stack *middleware.Stack) error {
				return errors.Join(reads.Install(stack), planner.installPatience(stack))
			}
		}))
	return &planner
}

// controllers holds the controllers of a pool and of its launch config.
type controllers struct {
	configs *launchconfig.Reconciler
	pools   *machinepool.Controller
	managed *managedmachinepool.Controller
	clouds  *clouds.Registry
}

// newControllers returns controllers of a management cluster.
func (p *Planner) newControllers(c client.Client, sessions *aws.Sessions, clk clock.WithTicker, workloads machinepool.Workloads) controllers {
	principals := &identity.Resolver{Reader: c, Secrets: c, SecretNamespace: p.SecretNamespace}
	intervals := observe.DefaultIntervals
	intervals.Spacing = 0 // one caller shares no description with others, and would wait in real time
	intervals.Unlisted = true
	registry := clouds.NewRegistry(sessions, principals, clk, intervals)
	reporter := report.Reporter{Recorder: noEvents{}}
	return controllers{
		clouds: registry,
		configs: launchconfig.New(launchconfig.Options{
			Client: c, Live: c, Watches: noWatches{}, Clouds: registry, Report: reporter, Clock: clk,
		}),
		pools: machinepool.New(&machinepool.Kind{
			Client: c, Live: c, Clouds: registry, Workloads: workloads, Clock: clk,
			Settings: machinepool.Settings{SettleWindow: p.SettleWindow, MachinePoolMachines: p.MachinePoolMachines},
		}, reporter),
		managed: managedmachinepool.New(&managedmachinepool.Kind{
			Client: c, Live: c, Clouds: registry, Clock: clk,
			Settings: managedmachinepool.Settings{SettleWindow: p.SettleWindow, NodeRolePath: p.NodeRolePath, NodeRoleBoundary: p.NodeRoleBoundary},
		}, reporter),
	}
}

const (
	// mostRounds bounds how often the controllers of a plan run. A roll-out begins after some five
	// rounds.
	mostRounds = 40
	// longestWait limits the time that a plan lets pass at once, in addition to the settle window,
	// and mostWaits limits how often it does so in a row. Controllers that wait longer wait for
	// AWS.
	longestWait = time.Minute
	mostWaits   = 3
)

// run runs the controllers of a pool and of its launch config until they write nothing more, or a
// roll-out has begun.
func (w *world) run(ctx context.Context, pool target, before view) error {
	journal := func(object reconcile.Object, done reconcile.Done) { w.note(pool.kind, before, object, done) }
	ctx = reconcile.WithJournal(log.IntoContext(ctx, logr.Discard()), journal)
	waits := 0
	for range mostRounds {
		before := w.cluster.server.Version()
		again, err := w.round(ctx, w.cluster, pool)
		refresh, _ := w.aws.Refresh()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case w.cluster.server.Version() != before:
			waits = 0
		case refresh != nil || again == 0 || again > longestWait+w.settle || waits == mostWaits:
			return err
		default:
			waits++
			w.clock.advance(again)
		}
	}
	return fmt.Errorf("the controllers still write after %d rounds", mostRounds)
}

// round reconciles the launch config of a pool, and the pool. It returns the time until the first
// of them should be reconciled again, zero if neither asks for that.
func (c controllers) round(ctx context.Context, reader client.Reader, pool target) (time.Duration, error) {
	var again time.Duration
	var failure error
	reconcile := func(reconciler ctrlreconcile.Reconciler, name types.NamespacedName) {
		result, err := reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: name})
		failure = errors.Join(failure, err)
		if after := result.RequeueAfter; after > 0 && (again == 0 || after < again) {
			again = after
		}
	}
	config, err := configOf(ctx, reader, pool)
	if err != nil {
		return 0, err
	}
	if config != nil {
		reconcile(c.configs, *config)
	}
	reconcile(pool.kind.controller(c), pool.name)
	return again, failure
}

// configOf returns the launch config of a pool: the one that it refers to, or its own, which has its name;
// nil if there is none.
func configOf(ctx context.Context, reader client.Reader, target target) (*types.NamespacedName, error) {
	pool, err := target.kind.read(ctx, reader, target.name)
	if err != nil {
		return nil, err
	}
	if pool.config != nil {
		return &types.NamespacedName{Namespace: target.name.Namespace, Name: pool.config.Name}, nil
	}
	config := &infrav1.AWSLaunchConfig{}
	err = reader.Get(ctx, target.name, config)
	if err != nil || !controls(pool, config) {
		return nil, client.IgnoreNotFound(err)
	}
	return ptr.To(client.ObjectKeyFromObject(config)), nil
}

// controls reports whether a pool is the owner of a launch config.
func controls(pool, config client.Object) bool {
	for _, owner := range config.GetOwnerReferences() {
		if owner.UID == pool.GetUID() {
			return true
		}
	}
	return false
}

// note adds an action that changed AWS to the steps. Before is the pool as it is.
func (w *world) note(kind *kind, before view, object reconcile.Object, done reconcile.Done) {
	calls := w.aws.Calls()
	for _, step := range w.steps {
		calls = calls[len(step.Calls):]
	}
	if len(calls) == 0 {
		return
	}
	step := Step{Object: nameOf(w.cluster.Client, object), Action: done.Action.String(), Reason: done.Reason}
	for _, call := range calls {
		step.Calls = append(step.Calls, call.String())
	}
	if done.Err == nil {
		step.Replaces = kind.replaced(w, before, done.Action, calls)
	}
	w.steps = append(w.steps, step)
}

// nameOf returns the kind and the name of an object.
func nameOf(c client.Client, object client.Object) string {
	gvk, err := c.GroupVersionKindFor(object)
	if err != nil {
		return object.GetName()
	}
	return gvk.Kind + "/" + object.GetName()
}

// aheadClock is ahead of another clock by the time that a plan let pass.
type aheadClock struct {
	clock.WithTicker
	ahead atomic.Int64
}

// Now implements clock.PassiveClock.
func (c *aheadClock) Now() time.Time { return c.WithTicker.Now().Add(time.Duration(c.ahead.Load())) }

// Since implements clock.PassiveClock.
func (c *aheadClock) Since(moment time.Time) time.Duration { return c.Now().Sub(moment) }

func (c *aheadClock) advance(by time.Duration) { c.ahead.Add(int64(by)) }

// noEvents records no events.
type noEvents struct{}

// Eventf implements events.EventRecorder.
func (noEvents) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

// noWatches implements launchconfig.SecretWatcher for a process in which nothing changes.
type noWatches struct{}

// Watch implements launchconfig.SecretWatcher.
func (noWatches) Watch(types.NamespacedName, types.NamespacedName) {}

// Read implements launchconfig.SecretWatcher.
func (noWatches) Read(types.NamespacedName, string) {}

// Forget implements launchconfig.SecretWatcher.
func (noWatches) Forget(types.NamespacedName) {}

// noWorkloads implements machinepool.Workloads. A plan drains no node.
type noWorkloads struct{}

// Client implements machinepool.Workloads.
func (noWorkloads) Client(context.Context, types.NamespacedName) (drain.API, error) {
	return nil, errPlan
}
