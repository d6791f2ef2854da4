package apiserver_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/apitest"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
)

// kinds returns the product's kinds, with its definitions.
var kinds = sync.OnceValues(func() (*apiserver.Kinds, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), clusterv1.AddToScheme(scheme), infrav1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	definitions, err := apitest.Load(os.DirFS("../../../config/crd"), "bases")
	if err != nil {
		return nil, err
	}
	return apiserver.NewKinds(scheme, definitions), nil
})

type fixture struct {
	*testing.T
	client.Client
	server *apiserver.Server
	clock  *clocktesting.FakePassiveClock
}

func newFixture(t *testing.T, seed uint64) *fixture {
	t.Helper()
	all, err := kinds()
	if err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, time.November, 23, 10, 0, 0, 700_000_000, time.UTC))
	server := apiserver.New(all, clock, seed)
	return &fixture{T: t, Client: server.Client(), server: server, clock: clock}
}

func newPool(name string) *infrav1.AWSMachinePool {
	pool := &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: name}}
	pool.Spec.MinSize, pool.Spec.MaxSize = 1, 3
	pool.Spec.AWSLaunchTemplate = &infrav1.AWSLaunchTemplate{InstanceType: "m5.large"}
	return pool
}

func (f *fixture) create(object client.Object) {
	f.Helper()
	if err := f.Create(f.Context(), object); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) pool(name string) *infrav1.AWSMachinePool {
	f.Helper()
	pool := &infrav1.AWSMachinePool{}
	if err := f.Get(f.Context(), client.ObjectKey{Namespace: "blue", Name: name}, pool); err != nil {
		f.Fatal(err)
	}
	return pool
}

// refused checks that err is the API server's refusal for a reason, and that its message has a text.
func (f *fixture) refused(err error, reason metav1.StatusReason, text string) {
	f.Helper()
	if apierrors.ReasonForError(err) != reason || !strings.Contains(err.Error(), text) {
		f.Errorf("the answer is %v, want a refusal for %s that mentions %q", err, reason, text)
	}
}

func (f *fixture) accepted(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func TestCreate(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1)
	pool := newPool("workers")
	pool.UID, pool.Generation, pool.CreationTimestamp = "mine", 7, metav1.NewTime(time.Unix(0, 0))
	pool.Status.Replicas = 3
	f.create(pool)
	if pool.UID == "mine" || pool.UID == "" || pool.Generation != 1 || pool.ResourceVersion == "" {
		t.Errorf("the server did not set the metadata that is its own: %+v", pool.ObjectMeta)
	}
	if want := f.clock.Now().Truncate(time.Second); !pool.CreationTimestamp.Time.Equal(want) {
		t.Errorf("created at %v, want the whole second %v", pool.CreationTimestamp, want)
	}
	if pool.Status.Replicas != 0 {
		t.Error("a new object has the status that the client sent")
	}
	f.refused(f.Create(t.Context(), newPool("workers")), metav1.StatusReasonAlreadyExists, "already exists")
	f.refused(f.Create(t.Context(), pool), metav1.StatusReasonInternalError, "resourceVersion should not be set")
}

