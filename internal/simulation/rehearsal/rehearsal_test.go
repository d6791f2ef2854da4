package rehearsal

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws/action"
	"github.com/slipway-project/slipway/internal/plan"
	"github.com/slipway-project/slipway/internal/plan/plantest"
	"github.com/slipway-project/slipway/internal/plan/plantest/owners"
)

var usual = Options{NodeStart: time.Minute, DrainTime: 30 * time.Second, Limit: 24 * time.Hour}

// failingAt returns the usual options with instances that fail.
func failingAt(percent int) Options {
	options := usual
	options.FailAt = &percent
	return options
}

// simulated edits the pool of a world in a simulation. It fails if the management cluster or AWS were changed.
func simulated(t *testing.T, w *plantest.World, options Options, edit func(*infrav1.AWSMachinePool)) Result {
	t.Helper()
	before, edited := w.Pool(), w.Pool()
	edit(edited)
	result, err := Run(t.Context(), w.Planner, options, edited)
	if err != nil {
		t.Fatal(err)
	}
	unchanged(t, w, before.ResourceVersion, w.Pool().ResourceVersion)
	return result
}

// unchanged fails if a simulation changed the pool or its AWS.
func unchanged(t *testing.T, w *plantest.World, before, after string) {
	t.Helper()
	if after != before {
		t.Errorf("the simulation changed the pool from resource version %s to %s", before, after)
	}
	for _, call := range w.Sim.Calls() {
		if action.Changes(call.Action) {
			t.Errorf("the simulation called %s in the AWS of the pool", call.Action)
		}
	}
}

// warmUp has a roll-out wait until a new node has had time to fail.
func warmUp(pool *infrav1.AWSMachinePool) {
	pool.Spec.RefreshPreferences = &infrav1.RefreshPreferences{InstanceWarmup: ptr.To[int64](300)}
}

func otherType(pool *infrav1.AWSMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = "m5.xlarge" }

// outcomeOf is an edit of a pool of three nodes of some kind, and how the roll-out ends.
type outcomeOf[P any] struct {
	reason  string
	created func(P)
	options Options
	edit    func(P)
	want    Pool
	// last is the reason of the condition RolledOut at the end.
	last string
}

// expect runs the simulation of each row, and compares how it ends.
func expect[P any](t *testing.T, rows map[string]outcomeOf[P], run func(*testing.T, outcomeOf[P]) Result) {
	t.Helper()
	t.Parallel()
	for name, tc := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := run(t, tc).Pools[0]
			got := Pool{Instances: pool.Instances, Outcome: pool.Outcome, Versions: pool.Versions, Replaced: pool.Replaced, Failed: pool.Failed, FewestUp: pool.FewestUp}
			if tc.want.Instances = 3; tc.options.FailAt != nil && tc.want.Failed == 0 {
				tc.want.Failed = max(got.Failed, 1) // how many times AWS tries again depends on its times
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want +got:\n%s", tc.reason, diff)
			}
			at := slices.IndexFunc(pool.Conditions, func(condition Condition) bool { return condition.Type == infrav1.RolledOutCondition })
			if at < 0 || pool.Conditions[at].Reason != tc.last {
				t.Errorf("%s the conditions are %v, want RolledOut with reason %s", tc.reason, pool.Conditions, tc.last)
			}
		})
	}
}

