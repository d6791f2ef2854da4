// Package scheduler launches nodes for pods that wait. There is one object, all of the cluster,
// and one pass at a time: it reads what there is, has package packing choose nodes, and writes
// ProvisionedNodes, which another controller launches. The pass itself launches nothing, so that a
// crash anywhere in it costs nothing.
//
// A pass observes, decides and acts several times, because each observation that costs a call is
// requested by a decision. Decisions, in the files decide*.go, are pure functions. The first is
// Decide. Each returns a Plan: what to do, what to observe then, what to remember, and the decision
// that follows. The actions are values, in actions.go, and act.go performs them. The frame of package
// reconcile is about one object with a status, which this controller does not have. It decides from
// the beginning after each action, too, and choosing nodes for 20,000 pods takes seconds.
//
// A pass considers at most --pods-per-pass pods. Pods that were tried before go last, so pods
// without a place never starve others. Every pod that waits has an event: NodeLaunched when its
// node is on its way, and NoNodeLaunched with the reason otherwise. An event is a write to the API
// server, so a pass writes at most 200 of a kind, and all passes together at most 2,400 a minute.
//
// Schedulers from Kubernetes 1.35 on keep the place of a pod whose status.nominatedNodeName is set,
// whichever component set it. The field is written once the pod's Node has registered, because a
// failed attempt to schedule the pod removes an earlier value. A value that the scheduler wrote is
// never replaced.
package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/clustername"
	"github.com/slipway-project/slipway/internal/provisioning/defaults"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/region"
	"github.com/slipway-project/slipway/internal/provisioning/templates"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/report"
)

// Name is the controller's, in logs, metrics and as the reporter of events.
const Name = "node-scheduler"

// DefaultPodsPerPass lets a pass consider as many pods as take some hundred megabytes.
const DefaultPodsPerPass = 20000

// Reconciler launches nodes.
type Reconciler struct {
	Client client.Client
	// Pods returns the pods of the cache without copying them: lists by Client are copies, which
	// take half as much memory as the pods. The caller must not change them.
	Pods func(context.Context) ([]*corev1.Pod, error)
	// Live reads past the cache.
	Live client.Reader
	// ClusterUID is the UID of the kube-system namespace: the mark of this cluster's instances.
	ClusterUID string
	// Names knows cluster names that another cluster uses.
	Names     *clustername.Names
	Region    *region.Region
	Defaults  *defaults.Templates
	Templates *templates.Reader
	Asked     *templates.Asked
	Shortages *catalog.Shortages
	Refusals  *launcher.Refusals
	Budget    *launcher.Budget
	Promises  *launcher.Promises
	Report    report.Reporter
	// Startups are how long pods wait; nothing is measured if nil.
	Startups *Startups
	Clock    clock.PassiveClock
	// BatchMax is how long pods wait for others at most while they keep coming;
	// launcher.DefaultLongest if zero.
	BatchMax time.Duration
	// PodsPerPass bounds how many pods one pass considers. The others are left to the next.
	PodsPerPass int
	// Random returns random letters and digits for the names of launches; rand.String if nil.
	Random func(length int) string

	begun   bool
	memory  Memory
	created created
	version schedulerVersion
	// events bounds how many events are written.
	events *launcher.Budget
}

// request is the one object.
var request = ctrl.Request{NamespacedName: types.NamespacedName{Name: "cluster"}}

// Reconcile launches nodes for the pods that wait. It decides, acts and observes until a decision is
// the last one.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	if r.events == nil {
		r.events = launcher.NewBudget(r.Clock, mostEvents)
		r.memory.Window = *launcher.NewWindow(cmp.Or(r.BatchMax, launcher.DefaultLongest))
	}
	seen := &Observed{}
	observe := func(draft *Draft, needs ...reconcile.Need) error {
		return reconcile.Observing(ctx, needs, func(ctx context.Context) error { return observer{r, seen, draft}.observe(ctx, needs...) })
	}
	if err := observe(&Draft{}); err != nil {
		return ctrl.Result{}, err
	}
	var last, total Plan
	for next := Decide; next != nil; next = last.Then {
		last = r.decide(ctx, next, seen, last)
		if last.Again > 0 {
			total.LookAgain(last.Again)
		}
		if err := r.act(ctx, seen, last.Actions); err != nil {
			return ctrl.Result{}, err
		}
		if last.Err != nil {
			return ctrl.Result{}, last.Err
		}
		if len(last.Needs) > 0 {
			if err := observe(&last.Draft, last.Needs...); err != nil {
				return ctrl.Result{}, err
			}
		}
	}
	log.FromContext(ctx).V(1).Info("Pass ended", "reason", last.Why, "after", total.Again)
	return ctrl.Result{RequeueAfter: total.Again}, nil
}

// decide makes a decision that follows another, and remembers what it returns to remember.
func (r *Reconciler) decide(ctx context.Context, next decision, seen *Observed, last Plan) Plan {
	seen.Launches, seen.Events = r.Budget.Allowance(), r.events.Allowance()
	in := Input{Seen: seen, Memory: r.memory, Draft: last.Draft, Now: r.Clock.Now()}
	var plan Plan
	if last.Packs > 0 {
		done := r.Report.Progress.Choosing(r.Clock, last.Packs)
		reconcile.Deciding(ctx, fmt.Sprintf("choose nodes for %d pods", last.Packs), func() { plan = next(in) })
		done()
	} else {
		plan = next(in)
	}
	r.memory = plan.Memory
	return plan
}

// act performs actions in order, until one fails.
func (r *Reconciler) act(ctx context.Context, seen *Observed, steps []reconcile.Step) error {
	for _, step := range steps {
		todo, is := step.Action.(doer)
		if !is {
			return fmt.Errorf("%T is no action of the choice of nodes", step.Action)
		}
		err := reconcile.Acting(ctx, step, func(ctx context.Context) error { return todo.do(ctx, actor{r, seen}) })
		if err != nil {
			return fmt.Errorf("%s: %w", step.Action, err)
		}
	}
	return nil
}
