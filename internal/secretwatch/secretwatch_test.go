package secretwatch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slipway-project/slipway/awssim/simclock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server has Secrets by name, each with a version or an error, and keeps what it was asked.
type server struct {
	client.Reader

	mu      sync.Mutex
	secrets map[string]any
	asked   []string
}

func (s *server) Get(ctx context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	metadata, isMetadata := object.(*metav1.PartialObjectMetadata)
	if _, bounded := ctx.Deadline(); !isMetadata || !bounded || key.Namespace != "tenant" {
		return errors.New("no more than the metadata of the one Secret may be asked for, and not for ever")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, key.Name)
	switch answer := s.secrets[key.Name].(type) {
	case string:
		metadata.ResourceVersion = answer
		return nil
	case error:
		return answer
	}
	return apierrors.NewNotFound(corev1.Resource("secrets"), key.Name)
}

func (s *server) set(name string, answer any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secrets[name] = answer
}

// rig is a watcher, its server, and the queue that it adds to.
type rig struct {
	*testing.T
	*server
	watcher *Watcher
	clock   *simclock.Clock
	queue   workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, server: &server{secrets: map[string]any{}}, clock: simclock.New(time.Unix(0, 0), 0)}
	t.Cleanup(r.clock.Close)
	r.watcher = New(r.server, r.clock, time.Minute)
	r.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(r.queue.ShutDown)
	return r
}

func (r *rig) start() {
	r.Helper()
	if err := r.watcher.Start(r.Context(), r.queue); err != nil {
		r.Fatal(err)
	}
	r.awaitRest()
}

// awaitRest waits until the watcher waits for the clock.
func (r *rig) awaitRest() {
	r.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		if due, waits := r.clock.Next(); waits {
			if wait := due.Sub(r.clock.Now()); wait != time.Minute {
				r.Fatalf("the next look is after %s", wait)
			}
			return
		}
		if time.Now().After(deadline) {
			r.Fatal("the watcher does not wait for the next check")
		}
		time.Sleep(time.Millisecond)
	}
}

// round has the watcher look once, and compares whom it wakes.
func (r *rig) round(reason string, want ...string) {
	r.Helper()
	r.clock.Step(time.Minute)
	r.awaitRest()
	var woken []string
	for r.queue.Len() > 0 {
		request, _ := r.queue.Get()
		r.queue.Done(request)
		woken = append(woken, request.Name)
	}
	slices.Sort(woken)
	if diff := cmp.Diff(want, woken); diff != "" {
		r.Errorf("%s: woken are (-want +got):\n%s", reason, diff)
	}
}

func object(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}

func secret(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "tenant", Name: name}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.watcher.Watch(object("pool"), secret("data"))
	r.start()
	r.round("there is no such Secret, as the object has observed")
	r.set("data", "1")
	r.round("it was made", "pool")
	r.round("it is as it was")
	r.watcher.Watch(object("pool"), secret("data"))
	r.round("the same Secret is named again")
	r.set("data", "2")
	r.round("it was changed", "pool")
	r.set("data", nil)
	r.round("it was deleted", "pool")
	r.round("it is gone")
}

func TestVersionsThatWereRead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.set("data", "1")
	r.start()
	r.watcher.Watch(object("one"), secret("data"))
	r.watcher.Watch(object("two"), secret("data"))
	r.watcher.Read(object("one"), "1")
	r.round("one has read it", "two")
	r.set("data", "2")
	r.round("no object has read it", "one", "two")
	r.watcher.Forget(object("one"))
	r.watcher.Watch(object("one"), secret("data"))
	r.round("what was read is forgotten with the rest", "one")
}

func TestSharedSecret(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.set("data", "1")
	r.watcher.Watch(object("one"), secret("data"))
	r.watcher.Watch(object("two"), secret("data"))
	r.start()
	r.round("both name it", "one", "two")
	if len(r.asked) != 1 {
		t.Errorf("for two objects it was asked for %q", r.asked)
	}
	r.set("data", "2")
	r.watcher.Forget(object("one"))
	r.round("one asked to be forgotten", "two")
	r.watcher.Forget(object("two"))
	r.watcher.Forget(object("unknown"))
	r.asked = nil
	r.round("no object names it")
	if len(r.asked) != 0 {
		t.Errorf("for no object it was asked for %q", r.asked)
	}
}

func TestRetarget(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.set("old", "1")
	r.set("new", "1")
	r.watcher.Watch(object("pool"), secret("old"))
	r.watcher.Read(object("pool"), "1")
	r.watcher.Watch(object("pool"), secret("new"))
	r.start()
	r.round("another Secret of the same version is another", "pool")
	r.set("old", "2")
	r.round("no object names the old one")
}

func TestFailures(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, name := range []string{"a", "b", "c"} {
		r.set(name, "1")
		r.watcher.Watch(object(name), secret(name))
	}
	r.start()
	r.set("a", apierrors.NewForbidden(corev1.Resource("secrets"), "a", errors.New("no")))
	r.round("one that may not be read keeps no other", "b", "c")
	r.set("a", "1")
	r.set("b", errors.New("no answer"))
	r.set("c", "2")
	r.round("an API server that does not answer is left alone", "a")
	r.set("b", "1")
	r.round("what changed meanwhile is seen", "c")
}

func TestErrorsSayWhat(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.set("data", errors.New("no answer"))
	r.watcher.Watch(object("pool"), secret("data"))
	if err := r.watcher.look(t.Context()); err == nil || err.Error() != `looking at Secret "data" in "tenant": no answer` {
		t.Errorf("error %v", err)
	}
}
