package report

import "testing"

// TestActionOf holds that events that say something else are not taken for one, and that those
// which say the same are.
func TestActionOf(t *testing.T) {
	t.Parallel()
	first, again, other := actionOf("ASGUpdated", "max size 4 → 10"), actionOf("ASGUpdated", "max size 4 → 10"), actionOf("ASGUpdated", "min size 0 → 1")
	if first != again || first == other {
		t.Errorf("actions %q, %q, %q", first, again, other)
	}
}
