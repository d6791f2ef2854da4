package rolloutcontrol

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/reconcile/reconciletest"
)

// world is a pool of each kind with the same launch config. Version 3 is launched, version 4 differs by its
// token alone, version 2 was launched before, and version 1 is gone.
type world struct {
	pool    *infrav1.AWSMachinePool
	managed *infrav1.AWSManagedMachinePool
	config  *infrav1.AWSLaunchConfig
}

func newWorld() world {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "blue", Name: name, ResourceVersion: "7", Annotations: map[string]string{}}
	}
	w := world{&infrav1.AWSMachinePool{ObjectMeta: meta("workers")}, &infrav1.AWSManagedMachinePool{ObjectMeta: meta("workers")}, &infrav1.AWSLaunchConfig{ObjectMeta: meta("workers")}}
	w.managed.Spec.AWSLaunchTemplate = &infrav1.AWSLaunchTemplate{}
	status := &w.config.Status
	status.LaunchTemplateID, status.Version, status.ConfigFingerprint = "lt-1", 4, "c"
	status.Conditions = []metav1.Condition{{Type: infrav1.ReadyCondition, Status: metav1.ConditionTrue}}
	for _, version := range []struct {
		number int64
		config string
	}{{4, "c"}, {3, "c"}, {2, "b"}} {
		status.Versions = append(status.Versions, infrav1.LaunchTemplateVersionStatus{Number: version.number, ConfigFingerprint: version.config})
	}
	running := []infrav1.LaunchConfigUser{{Kind: KindSelfManaged, Name: "workers", Instances: 2}, {Kind: KindManaged, Name: "workers", Instances: 2}}
	status.History = []infrav1.LaunchConfigHistoryEntry{
		{Version: 3, ConfigFingerprint: "c", Change: "instance type m5.large → m6i.large"}, {Version: 2, ConfigFingerprint: "b", Change: "key pair none → a", RunBy: running},
		{Version: 1, ConfigFingerprint: "a", Change: "first version", Deleted: true},
	}
	return w
}

// share has the pools refer to the launch config, which another pool uses too.
func (w world) share() {
	w.pool.Spec.LaunchConfigRef, w.managed.Spec.LaunchConfigRef = &infrav1.LaunchConfigReference{Name: "shared"}, &infrav1.LaunchConfigReference{Name: "shared"}
	w.config.Name = "shared"
	w.config.Status.UsedBy = []infrav1.LaunchConfigUser{{Kind: KindSelfManaged, Name: "workers"}, {Kind: KindManaged, Name: "workers"}, {Kind: KindSelfManaged, Name: "batch"}}
}

// steer changes the fields that choose the version, wherever they are.
func (w world) steer(change func(*infrav1.LaunchConfigControl)) {
	for _, control := range []*infrav1.LaunchConfigControl{&w.pool.Spec.LaunchConfigControl, &w.managed.Spec.LaunchConfigControl, &w.config.Spec.LaunchConfigControl} {
		change(control)
	}
}

// rolls has RolledOut be False for a reason.
func (w world) rolls(reason string) {
	condition := []metav1.Condition{{Type: infrav1.RolledOutCondition, Status: metav1.ConditionFalse, Reason: reason, Message: "it says why."}}
	w.pool.Status.Conditions, w.managed.Status.Conditions = condition, condition
}

func (w world) pause() {
	w.pool.Annotations[infrav1.RolloutPausedAnnotation], w.managed.Annotations[infrav1.RolloutPausedAnnotation] = "true", "true"
}

// pend has version 5 wait, for a reason of RolloutApproved.
func (w world) pend(reason string) {
	w.config.Status.PendingVersion = 5
	w.config.Status.Versions = append(w.config.Status.Versions, infrav1.LaunchTemplateVersionStatus{Number: 5, ConfigFingerprint: "d"})
	w.config.Status.Conditions = append(w.config.Status.Conditions, metav1.Condition{Type: infrav1.RolloutApprovedCondition, Status: metav1.ConditionFalse, Reason: reason, Message: "version 5 waits"})
}

