package reconciling

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Memory holds what this process remembers of objects. It is for saving calls and not for deciding
// anything: after a restart it is empty, and everything is seen anew. The zero value is ready for
// use.
type Memory[V any] struct {
	mu     sync.Mutex
	values map[types.NamespacedName]V
}

// Get returns what is remembered of the object, and whether anything is.
func (m *Memory[V]) Get(object types.NamespacedName) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, known := m.values[object]
	return value, known
}

// Put remembers the value, in place of the previous one.
func (m *Memory[V]) Put(object types.NamespacedName, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(object, value)
}

// GetOrPut returns what is remembered of the object, which is the given value from now on if nothing was.
func (m *Memory[V]) GetOrPut(object types.NamespacedName, value V) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.values[object]; !known {
		m.put(object, value)
	}
	return m.values[object]
}

// Forget drops what is remembered of the object.
func (m *Memory[V]) Forget(object types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.values, object)
}

// put remembers the value. The memory is locked.
func (m *Memory[V]) put(object types.NamespacedName, value V) {
	if m.values == nil {
		m.values = map[types.NamespacedName]V{}
	}
	m.values[object] = value
}

// ShareOf returns a number from 0 up to 1 that is always the same for an object and differs between
// objects. It spreads over time what a process would otherwise do for all objects at once. Objects
// with similar names get evenly spread shares, which a weaker hash, such as FNV, would not give
// them.
func ShareOf(object types.NamespacedName) float64 {
	digest := sha256.Sum256([]byte(object.String()))
	return float64(binary.BigEndian.Uint32(digest[:])) / (1 << 32)
}
