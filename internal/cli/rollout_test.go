package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/internal/plan"
	"github.com/slipway-project/slipway/internal/plan/plantest"
	"github.com/slipway-project/slipway/internal/plan/plantest/owners"
	"github.com/slipway-project/slipway/internal/rolloutcontrol"
)

// rolloutCluster returns a management cluster with a pool whose version 2 waits for approval, and whose
// user is alice.
func rolloutCluster(t *testing.T, interception interceptor.Funcs) planCluster {
	t.Helper()
	scheme, err := manager.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	pool := &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "workers"}}
	config := &infrav1.AWSLaunchConfig{ObjectMeta: pool.ObjectMeta}
	config.Status = infrav1.AWSLaunchConfigStatus{
		Version: 1, ConfigFingerprint: "a", PendingVersion: 2,
		Conditions: []metav1.Condition{
			{Type: infrav1.ReadyCondition, Status: metav1.ConditionTrue},
			{Type: infrav1.RolloutApprovedCondition, Status: metav1.ConditionFalse, Reason: infrav1.WaitingForApprovalReason, Message: "version 2 waits\x1b[2J"},
		},
		Versions: []infrav1.LaunchTemplateVersionStatus{{Number: 2, ConfigFingerprint: "b"}, {Number: 1, ConfigFingerprint: "a"}},
		History:  []infrav1.LaunchConfigHistoryEntry{{Version: 1, ConfigFingerprint: "a", Change: "first version"}},
	}
	if interception.Create == nil {
		interception.Create = func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			object.(*authenticationv1.SelfSubjectReview).Status.UserInfo.Username = "alice"
			return nil
		}
	}
	store := fake.NewClientBuilder().WithScheme(scheme).WithObjects(pool, config).WithInterceptorFuncs(interception).Build()
	return planCluster{Client: store, namespace: "blue"}
}

// pool returns the pool of the cluster.
func poolIn(t *testing.T, cluster planCluster) *infrav1.AWSMachinePool {
	t.Helper()
	pool := &infrav1.AWSMachinePool{}
	if err := cluster.Get(t.Context(), client.ObjectKey{Namespace: "blue", Name: "workers"}, pool); err != nil {
		t.Fatal(err)
	}
	return pool
}

// runControl runs a command with a cluster, and returns what it prints.
func runControl(t *testing.T, cluster planCluster, flags controlFlags, answer string, decide func(rolloutcontrol.Subject) (rolloutcontrol.Change, error)) (string, error) {
	t.Helper()
	flags.skipPlan = true
	command, out := newUndoCommand(), &bytes.Buffer{}
	command.SetContext(t.Context())
	command.SetOut(out)
	command.SetIn(strings.NewReader(answer))
	err := flags.runOn(command, control{decide: decideBy(decide)}, cluster, "workers")
	return out.String(), err
}

func TestControl(t *testing.T) {
	t.Parallel()
	undo := func(s rolloutcontrol.Subject) (rolloutcontrol.Change, error) { return rolloutcontrol.Undo(s, 0) }
	for name, tc := range map[string]struct {
		reason string
		flags  controlFlags
		answer string
		pinned *int64
		prints string
		err    string
	}{
		"Yes":      {reason: "With --yes, nothing is asked.", flags: controlFlags{yes: true}, pinned: ptr.To[int64](1), prints: "Pin AWSMachinePool blue/workers to version 1 (first version).\n"},
		"Answered": {reason: "The user agrees.", answer: "y\n", pinned: ptr.To[int64](1), prints: "Go on? [y/N] Done."},
		"Declined": {reason: "The user does not agree.", answer: "no\n", prints: "Go on?", err: "nothing was changed"},
		"NoAnswer": {reason: "A script that forgets --yes changes nothing.", prints: "Go on?", err: "Use --yes"},
		"DryRun":   {reason: "A dry run changes nothing, and does not ask.", flags: controlFlags{dryRun: "server"}, prints: "Dry run: nothing was changed."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := rolloutCluster(t, interceptor.Funcs{})
			printed, err := runControl(t, cluster, tc.flags, tc.answer, undo)
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s got error %v, want %q", tc.reason, err, tc.err)
			}
			if !strings.Contains(printed, tc.prints) {
				t.Errorf("%s got output %q, want one with %q", tc.reason, printed, tc.prints)
			}
			if got := poolIn(t, cluster).Spec.PinnedVersion; ptr.Deref(got, 0) != ptr.Deref(tc.pinned, 0) {
				t.Errorf("%s the pinned version is %v, want %v", tc.reason, got, tc.pinned)
			}
		})
	}
}

