// Package bounded keeps values by keys that users choose, such as the names of images or of
// clusters, in memory that is bounded however many keys they choose.
package bounded

import (
	"container/list"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Map keeps a limited number of values, each for a limited time. Every value has an owner, the
// namespace that it was first kept for. When the map is full, the owner with the most values loses
// the one that was used least recently: an owner that floods the map evicts its own values and none
// of another that has fewer. It is safe for concurrent use.
type Map[K comparable, V any] struct {
	clock   clock.PassiveClock
	limit   int
	ttl     time.Duration
	evicted func(K, V)

	mu      sync.Mutex
	entries map[K]*list.Element
	// owners have their entries, the most recently used first.
	owners map[string]*list.List
}

type entry[K comparable, V any] struct {
	key     K
	value   V
	owner   string
	expires time.Time
}

// NewMap returns an empty map that keeps at most limit values, each for ttl after it was put; until
// its place is needed if ttl is 0, which needs no clock. Evicted is called, while the map is
// locked, with each value that the map drops by itself or that another replaces; it may be nil.
func NewMap[K comparable, V any](clk clock.PassiveClock, limit int, ttl time.Duration, evicted func(K, V)) *Map[K, V] {
	return &Map[K, V]{clock: clk, limit: limit, ttl: ttl, evicted: evicted, entries: map[K]*list.Element{}, owners: map[string]*list.List{}}
}

// Get returns the value of a key, whether there is one, and whether its time is not over yet. A
// value whose time is over stays until its place is needed.
func (m *Map[K, V]) Get(key K) (value V, known, fresh bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	element, known := m.entries[key]
	if !known {
		return value, false, false
	}
	kept := element.Value.(*entry[K, V])
	m.owners[kept.owner].MoveToFront(element)
	return kept.value, true, m.ttl == 0 || m.clock.Now().Before(kept.expires)
}

// Put keeps a value for an owner, in place of the one that the key has.
func (m *Map[K, V]) Put(owner string, key K, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(key)
	if len(m.entries) >= m.limit {
		m.makeRoom()
	}
	entries := m.owners[owner]
	if entries == nil {
		entries = list.New()
		m.owners[owner] = entries
	}
	put := &entry[K, V]{key: key, value: value, owner: owner}
	if m.ttl > 0 {
		put.expires = m.clock.Now().Add(m.ttl)
	}
	m.entries[key] = entries.PushFront(put)
}

// Delete drops a key, and calls evicted with its value.
func (m *Map[K, V]) Delete(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(key)
}

// DeleteFunc drops the keys for which drop is true, and calls evicted with their values.
func (m *Map[K, V]) DeleteFunc(drop func(K, V) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, element := range m.entries {
		if drop(key, element.Value.(*entry[K, V]).value) {
			m.remove(key)
		}
	}
}

// Clear drops all keys, and calls evicted with their values.
func (m *Map[K, V]) Clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.entries {
		m.remove(key)
	}
}

// All returns a copy of all entries.
func (m *Map[K, V]) All() map[K]V {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make(map[K]V, len(m.entries))
	for key, element := range m.entries {
		all[key] = element.Value.(*entry[K, V]).value
	}
	return all
}

// Expire drops the values whose time is over, and calls evicted with them.
func (m *Map[K, V]) Expire() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire()
}

// expire drops the values whose time is over. The map is locked.
func (m *Map[K, V]) expire() {
	if m.ttl == 0 {
		return
	}
	now := m.clock.Now()
	for key, element := range m.entries {
		if !now.Before(element.Value.(*entry[K, V]).expires) {
			m.remove(key)
		}
	}
}

// Len returns how many values are kept.
func (m *Map[K, V]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.entries)
}

// makeRoom drops what has expired, and one value more if that is none. The map is locked.
func (m *Map[K, V]) makeRoom() {
	m.expire()
	if len(m.entries) < m.limit {
		return
	}
	var most *list.List
	for _, entries := range m.owners {
		if most == nil || entries.Len() > most.Len() {
			most = entries
		}
	}
	m.remove(most.Back().Value.(*entry[K, V]).key)
}

// remove drops a key and calls evicted. The map is locked.
func (m *Map[K, V]) remove(key K) {
	element, known := m.entries[key]
	if !known {
		return
	}
	kept := element.Value.(*entry[K, V])
	entries := m.owners[kept.owner]
	entries.Remove(element)
	if entries.Len() == 0 {
		delete(m.owners, kept.owner)
	}
	delete(m.entries, key)
	if m.evicted != nil {
		m.evicted(key, kept.value)
	}
}
