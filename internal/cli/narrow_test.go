package cli

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/internal/preflight"
	"github.com/slipway-project/slipway/internal/terminal"
)

// TestCommandsFitTerminals holds that no command prints a line that is wider than the terminal, unless
// it is one word or a line of user data, and that every word is printed on each terminal.
func TestCommandsFitTerminals(t *testing.T) {
	t.Parallel()
	w := newReadWorld(t, waitingPod(), trouble())
	for _, line := range []string{
		"status", "status -A", "status workers", "history workers", "diff workers 1 2", "explain workers", "explain web-5d8f7-waits", "trace i-0a11000000000000a",
		"tree prod", "events workers", "plan workers --set spec.awsLaunchTemplate.instanceType=m5.xlarge",
	} {
		file, _, err := w.run(t.Context(), strings.Fields(line)...)
		if exit := (*exitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Errorf("slipway %s: %v", line, err)
			continue
		}
		for _, width := range []int{40, 60, 79, 80, 120} {
			screen := terminal.Screen{Width: width, Interactive: true}
			shown, _, _ := w.runOn(t.Context(), screen, strings.Fields(line)...) // it fails as it does above
			fits(t, "slipway "+line, width, shown)
			for _, word := range strings.Fields(file) {
				if !strings.Contains(shown, word) && !strings.Contains(word, "#-") {
					t.Errorf("slipway %s on a terminal of width %d lacks %q:\n%s", line, width, word, shown)
				}
			}
		}
	}
}

// fits holds that a terminal of a width shows a text without breaking its lines.
func fits(t *testing.T, what string, width int, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		bare := strings.TrimSuffix(line, "\n")
		if data := strings.HasPrefix(what, "slipway diff") && strings.ContainsAny(bare[:min(len(bare), 1)], "+-@ "); data {
			continue
		}
		if utf8.RuneCountInString(bare) > width && strings.TrimSpace(bare) != bare || len(strings.Fields(bare)) > 1 && utf8.RuneCountInString(bare) > width {
			t.Errorf("%s prints a line of %d columns on a terminal of %d:\n%s", what, utf8.RuneCountInString(bare), width, bare)
		}
	}
}

// TestPreflightFitsTerminals holds how findings are shown on a narrow terminal and in a file.
func TestPreflightFitsTerminals(t *testing.T) {
	t.Parallel()
	report := preflight.Report{Findings: []preflight.Finding{{
		Name: "iam-permissions", Result: preflight.Failed, Message: "The role may not call ec2:CreateLaunchTemplate.",
		Nodes: "No node is launched.", Remedy: "Print the policies with slipway iam policy, and attach them to the role of the manager.",
	}}}
	for width, want := range map[int]string{
		40: `
CHECK            RESULT  FOUND
iam-permissions  failed
    The role may not call
    ec2:CreateLaunchTemplate.

iam-permissions: failed
  Nodes: No node is launched.
  To do: Print the policies with slipway
    iam policy, and attach them to the
    role of the manager.
`,
		0: `
CHECK            RESULT  FOUND
iam-permissions  failed  The role may not call ec2:CreateLaunchTemplate.

iam-permissions: failed
  Nodes: No node is launched.
  To do: Print the policies with slipway iam policy, and attach them to the role of the manager.
`,
	} {
		out := &strings.Builder{}
		if err := printTable(terminal.Writer{Writer: out, On: terminal.Screen{Width: width, Interactive: width > 0}}, report); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[1:], out.String()); diff != "" {
			t.Errorf("on a terminal of width %d, -want +got:\n%s", width, diff)
		}
	}
}