// TestOutcome holds that a change is not reported as done if its plan has a problem.
func TestOutcome(t *testing.T) {
	t.Parallel()
	for problems, want := range map[bool]string{false: "Done. Slipway acts on it within seconds.", true: "The change is made, but the plan reports a problem"} {
		if got := outcome(problems); !strings.HasPrefix(got, want) {
			t.Errorf("with problems %t, the outcome is %q, want %q", problems, got, want)
		}
	}
}

// rolled returns a world whose pool has rolled out its second version.
func rolled(t *testing.T) *plantest.World {
	t.Helper()
	w := plantest.New(t, 3, func(pool *infrav1.AWSMachinePool) { pool.Spec.NodeDrain = &infrav1.NodeDrain{Disable: true} })
	ctx := log.IntoContext(t.Context(), logr.Discard())
	edited := w.Pool()
	edited.Spec.AWSLaunchTemplate.InstanceType = "m5.xlarge"
	copies, err := w.Planner.Copies(ctx, edited)
	if err != nil {
		t.Fatal(err)
	}
	copies[0].Start(plan.Surroundings{AWS: w.AWS, Clock: w.Clock})
	if err := copies[0].Edit(ctx); err != nil {
		t.Fatal(err)
	}
	for range 60 {
		if _, err := copies[0].Reconcile(ctx); err != nil {
			t.Fatal(err)
		}
		w.Clock.Step(10 * time.Second)
	}
	w.Cluster = copies[0].Cluster()
	w.Planner.Cluster = w.Cluster
	if pool := w.Pool(); ptr.Deref(pool.Status.UpToDateReplicas, 0) != 3 {
		t.Fatalf("%d instances are up to date: %+v", ptr.Deref(pool.Status.UpToDateReplicas, 0), pool.Status.Conditions)
	}
	return w
}

// dryRunner is a client of an API server in memory that has no dry runs of its own: they change the copy alone.
type dryRunner struct{ client.Client }

// Patch implements client.Writer.
func (d dryRunner) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	if !slices.Contains(options, client.PatchOption(client.DryRunAll)) {
		return d.Client.Patch(ctx, object, patch, options...)
	}
	if err := d.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return err
	}
	before, err := json.Marshal(object)
	if err != nil {
		return err
	}
	change, err := patch.Data(object)
	if err != nil {
		return err
	}
	after, err := jsonpatch.MergePatch(before, change)
	if err != nil {
		return err
	}
	return json.Unmarshal(after, object)
}

// TestUndoYes holds that undo --yes shows the plan, makes the change without asking, and does not report a
// change as done whose plan has a problem.
func TestUndoYes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		given  func(w *plantest.World) error
		prints []string
		not    string
	}{
		"Fine": {
			reason: "The plan comes true.", given: func(*plantest.World) error { return nil },
			prints: []string{"Pin AWSMachinePool blue/workers to version 1", "m5.xlarge → m5.large", "Done. Slipway acts on it within seconds."}, not: "problem",
		},
		"Problem": {
			reason: "The plan has a problem.", given: func(w *plantest.World) error {
				return w.Cluster.Delete(w.Context(), &corev1.Secret{ObjectMeta: owners.Named("bootstrap")})
			},
			prints: []string{"BootstrapDataSecretNotFound", "The change is made, but the plan reports a problem"}, not: "Done.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := rolled(t)
			if err := tc.given(w); err != nil {
				t.Fatal(err)
			}
			flags := &controlFlags{yes: true, dryRun: "none", plannerOf: func(context.Context, planCluster) (*plan.Planner, error) { return w.Planner, nil }}
			command, out := newUndoCommand(), &bytes.Buffer{}
			command.SetContext(log.IntoContext(t.Context(), logr.Discard()))
			command.SetOut(out)
			undo := func(s rolloutcontrol.Subject) (rolloutcontrol.Change, error) { return rolloutcontrol.Undo(s, 0) }
			if err := flags.runOn(command, control{decide: decideBy(undo)}, planCluster{Client: dryRunner{w.Cluster}, namespace: owners.Key.Namespace}, owners.Key.Name); err != nil {
				t.Fatalf("%s got error %v after %s", tc.reason, err, out)
			}
			for _, want := range tc.prints {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%s got output without %q:\n%s", tc.reason, want, out)
				}
			}
			if strings.Contains(out.String(), tc.not) || strings.Contains(out.String(), "Go on?") {
				t.Errorf("%s got output with %q, or a question:\n%s", tc.reason, tc.not, out)
			}
			if pinned := ptr.Deref(w.Pool().Spec.PinnedVersion, 0); pinned != 1 {
				t.Errorf("%s the pinned version is %d, want 1", tc.reason, pinned)
			}
		})
	}
}

