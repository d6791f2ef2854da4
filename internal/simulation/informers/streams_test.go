package informers_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestMetadataIsAStreamOfItsOwn holds that a kind and its metadata are watched apart, as in a
// manager: each is as stale as its own deliveries.
func TestMetadataIsAStreamOfItsOwn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	metadata := func() []string {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(clusterv1.GroupVersion.WithKind("MachineList"))
		f.do(f.process.List(t.Context(), list))
		names := []string{}
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return names
	}
	f.do(f.direct.Create(t.Context(), machine("first", "prod")))
	f.expect("machines", f.names(), "first")
	f.expect("their metadata", metadata(), "first")
	f.do(f.direct.Create(t.Context(), machine("second", "prod")))
	f.expect("both wait", f.cache.Pending(), "Machine", "Machine(metadata)")
	_, err := f.cache.Deliver("Machine(metadata)")
	f.do(err)
	f.expect("one is delivered", metadata(), "first", "second")
	f.expect("and the other is not", f.names(), "first")
	read := &metav1.PartialObjectMetadata{}
	read.SetGroupVersionKind(clusterv1.GroupVersion.WithKind("Machine"))
	f.do(f.process.Get(t.Context(), client.ObjectKey{Namespace: "blue", Name: "second"}, read))
	if read.Kind != "Machine" || read.Name != "second" {
		t.Errorf("read %+v", read)
	}
}

// TestListsAreSelected holds that lists are selected by namespace and labels, are sorted, and are
// the reader's unless it asks for the cache's own objects.
func TestListsAreSelected(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, at := range []struct{ namespace, name, color string }{{"blue", "b", "dark"}, {"blue", "a", "light"}, {"red", "c", "dark"}, {"azure", "z", "light"}} {
		made := machine(at.name, "prod")
		made.Namespace, made.Labels = at.namespace, map[string]string{"color": at.color}
		f.do(f.direct.Create(t.Context(), made))
	}
	f.expect("all, by namespace and name", f.names(), "z", "a", "b", "c")
	f.expect("a namespace", f.names(client.InNamespace("blue")), "a", "b")
	f.expect("a label", f.names(client.MatchingLabels{"color": "dark"}), "b", "c")
	f.expect("both", f.names(client.MatchingLabels{"color": "dark"}, client.InNamespace("red")), "c")
	f.expect("none", f.names(client.InNamespace("green")))
	list := &clusterv1.MachineList{}
	f.do(f.process.List(t.Context(), list))
	list.Items[0].Labels["color"] = "changed"
	f.expect("a change of what was listed changes no cache", f.names(client.MatchingLabels{"color": "changed"}))
}

// TestProcessThatEnds holds that nothing is delivered to a process that has stopped, and that a new
// one lists anew.
func TestProcessThatEnds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.do(f.direct.Create(t.Context(), machine("first", "prod")))
	f.expect("machines", f.names(), "first")
	f.cache.Stop()
	f.do(f.direct.Create(t.Context(), machine("second", "prod")))
	f.expect("nothing waits for it", f.cache.Pending())
	if event, err := f.cache.Deliver("Machine"); err == nil {
		t.Errorf("delivered %+v", event)
	}
}

// TestMistakesOfASimulation holds that what a simulation cannot do is an error, and not done
// silently.
func TestMistakesOfASimulation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if event, err := f.cache.Deliver("Machine"); err == nil {
		t.Errorf("a watch that there is not delivered %+v", event)
	}
	informer, err := f.cache.GetInformerForKind(t.Context(), clusterv1.GroupVersion.WithKind("Machine"))
	f.do(err)
	if event, err := f.cache.Deliver("Machine"); err == nil {
		t.Errorf("a watch without events delivered %+v", event)
	}
	for what, err := range map[string]error{
		"an informer is removed":       f.cache.RemoveInformer(t.Context(), &clusterv1.Machine{}),
		"a handler is removed":         informer.RemoveEventHandler(nil),
		"indexers are added":           informer.AddIndexers(toolscache.Indexers{}),
		"a kind of no scheme is read":  f.cache.Get(t.Context(), client.ObjectKey{Name: "x"}, &unknown{}),
		"a kind of no scheme is found": f.cache.IndexField(t.Context(), &unknown{}, "x", nil),
	} {
		if err == nil {
			t.Errorf("%s, and no error", what)
		}
	}
	values := func(client.Object) []string { return nil }
	f.do(f.cache.IndexField(t.Context(), &clusterv1.Machine{}, "cluster", values))
	if err := f.cache.IndexField(t.Context(), &clusterv1.Machine{}, "cluster", values); err == nil {
		t.Error("a field is indexed twice")
	}
	if !informer.HasSynced() || informer.IsStopped() || !f.cache.WaitForCacheSync(t.Context()) {
		t.Error("a cache that lists at once does not count as filled")
	}
}

// unknown is of a kind that no scheme has.
type unknown struct{ clusterv1.Machine }