func TestNamesAndUIDsFollowFromTheSeed(t *testing.T) {
	t.Parallel()
	first, same, other := newFixture(t, 1), newFixture(t, 1), newFixture(t, 2)
	named := func(f *fixture) *infrav1.AWSMachinePool {
		pool := newPool("")
		pool.GenerateName = "workers-"
		if err := f.Create(t.Context(), pool); err != nil {
			t.Fatal(err)
		}
		return pool
	}
	a, b, c := named(first), named(same), named(other)
	if a.Name != b.Name || a.UID != b.UID {
		t.Errorf("one seed gave %s %s and %s %s", a.Name, a.UID, b.Name, b.UID)
	}
	if a.Name == c.Name || a.UID == c.UID {
		t.Errorf("two seeds gave %s %s", a.Name, a.UID)
	}
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1)
	f.create(newPool("workers"))
	stale := f.pool("workers")
	fresh := f.pool("workers")
	fresh.Spec.MaxSize = 4
	f.accepted(f.Update(t.Context(), fresh))

	stale.Spec.MaxSize = 5
	f.refused(f.Update(t.Context(), stale), metav1.StatusReasonConflict, "the object has been modified")
	f.refused(f.Status().Update(t.Context(), stale), metav1.StatusReasonConflict, "the object has been modified")

	before := stale.DeepCopy()
	stale.Spec.MaxSize = 6
	f.refused(f.Patch(t.Context(), stale.DeepCopy(), client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})), metav1.StatusReasonConflict, "the object has been modified")
	// without a resource version there is nothing to conflict with
	f.accepted(f.Patch(t.Context(), stale, client.MergeFrom(before)))
	if got := f.pool("workers").Spec.MaxSize; got != 6 {
		t.Errorf("maxSize is %d after the patch", got)
	}

	blind := f.pool("workers")
	blind.ResourceVersion = ""
	f.refused(f.Update(t.Context(), blind), metav1.StatusReasonInvalid, "must be specified for an update")
	replaced := f.pool("workers")
	replaced.UID = "another"
	f.refused(f.Update(t.Context(), replaced), metav1.StatusReasonConflict, "UID in precondition")

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "bootstrap"}}
	f.create(secret)
	secret.ResourceVersion, secret.Data = "", map[string][]byte{"value": []byte("x")}
	f.accepted(f.Update(t.Context(), secret)) // a kind of Kubernetes' own may be updated unconditionally
}

func TestGeneration(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1)
	f.create(newPool("workers"))
	steps := []struct {
		reason string
		change func(*infrav1.AWSMachinePool) error
		want   int64
	}{
		{"labels are metadata", func(p *infrav1.AWSMachinePool) error {
			p.Labels = map[string]string{"a": "b"}
			return f.Update(t.Context(), p)
		}, 1},
		{"the spec counts", func(p *infrav1.AWSMachinePool) error { p.Spec.MaxSize = 4; return f.Update(t.Context(), p) }, 2},
		{"the status does not", func(p *infrav1.AWSMachinePool) error { p.Status.Replicas = 1; return f.Status().Update(t.Context(), p) }, 2},
		{"a client does not count", func(p *infrav1.AWSMachinePool) error { p.Generation = 9; return f.Update(t.Context(), p) }, 2},
		{"a finalizer is metadata", func(p *infrav1.AWSMachinePool) error {
			p.Finalizers = []string{"example.com/held"}
			return f.Update(t.Context(), p)
		}, 2},
		{"being deleted counts", func(p *infrav1.AWSMachinePool) error { return f.Delete(t.Context(), p) }, 3},
		{"being deleted again does not", func(p *infrav1.AWSMachinePool) error { return f.Delete(t.Context(), p) }, 3},
	}
	for _, step := range steps {
		f.accepted(step.change(f.pool("workers")))
		if got := f.pool("workers").Generation; got != step.want {
			t.Errorf("%s: the generation is %d, want %d", step.reason, got, step.want)
		}
	}
}

func TestSubresource(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1)
	f.create(newPool("workers"))
	pool := f.pool("workers")
	pool.Spec.MaxSize, pool.Status.Replicas = 4, 2
	pool.Labels = map[string]string{"a": "b"}
	f.accepted(f.Status().Update(t.Context(), pool))
	if got := f.pool("workers"); got.Spec.MaxSize != 3 || got.Status.Replicas != 2 || got.Labels != nil {
		t.Errorf("an update of the status wrote %+v", got)
	}
	pool = f.pool("workers")
	pool.Spec.MaxSize, pool.Status.Replicas = 4, 5
	f.accepted(f.Update(t.Context(), pool))
	if got := f.pool("workers"); got.Spec.MaxSize != 4 || got.Status.Replicas != 2 {
		t.Errorf("an update wrote maxSize %d and status %d", got.Spec.MaxSize, got.Status.Replicas)
	}
}