// TestOutcomes holds how a roll-out of three nodes ends.
func TestOutcomes(t *testing.T) {
	expect(t, map[string]outcomeOf[*infrav1.AWSMachinePool]{
		"RolledOut": {
			reason: "Nodes are replaced one by one, as an instance refresh does by default.", created: warmUp, options: usual, edit: otherType,
			want: Pool{Outcome: RolledOut, Versions: 1, Replaced: 3, FewestUp: 2}, last: infrav1.RolledOutReason,
		},
		"Defaults": {
			reason: "A pool without preferences waits for each new node.", options: usual, edit: otherType,
			created: func(pool *infrav1.AWSMachinePool) { pool.Spec.RefreshPreferences = nil },
			want:    Pool{Outcome: RolledOut, Versions: 1, Replaced: 3, FewestUp: 2}, last: infrav1.RolledOutReason,
		},
		"InPlace": {
			reason: "An edit that replaces no node leaves all of them up.", created: warmUp, options: usual,
			edit: func(pool *infrav1.AWSMachinePool) { pool.Spec.MaxSize = 9 },
			want: Pool{Outcome: RolledOut, FewestUp: 3}, last: infrav1.RolledOutReason,
		},
		"InPlaceOfNamed": {
			reason: "A plan that creates no version knows the key pair that the nodes have.", options: usual,
			created: func(pool *infrav1.AWSMachinePool) {
				warmUp(pool)
				pool.Spec.AWSLaunchTemplate.SSHKeyName = ptr.To("default")
			},
			edit: func(pool *infrav1.AWSMachinePool) { pool.Spec.MaxSize = 9 },
			want: Pool{Outcome: RolledOut, FewestUp: 3}, last: infrav1.RolledOutReason,
		},
		"RolledBack": {
			reason: "With rollback, the pool goes back to the configuration that works.", options: failingAt(30), edit: otherType,
			created: func(pool *infrav1.AWSMachinePool) { warmUp(pool); pool.Spec.RefreshPreferences.Rollback = true },
			want:    Pool{Outcome: RolledBack, Versions: 1, Replaced: 2, FewestUp: 2}, last: infrav1.RolledBackReason,
		},
		"Stopped": {
			reason: "Without rollback, the roll-out stops, and the nodes that were not replaced stay.", created: warmUp, options: failingAt(30), edit: otherType,
			want: Pool{Outcome: Stopped, Versions: 1, Replaced: 2, FewestUp: 2}, last: infrav1.RefreshFailedReason,
		},
		"Degraded": {
			reason: "A warm-up that is shorter than the time until a failure is known protects no node.", options: failingAt(30), edit: otherType,
			want: Pool{Outcome: Degraded, Versions: 1, Replaced: 3, FewestUp: 1}, last: infrav1.RolledOutReason,
		},
		"SlowNodes": {
			reason: "The first node that starts after its warm-up is waited for. Without that, no node would be up.", created: warmUp, edit: otherType,
			options: Options{NodeStart: 15 * time.Minute, DrainTime: 30 * time.Second, Limit: 24 * time.Hour},
			want:    Pool{Outcome: RolledOut, Versions: 1, Replaced: 3, FewestUp: 1}, last: infrav1.RolledOutReason,
		},
		"Paused": {
			reason: "A roll-out that waits for a user is not waited for.", created: warmUp, options: usual,
			edit: func(pool *infrav1.AWSMachinePool) { otherType(pool); pool.Spec.RefreshPreferences.Disable = true },
			want: Pool{Outcome: Stopped, Versions: 1, FewestUp: 3}, last: infrav1.RefreshDisabledReason,
		},
		"RolloutPaused": {
			reason: "A version that waits for a user is not waited for, and no node runs it.", created: warmUp, options: usual,
			edit: func(pool *infrav1.AWSMachinePool) {
				otherType(pool)
				pool.Annotations[infrav1.RolloutPausedAnnotation] = "true"
			},
			want: Pool{Outcome: Stopped, Versions: 1, FewestUp: 3}, last: infrav1.RolledOutReason,
		},
		"Limit": {
			reason: "A limit of time ends a simulation.", created: warmUp, options: Options{NodeStart: time.Minute, DrainTime: time.Hour, Limit: 3 * time.Minute}, edit: otherType,
			want: Pool{Outcome: Unfinished, Versions: 1, Replaced: 0, FewestUp: 2}, last: infrav1.RollingOutReason,
		},
	}, func(t *testing.T, tc outcomeOf[*infrav1.AWSMachinePool]) Result {
		t.Helper()
		return simulated(t, plantest.New(t, 3, tc.created), tc.options, tc.edit)
	})
}

