package apiserver

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// Event is one change as a watcher sees it.
type Event struct {
	Type   watch.EventType
	Object *Object
}

// Watch is one watcher's queue of events of a kind. An event stays in it until Next takes it.
type Watch struct {
	server  *Server
	gvk     schema.GroupVersionKind
	pending []Event
}

// Watch returns the objects of a kind in all namespaces, and a queue of their changes from then on.
func (s *Server) Watch(gvk schema.GroupVersionKind) ([]*Object, *Watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &Watch{server: s, gvk: gvk}
	s.watches = append(s.watches, w)
	return s.snapshot(gvk, ""), w
}

// Pending returns how many events have not been taken.
func (w *Watch) Pending() int {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	return len(w.pending)
}

// Next takes the oldest event; false if there is none.
func (w *Watch) Next() (Event, bool) {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	if len(w.pending) == 0 {
		return Event{}, false
	}
	event := w.pending[0]
	w.pending = w.pending[1:]
	return event, true
}

// Stop stops the watch.
func (w *Watch) Stop() {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	w.server.watches = slices.DeleteFunc(w.server.watches, func(other *Watch) bool { return other == w })
	w.pending = nil
}

// add appends a change. The server is locked.
func (w *Watch) add(before, after, seen *Object) {
	if seen.GroupVersionKind().GroupKind() != w.gvk.GroupKind() {
		return
	}
	kind := watch.Modified
	switch {
	case before == nil:
		kind = watch.Added
	case after == nil:
		kind = watch.Deleted
	}
	w.pending = append(w.pending, Event{Type: kind, Object: served(seen, w.gvk)})
}
