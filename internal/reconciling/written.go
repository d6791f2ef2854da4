package reconciling

import (
	"strconv"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// unseenAtMost is how long a write of ours is waited for that the cache does not show yet. As a
// rule it takes milliseconds; after a restore of etcd from a backup it never comes.
const unseenAtMost = 5 * time.Second

// Written remembers the last write of ours to each object. A pass that begins with an object from
// before it would decide from what is not so any more, ask AWS what is known, and end in a
// conflict; the write's own event brings the pass that sees it. The zero value is ready for use.
type Written struct{ last Memory[writtenVersion] }

type writtenVersion struct {
	version uint64
	at      time.Time
}

// Unseen is true if the object, as the cache has it, is older than our last write to it.
func (w *Written) Unseen(object client.Object, clk clock.PassiveClock) bool {
	last, known := w.last.Get(client.ObjectKeyFromObject(object))
	version, comparable := versionOf(object)
	return known && comparable && version < last.version && clk.Since(last.at) < unseenAtMost
}

// Note remembers the object as a pass left it, if that is not as it was before.
func (w *Written) Note(object, before client.Object, clk clock.PassiveClock) {
	version, comparable := versionOf(object)
	if comparable && object.GetResourceVersion() != before.GetResourceVersion() {
		w.last.Put(client.ObjectKeyFromObject(object), writtenVersion{version: version, at: clk.Now()})
	}
}

// Forget drops what is remembered of an object that is gone.
func (w *Written) Forget(object client.ObjectKey) { w.last.Forget(object) }

// versionOf is the resource version as the number that it is (Kubernetes: "Resource versions",
// comparable since 1.35), false for what is none.
func versionOf(object client.Object) (uint64, bool) {
	version, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	return version, err == nil
}
