package launcher

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Promises remember which pods a node was launched for, or else has room for, until the scheduler
// has put them somewhere. They live in memory alone: who starts without them packs such pods onto
// the same nodes again. It is safe for concurrent use.
type Promises struct {
	mu     sync.Mutex
	byPod  map[types.UID]string
	byNode map[string]int
}

// Add remembers places of pods.
func (p *Promises) Add(places map[types.UID]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byPod == nil {
		p.byPod = map[types.UID]string{}
	}
	maps.Copy(p.byPod, places)
	p.count()
}

// Set replaces the places of all pods.
func (p *Promises) Set(places map[types.UID]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.byPod = maps.Clone(places)
	p.count()
}

// All returns the places by pod.
func (p *Promises) All() map[types.UID]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.byPod)
}

// Of returns the node that a pod was found a place on; empty for none.
func (p *Promises) Of(pod types.UID) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byPod[pod]
}

// Has reports whether some pod has yet to come to a node.
func (p *Promises) Has(node string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byNode[node] > 0
}

func (p *Promises) count() {
	p.byNode = map[string]int{}
	for _, node := range p.byPod {
		p.byNode[node]++
	}
}