// row is a state of the world, and what a command changes in it. The patches are of the pool, and with
// "config " before them of the launch config.
type row struct {
	reason   string
	given    func(world)
	patches  []string
	affected string
	fails    string
}

func pinned(version int64) func(world) {
	return func(w world) {
		w.steer(func(control *infrav1.LaunchConfigControl) { control.PinnedVersion = ptr.To(version) })
	}
}

func (r row) check(t *testing.T, decide func(Subject) (Change, error)) {
	t.Helper()
	for _, managed := range []bool{false, true} {
		w := newWorld()
		if r.given != nil {
			r.given(w)
		}
		subject := Subject{Pool: w.pool, Config: w.config}
		if managed {
			subject.Pool = w.managed
		}
		change, err := decide(subject)
		if r.fails != "" {
			if err == nil || !strings.Contains(err.Error(), r.fails) {
				t.Errorf("%s (managed: %t): error %v, want one with %q", r.reason, managed, err, r.fails)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s (managed: %t): %v", r.reason, managed, err)
			continue
		}
		var patches []string
		for _, patch := range change.Patches {
			text := strings.Replace(string(patch.Body), `"resourceVersion":"7"`, "", 1)
			if patch.Object == client.Object(w.config) {
				text = "config " + text
			}
			patches = append(patches, text)
		}
		if diff := cmp.Diff(r.patches, patches); diff != "" {
			t.Errorf("%s (managed: %t): patches (-want +got):\n%s", r.reason, managed, diff)
		}
		if affected := strings.Join(change.Affected, ", "); !strings.Contains(affected, r.affected) || r.affected == "" && affected != "" {
			t.Errorf("%s (managed: %t): affects %q, want %q", r.reason, managed, affected, r.affected)
		}
		if change.Reason == "" {
			t.Errorf("%s (managed: %t): no reason", r.reason, managed)
		}
	}
}

func TestUndo(t *testing.T) {
	t.Parallel()
	const toTwo = `{"metadata":{},"spec":{"pinnedVersion":2}}`
	for to, rows := range map[int64][]row{
		0: {
			{reason: "the launch before is pinned", patches: []string{toTwo}},
			{reason: "the launch config is shared: it is pinned there, for all pools", given: world.share, patches: []string{"config " + toTwo}, affected: "AWSMachinePool batch"},
			{reason: "an edit waits for approval: what is launched is pinned", given: func(w world) { w.pend(infrav1.WaitingForApprovalReason) }, patches: []string{`{"metadata":{},"spec":{"pinnedVersion":3}}`}},
			{reason: "the pool was rolled back: what it went back to is pinned", given: func(w world) { w.config.Status.RolledBackFrom, w.config.Status.ConfigFingerprint = "c", "b" }, patches: []string{toTwo}},
			{reason: "it is pinned already", given: pinned(2), fails: "already pinned to version 2. Pin another version with --to, or remove the pin with unpin. The history has version 3"},
			{reason: "the edit is not a version yet", given: func(w world) { w.config.Generation = 2 }, fails: "still reconciling"},
			{reason: "the edit did not become a version", given: func(w world) {
				w.config.Status.Conditions[0].Status, w.config.Status.Conditions[0].Reason = metav1.ConditionFalse, "ImageNotFound"
			}, fails: "did not become a version (ImageNotFound), so nodes keep version 4"},
			{reason: "no edit became a version yet", given: func(w world) {
				w.config.Status.Conditions[0].Status, w.config.Status.Conditions[0].Reason, w.config.Status.Version = metav1.ConditionFalse, "ImageNotFound", 0
			}, fails: "the spec has not become a version yet (ImageNotFound), so there is nothing to undo: correct the spec"},
			{reason: "there was no launch before", given: func(w world) { w.config.Status.History = w.config.Status.History[:1] }, fails: "no earlier version"},
			{reason: "nothing was launched", given: func(w world) { w.config.Status.History = nil }, fails: "The history has no version"},
			{reason: "the version of the launch before is gone, and a later one has its configuration", given: func(w world) {
				w.config.Status.Versions = []infrav1.LaunchTemplateVersionStatus{{Number: 4, ConfigFingerprint: "c"}, {Number: 6, ConfigFingerprint: "b"}}
			}, patches: []string{`{"metadata":{},"spec":{"pinnedVersion":6}}`}},
			{reason: "the launch template is another owner's", given: func(w world) { w.share(); w.config.Spec.Existing = &infrav1.ExistingLaunchTemplate{} }, fails: "spec.existing.version"},
		},
		2: {
			{reason: "a version of the history", patches: []string{toTwo}},
			{reason: "another version is pinned", given: pinned(3), patches: []string{toTwo}},
			{reason: "it is pinned already", given: pinned(2), fails: "already pinned"},
			{reason: "the edit is not a version", given: func(w world) { w.config.Status.Conditions[0].Status = metav1.ConditionFalse }, patches: []string{toTwo}},
		},
		4: {{reason: "the version that is launched already", fails: "nothing to undo"}, {reason: "another is pinned", given: pinned(2), patches: []string{`{"metadata":{},"spec":{"pinnedVersion":4}}`}}},
		1: {{reason: "a version that no longer exists", fails: "The history has version 3 (instance type m5.large → m6i.large), version 2 (key pair none → a)"}},
		9: {{reason: "a version that never existed", fails: "was never launched"}},
	} {
		for _, row := range rows {
			row.check(t, func(s Subject) (Change, error) { return Undo(s, to) })
		}
	}
}

func TestUnpin(t *testing.T) {
	t.Parallel()
	const unpin = `{"metadata":{},"spec":{"pinnedVersion":null}}`
	for _, row := range []row{
		{reason: "it is pinned", given: pinned(2), patches: []string{unpin}},
		{reason: "the launch config is shared", given: func(w world) { w.share(); pinned(2)(w) }, patches: []string{"config " + unpin}, affected: "batch"},
		{reason: "roll-outs are manual", given: func(w world) {
			pinned(2)(w)
			w.steer(func(control *infrav1.LaunchConfigControl) { control.Rollout = infrav1.LaunchConfigRolloutManual })
		}, patches: []string{unpin}},
		{reason: "it is not pinned", fails: "is not pinned"},
	} {
		row.check(t, Unpin)
	}
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	const pause, resume = `{"metadata":{"annotations":{"infrastructure.cluster.x-k8s.io/rollout-paused":"true"},}}`, `{"metadata":{"annotations":{"infrastructure.cluster.x-k8s.io/rollout-paused":null},}}`
	for _, row := range []row{
		{reason: "the pool is paused", patches: []string{pause}},
		{reason: "the launch config is shared: the pool alone is paused", given: world.share, patches: []string{pause}},
		{reason: "it is paused already", given: world.pause, fails: "already paused"},
	} {
		row.check(t, Pause)
	}
	for _, row := range []row{
		{reason: "it is paused", given: world.pause, patches: []string{resume}},
		{reason: "it is not paused", fails: "not paused"},
	} {
		row.check(t, Resume)
	}
	w := newWorld()
	w.share()
	shared := Subject{Config: w.config}
	if change, err := Pause(shared); err != nil || len(change.Affected) != 3 || len(change.Patches) != 1 {
		t.Errorf("pausing a shared launch config: %+v, error %v", change, err)
	}
	w.config.Annotations[infrav1.RolloutPausedAnnotation] = "true"
	if change, err := Resume(shared); err != nil || len(change.Affected) != 3 {
		t.Errorf("resuming a shared launch config: %+v, error %v", change, err)
	}
	w.pause()
	if change, err := Resume(Subject{Pool: w.pool, Config: w.config}); err != nil || len(change.Notes) != 1 {
		t.Errorf("resuming a pool whose launch config is paused: %+v, error %v", change, err)
	}
	delete(w.config.Annotations, infrav1.RolloutPausedAnnotation)
	w.config.Spec.Existing = &infrav1.ExistingLaunchTemplate{}
	if _, err := Pause(shared); err == nil || !strings.Contains(err.Error(), "another owner") {
		t.Errorf("pausing the launch template of another owner: error %v", err)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	rolling := func(w world) { w.rolls(infrav1.RollingOutReason) }
	for _, row := range []row{
		{reason: "a roll-out is in progress", given: rolling, patches: []string{`{"metadata":{},"spec":{"pinnedVersion":2}}`}},
		{reason: "the launch config is shared", given: func(w world) { w.share(); rolling(w) }, patches: []string{`config {"metadata":{},"spec":{"pinnedVersion":2}}`}, affected: "batch"},
		{reason: "a roll-out was paused", given: func(w world) { w.pause(); w.rolls(infrav1.RolloutPausedReason) },
			patches: []string{`{"metadata":{"annotations":{"infrastructure.cluster.x-k8s.io/rollout-paused":null},},"spec":{"pinnedVersion":2}}`}},
		{reason: "a roll-out from a shared launch config was paused", given: func(w world) { w.share(); w.pause(); w.rolls(infrav1.RolloutPausedReason) },
			patches:  []string{`config {"metadata":{},"spec":{"pinnedVersion":2}}`, `{"metadata":{"annotations":{"infrastructure.cluster.x-k8s.io/rollout-paused":null},}}`},
			affected: "batch"},
		{reason: "none is in progress", fails: "in progress"},
		{reason: "the pool goes back already", given: func(w world) { w.rolls(infrav1.RolledBackReason) }, fails: "goes back already"},
		{reason: "a pinned version is rolled out", given: func(w world) { rolling(w); pinned(2)(w) }, fails: "pinned version 2"},
		{reason: "no instance runs another version of the launch template", given: func(w world) { rolling(w); w.config.Status.History[1].RunBy = nil }, fails: "run the launch template version that its spec asks for, so no earlier one can be kept: "},
	} {
		row.check(t, Cancel)
	}
	if _, err := Cancel(Subject{Config: newWorld().config}); err == nil || !strings.Contains(err.Error(), "cancel the roll-out of a pool") {
		t.Errorf("cancelling a launch config: error %v", err)
	}
}

func TestRetry(t *testing.T) {
	t.Parallel()
	const retry = `{"metadata":{"annotations":{"infrastructure.cluster.x-k8s.io/retry-rollout":"now"},}}`
	for _, row := range []row{
		{reason: "a refresh failed", given: func(w world) { w.rolls(infrav1.RefreshFailedReason) }, patches: []string{retry}},
		{reason: "the pool was rolled back", given: func(w world) { w.rolls(infrav1.RolledBackReason) }, patches: []string{retry}},
		{reason: "the pool was rolled back, and its launch config is shared", given: func(w world) {
			w.share()
			w.rolls(infrav1.RolledBackReason)
			w.config.Spec.Rollback = &infrav1.Rollback{From: "c", Version: 2}
		}, patches: []string{`config {"metadata":{},"spec":{"rollback":null}}`, retry}, affected: "batch"},
		{reason: "an update failed", given: func(w world) { w.rolls(infrav1.NodegroupUpdateFailedReason) }, patches: []string{retry}},
		{reason: "a roll-out is in progress", given: func(w world) { w.rolls(infrav1.RollingOutReason) }, fails: "no roll-out of"},
		{reason: "all nodes are as they should be", fails: "no roll-out of"},
		{reason: "roll-outs are paused", given: func(w world) { w.pause(); w.rolls(infrav1.RefreshFailedReason) }, fails: "resume them first"},
	} {
		row.check(t, func(s Subject) (Change, error) { return Retry(s, "now") })
	}
}

func TestApprove(t *testing.T) {
	t.Parallel()
	const approve = `{"metadata":{"annotations":{"infrastructure.cluster.x-k8s.io/approved-by":"alice","infrastructure.cluster.x-k8s.io/approved-version":"5"},}}`
	pending := func(w world) { w.pend(infrav1.WaitingForApprovalReason) }
	for version, rows := range map[int64][]row{
		0: {
			{reason: "a version waits", given: pending, patches: []string{approve}},
			{reason: "a version of a shared launch config waits", given: func(w world) { w.share(); pending(w) }, patches: []string{"config " + approve}, affected: "batch"},
			{reason: "none waits", fails: "no version waits for approval"},
			{reason: "roll-outs are paused", given: func(w world) { w.pend(infrav1.EditPausedReason) }, fails: "resume them first"},
			{reason: "EC2 does not accept it", given: func(w world) { w.config.Status.PendingVersion = 5 }, fails: "spec.verify"},
			{reason: "the spec was edited since", given: func(w world) { pending(w); w.config.Generation = 2 }, fails: "still reconciling"},
		},
		5: {{reason: "the version that waits", given: pending, patches: []string{approve}}},
		3: {{reason: "a version that does not wait", given: pending, fails: "version 3 does not wait for approval: version 5 does"}},
		9: {
			{reason: "a version that does not exist", given: pending, fails: "version 9 does not exist\nversion 5 waits for approval"},
			{reason: "a version that does not exist, and none waits", fails: "no version waits for approval"},
		},
	} {
		for _, row := range rows {
			row.check(t, func(s Subject) (Change, error) { return Approve(s, version, "alice") })
		}
	}
	w := newWorld()
	pending(w)
	if _, err := Approve(Subject{Pool: w.pool, Config: w.config}, 0, ""); err == nil || !strings.Contains(err.Error(), "your name") {
		t.Errorf("an approval of nobody: error %v", err)
	}
}

func TestNoVersions(t *testing.T) {
	t.Parallel()
	w := newWorld()
	if _, err := Undo(Subject{Pool: w.pool}, 0); err == nil || !strings.Contains(err.Error(), "no versions yet") {
		t.Errorf("a pool without a launch config: error %v", err)
	}
	w.managed.Spec.AWSLaunchTemplate = nil
	if _, err := Undo(Subject{Pool: w.managed}, 0); err == nil || !strings.Contains(err.Error(), "amiVersion") {
		t.Errorf("a pool without a launch template: error %v", err)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "blue", Name: name} }
	machinePool := func(name, kind, pool string) *clusterv1.MachinePool {
		object := &clusterv1.MachinePool{ObjectMeta: named(name)}
		object.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: kind, Name: pool}
		return object
	}
	own, orphan := &infrav1.AWSLaunchConfig{ObjectMeta: named("workers")}, &infrav1.AWSLaunchConfig{ObjectMeta: named("orphan")}
	own.OwnerReferences = []metav1.OwnerReference{{Kind: KindSelfManaged, Name: "workers", Controller: ptr.To(true)}}
	orphan.OwnerReferences = []metav1.OwnerReference{{Kind: KindManaged, Name: "gone", Controller: ptr.To(true)}}
	sharing := &infrav1.AWSManagedMachinePool{ObjectMeta: named("sharing")}
	sharing.Spec.LaunchConfigRef = &infrav1.LaunchConfigReference{Name: "shared"}
	scheme := reconciletest.Scheme(t, infrav1.AddToScheme, clusterv1.AddToScheme)
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&infrav1.AWSMachinePool{ObjectMeta: named("workers")}, own, orphan, sharing, &infrav1.AWSLaunchConfig{ObjectMeta: named("shared")},
		&infrav1.AWSMachinePool{ObjectMeta: named("both")}, &infrav1.AWSManagedMachinePool{ObjectMeta: named("both")},
		machinePool("blue-mp-0", KindSelfManaged, "workers"), machinePool("azure", "AzureMachinePool", "workers"), machinePool("lost", KindManaged, "gone"),
	).Build()
	for _, row := range []struct{ reason, name, pool, config, fails string }{
		{"a pool with its own launch config", "workers", "AWSMachinePool workers", "workers", ""},
		{"a pool that shares one", "sharing", "AWSManagedMachinePool sharing", "shared", ""},
		{"a pool by its kind, in plural", "awsmanagedmachinepools/both", "AWSManagedMachinePool both", "", ""},
		{"pools of two kinds", "both", "", "", "pools of two kinds"},
		{"a MachinePool", "blue-mp-0", "AWSMachinePool workers", "workers", ""},
		{"a MachinePool by its kind", "MachinePool/blue-mp-0", "AWSMachinePool workers", "workers", ""},
		{"a MachinePool of another provider", "azure", "", "", "not a pool of Slipway"},
		{"a MachinePool whose pool does not exist", "lost", "", "", "does not exist"},
		{"a launch config that pools share", "shared", "", "shared", ""},
		{"a launch config of a pool", "awslaunchconfig/workers", "AWSMachinePool workers", "workers", ""},
		{"a launch config whose pool does not exist", "orphan", "", "", "does not exist"},
		{"a name of nothing", "none", "", "", "namespace blue has no AWSMachinePool, AWSManagedMachinePool, MachinePool, or AWSLaunchConfig"},
		{"another kind", "node/one", "", "", "is not a kind that has roll-outs"},
	} {
		subject, err := Read(t.Context(), reader, "blue", row.name)
		if (err == nil) != (row.fails == "") || err != nil && !strings.Contains(err.Error(), row.fails) {
			t.Errorf("%s: error %v, want %q", row.reason, err, row.fails)
			continue
		}
		pool, config := "", ""
		if subject.Pool != nil {
			pool = kindOf(subject.Pool) + " " + subject.Pool.GetName()
		}
		if subject.Config != nil {
			config = subject.Config.Name
		}
		if err == nil && (pool != row.pool || config != row.config) {
			t.Errorf("%s: pool %q with launch config %q, want %q with %q", row.reason, pool, config, row.pool, row.config)
		}
	}
}