// TestControlConflict holds that a command changes nothing that another user changed meanwhile.
func TestControlConflict(t *testing.T) {
	t.Parallel()
	cluster := rolloutCluster(t, interceptor.Funcs{Patch: func(ctx context.Context, store client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
		pool := &infrav1.AWSMachinePool{}
		if err := store.Get(ctx, client.ObjectKeyFromObject(object), pool); err != nil {
			return err
		}
		pool.Spec.MaxSize++
		if err := store.Update(ctx, pool); err != nil {
			return err
		}
		return store.Patch(ctx, object, patch, options...)
	}})
	_, err := runControl(t, cluster, controlFlags{yes: true}, "", rolloutcontrol.Pause)
	if err == nil || !strings.Contains(err.Error(), `"workers" was changed by another user`) {
		t.Errorf("got error %v", err)
	}
	if infrav1.RolloutPaused(poolIn(t, cluster).Annotations) {
		t.Error("the pool is paused")
	}
}

// TestControlRetriesConflicts holds that a write of a controller between the plan and the change does not
// keep the user from making the change.
func TestControlRetriesConflicts(t *testing.T) {
	t.Parallel()
	writes := 0
	cluster := rolloutCluster(t, interceptor.Funcs{Patch: func(ctx context.Context, store client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
		pool := &infrav1.AWSMachinePool{}
		if writes++; writes <= 2 {
			if err := store.Get(ctx, client.ObjectKeyFromObject(object), pool); err != nil {
				return err
			}
			pool.Labels = map[string]string{"writes": string(rune('0' + writes))}
			if err := store.Update(ctx, pool); err != nil {
				return err
			}
		}
		return store.Patch(ctx, object, patch, options...)
	}})
	if _, err := runControl(t, cluster, controlFlags{yes: true}, "", rolloutcontrol.Pause); err != nil {
		t.Fatal(err)
	}
	if !infrav1.RolloutPaused(poolIn(t, cluster).Annotations) {
		t.Error("the pool is not paused")
	}
}

// TestApproveRecordsTheUser holds that an approval names the user whom the API server knows, and that
// texts of the cluster do not reach the terminal as they are.
func TestApproveRecordsTheUser(t *testing.T) {
	t.Parallel()
	cluster := rolloutCluster(t, interceptor.Funcs{})
	command, out := newApproveCommand(), &bytes.Buffer{}
	command.SetContext(t.Context())
	command.SetOut(out)
	flags := controlFlags{yes: true, planFlags: planFlags{}}
	flags.skipPlan = true
	approve := func(ctx context.Context, cluster planCluster, subject rolloutcontrol.Subject) (rolloutcontrol.Change, error) {
		return decideApproval(ctx, cluster, subject, 2)
	}
	if err := flags.runOn(command, control{decide: approve}, cluster, "workers"); err != nil {
		t.Fatal(err)
	}
	annotations := poolIn(t, cluster).Annotations
	if annotations[infrav1.ApprovedVersionAnnotation] != "2" || annotations[infrav1.ApprovedByAnnotation] != "alice" {
		t.Errorf("the annotations are %v", annotations)
	}
	if text := out.String(); strings.Contains(text, "\x1b") || !strings.Contains(text, "Approve version 2 of AWSMachinePool blue/workers as alice.") {
		t.Errorf("the output is %q", text)
	}
	names, _ := controlNames(t.Context(), cluster, "work")
	if strings.Join(names, " ") != "workers" {
		t.Errorf("a shell completes %q", names)
	}
}

func TestControlCommands(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		args   []string
		want   string
	}{
		{"the pool is needed", []string{"undo"}, "0 arguments given"},
		{"a dry run is validated by the server or there is none", []string{"rollout", "pause", "workers", "--dry-run", "client"}, "must be server or none"},
		{"the management cluster must be found", []string{"unpin", "workers", "--kubeconfig", "/does/not/exist"}, "management cluster"},
		{"a version is a number", []string{"rollout", "approve", "workers", "--version", "latest"}, "must be a number"},
	} {
		command := New()
		command.SetArgs(row.args)
		command.SetOut(&bytes.Buffer{})
		if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: slipway %v: error %v, want one with %q", row.reason, row.args, err, row.want)
		}
	}
	for _, path := range [][]string{{"undo"}, {"unpin"}, {"rollout", "approve"}, {"rollout", "pause"}, {"rollout", "resume"}, {"rollout", "cancel"}, {"rollout", "retry"}} {
		command, _, err := New().Find(path)
		if err != nil || command.Example == "" || command.ValidArgsFunction == nil || !strings.Contains(command.Long, "POOL is the name of") {
			t.Errorf("slipway %v has no help or no completion (error %v)", path, err)
		}
	}
}
