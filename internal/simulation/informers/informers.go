// Package informers is the cache of one controller process in a simulation. It implements
// controller-runtime's cache.Cache over a simulated API server, with one difference: nothing runs
// by itself. The watch of each kind queues its events, and Deliver takes one of them, updates what
// the cache holds, and calls the event handlers, all before it returns. Until then every read
// returns the objects that were delivered so far. So the caller decides how stale the cache is, and
// in which order a process learns about objects of different kinds.
//
// As in a real cache, the events of one kind arrive in order, and the cache of a kind starts with a
// list of the objects that exist when the kind is first used. That list is older if the API server
// lags.
package informers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/slipway-project/slipway/internal/simulation/apiserver"
)

// Cache holds what was delivered to one process.
type Cache struct {
	server *apiserver.Server
	scheme *runtime.Scheme
	// from is the number of the write that the first lists are of.
	from uint64

	mu      sync.Mutex
	streams map[stream]*informer
	indexes map[index]client.IndexerFunc
}

var _ cache.Cache = (*Cache)(nil)

// stream is one watch of a process: a kind may be watched whole and, on its own, by its metadata.
type stream struct {
	gvk      schema.GroupVersionKind
	metadata bool
}

// String returns the kind, for traces.
func (s stream) String() string {
	if s.metadata {
		return s.gvk.Kind + "(metadata)"
	}
	return s.gvk.Kind
}

type index struct {
	gvk   schema.GroupVersionKind
	field string
}

// New returns an empty cache.
func New(server *apiserver.Server, scheme *runtime.Scheme) *Cache {
	return NewFrom(server, scheme, math.MaxUint64)
}

// NewFrom returns an empty cache whose API server lags: it lists what existed after the write with
// the given number, and delivers later.
func NewFrom(server *apiserver.Server, scheme *runtime.Scheme, version uint64) *Cache {
	return &Cache{server: server, scheme: scheme, from: version, streams: map[stream]*informer{}, indexes: map[index]client.IndexerFunc{}}
}

// Pending names the watches with events that have not been delivered, in a stable order.
func (c *Cache) Pending() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var waiting []string
	for at, one := range c.streams {
		if one.watch.Pending() > 0 {
			waiting = append(waiting, at.String())
		}
	}
	slices.Sort(waiting)
	return waiting
}

// Deliver delivers the oldest event of a watch that Pending names, and returns it.
func (c *Cache) Deliver(name string) (apiserver.Event, error) {
	c.mu.Lock()
	var found *informer
	for at, one := range c.streams {
		if at.String() == name {
			found = one
		}
	}
	c.mu.Unlock()
	if found == nil {
		return apiserver.Event{}, fmt.Errorf("nothing watches %s", name)
	}
	return found.deliver()
}

// Stop stops all watches, as the exit of the process does.
func (c *Cache) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.streams {
		one.watch.Stop()
	}
}

// Get implements client.Reader.
func (c *Cache) Get(_ context.Context, name client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	one, err := c.informerOf(object)
	if err != nil {
		return err
	}
	held := one.held(name)
	if held == nil {
		plural, _ := meta.UnsafeGuessKindToResource(one.gvk)
		return apierrors.NewNotFound(plural.GroupResource(), name.Name)
	}
	reflect.ValueOf(object).Elem().Set(reflect.ValueOf(held.DeepCopyObject()).Elem())
	object.GetObjectKind().SetGroupVersionKind(one.gvk)
	return nil
}

// List implements client.Reader.
func (c *Cache) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	gvk, err := apiutil.GVKForObject(list, c.scheme)
	if err != nil {
		return err
	}
	gvk.Kind = gvk.Kind[:len(gvk.Kind)-len("List")]
	_, partial := list.(*metav1.PartialObjectMetadataList)
	one, err := c.start(stream{gvk, partial})
	if err != nil {
		return err
	}
	var wanted client.ListOptions
	wanted.ApplyOptions(options)
	var items []runtime.Object
	for _, held := range one.all() {
		matches, err := c.matches(one.gvk, held, wanted)
		if err != nil {
			return err
		}
		if !matches {
			continue
		}
		if wanted.UnsafeDisableDeepCopy == nil || !*wanted.UnsafeDisableDeepCopy {
			held = held.DeepCopyObject().(client.Object)
		}
		items = append(items, held)
	}
	return meta.SetList(list, items)
}

