package common_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/common"
)

func pool(annotations map[string]string) *infrav1.AWSMachinePool {
	return &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pool", Annotations: annotations}}
}

// A pass announces tags, sets them in AWS and confirms them. It may die between any two, and the
// tags may be others next time.
func TestTagsAreNeverForgotten(t *testing.T) {
	t.Parallel()
	anyTags := rapid.MapOf(rapid.SampledFrom([]string{"a", "b", "c", "d"}), rapid.SampledFrom([]string{"1", "2"}))
	rapid.Check(t, func(t *rapid.T) {
		object := pool(map[string]string{"other": "x"})
		there := map[string]string{"foreign": "y"} // in AWS
		for range rapid.IntRange(1, 5).Draw(t, "passes") {
			wanted := anyTags.Draw(t, "wanted")
			retired := common.RetiredTags(object, wanted)
			diesAfter := rapid.IntRange(0, 3).Draw(t, "dies after")
			if diesAfter == 0 {
				continue
			}
			common.AnnounceTags(object, wanted)
			if diesAfter == 1 {
				continue
			}
			maps.Copy(there, wanted)
			if diesAfter == 2 {
				continue
			}
			for _, key := range retired {
				delete(there, key)
			}
			common.ConfirmTags(object, wanted)
			want := maps.Clone(wanted)
			want["foreign"] = "y"
			if difference := cmp.Diff(want, there); difference != "" {
				t.Fatalf("tags after a whole pass (-want +got):\n%s", difference)
			}
		}
		if object.Annotations["other"] != "x" {
			t.Error("an annotation of somebody else is gone")
		}
	})
}

func TestRetiredTags(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, annotation string
		want               []string
	}{
		{"nothing was ever applied", "", nil},
		{"what CAPA applied", `{"c":"3","a":"1","kept":"old value"}`, []string{"a", "c"}},
		{"CAPA's form of none", `null`, nil},
		{"what nobody can read", `{"a":`, nil},
		{"what are no tags", `{"a":{"b":"c"}}`, nil},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			object := pool(map[string]string{common.LastAppliedTagsAnnotation: row.annotation})
			wanted := map[string]string{"kept": "x"}
			if got := common.RetiredTags(object, wanted); !slices.Equal(got, row.want) {
				t.Errorf("retired %q, want %q", got, row.want)
			}
			common.AnnounceTags(object, wanted)
			if got := common.RetiredTags(object, nil); !slices.Equal(got, append(slices.Clone(row.want), "kept")) {
				t.Errorf("after the announcement %q are ours", got)
			}
			common.ConfirmTags(object, wanted)
			var recorded map[string]string
			if err := json.Unmarshal([]byte(object.Annotations[common.LastAppliedTagsAnnotation]), &recorded); err != nil || !maps.Equal(recorded, wanted) {
				t.Errorf("recorded %v, error %v", recorded, err)
			}
			common.ConfirmTags(object, nil)
			if _, there := object.Annotations[common.LastAppliedTagsAnnotation]; there {
				t.Error("no tags leave an annotation")
			}
		})
	}
}

// The same tags are the same annotation, so that recording them again is no write; and the map of a
// stored object stays as it is.
func TestRecordingTags(t *testing.T) {
	t.Parallel()
	object := pool(map[string]string{"other": "x"})
	stored := object.Annotations
	wanted := map[string]string{"b": "2", "a": "1"}
	common.ConfirmTags(object, wanted)
	if len(stored) != 1 {
		t.Errorf("the stored annotations changed: %v", stored)
	}
	if first := object.Annotations[common.LastAppliedTagsAnnotation]; first != `{"a":"1","b":"2"}` {
		t.Errorf("annotation %s", first)
	}
	before := object.DeepCopy()
	common.AnnounceTags(object, wanted)
	common.ConfirmTags(object, wanted)
	if difference := cmp.Diff(before, object); difference != "" {
		t.Errorf("the same tags once more are a change:\n%s", difference)
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	var memory common.Memory[string]
	one, two := types.NamespacedName{Name: "one"}, types.NamespacedName{Name: "two"}
	if value, known := memory.Get(one); known || value != "" {
		t.Errorf("nothing was remembered, and %q is", value)
	}
	memory.Put(one, "a")
	if first, second := memory.GetOrPut(one, "b"), memory.GetOrPut(two, "c"); first != "a" || second != "c" {
		t.Errorf("%q and %q are remembered", first, second)
	}
	memory.Put(one, "d")
	memory.Forget(two)
	if value, known := memory.Get(one); !known || value != "d" {
		t.Errorf("%q is remembered of the one", value)
	}
	if _, known := memory.Get(two); known {
		t.Error("the other is not forgotten")
	}
}

func TestStopwatches(t *testing.T) {
	t.Parallel()
	var watches common.Stopwatches
	start := time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC)
	one, two := types.NamespacedName{Name: "one"}, types.NamespacedName{Name: "two"}
	for _, step := range []struct {
		reason string
		object types.NamespacedName
		after  time.Duration
		want   time.Duration
	}{
		{"the first time", one, 0, 0},
		{"a while later", one, time.Minute, time.Minute},
		{"another object", two, time.Minute, 0},
		{"both run on", one, 2 * time.Minute, 2 * time.Minute},
		{"both run on", two, 2 * time.Minute, time.Minute},
	} {
		if got := watches.Elapsed(step.object, start.Add(step.after)); got != step.want {
			t.Errorf("%s: %s, want %s", step.reason, got, step.want)
		}
	}
	watches.Reset(one)
	if got := watches.Elapsed(one, start.Add(time.Hour)); got != 0 {
		t.Errorf("after a reset: %s", got)
	}
	if got := watches.Elapsed(two, start.Add(time.Hour)); got != 59*time.Minute {
		t.Errorf("the other: %s", got)
	}
}

