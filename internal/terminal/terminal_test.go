package terminal

import "testing"

func TestLine(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, text, want string
	}{
		"Plain":          {reason: "A short text stays as it is.", text: "m5.large → c5", want: "m5.large → c5"},
		"EscapeSequence": {reason: "A server must not move the cursor or change colors.", text: "a\x1b[2Jb\r\nc", want: "a [2Jb  c"},
		"Long":           {reason: "A long text is cut.", text: "abcdefghijklmnopqrstuvwxyz", want: "abcdefghijklmnopqrst…"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Line(tc.text, 20); got != tc.want {
				t.Errorf("%s Line(%q): got %q, want %q", tc.reason, tc.text, got, tc.want)
			}
		})
	}
}
