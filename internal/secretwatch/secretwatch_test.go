package secretwatch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slipway-project/slipway/awssim/simclock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long something that must happen may take.
const patience = 10 * time.Second

// server answers watches as the test says.
type server struct {
	namespace string
	// opening is each watch that is asked for, answered by the test.
	opening chan *opening
}

// opening is a watch that is asked for.
type opening struct {
	namespace, selector string
	events              *watch.FakeWatcher
	answer              chan error
}

func (s *server) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	o := &opening{namespace: s.namespace, selector: options.FieldSelector, events: watch.NewFake(), answer: make(chan error, 1)}
	select {
	case s.opening <- o:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case err := <-o.answer:
		if err != nil {
			return nil, err
		}
		return o.events, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// rig is a watcher, its server, and the queue that it adds to.
type rig struct {
	*testing.T
	watcher *Watcher
	server  *server
	clock   *simclock.Clock
	queue   workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, server: &server{opening: make(chan *opening)}, clock: simclock.New(time.Unix(0, 0), 0)}
	t.Cleanup(r.clock.Close)
	r.watcher = New(func(namespace string) interface {
		Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
	} {
		return &server{namespace: namespace, opening: r.server.opening}
	})
	r.watcher.clock = r.clock
	r.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(r.queue.ShutDown)
	return r
}

func (r *rig) start() {
	r.Helper()
	if err := r.watcher.Start(r.Context(), r.queue); err != nil {
		r.Fatal(err)
	}
}

// opened waits for a watch to be asked for and answers it.
func (r *rig) opened(err error) *opening {
	r.Helper()
	select {
	case o := <-r.server.opening:
		o.answer <- err
		return o
	case <-time.After(patience):
		r.Fatal("no watch is opened")
		return nil
	}
}

// reopened is opened, after a wait on the clock.
func (r *rig) reopened(after time.Duration, err error) *opening {
	r.Helper()
	deadline := time.Now().Add(patience)
	for {
		if due, waits := r.clock.Next(); waits {
			if wait := due.Sub(r.clock.Now()); wait != after {
				r.Errorf("the next watch is opened after %s, want %s", wait, after)
			}
			r.clock.Step(after)
			return r.opened(err)
		}
		if time.Now().After(deadline) {
			r.Fatal("nobody waits to open a watch")
		}
		time.Sleep(time.Millisecond)
	}
}

// wakes waits for the named objects to be woken, each once, in any order.
func (r *rig) wakes(names ...string) {
	r.Helper()
	left := map[string]bool{}
	for _, name := range names {
		left[name] = true
	}
	for range names {
		got := make(chan reconcile.Request, 1)
		go func() {
			request, _ := r.queue.Get()
			got <- request
		}()
		select {
		case request := <-got:
			r.queue.Done(request)
			if !left[request.Name] {
				r.Errorf("%q is woken, want %v", request.Name, names)
			}
			delete(left, request.Name)
		case <-time.After(patience):
			r.Fatalf("%v are not woken", left)
		}
	}
}

// quiet checks that nobody was woken by what came before the given event, which is the next that wakes somebody.
func (r *rig) quiet(reason string) {
	r.Helper()
	if waiting := r.queue.Len(); waiting > 0 {
		r.Errorf("%s: %d are woken", reason, waiting)
	}
}

func object(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}

func secret(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "tenant", Name: name}
}

func version(resourceVersion string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "data", ResourceVersion: resourceVersion}}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	r.watcher.Watch(object("pool"), secret("data"))
	o := r.opened(nil)
	if o.namespace != "tenant" || o.selector != "metadata.name=data" {
		t.Errorf("the watch is of %q in %q: no more than one Secret may be seen", o.selector, o.namespace)
	}
	o.events.Add(version("1"))
	r.wakes("pool")
	o.events.Modify(version("1"))
	o.events.Action(watch.Bookmark, &corev1.ConfigMap{})
	// An unbuffered send has returned when the one before was dealt with.
	o.events.Modify(version("1"))
	r.quiet("the same version, and what is no Secret")
	o.events.Modify(version("2"))
	r.wakes("pool")
	o.events.Delete(version("3"))
	r.wakes("pool")
	r.watcher.Watch(object("pool"), secret("data"))
	r.quiet("the same Secret is asked for")
}

