package dashboard

import (
	"bytes"
	"encoding/json"
	"sync"
)

// feed holds the current state of every row of the page, and reports to each subscriber which rows
// changed since the subscriber last asked. A slow subscriber misses states in between and never the
// newest one, and holds no more than the set of keys that changed.
type feed struct {
	mu          sync.Mutex
	rows        map[string]json.RawMessage
	subscribers map[*subscription]bool
}

// subscription is one open page.
type subscription struct {
	feed *feed
	// changed is signaled when rows changed.
	changed chan struct{}
	// pending are the keys of rows that changed. The feed's lock guards it.
	pending map[string]bool
}

// update holds what a page receives: rows by key that are new or changed, and keys that are gone.
type update struct {
	// Complete is true for an update that has all rows: the page drops every other one.
	Complete bool                       `json:"complete,omitempty"`
	Rows     map[string]json.RawMessage `json:"rows,omitempty"`
	Gone     []string                   `json:"gone,omitempty"`
}

func newFeed() *feed {
	return &feed{rows: map[string]json.RawMessage{}, subscribers: map[*subscription]bool{}}
}

// set stores rows, and removes the rows that are nil. Rows that are as they were wake no
// subscriber.
func (f *feed) set(rows map[string]json.RawMessage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var changed []string
	for key, row := range rows {
		before, known := f.rows[key]
		switch {
		case row == nil && known:
			delete(f.rows, key)
		case row == nil, bytes.Equal(before, row):
			continue
		default:
			f.rows[key] = row
		}
		changed = append(changed, key)
	}
	if len(changed) == 0 {
		return
	}
	for subscriber := range f.subscribers {
		for _, key := range changed {
			subscriber.pending[key] = true
		}
		select {
		case subscriber.changed <- struct{}{}:
		default: // it is signaled already
		}
	}
}

// subscribe returns a subscription and the update with all rows. The caller must close it.
func (f *feed) subscribe() (*subscription, update) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &subscription{feed: f, changed: make(chan struct{}, 1), pending: map[string]bool{}}
	f.subscribers[s] = true
	all := update{Complete: true, Rows: make(map[string]json.RawMessage, len(f.rows))}
	for key, row := range f.rows {
		all.Rows[key] = row
	}
	return s, all
}

// watched reports whether any page is open.
func (f *feed) watched() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.subscribers) > 0
}

// next returns the rows that changed since the last call.
func (s *subscription) next() update {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	changes := update{Rows: map[string]json.RawMessage{}}
	for key := range s.pending {
		if row, exists := s.feed.rows[key]; exists {
			changes.Rows[key] = row
		} else {
			changes.Gone = append(changes.Gone, key)
		}
	}
	clear(s.pending)
	return changes
}

func (s *subscription) close() {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	delete(s.feed.subscribers, s)
}
