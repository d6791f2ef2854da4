package plan

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/launchconfig"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
)

// cluster shows a management cluster as it would be after some writes, which it keeps to itself. An
// object is read from the management cluster when it is first asked for.
type cluster struct {
	client.Client // of the server in memory
	server        *apiserver.Server
	base          client.Reader
	// keep may change an object that was read, and reports whether the cluster has it; nil keeps all
	// objects as they are.
	keep func(client.Object) bool
	// pool is the pool whose controllers read the cluster; the zero target for several.
	pool target

	mu sync.Mutex
	// read holds the objects that the server in memory has or had, and listed the lists.
	read   map[objectKey]bool
	listed map[listKey]bool
}

type objectKey struct {
	kind schema.GroupKind
	name client.ObjectKey
}

type listKey struct {
	kind      schema.GroupKind
	namespace string
	labels    string
}

// newCluster returns a cluster that reads from base. The server is empty.
func newCluster(base client.Reader, server *apiserver.Server) *cluster {
	return &cluster{Client: server.Client(), server: server, base: base, read: map[objectKey]bool{}, listed: map[listKey]bool{}}
}

// Get implements client.Reader.
func (c *cluster) Get(ctx context.Context, name client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if partial, is := object.(*metav1.PartialObjectMetadata); is {
		// It lacks what a typed read needs.
		return c.base.Get(ctx, name, partial, options...)
	}
	gvk, err := c.GroupVersionKindFor(object)
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	key := objectKey{kind: gvk.GroupKind(), name: name}
	if c.has(key) {
		return c.Client.Get(ctx, name, object, options...)
	}
	if err := c.base.Get(ctx, name, object, options...); err != nil {
		if !apierrors.IsNotFound(err) {
			return err
		}
		return c.Client.Get(ctx, name, object, options...) // the plan may have created it
	}
	if err := c.load(key, object); err != nil {
		return err
	}
	return c.Client.Get(ctx, name, object, options...)
}

// has reports whether the server in memory knows what became of an object.
func (c *cluster) has(key objectKey) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read[key]
}

// load puts an object of the management cluster into the server in memory, once.
func (c *cluster) load(key objectKey, object client.Object) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read[key] {
		return nil
	}
	c.read[key] = true
	if c.keep != nil && !c.keep(object) {
		return nil
	}
	return c.server.Load(object)
}

// List implements client.Reader. Fields are indexes of the manager's cache, which no API server has, so
// that it chooses by them what is returned.
func (c *cluster) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if partial, is := list.(*metav1.PartialObjectMetadataList); is {
		return c.base.List(ctx, partial, options...)
	}
	gvk, err := c.GroupVersionKindFor(list)
	if err != nil {
		return fmt.Errorf("listing objects: %w", err)
	}
	gvk.Kind = gvk.Kind[:len(gvk.Kind)-len("List")]
	var wanted client.ListOptions
	wanted.ApplyOptions(options)
	if wanted.FieldSelector != nil {
		if base := c.unfiltered(); base != nil && sharing(wanted) {
			return c.share(ctx, base, gvk, list, wanted)
		}
		return listByIndex(ctx, c, gvk.Kind, list, wanted)
	}
	key := listKey{kind: gvk.GroupKind(), namespace: wanted.Namespace}
	if wanted.LabelSelector != nil {
		key.labels = wanted.LabelSelector.String()
	}
	c.mu.Lock()
	known := c.listed[key]
	c.mu.Unlock()
	if !known {
		if err := c.loadAll(ctx, gvk, list, wanted); err != nil {
			return err
		}
		c.mu.Lock()
		c.listed[key] = true
		c.mu.Unlock()
	}
	return c.Client.List(ctx, list, options...)
}

// unfiltered returns the snapshot that the cluster reads if it keeps all of its objects as they are, else nil.
func (c *cluster) unfiltered() *snapshot {
	if base, is := c.base.(*snapshot); is && c.keep == nil {
		return base
	}
	return nil
}

// loadAll puts the objects of a list into the server in memory.
func (c *cluster) loadAll(ctx context.Context, gvk schema.GroupVersionKind, list client.ObjectList, wanted client.ListOptions) error {
	objects, err := c.relevant(ctx, gvk, list, wanted)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := c.load(keyOf(gvk, object), object); err != nil {
			return fmt.Errorf("listing %s: %w", gvk.Kind, err)
		}
	}
	return nil
}

