package terminal

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// write writes rows as a table.
func write(t interface{ Fatal(...any) }, screen Screen, header, rows []string) string {
	out := &strings.Builder{}
	table := NewTable(out, screen, header...)
	for _, row := range rows {
		fmt.Fprintln(table, row)
	}
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTable(t *testing.T) {
	t.Parallel()
	header := []string{"CHECK", "RESULT", "FOUND"}
	rows := []string{
		"iam-permissions\tfailed\tThe role may not call ec2:CreateLaunchTemplate in us-east-1.",
		"crds\tok\tAll are of this version.",
	}
	whole := `
CHECK            RESULT  FOUND
iam-permissions  failed  The role may not call ec2:CreateLaunchTemplate in us-east-1.
crds             ok      All are of this version.
`
	below := `
CHECK            RESULT  FOUND
iam-permissions  failed
    The role may not call
    ec2:CreateLaunchTemplate in
    us-east-1.
crds             ok
    All are of this version.
`
	blocks := `
CHECK:
       iam-permissions
RESULT: failed
FOUND:  The role may
        not call
ec2:CreateLaunchTemplate
        in us-east-1.

CHECK:  crds
RESULT: ok
FOUND:  All are of
        this version.
`
	wrapped := `
CHECK            RESULT  FOUND
iam-permissions  failed  The role may not call ec2:CreateLaunchTemplate in
                         us-east-1.
crds             ok      All are of this version.
`
	for width, want := range map[int]string{
		22: blocks, 79: wrapped, 80: wrapped, 120: whole,
		40: below,
		60: `
CHECK            RESULT  FOUND
iam-permissions  failed  The role may not call
                         ec2:CreateLaunchTemplate in
                         us-east-1.
crds             ok      All are of this version.
`,
		85: whole, 84: wrapped,
	} {
		if diff := cmp.Diff(want[1:], write(t, Screen{Width: width, Interactive: true}, header, rows)); diff != "" {
			t.Errorf("a table on a terminal of width %d, -want +got:\n%s", width, diff)
		}
		if diff := cmp.Diff(whole[1:], write(t, Screen{Width: width}, header, rows)); diff != "" {
			t.Errorf("a table in a file, -want +got:\n%s", diff)
		}
	}
}

// TestTableWithoutHeader holds how fields of objects are shown: below the title, each on lines of
// its own if a terminal is narrow.
func TestTableWithoutHeader(t *testing.T) {
	t.Parallel()
	rows := []string{"AWSMachinePool blue/workers", "  spec.awsLaunchTemplate.instanceType\tm5.large → m5.xlarge\treplaces nodes"}
	narrow := `
AWSMachinePool blue/workers
  spec.awsLaunchTemplate.instanceType
    m5.large → m5.xlarge
    replaces nodes
`
	below := `
AWSMachinePool blue/workers
  spec.awsLaunchTemplate.instanceType  m5.large → m5.xlarge
      replaces nodes
`
	if diff := cmp.Diff(below[1:], write(t, Screen{Width: 60, Interactive: true}, nil, rows)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(narrow[1:], write(t, Screen{Width: 50, Interactive: true}, nil, rows)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestLongWord holds that a word that can be copied stays whole, and begins further left if that
// shows all of it.
func TestLongWord(t *testing.T) {
	t.Parallel()
	want := `
REASON  MESSAGE
Failed  terminated
   instance-0123456789abcdef0123456789abc
        which is gone
`
	got := write(t, Screen{Width: 41, Interactive: true}, []string{"REASON", "MESSAGE"}, []string{"Failed\tterminated instance-0123456789abcdef0123456789abc which is gone"})
	if diff := cmp.Diff(want[1:], got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	screen := Screen{Width: 30, Interactive: true, Color: true}
	for _, tc := range map[string]struct{ reason, text, want string }{
		"Fits":   {reason: "Spaces of a line that fits stay.", text: "  a   b\n", want: "  a   b\n"},
		"Indent": {reason: "A line continues below its indentation.", text: "  create a version of launch template lt-1\n", want: "  create a version of launch\n    template lt-1\n"},
		"List":   {reason: "An item continues behind its number.", text: " 12. create a version of launch template\n", want: " 12. create a version of\n     launch template\n"},
		"Tree":   {reason: "The branches of a tree go on.", text: "│  ├─ AWSLaunchConfig workers  lt-0123456789", want: "│  ├─ AWSLaunchConfig workers\n│  │    lt-0123456789"},
		"Style":  {reason: "Styles take no space.", text: screen.Paint(Bold, "State") + " RollingOut, for 20 minute" + screen.Paint(Red, "s!"), want: "\x1b[1mState\x1b[0m RollingOut, for 20\n  minute\x1b[31ms!\x1b[0m"},
	} {
		if diff := cmp.Diff(tc.want, screen.Fold(tc.text)); diff != "" {
			t.Errorf("%s -want +got:\n%s", tc.reason, diff)
		}
		if got := (Screen{Width: 30}).Fold(tc.text); got != tc.text {
			t.Errorf("%s A file has %q, want %q", tc.reason, got, tc.text)
		}
	}
	if got := length(screen.Paint(Bold, "State") + "→" + screen.Paint(Red, "")); got != 6 {
		t.Errorf("length of a painted text: got %d, want 6", got)
	}
}

// TestNarrowTables holds that no line of a table is wider than the terminal unless it is one word
// that is, that no word is lost, and that a table which fits is written as in a file.
func TestNarrowTables(t *testing.T) {
	t.Parallel()
	cell := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.StringMatching(`[a-zä→:/-]{1,60}`), 0, 8).Draw(t, "words"), " ")
	})
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.IntRange(1, 7).Draw(t, "columns")
		var header, rows []string
		if rapid.Bool().Draw(t, "named") {
			header = rapid.SliceOfN(rapid.StringMatching(`[A-Z]{1,10}`), columns, columns).Draw(t, "header")
		}
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			rows = append(rows, strings.Join(rapid.SliceOfN(cell, 1, columns).Draw(t, "row"), "\t"))
		}
		screen := Screen{Width: rapid.SampledFrom([]int{12, 40, 60, 79, 80, 120}).Draw(t, "width"), Interactive: true}
		got, file := write(t, screen, header, rows), write(t, Screen{Width: screen.Width}, header, rows)
		for line := range strings.Lines(got) {
			if words := strings.Fields(line); length(strings.TrimRight(line, " \n")) > screen.Width && (len(words) > 1 || length(words[0]) <= screen.Width) {
				t.Fatalf("a line is wider than %d columns: %q", screen.Width, line)
			}
		}
		if !wider(file, screen.Width) && got != file {
			t.Fatalf("a table that fits is changed:\n%s\nto\n%s", file, got)
		}
		for _, word := range strings.Fields(strings.Join(rows, " ")) {
			if !strings.Contains(got, word) {
				t.Fatalf("the word %q is lost:\n%s", word, got)
			}
		}
	})
}

// fullWriter is a writer that fails.
type fullWriter struct{}

var errFull = errors.New("no space left")

func (fullWriter) Write([]byte) (int, error) { return 0, errFull }

func TestTableCannotBeWritten(t *testing.T) {
	t.Parallel()
	table := NewTable(fullWriter{}, Screen{}, "NAME")
	if err := table.Flush(); !errors.Is(err, errFull) {
		t.Errorf("got error %v, want the writer's", err)
	}
}
