// Package secretwatch wakes objects when a Secret that they name changes. It watches each such Secret by its name, and never lists
// or caches any: a manager that lists Secrets holds every credential of the management cluster in its memory.
package secretwatch

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Client opens watches: a clientset's CoreV1().Secrets(namespace) in use.
type Client func(namespace string) interface {
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// A watch that ended is opened again after firstRetry, one that fails after twice as long each time, up to lastRetry.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// Watcher watches the Secrets that objects name. It is a source of a controller.
type Watcher struct {
	client Client
	clock  clock.Clock

	mu      sync.Mutex
	ctx     context.Context //nolint:containedctx // the controller's lifetime, which all watches share
	queue   workqueue.TypedRateLimitingInterface[reconcile.Request]
	wanted  map[types.NamespacedName]types.NamespacedName // object → Secret
	watches map[types.NamespacedName]context.CancelFunc   // Secret → end of its watch
	read    map[types.NamespacedName]string               // object → the version of its Secret that it has read
}

// New returns a watcher that watches nothing yet.
func New(client Client) *Watcher {
	return &Watcher{
		client: client, clock: clock.RealClock{},
		wanted: map[types.NamespacedName]types.NamespacedName{}, watches: map[types.NamespacedName]context.CancelFunc{},
		read: map[types.NamespacedName]string{},
	}
}

// Start implements source.Source. Watches live until the context ends.
func (w *Watcher) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ctx, w.queue = ctx, queue
	for _, secret := range w.wanted {
		w.open(secret) //nolint:contextcheck // watches live as long as the controller
	}
	return nil
}

// Watch makes changes of the Secret wake the object, instead of those of a Secret that it named earlier.
func (w *Watcher) Watch(object, secret types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wanted[object] == secret {
		return
	}
	w.drop(object)
	w.wanted[object] = secret
	if w.ctx != nil {
		w.open(secret)
	}
}

// Read says which resource version of its Secret an object has read, so that it is not woken for that one.
func (w *Watcher) Read(object types.NamespacedName, version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read[object] = version
}

// open begins to watch a Secret, if that has not been begun. The watcher is locked.
func (w *Watcher) open(secret types.NamespacedName) {
	if _, open := w.watches[secret]; open {
		return
	}
	ctx, cancel := context.WithCancel(w.ctx)
	w.watches[secret] = cancel
	go w.follow(ctx, secret)
}

// Forget ends an object's interest.
func (w *Watcher) Forget(object types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop(object)
}

// drop ends an object's interest, and the watch with the last one. The watcher is locked.
func (w *Watcher) drop(object types.NamespacedName) {
	secret, named := w.wanted[object]
	if !named {
		return
	}
	delete(w.wanted, object)
	delete(w.read, object)
	for _, other := range w.wanted {
		if other == secret {
			return
		}
	}
	if cancel := w.watches[secret]; cancel != nil {
		cancel()
		delete(w.watches, secret)
	}
}

// follow keeps a watch open until its context ends.
func (w *Watcher) follow(ctx context.Context, secret types.NamespacedName) {
	seen := &progress{}
	for retry := firstRetry; ctx.Err() == nil; {
		opened := seen.opened
		err := w.stream(ctx, secret, seen)
		if ctx.Err() != nil {
			return
		}
		if seen.opened > opened {
			retry = firstRetry
		}
		if err != nil {
			log.FromContext(ctx).Info("Watching a Secret failed, trying again", "secret", secret, "reason", err.Error(), "after", retry)
		}
		select {
		case <-ctx.Done():
		case <-w.clock.After(retry):
		}
		retry = min(2*retry, lastRetry)
	}
}

// progress is what the watches of one Secret have seen so far.
type progress struct {
	// opened is how many watches were opened.
	opened int
	// version is the newest that was passed on.
	version string
}

// stream passes on the events of one watch. Its first event is the Secret as it is, so no change between two watches is lost. That there is no
// such event because the Secret was deleted can not be seen, so whoever waits for it is woken to look when a watch is opened again.
func (w *Watcher) stream(ctx context.Context, secret types.NamespacedName, seen *progress) error {
	events, err := w.client(secret.Namespace).Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, secret.Name).String(),
	})
	if err != nil {
		return fmt.Errorf("opening a watch: %w", err)
	}
	defer events.Stop()
	if seen.opened > 0 {
		w.wake(secret, "")
	}
	seen.opened++
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-events.ResultChan():
			if !open {
				return nil
			}
			if event.Type == watch.Error {
				return fmt.Errorf("watching: %w", apierrors.FromObject(event.Object))
			}
			if object, isSecret := event.Object.(*corev1.Secret); isSecret && object.ResourceVersion != seen.version {
				seen.version = object.ResourceVersion
				w.wake(secret, object.ResourceVersion)
			}
		}
	}
}

// wake wakes the objects that name a Secret and have not read the version of it, which is empty if it is not known.
func (w *Watcher) wake(secret types.NamespacedName, version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for object, wanted := range w.wanted {
		if wanted == secret && (version == "" || w.read[object] != version) {
			w.queue.Add(reconcile.Request{NamespacedName: object})
		}
	}
}