// relevant reads the objects of a list. The controllers of a pool leave the machines of other pools alone, so that
// only its own are returned.
func (c *cluster) relevant(ctx context.Context, gvk schema.GroupVersionKind, list client.ObjectList, wanted client.ListOptions) ([]client.Object, error) {
	if base := c.unfiltered(); base != nil && c.pool.kind != nil && gvk.Kind == "AWSMachinePoolMachine" {
		return base.indexed(ctx, list, wanted.Namespace, index{"owner", ownersOf}, ownerKey(c.pool.kind.name, c.pool.name.Name))
	}
	if err := c.base.List(ctx, list, &wanted); err != nil {
		return nil, err
	}
	var objects []client.Object
	err := meta.EachListItem(list, func(item runtime.Object) error {
		objects = append(objects, item.(client.Object))
		return nil
	})
	return objects, err
}

func keyOf(gvk schema.GroupVersionKind, object client.Object) objectKey {
	return objectKey{kind: gvk.GroupKind(), name: client.ObjectKeyFromObject(object)}
}

// ownerKey is the value of an owner in the index of owners.
func ownerKey(kind, name string) string { return kind + "/" + name }

// ownersOf returns the owners of an object, for an index.
func ownersOf(object client.Object) []string {
	var owners []string
	for _, owner := range object.GetOwnerReferences() {
		owners = append(owners, ownerKey(owner.Kind, owner.Name))
	}
	return owners
}

// sharing reports whether a caller that lists objects by one index does not change them.
func sharing(wanted client.ListOptions) bool {
	return ptr.Deref(wanted.UnsafeDisableDeepCopy, false) && len(wanted.FieldSelector.Requirements()) == 1 && wanted.LabelSelector == nil
}

// share lists objects by an index, as the plan has left them. Objects that it did not read before are shared with
// other worlds, so that a thousand pools of one launch config are not copied for each of them.
func (c *cluster) share(ctx context.Context, base *snapshot, gvk schema.GroupVersionKind, list client.ObjectList, wanted client.ListOptions) error {
	if err := listByIndex(ctx, c.Client, gvk.Kind, list, wanted); err != nil {
		return err
	}
	own, err := meta.ExtractList(list)
	if err != nil {
		return fmt.Errorf("listing %s by %s: %w", gvk.Kind, wanted.FieldSelector, err)
	}
	by := wanted.FieldSelector.Requirements()[0]
	shared, err := base.indexed(ctx, list, wanted.Namespace, index{by.Field, indexOf(gvk.Kind, by.Field)}, by.Value)
	if err != nil {
		return err
	}
	items := make([]runtime.Object, 0, len(shared)+len(own))
	for _, object := range shared {
		if !c.has(keyOf(gvk, object)) {
			items = append(items, object)
		}
	}
	for _, item := range own {
		at, _ := slices.BinarySearchFunc(items, item.(client.Object), func(a runtime.Object, b client.Object) int { return byName(a.(client.Object), b) })
		items = slices.Insert(items, at, item)
	}
	return meta.SetList(list, items)
}

// listByIndex lists objects of a kind by indexes from a reader that has none.
func listByIndex(ctx context.Context, reader client.Reader, kind string, list client.ObjectList, options client.ListOptions) error {
	wanted := options.FieldSelector
	options.FieldSelector = nil
	if err := reader.List(ctx, list, &options); err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return fmt.Errorf("listing %s by %s: %w", kind, wanted, err)
	}
	for _, requirement := range wanted.Requirements() {
		values := indexOf(kind, requirement.Field)
		if values == nil {
			return fmt.Errorf("listing %s by %s: there is no such index", kind, wanted)
		}
		items = slices.DeleteFunc(items, func(item runtime.Object) bool {
			object, is := item.(client.Object)
			return !is || !slices.Contains(values(object), requirement.Value)
		})
	}
	return meta.SetList(list, items)
}

// indexOf returns the values of an index of a kind, nil if there is no such index.
func indexOf(kind, name string) client.IndexerFunc {
	for _, index := range launchconfig.Indexes() {
		if index.Name == name && reflect.TypeOf(index.Object).Elem().Name() == kind {
			return index.Values
		}
	}
	return nil
}
