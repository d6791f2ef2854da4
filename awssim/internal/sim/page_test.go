package sim

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPageContinuesBehindTheSameItem(t *testing.T) {
	t.Parallel()
	name := func(s string) string { return s }
	first, token, ok := Page([]string{"b", "d", "f", "h"}, nil, 2, name)
	if !ok || token == nil || !slices.Equal(first, []string{"b", "d"}) {
		t.Fatalf("first page %v, token %v", first, token)
	}
	rows := []struct {
		reason string
		now    []string
		want   []string
	}{
		{"nothing has changed", []string{"b", "d", "f", "h"}, []string{"f", "h"}},
		{"one came before", []string{"a", "b", "d", "f", "h"}, []string{"f", "h"}},
		{"one went before", []string{"d", "f", "h"}, []string{"f", "h"}},
		{"the last item itself went", []string{"b", "f", "h"}, []string{"f", "h"}},
		{"all but one went", []string{"b"}, []string{}},
	}
	for _, row := range rows {
		got, next, ok := Page(row.now, token, 2, name)
		if diff := cmp.Diff(row.want, got); diff != "" || next != nil || !ok {
			t.Errorf("%s: token %v, %t (-want +got)\n%s", row.reason, next, ok, diff)
		}
	}
	three := []string{"a", "b", "c"}
	for _, foreign := range []string{"x", "LTEgYQ==", "YQ=="} {
		if _, _, ok := Page(three, &foreign, 2, name); ok {
			t.Errorf("the token %q was accepted", foreign)
		}
	}
	if all, next, ok := Page(three, nil, 0, name); !ok || next != nil || len(all) != 3 {
		t.Errorf("without a size: %v, %v", all, next)
	}
}
