package sim

import (
	"cmp"
	"slices"
	"time"
)

// Table is a keyed collection whose reads may lag behind its writes (Behavior.ReadLag). Values are
// immutable once put: copy, change, Put. Only for code under the lock.
type Table[V any] struct {
	kernel *Kernel
	rows   map[string]*row[V]
	seq    uint64
}

// row is the history of one key, oldest first, as far back as a lagging read can look.
type row[V any] struct {
	seq      uint64
	versions []version[V]
}

type version[V any] struct {
	since   time.Time
	value   V
	deleted bool
}

// NewTable returns an empty table.
func NewTable[V any](k *Kernel) *Table[V] {
	return &Table[V]{kernel: k, rows: map[string]*row[V]{}}
}

// Put sets the value of key. A key that was deleted counts as new and goes to the end.
func (t *Table[V]) Put(key string, v V) {
	r := t.rows[key]
	if r == nil {
		r = &row[V]{}
		t.rows[key] = r
	}
	if len(r.versions) == 0 || r.newest().deleted {
		t.seq++
		r.seq = t.seq
	}
	t.write(r, version[V]{value: v})
}

// Delete removes key, if it is there.
func (t *Table[V]) Delete(key string) {
	r := t.rows[key]
	if r == nil || r.newest().deleted {
		return
	}
	t.write(r, version[V]{deleted: true})
	t.forget(key, r)
}

// write adds a version and drops versions that no read can see any longer.
func (t *Table[V]) write(r *row[V], v version[V]) {
	if !t.kernel.building {
		v.since = t.kernel.now
	}
	if n := len(r.versions); n > 0 && r.versions[n-1].since.Equal(v.since) {
		r.versions[n-1] = v
	} else {
		r.versions = append(r.versions, v)
	}
	if i := r.visible(t.horizon()); i > 0 {
		r.versions = slices.Delete(r.versions, 0, i)
	}
}

// forget drops the row of a deleted key once its deletion is visible.
func (t *Table[V]) forget(key string, r *row[V]) {
	if i := r.visible(t.horizon()); i == len(r.versions)-1 && r.versions[i].deleted {
		delete(t.rows, key)
	}
}

// horizon returns the moment that lagging reads see.
func (t *Table[V]) horizon() time.Time { return t.kernel.now.Add(-t.kernel.behavior.ReadLag) }

// visible returns the index of the version that was newest at the given moment, or -1.
func (r *row[V]) visible(at time.Time) int {
	for i := len(r.versions) - 1; i >= 0; i-- {
		if !r.versions[i].since.After(at) {
			return i
		}
	}
	return -1
}

func (r *row[V]) newest() version[V] { return r.versions[len(r.versions)-1] }

// Get returns what writes and internal decisions see: the newest value.
func (t *Table[V]) Get(key string) (V, bool) {
	r := t.rows[key]
	if r == nil || r.newest().deleted {
		var zero V
		return zero, false
	}
	return r.newest().value, true
}

// Visible returns what a Describe sees now: the state ReadLag ago.
func (t *Table[V]) Visible(key string) (V, bool) {
	var zero V
	r := t.rows[key]
	if r == nil {
		return zero, false
	}
	t.forget(key, r)
	i := r.visible(t.horizon())
	if i < 0 || r.versions[i].deleted {
		return zero, false
	}
	return r.versions[i].value, true
}

// All returns the newest values by order of insertion.
func (t *Table[V]) All() []V {
	return t.collect(func(r *row[V]) int { return len(r.versions) - 1 })
}

// First returns the newest value that matches and was inserted first, false if none matches.
func (t *Table[V]) First(matches func(*V) bool) (V, bool) {
	var first *row[V]
	for _, r := range t.rows {
		if newest := &r.versions[len(r.versions)-1]; (first == nil || r.seq < first.seq) && !newest.deleted && matches(&newest.value) {
			first = r
		}
	}
	if first == nil {
		var zero V
		return zero, false
	}
	return first.newest().value, true
}

// VisibleAll returns the values that a Describe sees now, by order of insertion.
func (t *Table[V]) VisibleAll() []V {
	for key, r := range t.rows {
		t.forget(key, r)
	}
	at := t.horizon()
	return t.collect(func(r *row[V]) int { return r.visible(at) })
}

// Len returns how many keys there are.
func (t *Table[V]) Len() int { return len(t.All()) }

// collect returns the versions of rows that pick chooses by index, except for deletions. A negative
// index chooses none.
func (t *Table[V]) collect(pick func(*row[V]) int) []V {
	// Values may be large: what is sorted is where they are.
	type entry struct {
		seq   uint64
		value *V
	}
	found := make([]entry, 0, len(t.rows))
	for _, r := range t.rows {
		if i := pick(r); i >= 0 && !r.versions[i].deleted {
			found = append(found, entry{r.seq, &r.versions[i].value})
		}
	}
	slices.SortFunc(found, func(a, b entry) int { return cmp.Compare(a.seq, b.seq) })
	values := make([]V, len(found))
	for i, e := range found {
		values[i] = *e.value
	}
	return values
}
