package list_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim/internal/list"
)

// TestFilter holds that what is kept stays in order, and that the slice is left as it is.
func TestFilter(t *testing.T) {
	t.Parallel()
	even := func(n int) bool { return n%2 == 0 }
	for _, row := range []struct {
		reason    string
		all, want []int
	}{
		{"some are kept", []int{4, 1, 2, 3, 2}, []int{4, 2, 2}},
		{"all are kept", []int{2, 4}, []int{2, 4}},
		{"none is kept", []int{1}, nil},
		{"there are none", nil, nil},
	} {
		before := slices.Clone(row.all)
		if diff := cmp.Diff(row.want, list.Filter(row.all, even)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
		if diff := cmp.Diff(before, row.all); diff != "" {
			t.Errorf("%s: the slice changed (-want +got):\n%s", row.reason, diff)
		}
	}
}
