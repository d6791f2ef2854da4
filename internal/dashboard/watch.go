package dashboard

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	toolscache "k8s.io/client-go/tools/cache"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/poolview"
)

// Kinds of rows.
const (
	selfManagedRow     = poolview.SelfManagedKind
	managedRow         = poolview.ManagedKind
	provisionerRow     = "Provisioner"
	provisionedNodeRow = "ProvisionedNode"
	podRow             = "Pod"
)

// rowKey identifies a row: the kind, namespace and name of the object that it is about.
type rowKey struct{ kind, namespace, name string }

// String returns the key as the page has it. Names of objects have no slash.
func (k rowKey) String() string { return k.kind + "/" + k.namespace + "/" + k.name }

// links holds the names of the other objects that a pool's row depends on, in the pool's namespace.
type links struct{ machinePool, config string }

// tracker records which rows must be computed again, because an object that they are computed from
// changed.
type tracker struct {
	mu    sync.Mutex
	dirty map[rowKey]bool
	// pools are the pools that exist.
	pools map[rowKey]links
	// nodes are the ProvisionedNodes that exist.
	nodes map[rowKey]bool
	// wake is signaled when a row becomes dirty.
	wake chan struct{}
}

func newTracker() *tracker {
	return &tracker{dirty: map[rowKey]bool{}, pools: map[rowKey]links{}, nodes: map[rowKey]bool{}, wake: make(chan struct{}, 1)}
}

// watch adds a handler to the informer of a kind.
func (t *tracker) watch(ctx context.Context, informers cache.Informers, object client.Object) error {
	informer, err := informers.GetInformer(ctx, object)
	if err != nil {
		return fmt.Errorf("watching %T: %w", object, err)
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { t.changed(object, false) },
		UpdateFunc: func(_, object any) { t.changed(object, false) },
		DeleteFunc: func(object any) {
			if last, is := object.(toolscache.DeletedFinalStateUnknown); is {
				object = last.Obj
			}
			t.changed(object, true)
		},
	}); err != nil {
		return fmt.Errorf("watching %T: %w", object, err)
	}
	return nil
}

// changed marks the rows that depend on an object.
func (t *tracker) changed(object any, deleted bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch object := object.(type) {
	case *infrav1.AWSMachinePool:
		t.pool(rowKey{selfManagedRow, object.Namespace, object.Name}, linksOf(object, object.Spec.LaunchConfigRef), deleted)
	case *infrav1.AWSManagedMachinePool:
		t.pool(rowKey{managedRow, object.Namespace, object.Name}, linksOf(object, object.Spec.LaunchConfigRef), deleted)
	case *clusterv1.MachinePool:
		t.poolsWith(object, func(l links) string { return l.machinePool })
	case *infrav1.AWSLaunchConfig:
		t.poolsWith(object, func(l links) string { return l.config })
	case *provisioningv1.Provisioner:
		t.mark(rowKey{kind: provisionerRow, name: object.Name})
	case *provisioningv1.ProvisionedNode:
		key := rowKey{kind: provisionedNodeRow, name: object.Name}
		if t.nodes[key] = true; deleted {
			delete(t.nodes, key)
		}
		t.mark(key)
	case *corev1.Pod:
		t.mark(rowKey{podRow, object.Namespace, object.Name})
	case *eventsv1.Event:
		t.mark(rowKey{object.Regarding.Kind, object.Regarding.Namespace, object.Regarding.Name})
	}
}

// pool records that a pool changed. The caller holds the lock.
func (t *tracker) pool(key rowKey, of links, deleted bool) {
	if t.pools[key] = of; deleted {
		delete(t.pools, key)
	}
	t.mark(key)
}

// poolsWith marks the pools with a link to an object. The caller holds the lock.
func (t *tracker) poolsWith(object client.Object, link func(links) string) {
	for key, of := range t.pools {
		if key.namespace == object.GetNamespace() && link(of) == object.GetName() {
			t.mark(key)
		}
	}
}

// mark records that a row must be computed again. The caller holds the lock.
func (t *tracker) mark(key rowKey) {
	t.dirty[key] = true
	select {
	case t.wake <- struct{}{}:
	default: // it is signaled already
	}
}

// markPools marks the rows of all pools, because they also depend on the time.
func (t *tracker) markPools() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.pools {
		t.mark(key)
	}
}

// markPriced marks the rows that have a cost.
func (t *tracker) markPriced() {
	t.markPools()
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.nodes {
		t.mark(key)
	}
}

// take returns the rows that must be computed again, and forgets them.
func (t *tracker) take() []rowKey {
	t.mu.Lock()
	defer t.mu.Unlock()
	keys := make([]rowKey, 0, len(t.dirty))
	for key := range t.dirty {
		keys = append(keys, key)
	}
	clear(t.dirty)
	return keys
}

// linksOf returns the links of a pool.
func linksOf(pool client.Object, ref *infrav1.LaunchConfigReference) links {
	of := links{config: pool.GetName()}
	if ref != nil {
		of.config = ref.Name
	}
	for _, owner := range pool.GetOwnerReferences() {
		if owner.Kind == "MachinePool" {
			of.machinePool = owner.Name
		}
	}
	return of
}