// TestOrder holds that each node is drained before its instance is terminated, and that time never goes back.
func TestOrder(t *testing.T) {
	t.Parallel()
	pool := simulated(t, plantest.New(t, 3, warmUp), usual, otherType).Pools[0]
	drained, last := map[string]bool{}, plan.Duration(0)
	for _, event := range pool.Events {
		if event.After < last {
			t.Errorf("%s happens at %s, after %s", event.What, event.After, last)
		}
		last = event.After
		for _, id := range event.Instances {
			switch {
			case event.What == beingDrained:
				drained[id] = true
			case strings.Contains(event.What, "terminated") && !drained[id]:
				t.Errorf("instance %s is terminated, and its node was not drained", id)
			}
		}
	}
	if len(drained) != 3 {
		t.Errorf("%d nodes were drained, want 3", len(drained))
	}
}

// TestRepeats holds that two simulations of an edit are equal.
func TestRepeats(t *testing.T) {
	t.Parallel()
	w := plantest.New(t, 2, warmUp)
	first, second := simulated(t, w, usual, otherType), simulated(t, w, usual, otherType)
	one, err := json.Marshal(first)
	two, again := json.Marshal(second)
	if err := errors.Join(err, again); err != nil {
		t.Fatal(err)
	}
	if string(one) != string(two) {
		t.Errorf("the simulations differ:\n%s\n%s", one, two)
	}
}

// TestNotSimulated holds what is not simulated.
func TestNotSimulated(t *testing.T) {
	t.Parallel()
	w := plantest.New(t, 1, nil)
	if result := simulated(t, w, usual, func(pool *infrav1.AWSMachinePool) { pool.Labels["team"] = "blue" }); len(result.Pools) > 0 || !result.Plan.Empty() {
		t.Errorf("an edit that changes nothing in AWS was simulated: %v", result.Pools)
	}
	failing := func(pool *infrav1.AWSMachinePool) {
		pool.Spec.AWSLaunchTemplate.AMI.ID = ptr.To("ami-00000000000000000")
	}
	if result := simulated(t, w, usual, failing); len(result.Pools) > 0 || !result.Plan.Failed() {
		t.Errorf("an edit whose plan fails was simulated: %v", result.Pools)
	}
	unused := &infrav1.AWSLaunchConfig{ObjectMeta: owners.Named("unused")}
	if _, err := Run(t.Context(), w.Planner, usual, unused); !errors.Is(err, plan.ErrNoCopy) {
		t.Errorf("Run of an AWSLaunchConfig without pools: got error %v, want %v", err, plan.ErrNoCopy)
	}
}

// TestWithinSecond holds that a simulation which starts within a second counts the versions that it creates: AWS reports
// times in whole seconds.
func TestWithinSecond(t *testing.T) {
	t.Parallel()
	w := plantest.New(t, 1, warmUp)
	w.Clock.Step(700 * time.Millisecond)
	if pool := simulated(t, w, usual, otherType).Pools[0]; pool.Versions != 1 {
		t.Errorf("the simulation created %d versions, want 1", pool.Versions)
	}
}

// TestProblem holds that a copy that does not reach its spec is explained by a condition that should not be False.
func TestProblem(t *testing.T) {
	t.Parallel()
	got := problem(plan.State{Conditions: []metav1.Condition{
		{Type: infrav1.PausedCondition, Status: metav1.ConditionFalse, Reason: infrav1.NotPausedReason},
		{Type: infrav1.LaunchTemplateReadyCondition, Status: metav1.ConditionFalse, Reason: "LaunchTemplateDataInvalid", Message: "no key pair"},
	}})
	if want := "LaunchTemplateReady is False, LaunchTemplateDataInvalid: no key pair"; got != want {
		t.Errorf("problem: got %q, want %q", got, want)
	}
}

// TestTextOf holds that an event of several instances is described in the plural.
func TestTextOf(t *testing.T) {
	t.Parallel()
	for want, event := range map[string]Event{
		"i-1 is ready":               {What: "is ready", Instances: []string{"i-1"}},
		"i-1, i-2 are ready":         {What: "is ready", Instances: []string{"i-1", "i-2"}},
		"i-1, i-2 do not start":      {What: doesNotStart, Instances: []string{"i-1", "i-2"}},
		"i-1, i-2 are being drained": {What: beingDrained, Instances: []string{"i-1", "i-2"}},
	} {
		if diff := cmp.Diff(want, textOf(event)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}
