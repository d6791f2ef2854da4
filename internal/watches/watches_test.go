package watches_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/watches"
)

func pool(annotations map[string]string) *infrav1.AWSMachinePool {
	return &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pool", Annotations: annotations}}
}

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
			object.Labels = map[string]string{watches.WatchFilterLabel: row.label}
		}
		if got := (watches.Settings{WatchFilter: row.filter}).Watched().Create(event.CreateEvent{Object: object}); got != row.want {
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
	mine.Labels = map[string]string{watches.WatchFilterLabel: "x"}
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
		reconciler := watches.Settings{WatchFilter: row.filter}.Reconciler("AWSMachinePool", reader, &infrav1.AWSMachinePool{},
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
		reconciler := watches.Settings{}.Reconciler("AWSMachinePool", nil, &infrav1.AWSMachinePool{},
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
		{"another manager is for it", func(m *clusterv1.MachinePool) { m.Labels = map[string]string{watches.WatchFilterLabel: "other"} }, true},
	} {
		before := &clusterv1.MachinePool{}
		after := before.DeepCopy()
		row.edit(after)
		if got := watches.BesidesStatus().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != row.want {
			t.Errorf("%s: it is %v, want %v", row.reason, got, row.want)
		}
	}
}

func TestByCluster(t *testing.T) {
	t.Parallel()
	asked := types.NamespacedName{}
	dependents := func(_ context.Context, cluster types.NamespacedName) ([]reconcile.Request, error) {
		asked = cluster
		return watches.Requests([]*infrav1.AWSMachinePool{pool(nil)}), nil
	}
	one := types.NamespacedName{Namespace: "default", Name: "one"}
	owned, labelled, both := pool(nil), pool(nil), pool(nil)
	owned.OwnerReferences = []metav1.OwnerReference{{Kind: "MachinePool", Name: "x"}, {Kind: "Cluster", Name: "one"}}
	labelled.Labels = map[string]string{clusterv1.ClusterNameLabel: "one"}
	both.OwnerReferences, both.Labels = owned.OwnerReferences, map[string]string{clusterv1.ClusterNameLabel: "two"}
	for reason, object := range map[string]client.Object{"by its owner": owned, "by its label": labelled, "the owner counts more": both} {
		asked = types.NamespacedName{}
		requests := watches.ByCluster(watches.ClusterOf, dependents)(t.Context(), object)
		if asked != one || len(requests) != 1 || requests[0].Name != "pool" {
			t.Errorf("%s: asked for %s, got %v", reason, asked, requests)
		}
	}
	asked = types.NamespacedName{}
	if requests := watches.ByCluster(watches.ClusterOf, dependents)(t.Context(), pool(nil)); len(requests) != 0 || asked != (types.NamespacedName{}) {
		t.Errorf("an object of no Cluster: asked for %s, got %v", asked, requests)
	}
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "one"}}
	if watches.ByCluster(watches.Itself, dependents)(t.Context(), cluster); asked != one {
		t.Errorf("the Cluster itself: asked for %s", asked)
	}
}
