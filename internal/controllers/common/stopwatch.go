package common

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Stopwatches time things by object within this process. The zero value is ready for use.
type Stopwatches struct {
	mu      sync.Mutex
	started map[types.NamespacedName]time.Time
}

// Elapsed is the time since it was first asked for the object, 0 the first time.
func (s *Stopwatches) Elapsed(object types.NamespacedName, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started == nil {
		s.started = map[types.NamespacedName]time.Time{}
	}
	if _, running := s.started[object]; !running {
		s.started[object] = now
	}
	return now.Sub(s.started[object])
}

// Reset forgets the object.
func (s *Stopwatches) Reset(object types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.started, object)
}
