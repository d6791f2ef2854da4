package watches

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/pool"
)

// Users maps launch configs and templates to the pools of a kind that refer to them. It takes the
// references from the events of the pools: to list all pools for each event of a launch config would
// make the cost of an event grow with their number. A pool whose first event is still to come is woken
// by that event. The zero value is ready for use.
type Users struct {
	mu sync.Mutex
	// references are what pools refer to, and users the pools that refer to something.
	references map[types.NamespacedName]references
	users      map[referred]map[types.NamespacedName]bool
}

// referred is a launch config or a template that pools refer to.
type referred struct {
	template bool
	name     types.NamespacedName
}

// references holds the launch config and the template that the spec of a pool refers to.
type references [2]referred

// Heard returns a predicate that lets all events of pools pass, and takes in what they refer to.
func (u *Users) Heard() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { u.hear(e.Object, false); return true },
		UpdateFunc:  func(e event.UpdateEvent) bool { u.hear(e.ObjectNew, false); return true },
		DeleteFunc:  func(e event.DeleteEvent) bool { u.hear(e.Object, true); return true },
		GenericFunc: func(event.GenericEvent) bool { return true },
	}
}

func (u *Users) hear(object client.Object, gone bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.references == nil {
		u.references, u.users = map[types.NamespacedName]references{}, map[referred]map[types.NamespacedName]bool{}
	}
	name, now := client.ObjectKeyFromObject(object), referencesOf(object)
	if gone {
		now = references{}
	}
	before := u.references[name]
	if now == before {
		return
	}
	for _, reference := range before {
		if delete(u.users[reference], name); len(u.users[reference]) == 0 {
			delete(u.users, reference)
		}
	}
	delete(u.references, name)
	for _, reference := range now {
		if reference == (referred{}) {
			continue
		}
		u.references[name] = now
		if u.users[reference] == nil {
			u.users[reference] = map[types.NamespacedName]bool{}
		}
		u.users[reference][name] = true
	}
}

// referencesOf returns what a pool refers to.
func referencesOf(object client.Object) (found references) {
	var config *infrav1.LaunchConfigReference
	var template *infrav1.LaunchConfigTemplateReference
	switch pool := object.(type) {
	case *infrav1.AWSMachinePool:
		config, template = pool.Spec.LaunchConfigRef, pool.Spec.LaunchConfigTemplateRef
	case *infrav1.AWSManagedMachinePool:
		config, template = pool.Spec.LaunchConfigRef, pool.Spec.LaunchConfigTemplateRef
	}
	if config != nil {
		found[0] = referred{name: types.NamespacedName{Namespace: object.GetNamespace(), Name: config.Name}}
	}
	if template != nil {
		found[1] = referred{template: true, name: pool.TemplateKey(object.GetNamespace(), *template)}
	}
	return found
}

// OfConfig returns the pools that launch from a launch config. The first is the pool with the
// config's name, even if that pool does not own the config: a pool whose name is taken waits until
// the config is deleted.
func (u *Users) OfConfig(_ context.Context, config client.Object) []reconcile.Request {
	own := client.ObjectKeyFromObject(config)
	requests := []reconcile.Request{{NamespacedName: own}}
	for _, name := range u.of(referred{name: own}) {
		if name != own {
			requests = append(requests, reconcile.Request{NamespacedName: name})
		}
	}
	return requests
}

// OfTemplate returns the pools, of any namespace, that refer to a template.
func (u *Users) OfTemplate(_ context.Context, template client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, name := range u.of(referred{template: true, name: client.ObjectKeyFromObject(template)}) {
		requests = append(requests, reconcile.Request{NamespacedName: name})
	}
	return requests
}

// of returns the pools that refer to something, in the order of their names.
func (u *Users) of(reference referred) []types.NamespacedName {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.SortedFunc(maps.Keys(u.users[reference]), func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}
