package tagdiff_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/internal/tagdiff"
)

// TestChanges holds that tags that differ are set, and that tags that were set earlier and are no
// longer wanted are removed, shown or not. Foreign tags stay.
func TestChanges(t *testing.T) {
	t.Parallel()
	wanted := map[string]string{"same": "1", "different": "2", "missing": "3", "empty": ""}
	seen := map[string]string{"same": "1", "different": "other", "old": "x", "foreign": "y"}
	if difference := cmp.Diff(map[string]string{"different": "2", "missing": "3", "empty": ""}, tagdiff.Stale(wanted, seen)); difference != "" {
		t.Errorf("tags to set:\n%s", difference)
	}
	if difference := cmp.Diff([]string{"old", "unseen"}, tagdiff.Retired([]string{"unseen", "same", "old"}, wanted)); difference != "" {
		t.Errorf("tags to remove:\n%s", difference)
	}
}
