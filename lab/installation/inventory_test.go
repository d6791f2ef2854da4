package installation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
)

// transient are kinds whose objects come and go without an installation.
var transient = sets.New("Event", "ComponentStatus")

// inventory returns every object of the management cluster, of all kinds that it serves, except the
// objects in the test's own namespace, and join tokens, which expire.
func (w *world) inventory() (sets.Set[string], error) {
	server, err := discovery.NewDiscoveryClientForConfig(w.Lab.RESTConfig())
	if err != nil {
		return nil, err
	}
	objects, err := metadata.NewForConfig(w.Lab.RESTConfig())
	if err != nil {
		return nil, err
	}
	lists, err := server.ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	found := sets.New[string]()
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for i := range list.APIResources {
			resource := &list.APIResources[i]
			if !slices.Contains(resource.Verbs, "list") || transient.Has(resource.Kind) {
				continue
			}
			items, err := objects.Resource(version.WithResource(resource.Name)).List(w.Context(), metav1.ListOptions{})
			if apierrors.IsNotFound(err) {
				continue // its definition is being deleted
			}
			if err != nil {
				return nil, fmt.Errorf("listing %s: %w", resource.Name, err)
			}
			for j := range items.Items {
				object := &items.Items[j]
				if object.Namespace == w.Namespace || resource.Kind == "Secret" && strings.HasPrefix(object.Name, "bootstrap-token-") {
					continue
				}
				found.Insert(fmt.Sprintf("%s %s %s/%s", version.Group, resource.Kind, object.Namespace, object.Name))
			}
		}
	}
	return found, nil
}

// nothingLeft waits until the management cluster has exactly the objects that it had before, and
// AWS has nothing that Slipway created. AWS shows terminated instances with their tags for an hour.
func (w *world) nothingLeft(before sets.Set[string]) {
	w.Helper()
	w.Eventually("the installation has left nothing", func() error {
		now, err := w.inventory()
		if err != nil {
			return err
		}
		if diff := cmp.Diff(sets.List(before), sets.List(now)); diff != "" {
			return fmt.Errorf("objects (-before +after):\n%s", diff)
		}
		if owned := w.owned(); len(owned) > 0 {
			return fmt.Errorf("AWS has something of Slipway's among its %v", owned)
		}
		return nil
	})
}

// owned returns the kinds of resources in AWS among which something has Slipway's name.
func (w *world) owned() []string {
	w.Helper()
	var kinds []string
	for kind, content := range w.State() {
		text, err := json.Marshal(content)
		if err != nil {
			w.Fatal(err)
		}
		if strings.Contains(string(text), "slipway") {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}
