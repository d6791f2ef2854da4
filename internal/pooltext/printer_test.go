package pooltext

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/internal/poolview"
	"github.com/slipway-project/slipway/internal/terminal"
)

func TestShort(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]time.Duration{"0s": -time.Hour, "90s": 90 * time.Second, "90m": 90 * time.Minute, "47h": 47 * time.Hour, "3d": 80 * time.Hour} {
		if got := short(d); got != want {
			t.Errorf("short(%s): got %s, want %s", d, got, want)
		}
	}
}

func TestBar(t *testing.T) {
	t.Parallel()
	for percent, want := range map[int32]string{-5: "[----]", 0: "[----]", 50: "[##--]", 100: "[####]", 130: "[####]"} {
		if got := Bar(percent, 4); got != want {
			t.Errorf("Bar(%d): got %s, want %s", percent, got, want)
		}
	}
}

// TestColors holds that colors are used only where the screen has them, and that they do not change the text.
func TestColors(t *testing.T) {
	t.Parallel()
	view := &poolview.View{Kind: "AWSMachinePool", Namespace: "blue", Name: "workers", State: "Converged"}
	plain, colored := &strings.Builder{}, &strings.Builder{}
	for out, screen := range map[*strings.Builder]terminal.Screen{plain: {Width: 80}, colored: {Width: 80, Color: true}} {
		if err := (&Printer{Out: out, Screen: screen}).Status(view); err != nil {
			t.Fatal(err)
		}
	}
	without := colored.String()
	for _, style := range []terminal.Style{terminal.Bold, terminal.Green, terminal.Yellow, terminal.Red} {
		without = strings.ReplaceAll(without, "\x1b["+string(style)+"m", "")
	}
	without = strings.ReplaceAll(without, "\x1b[0m", "")
	if diff := cmp.Diff(plain.String(), without); diff != "" || !strings.Contains(colored.String(), "\x1b[32mConverged\x1b[0m") {
		t.Errorf("a colored status: %q, -plain +without colors:\n%s", colored, diff)
	}
}

// TestPausedRollouts holds that the status of a pool at rest says that roll-outs are paused: the user would
// find out only after the next edit.
func TestPausedRollouts(t *testing.T) {
	t.Parallel()
	for _, paused := range []bool{false, true} {
		out := &strings.Builder{}
		view := &poolview.View{Kind: "AWSMachinePool", Namespace: "blue", Name: "workers", State: "Converged", RolloutsPaused: paused}
		if err := (&Printer{Out: out, Screen: terminal.Screen{Width: 120}}).Status(view); err != nil {
			t.Fatal(err)
		}
		if shown := strings.Contains(out.String(), `paused: edits replace no nodes until "slipway rollout resume workers -n blue"`); shown != paused {
			t.Errorf("paused: %t; the status is\n%s", paused, out)
		}
	}
}

// TestNarrow holds that fields fit a narrow screen, and that no screen is too narrow to print on.
func TestNarrow(t *testing.T) {
	t.Parallel()
	view := &poolview.View{
		Kind: "AWSMachinePool", Namespace: "blue", Name: "workers", State: "RollingOut", Replicas: 4, Desired: 4,
		Versions: []poolview.Version{{Number: 2, Instances: 2, Wanted: true, Reason: "instance type m5.large → m5.xlarge and a long text about it"}},
		Rollout:  &poolview.Rollout{Total: 4, Done: 2, Percent: 50, Active: true, Cause: "instance type m5.large → m5.xlarge and a long text about it"},
	}
	for _, width := range []int{-1, 0, 1, 40, 1000} {
		out := &strings.Builder{}
		if err := (&Printer{Out: out, Screen: terminal.Screen{Width: width}}).Status(view); err != nil || out.Len() == 0 {
			t.Fatalf("a screen of width %d: got error %v, and %q", width, err, out)
		}
		for line := range strings.Lines(out.String()) {
			if length := len([]rune(strings.TrimSuffix(line, "\n"))); width == 40 && length > width {
				t.Errorf("a line of %d characters on a screen of %d: %s", length, width, line)
			}
		}
	}
}

// TestTreeWithoutGroup holds that a managed pool without a node group yet is not shown with an Auto Scaling group.
func TestTreeWithoutGroup(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{poolview.ManagedKind: "└─ EKS node group -\n", poolview.SelfManagedKind: "└─ Auto Scaling group -\n"} {
		out := &strings.Builder{}
		printer := &Printer{Out: out}
		err := printer.Tree(&poolview.Tree{Pools: []poolview.View{{Kind: kind, Name: "new"}}})
		if err != nil || !strings.HasSuffix(out.String(), want) {
			t.Errorf("%s: got error %v and\n%s\nwant %q", kind, err, out, want)
		}
	}
}
