package sdkmembers

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

type inner struct{ A, B *int32 }

type request struct {
	Name   *string
	Word   string
	Off    *bool
	Inners []inner
	Tags   map[string]string

	hidden bool
}

func TestUndecided(t *testing.T) {
	t.Parallel()
	zero, no, name := int32(0), false, "name"
	some := &request{Name: &name, Word: "word", Off: &no, Inners: []inner{{A: &zero}}, Tags: map[string]string{"a": "b"}, hidden: true}
	for _, row := range []struct {
		reason   string
		reasons  map[string]string
		requests []any
		want     []string
	}{
		{"all that is not set has a reason", map[string]string{"Inners.B": "because"}, []any{some}, nil},
		{"requests add up", nil, []any{some, &request{Inners: []inner{{B: &zero}}}}, nil},
		{"a reason holds for what is below", map[string]string{"Inners": "because"}, []any{&request{Name: &name, Word: "word", Off: &no, Tags: some.Tags}}, nil},
		{"a new member", nil, []any{some}, []string{"Inners.B is neither set nor left out for a reason"}},
		{"a member that is set now", map[string]string{"Inners.B": "because", "Off": "it harms"}, []any{some},
			[]string{"Off is set, although it is to be left out: it harms", "there is no member Off that is left out"}},
		{"a member that is gone", map[string]string{"Inners.B": "because", "Gone": "because"}, []any{some}, []string{"there is no member Gone that is left out"}},
	} {
		if difference := cmp.Diff(row.want, Undecided(row.reasons, row.requests...)); difference != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, difference)
		}
	}
}

func TestFilledSetsAll(t *testing.T) {
	t.Parallel()
	filled := Filled[request]()
	if complaints := Undecided(nil, &filled); len(complaints) > 0 {
		t.Error(complaints)
	}
}
