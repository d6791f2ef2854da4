package apiserver

import (
	"math"
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
	return s.WatchFrom(gvk, math.MaxUint64)
}

// WatchFrom returns the objects of a kind as they were after the write with the given number, and a
// queue of their changes since. A server whose watch cache lags behind answers like this: a list at
// resource version 0 may be older than one that was read before from another server (Kubernetes API
// concepts, "Resource versions").
func (s *Server) WatchFrom(gvk schema.GroupVersionKind, version uint64) ([]*Object, *Watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	since := s.written[min(version, s.version):]
	w := &Watch{server: s, gvk: gvk}
	then := map[key]*Object{}
	for at, stored := range s.objects {
		if at.kind == gvk.GroupKind() {
			then[at] = stored
		}
	}
	for _, write := range slices.Backward(since) {
		if write.at.kind != gvk.GroupKind() {
			continue
		}
		if then[write.at] = write.Before; write.Before == nil {
			delete(then, write.at)
		}
	}
	for _, write := range since {
		w.add(write)
	}
	s.watches = append(s.watches, w)
	var listed []*Object
	for _, object := range then {
		listed = append(listed, served(object, gvk))
	}
	slices.SortFunc(listed, byName)
	return listed, w
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

// add appends a write, if it is one of an object of the kind. The server is locked.
func (w *Watch) add(write written) {
	if write.at.kind != w.gvk.GroupKind() {
		return
	}
	kind := watch.Modified
	switch {
	case write.Before == nil:
		kind = watch.Added
	case write.After == nil:
		kind = watch.Deleted
	}
	w.pending = append(w.pending, Event{Type: kind, Object: served(write.seen, w.gvk)})
}
