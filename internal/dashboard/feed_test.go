package dashboard

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFeed(t *testing.T) {
	t.Parallel()
	f := newFeed()
	f.set(map[string]json.RawMessage{"a": json.RawMessage(`1`), "b": json.RawMessage(`1`)})
	s, all := f.subscribe()
	if diff := cmp.Diff(update{Complete: true, Rows: map[string]json.RawMessage{"a": json.RawMessage(`1`), "b": json.RawMessage(`1`)}}, all); diff != "" {
		t.Errorf("A page begins with all rows: -want +got:\n%s", diff)
	}
	for _, step := range []struct {
		reason string
		set    []map[string]json.RawMessage
		wakes  bool
		want   update
	}{
		{
			reason: "A row that is as it was wakes no page.",
			set:    []map[string]json.RawMessage{{"a": json.RawMessage(`1`)}, {"none": nil}},
			want:   update{Rows: map[string]json.RawMessage{}},
		},
		{
			reason: "Only rows that changed are sent.",
			set:    []map[string]json.RawMessage{{"a": json.RawMessage(`2`), "b": json.RawMessage(`1`)}},
			wakes:  true, want: update{Rows: map[string]json.RawMessage{"a": json.RawMessage(`2`)}},
		},
		{
			reason: "A page that reads slowly gets the newest state alone.",
			set:    []map[string]json.RawMessage{{"a": json.RawMessage(`3`)}, {"a": json.RawMessage(`4`)}, {"c": json.RawMessage(`1`)}, {"c": nil}},
			wakes:  true, want: update{Rows: map[string]json.RawMessage{"a": json.RawMessage(`4`)}, Gone: []string{"c"}},
		},
	} {
		for _, rows := range step.set {
			f.set(rows)
		}
		woken := false
		select {
		case <-s.changed:
			woken = true
		default:
		}
		if woken != step.wakes {
			t.Errorf("%s The page is woken: %t, want %t", step.reason, woken, step.wakes)
		}
		if diff := cmp.Diff(step.want, s.next()); diff != "" {
			t.Errorf("%s -want +got:\n%s", step.reason, diff)
		}
	}
	s.close()
	if f.watched() {
		t.Error("A page that is closed is still open")
	}
}
