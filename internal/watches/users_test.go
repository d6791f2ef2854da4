package watches_test

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/watches"
)

// texts returns requests as texts.
func texts(requests []reconcile.Request) string {
	var all []string
	for _, request := range requests {
		all = append(all, request.String())
	}
	return strings.Join(all, " ")
}

// TestUsers holds which pools wake when a launch config or a template changes.
func TestUsers(t *testing.T) {
	t.Parallel()
	self, managed := &watches.Users{}, &watches.Users{}
	hear := func(namespace, name, config string, template *infrav1.LaunchConfigTemplateReference) {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
		one := &infrav1.AWSMachinePool{ObjectMeta: meta, Spec: infrav1.AWSMachinePoolSpec{LaunchConfigTemplateRef: template}}
		other := &infrav1.AWSManagedMachinePool{ObjectMeta: meta, Spec: infrav1.AWSManagedMachinePoolSpec{LaunchConfigTemplateRef: template}}
		if config != "" {
			one.Spec.LaunchConfigRef = &infrav1.LaunchConfigReference{Name: config}
			other.Spec.LaunchConfigRef = one.Spec.LaunchConfigRef
		}
		if !self.Heard().Create(event.CreateEvent{Object: one}) || !managed.Heard().Update(event.UpdateEvent{ObjectNew: other}) {
			t.Errorf("an event of pool %s does not pass", name)
		}
	}
	hear("team", "own", "", nil)
	hear("team", "first", "shared", nil)
	hear("team", "second", "shared", nil)
	hear("team", "shared", "shared", nil)
	hear("other", "namesake", "shared", nil)
	hear("team", "templated", "", &infrav1.LaunchConfigTemplateReference{Name: "template"})
	hear("other", "far", "", &infrav1.LaunchConfigTemplateReference{Name: "template", Namespace: "team"})
	hear("other", "near", "", &infrav1.LaunchConfigTemplateReference{Name: "template"})
	hear("team", "moved", "shared", nil)
	hear("team", "moved", "another", nil)
	hear("team", "gone", "shared", nil)
	gone := metav1.ObjectMeta{Namespace: "team", Name: "gone"}
	self.Heard().Delete(event.DeleteEvent{Object: &infrav1.AWSMachinePool{ObjectMeta: gone}})
	managed.Heard().Delete(event.DeleteEvent{Object: &infrav1.AWSManagedMachinePool{ObjectMeta: gone}})
	for _, row := range []struct {
		reason, namespace, name string
		template                bool
		want                    string
	}{
		{reason: "a config of a pool's own", namespace: "team", name: "own", want: "team/own"},
		{reason: "a config that pools share, and one bears its name", namespace: "team", name: "shared", want: "team/shared team/first team/second"},
		{reason: "a config of the same name in another namespace", namespace: "other", name: "shared", want: "other/shared other/namesake"},
		{reason: "a config that a pool came to refer to", namespace: "team", name: "another", want: "team/another team/moved"},
		{reason: "a config that no pool refers to", namespace: "team", name: "lonely", want: "team/lonely"},
		{reason: "a template that pools of two namespaces use", namespace: "team", name: "template", template: true, want: "other/far team/templated"},
		{reason: "a template of the same name in another namespace", namespace: "other", name: "template", template: true, want: "other/near"},
		{reason: "a template that no pool refers to", namespace: "team", name: "lonely", template: true},
	} {
		object := metav1.ObjectMeta{Namespace: row.namespace, Name: row.name}
		for _, users := range []*watches.Users{self, managed} {
			requests := users.OfConfig(t.Context(), &infrav1.AWSLaunchConfig{ObjectMeta: object})
			if row.template {
				requests = users.OfTemplate(t.Context(), &infrav1.AWSLaunchConfigTemplate{ObjectMeta: object})
			}
			if got := texts(requests); got != row.want {
				t.Errorf("%s wakes %q, want %q", row.reason, got, row.want)
			}
		}
	}
}

// TestPoolOf holds that only a MachinePool that refers to a pool of the kind, of Slipway's group,
// wakes one.
func TestPoolOf(t *testing.T) {
	t.Parallel()
	referring := func(group, kind string) client.Object {
		machinePool := &clusterv1.MachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "workers"}}
		machinePool.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: group, Kind: kind, Name: "pool"}
		return machinePool
	}
	for _, row := range []struct {
		reason string
		object client.Object
		want   string
	}{
		{"one that refers to a pool of the kind", referring(infrav1.GroupVersion.Group, "AWSMachinePool"), "team/pool"},
		{"one that refers to a pool of another kind", referring(infrav1.GroupVersion.Group, "AWSManagedMachinePool"), ""},
		{"one that refers to the kind of another provider", referring("example.com", "AWSMachinePool"), ""},
		{"one that refers to nothing", &clusterv1.MachinePool{}, ""},
		{"an object of another kind", &clusterv1.Cluster{}, ""},
	} {
		if got := texts(watches.PoolOf("AWSMachinePool")(t.Context(), row.object)); got != row.want {
			t.Errorf("%s wakes %q, want %q", row.reason, got, row.want)
		}
	}
}

