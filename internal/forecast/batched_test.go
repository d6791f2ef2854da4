package forecast

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBatchedOnce holds that a name that many pools describe, such as the template of a launch config that they share,
// is in one request once, and that no request has an empty name.
func TestBatchedOnce(t *testing.T) {
	got := batched([][]string{{"a", "b"}, {"a", "b"}, {"c"}, {"a", "b"}, {"d"}}, 100)
	all := []string{"a", "b", "c", "d"}
	want := map[string][]string{"a\nb": all, "c": all, "d": all}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("batched: -want +got:\n%s", diff)
	}
}
