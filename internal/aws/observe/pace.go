package observe

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Pace spreads looks that have no batch form over the objects that want them: each object gets one
// as often as it likes while they are few, and the more there are, the longer each waits, so that
// all looks together stay within a rate. It is safe for concurrent use.
type Pace struct {
	least, apart time.Duration

	mu      sync.Mutex
	members map[types.NamespacedName]struct{}
}

// NewPace returns a pace without members. Least is the shortest time between two polls of one
// object, apart is the average time between two polls of any objects: the overall rate is never
// more than one in that time.
func NewPace(least, apart time.Duration) *Pace {
	return &Pace{least: least, apart: apart, members: map[types.NamespacedName]struct{}{}}
}

// Join adds an object to the polled ones, and returns the current interval between two polls of it.
func (p *Pace) Join(object types.NamespacedName) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.members[object] = struct{}{}
	return max(p.least, time.Duration(len(p.members))*p.apart)
}

// Leave removes an object.
func (p *Pace) Leave(object types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.members, object)
}