// TestReadUnserved holds that a cluster without Slipway is not reported as a name that nothing has.
func TestReadUnserved(t *testing.T) {
	t.Parallel()
	kind := infrav1.GroupVersion.WithKind(KindSelfManaged)
	reader := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}
		},
	})
	for _, name := range []string{"workers", "awsmachinepool/workers"} {
		if _, err := Read(t.Context(), reader, "blue", name); !meta.IsNoMatchError(err) {
			t.Errorf("Read(%q): got error %v, want that the kind is not served", name, err)
		}
	}
}

// TestReadDeleted holds that roll-outs of an object that is being deleted cannot be controlled.
func TestReadDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.share()
	w.pool.Name, w.pool.Finalizers, w.config.Finalizers = "leaving", []string{"example.com/hold"}, []string{"example.com/hold"}
	now := metav1.Now()
	w.pool.DeletionTimestamp, w.config.DeletionTimestamp = &now, &now
	store := fake.NewClientBuilder().WithScheme(reconciletest.Scheme(t, infrav1.AddToScheme, clusterv1.AddToScheme)).WithObjects(w.pool, w.managed, w.config).Build()
	for name, want := range map[string]string{"leaving": "AWSMachinePool blue/leaving is being deleted", "awslaunchconfig/shared": "AWSLaunchConfig blue/shared is being deleted"} {
		if _, err := Read(t.Context(), store, "blue", name); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Read(%s): got error %v, want %q", name, err, want)
		}
	}
	if _, err := Read(t.Context(), store, "blue", "awsmanagedmachinepool/workers"); err != nil {
		t.Errorf("Read of a pool that stays: %v", err)
	}
}
