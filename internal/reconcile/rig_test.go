package reconcile_test

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/report"
)

const finalizer = "example.com/held"

type (
	object = *infrav1.AWSLaunchConfig
	// facts holds what a scripted kind has observed.
	facts struct {
		Needs []reconcile.Need
		// Made are the names of the actions that were done.
		Made []string
	}
	// notes counts the passes that saw an object.
	notes struct{ passes int }
)

// do is an action that fails with an error, which may be nil.
type do struct {
	Name string
	Err  error
	// Whole has its event say why it happened.
	Whole bool
}

func (d do) String() string { return d.Name }

// creation is a do that creates what is deleted with the object.
type creation struct {
	reconcile.Creates
	do
}

// scripted is a kind that decides by a function.
type scripted struct {
	decide func(in reconcile.Input[object, facts]) reconcile.Plan
	// passes is what the memory said in each pass, and acted what was on the object when something was done.
	passes []int
	acted  []string
}

func (s *scripted) Observe(_ context.Context, pass reconcile.Pass[object, facts, notes], needs ...reconcile.Need) error {
	if len(needs) == 0 {
		pass.Memory.passes++
		s.passes = append(s.passes, pass.Memory.passes)
	}
	pass.Seen.Needs = append(pass.Seen.Needs, needs...)
	return nil
}

func (s *scripted) Decide(in reconcile.Input[object, facts]) reconcile.Plan { return s.decide(in) }

func (s *scripted) Act(_ context.Context, pass reconcile.Pass[object, facts, notes], action reconcile.Action) ([]reconcile.Event, error) {
	one, is := action.(do)
	if !is {
		one = action.(creation).do
	}
	s.acted = append(s.acted, one.Name+" "+strings.Join(pass.Object.Finalizers, ",")+" "+pass.Object.Annotations["note"])
	if one.Err == nil {
		pass.Seen.Made = append(pass.Seen.Made, one.Name)
	}
	event := reconcile.Eventf("Tried", "tried to %s", one.Name)
	if one.Whole {
		event = event.WithoutReason()
	}
	return []reconcile.Event{event}, one.Err
}

// rig is a controller of a scripted kind over an API server in memory.
type rig struct {
	*testing.T
	client     client.Client
	events     *events.FakeRecorder
	kind       *scripted
	controller *reconcile.Controller[object, facts, notes]
	// writes are what was patched: the object, or its status.
	writes    []string
	forgotten []string
}

func newRig(t *testing.T, decide func(reconcile.Input[object, facts]) reconcile.Plan) *rig {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	stored := &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", Generation: 3, UID: "first"}}
	r := &rig{T: t, events: events.NewFakeRecorder(200), kind: &scripted{decide: decide}}
	r.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(stored).WithStatusSubresource(stored).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			r.writes = append(r.writes, "object")
			return c.Patch(ctx, object, patch, options...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			r.writes = append(r.writes, name)
			return c.SubResource(name).Patch(ctx, object, patch, options...)
		},
	}).Build()
	r.controller = &reconcile.Controller[object, facts, notes]{
		Kind: r.kind, Client: r.client, Live: r.client, Report: report.Reporter{Recorder: r.events}, Empty: &infrav1.AWSLaunchConfig{}, Finalizer: finalizer,
		Clock:  clocktesting.NewFakePassiveClock(time.Date(2026, time.November, 23, 10, 0, 0, 0, time.UTC)),
		Forget: func(name types.NamespacedName) { r.forgotten = append(r.forgotten, name.String()) },
		Summaries: func(object) []reconcile.Summarizer {
			return []reconcile.Summarizer{reconciling.Summary{Target: infrav1.ReadyCondition, Of: []string{infrav1.ResolvedCondition}, Reason: infrav1.ReadyReason}}
		},
	}
	return r
}

func (r *rig) reconcile() (ctrl.Result, error) {
	return r.controller.Reconcile(r.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "web"}})
}

func (r *rig) stored() object {
	r.Helper()
	found := &infrav1.AWSLaunchConfig{}
	if err := r.client.Get(r.Context(), types.NamespacedName{Namespace: "default", Name: "web"}, found); err != nil {
		r.Fatal(err)
	}
	return found
}

// planned is a plan of actions.
func planned(actions ...do) (plan reconcile.Plan) {
	for _, action := range actions {
		plan.Do(action, "because of %s", "a test")
	}
	return plan
}
