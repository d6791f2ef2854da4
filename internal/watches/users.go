package watches

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Users maps launch configs and templates to the pools of a kind that refer to them.
type Users struct {
	// Reader reads a cache that has PoolIndexes.
	Reader client.Reader
	// Pools is an empty list of the kind.
	Pools client.ObjectList
}

// OfConfig returns the pools that launch from a launch config. The first is the one that bears its
// name, whoever owns the config: a pool whose name is taken waits for the config to go away.
func (u Users) OfConfig(ctx context.Context, config client.Object) []reconcile.Request {
	own := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(config)}
	requests := []reconcile.Request{own}
	for _, request := range u.selected(ctx, LaunchingFrom(own.NamespacedName)) {
		if request != own {
			requests = append(requests, request)
		}
	}
	return requests
}

// OfTemplate returns the pools, of any namespace, that refer to a template.
func (u Users) OfTemplate(ctx context.Context, template client.Object) []reconcile.Request {
	return u.selected(ctx, ReferringToTemplate(client.ObjectKeyFromObject(template)))
}

// selected returns the pools that are selected. It logs a list that failed: a watch has no other way
// to report it.
func (u Users) selected(ctx context.Context, options []client.ListOption) []reconcile.Request {
	requests, err := listed(ctx, u.Reader, u.Pools, options...)
	if err != nil {
		log.FromContext(ctx).Error(err, "Listing the pools that refer to a launch config or its template failed")
	}
	return requests
}

// listed returns a request for each object that is listed. Empty is an empty list of their kind.
func listed(ctx context.Context, reader client.Reader, empty client.ObjectList, options ...client.ListOption) ([]reconcile.Request, error) {
	list, isList := empty.DeepCopyObject().(client.ObjectList)
	if !isList {
		return nil, fmt.Errorf("%T is no list", empty)
	}
	if err := reader.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, fmt.Errorf("listing pools: %w", err)
	}
	var requests []reconcile.Request
	err := meta.EachListItem(list, func(item runtime.Object) error {
		if object, isObject := item.(client.Object); isObject {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)})
		}
		return nil
	})
	return requests, err
}