func TestPaused(t *testing.T) {
	t.Parallel()
	cluster := func(paused *bool) *clusterv1.Cluster {
		return &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: clusterv1.ClusterSpec{Paused: paused}}
	}
	annotated := map[string]string{clusterv1.PausedAnnotation: ""}
	for _, row := range []struct {
		reason      string
		annotations map[string]string
		owner       *clusterv1.Cluster
		want        string
	}{
		{"no Cluster", nil, nil, ""},
		{"a Cluster that does not say", nil, cluster(nil), ""},
		{"a Cluster that says no", nil, cluster(ptr.To(false)), ""},
		{"the Cluster", nil, cluster(ptr.To(true)), `Cluster "one" is paused`},
		{"the object, whatever the annotation's value", annotated, cluster(nil), "the annotation cluster.x-k8s.io/paused is set"},
		{"the object, without a Cluster", annotated, nil, "the annotation cluster.x-k8s.io/paused is set"},
		{
			"clusterctl move, whose last deletions may come after the Cluster's", map[string]string{"clusterctl.cluster.x-k8s.io/delete-for-move": ""}, nil,
			"clusterctl move has moved it to another management cluster: the annotation clusterctl.cluster.x-k8s.io/delete-for-move is set",
		},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			object := pool(row.annotations)
			paused := common.Paused(object, row.owner)
			condition := meta.FindStatusCondition(object.Status.Conditions, infrav1.PausedCondition)
			if paused != (row.want != "") || condition == nil || condition.Message != row.want || (condition.Status == metav1.ConditionTrue) != paused {
				t.Errorf("paused %t, condition %+v", paused, condition)
			}
		})
	}
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

func TestGetCluster(t *testing.T) {
	t.Parallel()
	stored := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "one"}}
	reader := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(stored).Build()
	if found, err := common.GetCluster(t.Context(), reader, "default", "one"); err != nil || found == nil || found.Name != "one" {
		t.Errorf("found %v, error %v", found, err)
	}
	if found, err := common.GetCluster(t.Context(), reader, "other", "one"); err != nil || found != nil {
		t.Errorf("found %v, error %v, in another namespace", found, err)
	}
	broken := errors.New("broken")
	failing := interceptor.NewClient(reader, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return broken
		},
	})
	if _, err := common.GetCluster(t.Context(), failing, "default", "one"); !errors.Is(err, broken) || err.Error() != `reading Cluster "one": broken` {
		t.Errorf("error %v", err)
	}
}

// A Cluster that is not there, or is none of CAPA's, is said in a condition and waited for; a
// failure to look is none of both.
func TestWatched(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, filter, label string
		want                  bool
	}{
		{"no filter takes all", "", "x", true},
		{"the label that is asked for", "x", "x", true},
		{"another", "x", "y", false},
		{"none", "x", "", false},
	} {
		object := pool(nil)
		if row.label != "" {
			object.Labels = map[string]string{common.WatchFilterLabel: row.label}
		}
		if got := (common.Settings{WatchFilter: row.filter}).Watched().Create(event.CreateEvent{Object: object}); got != row.want {
			t.Errorf("%s: %t", row.reason, got)
		}
	}
}

func TestReconcilerLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mine, theirs := pool(nil), pool(nil)
	mine.Name, theirs.Name = "mine", "theirs"
	mine.Labels = map[string]string{common.WatchFilterLabel: "x"}
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(mine, theirs).Build()
	for _, row := range []struct {
		reason, filter, name string
		want                 bool
	}{
		{"no filter takes all", "", "theirs", true},
		{"the label that is asked for", "x", "mine", true},
		{"an object without it, woken by another object's event", "x", "theirs", false},
		{"an object that is gone, which may have left something in memory", "x", "gone", true},
	} {
		reconciled := false
		reconciler := common.Settings{WatchFilter: row.filter}.Reconciler("AWSMachinePool", reader, &infrav1.AWSMachinePool{},
			reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
				reconciled = true
				return reconcile.Result{}, nil
			}))
		request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: mine.Namespace, Name: row.name}}
		if _, err := reconciler.Reconcile(t.Context(), request); err != nil || reconciled != row.want {
			t.Errorf("%s: %t %v", row.reason, reconciled, err)
		}
	}
}

// What is no failure is not logged as one: controller-runtime logs every error that a pass returns.
func TestReconcilerIsQuietAboutWhatIsNoFailure(t *testing.T) {
	t.Parallel()
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "awsmachinepools"}, "pool", errors.New("changed"))
	broken := errors.New("broken")
	for _, row := range []struct {
		reason      string
		err         error
		ending      bool
		wantErr     bool
		wantRequeue bool
	}{
		{"an object that was changed meanwhile is looked at again", fmt.Errorf("patching status: %w", conflict), false, false, true},
		{"a pass that the end of the manager cut off", fmt.Errorf("patching status: %w", context.Canceled), true, false, false},
		{"a pass that failed", broken, false, true, false},
		{"a call that was cut off while the manager goes on", fmt.Errorf("describing: %w", context.Canceled), false, true, false},
	} {
		ctx, end := context.WithCancel(t.Context())
		if row.ending {
			end()
		}
		reconciler := common.Settings{}.Reconciler("AWSMachinePool", nil, &infrav1.AWSMachinePool{},
			reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, row.err }))
		result, err := reconciler.Reconcile(ctx, reconcile.Request{})
		if (err != nil) != row.wantErr || (result.RequeueAfter > 0) != row.wantRequeue {
			t.Errorf("%s: %v, error %v", row.reason, result, err)
		}
		end()
	}
}

func TestBesidesStatus(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		edit   func(*clusterv1.MachinePool)
		want   bool
	}{
		{"core reports replicas", func(m *clusterv1.MachinePool) { m.Status.Replicas = ptr.To[int32](1) }, false},
		{"it is scaled, or to be deleted", func(m *clusterv1.MachinePool) { m.Generation++ }, true},
		{"an autoscaler takes over", func(m *clusterv1.MachinePool) {
			m.Annotations = map[string]string{clusterv1.ReplicasManagedByAnnotation: ""}
		}, true},
		{"another manager is for it", func(m *clusterv1.MachinePool) { m.Labels = map[string]string{common.WatchFilterLabel: "other"} }, true},
	} {
		before := &clusterv1.MachinePool{}
		after := before.DeepCopy()
		row.edit(after)
		if got := common.BesidesStatus().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != row.want {
			t.Errorf("%s: it is %v, want %v", row.reason, got, row.want)
		}
	}
}

func TestByCluster(t *testing.T) {
	t.Parallel()
	asked := types.NamespacedName{}
	dependents := func(_ context.Context, cluster types.NamespacedName) ([]reconcile.Request, error) {
		asked = cluster
		return common.Requests([]*infrav1.AWSMachinePool{pool(nil)}), nil
	}
	one := types.NamespacedName{Namespace: "default", Name: "one"}
	owned, labelled, both := pool(nil), pool(nil), pool(nil)
	owned.OwnerReferences = []metav1.OwnerReference{{Kind: "MachinePool", Name: "x"}, {Kind: "Cluster", Name: "one"}}
	labelled.Labels = map[string]string{clusterv1.ClusterNameLabel: "one"}
	both.OwnerReferences, both.Labels = owned.OwnerReferences, map[string]string{clusterv1.ClusterNameLabel: "two"}
	for reason, object := range map[string]client.Object{"by its owner": owned, "by its label": labelled, "the owner counts more": both} {
		asked = types.NamespacedName{}
		requests := common.ByCluster(common.ClusterOf, dependents)(t.Context(), object)
		if asked != one || len(requests) != 1 || requests[0].Name != "pool" {
			t.Errorf("%s: asked for %s, got %v", reason, asked, requests)
		}
	}
	asked = types.NamespacedName{}
	if requests := common.ByCluster(common.ClusterOf, dependents)(t.Context(), pool(nil)); len(requests) != 0 || asked != (types.NamespacedName{}) {
		t.Errorf("an object of no Cluster: asked for %s, got %v", asked, requests)
	}
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "one"}}
	if common.ByCluster(common.Itself, dependents)(t.Context(), cluster); asked != one {
		t.Errorf("the Cluster itself: asked for %s", asked)
	}
}
