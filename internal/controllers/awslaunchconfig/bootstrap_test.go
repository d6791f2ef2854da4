package awslaunchconfig

import (
	"strings"
	"testing"

	"github.com/slipway-project/slipway/internal/userdata"
)

// TestSpaceLeft: rule UD2W of the validation matrix.
func TestSpaceLeft(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		size   int
		told   bool
	}{
		{"none", 0, false},
		{"nine tenths", 14745, false},
		{"one byte more", 14746, true},
		{"full", userdata.Limit, true},
	} {
		if got := spaceLeft(row.size); strings.Contains(got, "set bootstrapStorage") != row.told {
			t.Errorf("%s: %q", row.reason, got)
		}
	}
}
