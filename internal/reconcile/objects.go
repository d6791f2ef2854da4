package reconcile

import (
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// objects holds what a controller remembers, by object. The zero value is ready for use.
type objects[M any] struct {
	mu    sync.Mutex
	known map[types.NamespacedName]*known[M]
}

// known holds what is remembered of one object. Only the pass of that object uses it, and there is
// one at a time.
type known[M any] struct {
	uid     types.UID
	memory  M
	written written
	held    held
}

// of returns what is remembered of an object, which is nothing at first. Of another object that had
// the name before, nothing is remembered, and replaced is true.
func (o *objects[M]) of(object client.Object) (remembered *known[M], replaced bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	name, uid := client.ObjectKeyFromObject(object), object.GetUID()
	if o.known == nil {
		o.known = map[types.NamespacedName]*known[M]{}
	}
	before := o.known[name]
	if before != nil && before.uid == uid {
		return before, false
	}
	o.known[name] = &known[M]{uid: uid}
	return o.known[name], before != nil
}

// drop forgets an object that is gone.
func (o *objects[M]) drop(object types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.known, object)
}

// unseenAtMost limits the wait for a write that the cache does not show yet. Usually it takes
// milliseconds, and seconds while the API server is busy; after a restore of etcd from a backup it
// never comes.
const unseenAtMost = 5 * time.Second

// written is the last known write to an object: the last one of this process, or one that a
// conflict revealed. A pass that begins with the object as it was before would base its decisions
// on outdated state, and fail with a conflict.
type written struct {
	// version is the version of the object after that write, or the least that it can be.
	version uint64
	at      time.Time
}

// unseen returns for how long the last write to the object is still waited for, if the object, as the
// cache has it, is older than that write. It returns zero or less if it is not waited for.
func (w *written) unseen(object client.Object, clk clock.PassiveClock) time.Duration {
	version, comparable := versionOf(object.GetResourceVersion())
	if !comparable || version >= w.version {
		return 0
	}
	return unseenAtMost - clk.Since(w.at)
}

// note remembers the object as a pass left it, if that is not as it was read.
func (w *written) note(object client.Object, read string, clk clock.PassiveClock) {
	version, comparable := versionOf(object.GetResourceVersion())
	if comparable && object.GetResourceVersion() != read {
		*w = written{version: version, at: clk.Now()}
	}
}

// outdated remembers that the API server has a newer version of the object than the given one.
func (w *written) outdated(object client.Object, clk clock.PassiveClock) {
	if version, comparable := versionOf(object.GetResourceVersion()); comparable {
		*w = written{version: version + 1, at: clk.Now()}
	}
}

// held is until when nothing can be done for an object, which was at a version then.
type held struct {
	version string
	until   time.Time
}

// wait returns for how long nothing can be done for the object, zero or less if something can, or
// the object is another than it was.
func (h held) wait(object client.Object, clk clock.PassiveClock) time.Duration {
	if h.version != object.GetResourceVersion() {
		return 0
	}
	return h.until.Sub(clk.Now())
}

// versionOf returns a resource version as the number that it is (Kubernetes: "Resource versions",
// comparable since 1.35), false for what is none.
func versionOf(text string) (uint64, bool) {
	version, err := strconv.ParseUint(text, 10, 64)
	return version, err == nil
}
