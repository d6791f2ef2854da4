package clusteridentity

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/secretwatch"
)

// wakes is a reconciler over stored identities and pools, with the queues of the controllers whose
// objects it wakes.
type wakes struct {
	*testing.T
	client.Client
	reconciler *Reconciler
	queues     []workqueue.TypedRateLimitingInterface[reconcile.Request]
	// broken is a kind that cannot be read.
	broken string
	// read is how many objects lists returned.
	read int
}

func newWakes(t *testing.T) *wakes {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, capav1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	named := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	stuck := []metav1.Condition{{Type: infrav1.ClusterInfrastructureReadyCondition, Status: metav1.ConditionFalse, Reason: infrav1.IdentityNotFoundReason}}
	static := &capav1.AWSClusterStaticIdentity{ObjectMeta: named("", "tenant")}
	static.Spec.SecretRef = "tenant-keys"
	w := &wakes{T: t}
	builder := fake.NewClientBuilder().WithScheme(scheme)
	for _, index := range Indexes() {
		builder = builder.WithIndex(index.Object, index.Name, index.Values)
	}
	w.Client = builder.WithObjects(
		static, &corev1.Secret{ObjectMeta: named("system", "tenant-keys"), Data: map[string][]byte{"AccessKeyID": []byte("one")}}, &corev1.Namespace{ObjectMeta: named("", "team")},
		&infrav1.AWSMachinePool{ObjectMeta: named("team", "pool")},
		&infrav1.AWSMachinePool{ObjectMeta: named("other", "stuck-pool"), Status: infrav1.AWSMachinePoolStatus{Conditions: stuck}},
		&infrav1.AWSManagedMachinePool{ObjectMeta: named("other", "managed")},
		&infrav1.AWSManagedMachinePool{ObjectMeta: named("team", "stuck-managed"), Status: infrav1.AWSManagedMachinePoolStatus{Conditions: stuck}},
		&infrav1.AWSLaunchConfig{ObjectMeta: named("team", "config")},
	).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			_, secret := object.(*corev1.Secret)
			if w.broken != "" && secret == (w.broken == "Secret") {
				return errors.New("no answer")
			}
			return c.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			err := c.List(ctx, list, options...)
			w.read += meta.LenList(list)
			return err
		},
	}).Build()
	clock := clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	registry := &clouds.Registry{}
	w.reconciler = &Reconciler{Client: w.Client, Secrets: w.Client, SecretNamespace: "system", Watches: secretwatch.New(w.Client, clock, time.Minute), Clouds: registry}
	for _, source := range []interface {
		Start(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error
	}{registry.GroupEvents(), registry.ManagedGroupEvents(), registry.TemplateEvents()} {
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		t.Cleanup(queue.ShutDown)
		w.queues = append(w.queues, queue)
		if err := source.Start(t.Context(), queue); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// woken reconciles an identity or a Namespace, and returns the names of the objects that it wakes. It
// fails if other objects were listed.
func (w *wakes) woken(kind, name string) string {
	w.Helper()
	w.read = 0
	if _, err := w.reconciler.Reconcile(w.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: kind, Name: name}}); err != nil {
		w.Fatal(err)
	}
	var names []string
	for _, queue := range w.queues {
		for queue.Len() > 0 {
			request, _ := queue.Get()
			queue.Done(request)
			names = append(names, request.Name)
		}
	}
	if w.read != len(names) {
		w.Errorf("%d objects were listed in order to wake %q", w.read, names)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func (w *wakes) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// TestIdentitiesWake holds which objects wake in the life of an identity: the objects that wait for
// one when it appears, all objects when the identity, its permissions, or its keys change or it is
// gone, and none for a change that does not concern them.
func TestIdentitiesWake(t *testing.T) {
	t.Parallel()
	const all, waitingOnly = "config managed pool stuck-managed stuck-pool", "stuck-managed stuck-pool"
	w := newWakes(t)
	static, secret := &capav1.AWSClusterStaticIdentity{}, &corev1.Secret{}
	for _, step := range []struct {
		reason string
		change func()
		want   string
	}{
		{"it is seen for the first time", func() {}, waitingOnly},
		{"nothing changed", func() {}, ""},
		{"its status or labels change", func() {
			w.must(w.Get(t.Context(), client.ObjectKey{Name: "tenant"}, static))
			static.Labels = map[string]string{"a": "b"}
			w.must(w.Update(t.Context(), static))
		}, ""},
		{"other namespaces may use it", func() {
			static.Spec.AllowedNamespaces = &capav1.AllowedNamespaces{NamespaceList: []string{"team"}}
			w.must(w.Update(t.Context(), static))
		}, all},
		{"its keys are rotated", func() {
			w.must(w.Get(t.Context(), client.ObjectKey{Namespace: "system", Name: "tenant-keys"}, secret))
			secret.Data["AccessKeyID"] = []byte("two")
			w.must(w.Update(t.Context(), secret))
		}, all},
		{"its Secret is gone", func() { w.must(w.Delete(t.Context(), secret)) }, all},
		{"it is gone", func() { w.must(w.Delete(t.Context(), static)) }, all},
		{"it is still gone", func() {}, ""},
	} {
		step.change()
		if got := w.woken(string(aws.IdentityStatic), "tenant"); got != step.want {
			t.Errorf("%s: it wakes %q, want %q", step.reason, got, step.want)
		}
	}
	if got := w.woken(string(aws.IdentityRole), "never-was"); got != "" {
		t.Errorf("an identity that never was wakes %q", got)
	}
}

// TestNamespacesWake holds that new labels of a Namespace wake the objects in it, and no others.
func TestNamespacesWake(t *testing.T) {
	t.Parallel()
	w := newWakes(t)
	team := &corev1.Namespace{}
	w.must(w.Get(t.Context(), client.ObjectKey{Name: "team"}, team))
	for _, step := range []struct {
		reason string
		change func(*corev1.Namespace)
		want   string
	}{
		{"it is seen for the first time", func(*corev1.Namespace) {}, ""},
		{"an annotation changes", func(n *corev1.Namespace) { n.Annotations = map[string]string{"a": "b"} }, ""},
		{"a label changes", func(n *corev1.Namespace) { n.Labels = map[string]string{"tier": "gold"} }, "config pool stuck-managed"},
		{"it is as it was", func(*corev1.Namespace) {}, ""},
	} {
		step.change(team)
		w.must(w.Update(t.Context(), team))
		if got := w.woken(namespaceKind, "team"); got != step.want {
			t.Errorf("%s: it wakes %q, want %q", step.reason, got, step.want)
		}
	}
}

// TestUnreadIdentities holds that an identity or a Secret that cannot be read is read again, and is
// not taken for one that is gone or has other keys.
func TestUnreadIdentities(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"Secret", "identity"} {
		w := newWakes(t)
		w.woken(string(aws.IdentityStatic), "tenant")
		w.broken = kind
		key := types.NamespacedName{Namespace: string(aws.IdentityStatic), Name: "tenant"}
		if _, err := w.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err == nil {
			t.Errorf("the %s cannot be read, and the pass does not fail", kind)
		}
		w.broken = ""
		if got := w.woken(string(aws.IdentityStatic), "tenant"); got != "" {
			t.Errorf("after the %s could not be read, its return wakes %q", kind, got)
		}
	}
}
