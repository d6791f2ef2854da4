package optional

import "testing"

// TestText holds that an empty text is left out, and that every other text is kept as it is.
func TestText(t *testing.T) {
	t.Parallel()
	if got := Text(""); got != nil {
		t.Errorf("an empty text is sent as %q", *got)
	}
	for _, text := range []string{"a", " "} {
		if got := Text(text); got == nil || *got != text {
			t.Errorf("%q is sent as %v", text, got)
		}
	}
}