// TestPoolsOf holds which pools of a Cluster wake: the pools in its namespace with core's label
// that this manager is for.
func TestPoolsOf(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	labeled := func(namespace, name, cluster, filter string) client.Object {
		return &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster, watches.WatchFilterLabel: filter}}}
	}
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		labeled("team", "a", "blue", "x"), labeled("team", "b", "blue", "y"), labeled("team", "c", "green", "x"), labeled("other", "d", "blue", "x"),
	).Build()
	for _, row := range []struct{ reason, filter, want string }{
		{"a manager that is for all objects", "", "team/a team/b"},
		{"a manager that is for some", "x", "team/a"},
		{"a manager that is for others", "z", ""},
	} {
		requests, err := watches.Settings{WatchFilter: row.filter}.PoolsOf(reader, &infrav1.AWSMachinePoolList{})(t.Context(), types.NamespacedName{Namespace: "team", Name: "blue"})
		if got := texts(requests); err != nil || got != row.want {
			t.Errorf("%s: %q, %v, want %q", row.reason, got, err, row.want)
		}
	}
	unknown := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).Build()
	list := watches.Settings{}.PoolsOf(unknown, &infrav1.AWSMachinePoolList{})
	if _, err := list(t.Context(), types.NamespacedName{Namespace: "team", Name: "blue"}); err == nil || !strings.HasPrefix(err.Error(), "listing pools: ") {
		t.Errorf("the error is %v", err)
	}
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "blue"}}
	if requests := watches.ByCluster(watches.Itself, list)(t.Context(), cluster); len(requests) > 0 {
		t.Errorf("a list that failed wakes %v", requests)
	}
}

// TestClusterChanges holds that core's reports on a Cluster wake no pool, and that what pools read
// of it does.
func TestClusterChanges(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		edit   func(*clusterv1.Cluster)
		want   bool
	}{
		{"nothing changed, as at a resync", func(*clusterv1.Cluster) {}, false},
		{"core counts replicas", func(c *clusterv1.Cluster) { c.Status.Workers = &clusterv1.WorkersStatus{} }, false},
		{"it is paused", func(c *clusterv1.Cluster) { paused := true; c.Spec.Paused = &paused; c.Generation++ }, true},
		{"its infrastructure is ready", func(c *clusterv1.Cluster) {
			provisioned := true
			c.Status.Initialization.InfrastructureProvisioned = &provisioned
		}, true},
	} {
		before := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "blue"}}
		after := before.DeepCopy()
		row.edit(after)
		if got := watches.ClusterChanges().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != row.want {
			t.Errorf("%s: pools wake: %t", row.reason, got)
		}
	}
}

// TestQueue holds that failed passes are repeated by the manager's clock: later each time, within
// bounds, and at once again after one that succeeded.
func TestQueue(t *testing.T) {
	t.Parallel()
	options := watches.Settings{Clock: clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)), Concurrency: 3}.Options()
	if options.MaxConcurrentReconciles != 3 {
		t.Errorf("%d passes are made at once", options.MaxConcurrentReconciles)
	}
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "team", Name: "pool"}}
	before := time.Duration(0)
	for range 30 {
		wait := options.RateLimiter.When(request)
		if wait < before || wait < 200*time.Millisecond || wait > 2*time.Minute {
			t.Fatalf("after %s, the wait is %s", before, wait)
		}
		before = wait
	}
	if before != 2*time.Minute {
		t.Errorf("the longest wait is %s", before)
	}
	options.RateLimiter.Forget(request)
	if wait := options.RateLimiter.When(request); wait != 200*time.Millisecond {
		t.Errorf("after a pass that succeeded, the wait is %s", wait)
	}
	clock := clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	queue := watches.Settings{Clock: clock}.Options().NewQueue("pools", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	queue.AddAfter(request, time.Hour)
	if queue.Len() != 0 {
		t.Error("the queue does not wait")
	}
}

// TestCallerIsNamed holds that the calls of a pass count for the namespace of its object.
func TestCallerIsNamed(t *testing.T) {
	t.Parallel()
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "team", Name: "pool"}}
	caller := ""
	reconciler := watches.Settings{}.Reconciler("AWSMachinePool", nil, &infrav1.AWSMachinePool{}, reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		caller = aws.CallerNamespace(ctx)
		return reconcile.Result{}, nil
	}))
	if _, err := reconciler.Reconcile(t.Context(), request); err != nil || caller != "team" {
		t.Errorf("calls are for %q, %v", caller, err)
	}
}
