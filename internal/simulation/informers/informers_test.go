package informers_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/simulation/apiserver"
	"github.com/slipway-project/slipway/internal/simulation/informers"
)

type fixture struct {
	*testing.T
	server  *apiserver.Server
	direct  client.Client
	cache   *informers.Cache
	process client.Client
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), clusterv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	server := apiserver.New(apiserver.NewKinds(scheme, nil), clocktesting.NewFakePassiveClock(time.Unix(0, 0)), 1)
	cached := informers.New(server, scheme)
	return &fixture{T: t, server: server, direct: server.Client(), cache: cached, process: informers.NewClient(cached, server.Client())}
}

func machine(name, cluster string) *clusterv1.Machine {
	return &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: name}, Spec: clusterv1.MachineSpec{ClusterName: cluster}}
}

func (f *fixture) do(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// names lists the machines that the process sees.
func (f *fixture) names(options ...client.ListOption) []string {
	f.Helper()
	list := &clusterv1.MachineList{}
	f.do(f.process.List(f.Context(), list, options...))
	names := []string{}
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

func (f *fixture) expect(reason string, got []string, want ...string) {
	f.Helper()
	if diff := cmp.Diff(append([]string{}, want...), append([]string{}, got...)); diff != "" {
		f.Errorf("%s (-want +got)\n%s", reason, diff)
	}
}

func TestReadsAreAsStaleAsDeliveries(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.do(f.direct.Create(t.Context(), machine("first", "prod")))
	f.expect("a kind is listed when it is first read", f.names(), "first")

	second := machine("second", "prod")
	f.do(f.process.Create(t.Context(), second))
	f.do(f.process.Delete(t.Context(), machine("first", "prod")))
	f.expect("nothing is delivered by itself", f.names(), "first")
	if err := f.process.Get(t.Context(), client.ObjectKeyFromObject(second), &clusterv1.Machine{}); !apierrors.IsNotFound(err) {
		t.Errorf("what was not delivered is read: %v", err)
	}
	f.expect("one watch waits", f.cache.Pending(), "Machine")
	_, err := f.cache.Deliver("Machine")
	f.do(err)
	f.expect("the creation is delivered, and the deletion is not", f.names(), "first", "second")
	_, err = f.cache.Deliver("Machine")
	f.do(err)
	f.expect("both are delivered", f.names(), "second")
	f.expect("nothing waits", f.cache.Pending())
}

func TestListsOfALaggingServer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.do(f.direct.Create(t.Context(), machine("changed", "prod")))
	f.do(f.direct.Create(t.Context(), machine("deleted", "prod")))
	then := f.server.Version()
	changed := machine("changed", "prod")
	f.do(f.direct.Get(t.Context(), client.ObjectKeyFromObject(changed), changed))
	changed.Labels = map[string]string{"since": "then"}
	f.do(f.direct.Update(t.Context(), changed))
	f.do(f.direct.Delete(t.Context(), machine("deleted", "prod")))
	f.do(f.direct.Create(t.Context(), machine("new", "prod")))

	lagging := informers.NewFrom(f.server, f.direct.Scheme(), then)
	f.cache, f.process = lagging, informers.NewClient(lagging, f.direct)
	since := client.MatchingLabels{"since": "then"}
	f.expect("the list is of what existed then", f.names(), "changed", "deleted")
	f.expect("objects are as they were then", f.names(since))
	for range 3 {
		_, err := f.cache.Deliver("Machine")
		f.do(err)
	}
	f.expect("what happened since is delivered", f.names(), "changed", "new")
	f.expect("changes too", f.names(since), "changed")
	f.expect("nothing waits", f.cache.Pending())
}

func TestSecretsAreReadLive(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "bootstrap"}}
	f.do(f.direct.Create(t.Context(), secret))
	f.do(f.process.Get(t.Context(), client.ObjectKeyFromObject(secret), &corev1.Secret{}))
	f.do(f.direct.Delete(t.Context(), secret))
	if err := f.process.Get(t.Context(), client.ObjectKeyFromObject(secret), &corev1.Secret{}); !apierrors.IsNotFound(err) {
		t.Errorf("a deleted Secret is read: %v", err)
	}
}

func TestHandlersAreToldOfEachDelivery(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.do(f.direct.Create(t.Context(), machine("first", "prod")))
	informer, err := f.cache.GetInformer(t.Context(), &clusterv1.Machine{})
	f.do(err)
	var told []string
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) {
			told = append(told, fmt.Sprintf("add %s %t", object.(client.Object).GetName(), initial))
		},
		UpdateFunc: func(before, after any) {
			told = append(told, fmt.Sprintf("update %s %s", before.(client.Object).GetResourceVersion(), after.(client.Object).GetResourceVersion()))
		},
		DeleteFunc: func(object any) { told = append(told, fmt.Sprint("delete ", object.(client.Object).GetName())) },
	})
	f.do(err)
	second := machine("second", "prod")
	f.do(f.direct.Create(t.Context(), second))
	second.Labels = map[string]string{"a": "b"}
	f.do(f.direct.Update(t.Context(), second))
	f.do(f.direct.Delete(t.Context(), second))
	f.expect("what the cache began with", told, "add first true")
	for range 3 {
		_, err = f.cache.Deliver("Machine")
		f.do(err)
	}
	f.expect("each delivery", told, "add first true", "add second false", "update 2 3", "delete second")
}

func TestIndexes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.do(f.direct.Create(t.Context(), machine("first", "prod")))
	f.do(f.direct.Create(t.Context(), machine("second", "test")))
	if err := f.process.List(t.Context(), &clusterv1.MachineList{}, client.MatchingFields{"cluster": "test"}); err == nil {
		t.Error("a field without an index was selected by")
	}
	values := func(object client.Object) []string { return []string{object.(*clusterv1.Machine).Spec.ClusterName} }
	f.do(f.cache.IndexField(t.Context(), &clusterv1.Machine{}, "cluster", values))
	f.expect("by index", f.names(client.MatchingFields{"cluster": "test"}), "second")
}

func TestWhatIsReadIsTheReaders(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.do(f.direct.Create(t.Context(), machine("first", "prod")))
	read := &clusterv1.Machine{}
	f.do(f.process.Get(t.Context(), client.ObjectKey{Namespace: "blue", Name: "first"}, read))
	read.Spec.ClusterName = "changed"
	f.do(f.process.Get(t.Context(), client.ObjectKey{Namespace: "blue", Name: "first"}, read))
	if read.Spec.ClusterName != "prod" {
		t.Error("a change of what was read changed the cache")
	}
}