func TestNoChangeIsNoWrite(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1)
	f.create(newPool("workers"))
	_, events := f.server.Watch(infrav1.GroupVersion.WithKind("AWSMachinePool"))
	pool := f.pool("workers")
	f.accepted(f.Update(t.Context(), pool.DeepCopy()))
	f.accepted(f.Patch(t.Context(), pool.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"maxSize":3}}`))))
	if got := f.pool("workers").ResourceVersion; got != pool.ResourceVersion || events.Pending() != 0 {
		t.Errorf("the resource version went from %s to %s, with %d events", pool.ResourceVersion, got, events.Pending())
	}
}

func TestFinalizers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1)
	pool := newPool("workers")
	pool.Finalizers = []string{"example.com/held"}
	f.create(pool)
	f.accepted(f.Delete(t.Context(), pool))
	held := f.pool("workers")
	if held.DeletionTimestamp == nil {
		t.Fatal("the object is not marked as deleted")
	}
	held.Finalizers = append(held.Finalizers, "example.com/another")
	f.refused(f.Update(t.Context(), held), metav1.StatusReasonInvalid, "no new finalizers can be added if the object is being deleted")
	held = f.pool("workers")
	held.DeletionTimestamp, held.Finalizers = nil, nil
	f.accepted(f.Update(t.Context(), held)) // a client cannot take the mark away
	f.refused(f.Get(t.Context(), client.ObjectKeyFromObject(pool), held), metav1.StatusReasonNotFound, "not found")

	f.create(newPool("workers"))
	f.refused(f.Delete(t.Context(), pool, client.Preconditions{UID: &pool.UID}), metav1.StatusReasonConflict, "preconditions")
	f.accepted(f.Delete(t.Context(), pool))
}

func TestDefinitions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1)
	f.create(newPool("workers"))
	patch := func(body string) error {
		return f.Patch(t.Context(), f.pool("workers"), client.RawPatch(types.MergePatchType, []byte(body)))
	}
	f.refused(patch(`{"spec":{"minSize":9}}`), metav1.StatusReasonInvalid, "minSize must be less than or equal to "+
		"maxSize")
	f.refused(patch(`{"spec":{"maxSize":0}}`), metav1.StatusReasonInvalid, "should be greater than or equal to 1")
	f.refused(patch(`{"spec":{"awsLaunchTemplate":null,"launchConfigRef":{"name":"shared"}}}`), metav1.StatusReasonInvalid, "cannot switch between its own AWSLaunchConfig and a shared one")
	f.accepted(patch(`{"spec":{"notAField":true,"maxSize":null}}`))
	pool := f.pool("workers")
	if pool.Spec.MaxSize != 1 {
		t.Errorf("maxSize is %d, want the default", pool.Spec.MaxSize)
	}
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pool)
	if err != nil {
		t.Fatal(err)
	}
	if spec, is := raw["spec"].(map[string]any); !is || spec["notAField"] != nil {
		t.Error("an unknown field is stored")
	}
}

func TestPatchTypes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1)
	f.create(newPool("workers"))
	f.accepted(f.Patch(t.Context(), f.pool("workers"), client.RawPatch(types.JSONPatchType, []byte(`[{"op":"replace","path":"/spec/maxSize","value":7}]`))))
	if got := f.pool("workers").Spec.MaxSize; got != 7 {
		t.Errorf("maxSize is %d after a JSON patch", got)
	}
	f.refused(f.Patch(t.Context(), f.pool("workers"), client.RawPatch(types.StrategicMergePatchType, []byte(`{}`))), metav1.StatusReasonUnsupportedMediaType, "accepted media types")
	f.refused(f.Patch(t.Context(), newPool("none"), client.RawPatch(types.MergePatchType, []byte(`{}`))), metav1.StatusReasonNotFound, "not found")
}

func TestGarbage(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1)
	owner, other := newPool("owner"), newPool("other")
	f.create(owner)
	f.create(other)
	reference := func(owner client.Object) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: infrav1.GroupVersion.String(), Kind: "AWSMachinePool", Name: owner.GetName(), UID: owner.GetUID()}
	}
	owned, shared := newPool("owned"), newPool("shared")
	owned.OwnerReferences = []metav1.OwnerReference{reference(owner)}
	shared.OwnerReferences = []metav1.OwnerReference{reference(owner), reference(other)}
	f.create(owned)
	f.create(shared)
	if found := f.server.Garbage(); len(found) != 0 {
		t.Errorf("%d objects are garbage though their owners exist", len(found))
	}
	f.accepted(f.Delete(t.Context(), owner))
	f.create(newPool("owner")) // another object of the same name owns nothing
	found := f.server.Garbage()
	if len(found) != 2 {
		t.Fatalf("%d objects are garbage, want 2", len(found))
	}
	f.pool("owned") // nothing happens before it is collected
	for _, object := range found {
		f.accepted(f.server.Collect(object))
	}
	f.refused(f.Get(t.Context(), client.ObjectKeyFromObject(owned), &infrav1.AWSMachinePool{}), metav1.StatusReasonNotFound, "not found")
	if diff := cmp.Diff([]metav1.OwnerReference{reference(other)}, f.pool("shared").OwnerReferences); diff != "" {
		t.Errorf("owners of what has another owner (-want +got)\n%s", diff)
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1)
	f.create(newPool("first"))
	listed, events := f.server.Watch(infrav1.GroupVersion.WithKind("AWSMachinePool"))
	if len(listed) != 1 || events.Pending() != 0 {
		t.Fatalf("listed %d objects, and %d events are pending", len(listed), events.Pending())
	}
	second := newPool("second")
	f.create(second)
	// of another kind
	f.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "second"}})
	second.Spec.MaxSize = 4
	f.accepted(f.Update(t.Context(), second))
	f.accepted(f.Delete(t.Context(), second))
	var seen []string
	for {
		event, more := events.Next()
		if !more {
			break
		}
		size, _, err := unstructured.NestedInt64(event.Object.Object, "spec", "maxSize")
		f.accepted(err)
		seen = append(seen, fmt.Sprint(event.Type, " ", event.Object.GetName(), " ", event.Object.GetResourceVersion(), " ", size))
	}
	// The last state of a deleted object has the resource version of its deletion.
	if diff := cmp.Diff([]string{"ADDED second 2 3", "MODIFIED second 4 4", "DELETED second 5 4"}, seen); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1)
	for _, name := range []string{"b", "a"} {
		pool := newPool(name)
		pool.Labels = map[string]string{"name": name}
		f.create(pool)
	}
	elsewhere := newPool("c")
	elsewhere.Namespace = "green"
	f.create(elsewhere)
	names := func(options ...client.ListOption) []string {
		list := &infrav1.AWSMachinePoolList{}
		f.accepted(f.List(t.Context(), list, options...))
		if list.ResourceVersion != "3" {
			t.Errorf("the list has resource version %s", list.ResourceVersion)
		}
		var all []string
		f.accepted(meta.EachListItem(list, func(object runtime.Object) error {
			all = append(all, object.(client.Object).GetName())
			return nil
		}))
		return all
	}
	for _, row := range []struct {
		reason  string
		options []client.ListOption
		want    []string
	}{
		{"all namespaces", nil, []string{"a", "b", "c"}},
		{"one namespace", []client.ListOption{client.InNamespace("blue")}, []string{"a", "b"}},
		{"by label", []client.ListOption{client.MatchingLabels{"name": "b"}}, []string{"b"}},
		{"by name", []client.ListOption{client.MatchingFields{"metadata.name": "c"}}, []string{"c"}},
	} {
		if diff := cmp.Diff(row.want, names(row.options...)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", row.reason, diff)
		}
	}
	f.refused(f.List(t.Context(), &infrav1.AWSMachinePoolList{}, client.MatchingFields{"spec.minSize": "1"}), metav1.StatusReasonBadRequest, "field label not supported")
}

// TestDryRun holds that a dry run of a creation answers with the object, and stores nothing.
func TestDryRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1)
	pool := newPool("workers")
	f.accepted(f.Create(t.Context(), pool, client.DryRunAll))
	if want := f.clock.Now().Truncate(time.Second); !pool.CreationTimestamp.Time.Equal(want) {
		t.Errorf("created at %v, want the whole second %v", pool.CreationTimestamp, want)
	}
	f.refused(f.Get(t.Context(), client.ObjectKeyFromObject(pool), pool), metav1.StatusReasonNotFound, "not found")
}