func (c *Cache) matches(gvk schema.GroupVersionKind, object client.Object, wanted client.ListOptions) (bool, error) {
	if wanted.Namespace != "" && object.GetNamespace() != wanted.Namespace ||
		wanted.LabelSelector != nil && !wanted.LabelSelector.Matches(labels.Set(object.GetLabels())) {
		return false, nil
	}
	if wanted.FieldSelector == nil {
		return true, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, requirement := range wanted.FieldSelector.Requirements() {
		values := c.indexes[index{gvk, requirement.Field}]
		if values == nil {
			return false, fmt.Errorf("index with name field:%s does not exist", requirement.Field)
		}
		if !slices.Contains(values(object), requirement.Value) {
			return false, nil
		}
	}
	return true, nil
}

// IndexField implements client.FieldIndexer.
func (c *Cache) IndexField(_ context.Context, object client.Object, field string, values client.IndexerFunc) error {
	gvk, err := apiutil.GVKForObject(object, c.scheme)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := index{gvk, field}
	if c.indexes[at] != nil {
		return fmt.Errorf("indexer conflict: field %s of %s is indexed already", field, gvk.Kind)
	}
	c.indexes[at] = values
	return nil
}

// GetInformer implements cache.Informers.
func (c *Cache) GetInformer(_ context.Context, object client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	return c.informerOf(object)
}

// GetInformerForKind implements cache.Informers.
func (c *Cache) GetInformerForKind(_ context.Context, gvk schema.GroupVersionKind, _ ...cache.InformerGetOption) (cache.Informer, error) {
	return c.start(stream{gvk: gvk})
}

// RemoveInformer implements cache.Informers.
func (c *Cache) RemoveInformer(context.Context, client.Object) error {
	return errors.New("simulation: informers are not removed")
}

// Start implements cache.Informers. Nothing has to run.
func (c *Cache) Start(context.Context) error { return nil }

// WaitForCacheSync implements cache.Informers.
func (c *Cache) WaitForCacheSync(context.Context) bool { return true }

func (c *Cache) informerOf(object client.Object) (*informer, error) {
	gvk, err := apiutil.GVKForObject(object, c.scheme)
	if err != nil {
		return nil, err
	}
	_, partial := object.(*metav1.PartialObjectMetadata)
	return c.start(stream{gvk, partial})
}

// start returns the informer of a stream, which lists the kind first if it is new.
func (c *Cache) start(at stream) (*informer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if one := c.streams[at]; one != nil {
		return one, nil
	}
	listed, events := c.server.WatchFrom(at.gvk, c.from)
	one := &informer{stream: at, server: c.server, scheme: c.scheme, watch: events, objects: map[types.NamespacedName]client.Object{}}
	for _, stored := range listed {
		object, err := one.decode(stored)
		if err != nil {
			return nil, err
		}
		one.objects[client.ObjectKeyFromObject(object)] = object
	}
	c.streams[at] = one
	return one, nil
}

// informer holds one kind, and notifies handlers of deliveries.
type informer struct {
	stream
	server *apiserver.Server
	scheme *runtime.Scheme
	watch  *apiserver.Watch

	mu       sync.Mutex
	objects  map[types.NamespacedName]client.Object
	handlers []toolscache.ResourceEventHandler
}

func (i *informer) decode(stored *apiserver.Object) (client.Object, error) {
	var object client.Object = &metav1.PartialObjectMetadata{}
	if !i.metadata {
		made, err := i.scheme.New(i.gvk)
		if err != nil {
			return nil, fmt.Errorf("caching %s: %w", i.gvk.Kind, err)
		}
		object = made.(client.Object)
	}
	if err := i.server.Into(stored, object); err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(i.gvk)
	return object, nil
}

func (i *informer) deliver() (apiserver.Event, error) {
	event, more := i.watch.Next()
	if !more {
		return event, fmt.Errorf("no event of %s is pending", i.stream)
	}
	object, err := i.decode(event.Object)
	if err != nil {
		return event, err
	}
	i.mu.Lock()
	name := client.ObjectKeyFromObject(object)
	before := i.objects[name]
	i.objects[name] = object
	if event.Type == watch.Deleted {
		delete(i.objects, name)
	}
	handlers := slices.Clone(i.handlers)
	i.mu.Unlock()
	for _, handler := range handlers {
		switch {
		case event.Type == watch.Deleted:
			handler.OnDelete(object)
		case before == nil:
			handler.OnAdd(object, false)
		default:
			handler.OnUpdate(before, object)
		}
	}
	return event, nil
}

func (i *informer) held(name types.NamespacedName) client.Object {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.objects[name]
}

// all returns what is held by namespace and name. A real cache returns objects in no order.
func (i *informer) all() []client.Object {
	i.mu.Lock()
	defer i.mu.Unlock()
	held := make([]client.Object, 0, len(i.objects))
	for _, object := range i.objects {
		held = append(held, object)
	}
	slices.SortFunc(held, func(a, b client.Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return held
}

// AddEventHandler implements cache.Informer. The handler immediately gets what the cache holds.
func (i *informer) AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	held := i.all()
	i.mu.Lock()
	i.handlers = append(i.handlers, handler)
	i.mu.Unlock()
	for _, object := range held {
		handler.OnAdd(object, true)
	}
	return registration{}, nil
}

// AddEventHandlerWithResyncPeriod implements cache.Informer.
func (i *informer) AddEventHandlerWithResyncPeriod(handler toolscache.ResourceEventHandler, _ time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(handler)
}

// AddEventHandlerWithOptions implements cache.Informer.
func (i *informer) AddEventHandlerWithOptions(handler toolscache.ResourceEventHandler, _ toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(handler)
}

// RemoveEventHandler implements cache.Informer.
func (i *informer) RemoveEventHandler(toolscache.ResourceEventHandlerRegistration) error {
	return errors.New("simulation: event handlers are not removed")
}

// AddIndexers implements cache.Informer.
func (i *informer) AddIndexers(toolscache.Indexers) error {
	return errors.New("simulation: indexes are added by IndexField")
}

// HasSynced implements cache.Informer.
func (i *informer) HasSynced() bool { return true }

// HasSyncedChecker implements cache.Informer.
func (i *informer) HasSyncedChecker() toolscache.DoneChecker { return registration{} }

// IsStopped implements cache.Informer.
func (i *informer) IsStopped() bool { return false }

// registration is the registration of a handler that has been notified of everything.
type registration struct{}

func (registration) HasSynced() bool                          { return true }
func (registration) HasSyncedChecker() toolscache.DoneChecker { return registration{} }
func (registration) Name() string                             { return "simulation" }
func (registration) Done() <-chan struct{}                    { done := make(chan struct{}); close(done); return done }