func TestVersionsThatWereRead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	r.watcher.Watch(object("one"), secret("data"))
	o := r.opened(nil)
	r.watcher.Watch(object("two"), secret("data"))
	r.watcher.Read(object("one"), "1")
	o.events.Add(version("1"))
	r.wakes("two")
	o.events.Modify(version("2"))
	r.wakes("one", "two")
	r.watcher.Forget(object("one"))
	r.watcher.Watch(object("one"), secret("data"))
	o.events.Modify(version("1"))
	r.wakes("one", "two")
}

func TestSharedSecret(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	r.watcher.Watch(object("one"), secret("data"))
	o := r.opened(nil)
	r.watcher.Watch(object("two"), secret("data"))
	o.events.Add(version("1"))
	r.wakes("one", "two")
	r.watcher.Forget(object("one"))
	o.events.Modify(version("2"))
	r.wakes("two")
	o.events.Modify(version("2"))
	r.quiet("one asked to be forgotten")
	r.watcher.Forget(object("two"))
	r.closes(o)
	r.watcher.Forget(object("nobody"))
	r.watcher.Watch(object("two"), secret("data"))
	r.opened(nil).events.Add(version("2"))
	r.wakes("two")
}

// closes waits until a watch is stopped by the watcher.
func (r *rig) closes(o *opening) {
	r.Helper()
	deadline := time.Now().Add(patience)
	for !o.events.IsStopped() {
		if time.Now().After(deadline) {
			r.Fatal("the watch stays open")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestRetarget(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	r.watcher.Watch(object("pool"), secret("old"))
	old := r.opened(nil)
	old.events.Add(version("1"))
	r.wakes("pool")
	r.watcher.Watch(object("pool"), secret("new"))
	r.closes(old)
	o := r.opened(nil)
	if o.selector != "metadata.name=new" {
		t.Errorf("the watch is of %q", o.selector)
	}
	o.events.Add(version("1"))
	r.wakes("pool")
}

// A server ends every watch after a while.
func TestReopen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	r.watcher.Watch(object("pool"), secret("data"))
	first := r.opened(nil)
	first.events.Add(version("1"))
	r.wakes("pool")
	first.events.Stop()
	second := r.reopened(time.Second, nil)
	r.wakes("pool") // the Secret may have been deleted between
	second.events.Add(version("1"))
	second.events.Modify(version("1"))
	r.quiet("it is as it was")
	second.events.Stop()
	third := r.reopened(time.Second, nil)
	r.wakes("pool")
	third.events.Add(version("2"))
	r.wakes("pool")
}

func TestFailures(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	r.watcher.Watch(object("pool"), secret("data"))
	forbidden := apierrors.NewForbidden(corev1.Resource("secrets"), "data", errors.New("no"))
	r.opened(forbidden)
	for _, wait := range []int{1, 2, 4, 8, 16, 32, 60} {
		r.reopened(time.Duration(wait)*time.Second, forbidden)
	}
	r.quiet("nothing was seen")
	o := r.reopened(time.Minute, nil)
	o.events.Add(version("1"))
	r.wakes("pool")
	o.events.Error(&metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Message: "too old"})
	again := r.reopened(time.Second, nil)
	r.closes(o)
	r.wakes("pool")
	again.events.Stop()
	r.reopened(time.Second, nil).events.Stop()
	r.reopened(time.Second, nil)
	r.wakes("pool")
}

func TestErrorsSayWhat(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	failed := make(chan error, 1)
	go func() { failed <- r.watcher.stream(t.Context(), secret("data"), &progress{}) }()
	o := r.opened(nil)
	o.events.Error(&metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Message: "too old"})
	if err := <-failed; !apierrors.IsResourceExpired(err) || !strings.HasPrefix(err.Error(), "watching: ") {
		t.Errorf("error %v", err)
	}
}

// Objects may be reconciled before the watcher is started.
func TestWatchBeforeStart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.watcher.Watch(object("one"), secret("data"))
	r.watcher.Watch(object("two"), secret("data"))
	r.watcher.Watch(object("gone"), secret("other"))
	r.watcher.Forget(object("gone"))
	r.start()
	r.opened(nil).events.Add(version("1"))
	r.wakes("one", "two")
}

func TestEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	if err := r.watcher.Start(ctx, r.queue); err != nil {
		t.Fatal(err)
	}
	r.watcher.Watch(object("one"), secret("data"))
	o := r.opened(nil)
	o.events.Add(version("1"))
	r.wakes("one")
	cancel()
	r.closes(o)
}
