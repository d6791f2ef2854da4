// Package secretwatch wakes objects when a Secret that they name changes. It asks for the metadata
// of each such Secret by its name, one after the other, once in an interval. It watches and lists
// none: permission to watch Secrets cannot be given for names that are not known beforehand, so it
// would be permission to read all of them (docs/adr/0014).
package secretwatch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// DefaultInterval is the interval at which each Secret is read. The kubeadm bootstrap provider
// replaces a join token when less than half of its life is left, which it checks each third of it:
// of 15 minutes some five are left then, and two and a half at least (Cluster API:
// bootstrap/kubeadm, shouldRotate).
const DefaultInterval = time.Minute

// patience bounds how long one read may take, in real time.
const patience = 10 * time.Second

// Watcher polls the Secrets that objects name. It is a source of a controller.
type Watcher struct {
	reader   client.Reader
	clock    clock.Clock
	interval time.Duration

	mu     sync.Mutex
	queue  workqueue.TypedRateLimitingInterface[reconcile.Request]
	wanted map[types.NamespacedName]types.NamespacedName // object → Secret
	// object → the version of its Secret that it has read, or was woken for
	known map[types.NamespacedName]string
}

// New returns a watcher without Secrets. The reader reads past any cache, which would list and hold
// all Secrets.
func New(reader client.Reader, clk clock.Clock, interval time.Duration) *Watcher {
	return &Watcher{
		reader: reader, clock: clk, interval: interval,
		wanted: map[types.NamespacedName]types.NamespacedName{}, known: map[types.NamespacedName]string{},
	}
}

// Start implements source.Source. It polls until the context is done.
func (w *Watcher) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = queue
	go w.run(ctx)
	return nil
}

// Watch has changes of the Secret wake the object, in place of the Secret that it named earlier.
func (w *Watcher) Watch(object, secret types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wanted[object] != secret {
		w.wanted[object] = secret
		delete(w.known, object)
	}
}

// Read says which resource version of its Secret an object has read, so that it is not woken for that one.
func (w *Watcher) Read(object types.NamespacedName, version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known[object] = version
}

// Forget removes an object's interest.
func (w *Watcher) Forget(object types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.wanted, object)
	delete(w.known, object)
}

// run polls all Secrets, rests, and polls again.
func (w *Watcher) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.clock.After(w.interval):
		}
		if err := w.look(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Info("Looking at Secrets failed, trying again", "reason", err.Error(), "after", w.interval)
		}
	}
}

// look wakes the objects whose Secrets have changed. It reads one at a time, so that many are no
// burst. A failure that may concern one Secret alone does not prevent the others from being read;
// any other failure stops the round.
func (w *Watcher) look(ctx context.Context) error {
	var refused error
	for _, secret := range w.secrets() {
		version, err := w.version(ctx, secret)
		if apierrors.IsForbidden(err) {
			refused = err
			continue
		}
		if err != nil {
			return err
		}
		w.wake(secret, version)
	}
	return refused
}

// secrets returns the Secrets that objects name, in a stable order.
func (w *Watcher) secrets() []types.NamespacedName {
	w.mu.Lock()
	defer w.mu.Unlock()
	named := make([]types.NamespacedName, 0, len(w.wanted))
	for _, secret := range w.wanted {
		named = append(named, secret)
	}
	slices.SortFunc(named, func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(named)
}

// version returns the resource version of a Secret, "" if there is none. It does not read the
// content of the Secret.
func (w *Watcher) version(ctx context.Context, secret types.NamespacedName) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := w.reader.Get(ctx, secret, object)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("looking at Secret %q in %q: %w", secret.Name, secret.Namespace, err)
	}
	return object.ResourceVersion, nil
}

// wake wakes the objects that name a Secret and know another version of it.
func (w *Watcher) wake(secret types.NamespacedName, version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for object, wanted := range w.wanted {
		if wanted == secret && w.known[object] != version {
			w.known[object] = version
			w.queue.Add(reconcile.Request{NamespacedName: object})
		}
	}
}
