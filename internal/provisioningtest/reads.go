package provisioningtest

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// reads remembers what the API server in memory answered to lists, until an object of the kind is
// written. The fake client encodes and decodes all objects of a kind for each list, which took a
// third of the time of the tests. An answer is copied, so that callers may change it.
type reads struct {
	mu      sync.Mutex
	answers map[string]map[string]client.ObjectList
	// writes counts the writes of each kind.
	writes map[string]int
}

// kindOf names the kind of an object or a list.
func kindOf(object any) string {
	return strings.TrimSuffix(reflect.TypeOf(object).Elem().String(), "List")
}

// list answers from memory, or from the client.
func (r *reads) list(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
	var asked client.ListOptions
	asked.ApplyOptions(options)
	key, kind := fmt.Sprintf("%s %v %v", asked.Namespace, asked.LabelSelector, asked.FieldSelector), kindOf(list)
	r.mu.Lock()
	answer, before := r.answers[kind][key], r.writes[kind]
	r.mu.Unlock()
	if answer == nil {
		if err := c.List(ctx, list, options...); err != nil {
			return err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.writes[kind] == before {
			if r.answers[kind] == nil {
				r.answers[kind] = map[string]client.ObjectList{}
			}
			r.answers[kind][key] = list.DeepCopyObject().(client.ObjectList)
		}
		return nil
	}
	reflect.ValueOf(list).Elem().Set(reflect.ValueOf(answer.DeepCopyObject()).Elem())
	return nil
}

// forget drops the answers about a kind, before and after a write of an object of the kind: a list
// that is answered meanwhile may have either.
func (r *reads) forget(object client.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.answers, kindOf(object))
	r.writes[kindOf(object)]++
}

// write runs a write of an object.
func (r *reads) write(object client.Object, write func() error) error {
	r.forget(object)
	defer r.forget(object)
	return write()
}

// apply runs a server-side apply, which may be of any kind.
func (r *reads) apply(apply func() error) error {
	forget := func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for kind := range r.answers {
			delete(r.answers, kind)
			r.writes[kind]++
		}
	}
	forget()
	defer forget()
	return apply()
}

// funcs returns what passes the calls of a client through the memory.
func (r *reads) funcs() interceptor.Funcs {
	r.answers, r.writes = map[string]map[string]client.ObjectList{}, map[string]int{}
	return interceptor.Funcs{
		List: r.list,
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			return r.write(object, func() error { return c.Create(ctx, object, options...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			return r.write(object, func() error { return c.Delete(ctx, object, options...) })
		},
		DeleteAllOf: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteAllOfOption) error {
			return r.write(object, func() error { return c.DeleteAllOf(ctx, object, options...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.UpdateOption) error {
			return r.write(object, func() error { return c.Update(ctx, object, options...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			return r.write(object, func() error { return c.Patch(ctx, object, patch, options...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, configuration runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			return r.apply(func() error { return c.Apply(ctx, configuration, options...) })
		},
		SubResourceApply: func(ctx context.Context, c client.Client, name string, configuration runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
			return r.apply(func() error { return c.SubResource(name).Apply(ctx, configuration, options...) })
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, name string, object, sub client.Object, options ...client.SubResourceCreateOption) error {
			return r.write(object, func() error { return c.SubResource(name).Create(ctx, object, sub, options...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, name string, object client.Object, options ...client.SubResourceUpdateOption) error {
			return r.write(object, func() error { return c.SubResource(name).Update(ctx, object, options...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			return r.write(object, func() error { return c.SubResource(name).Patch(ctx, object, patch, options...) })
		},
	}
}
