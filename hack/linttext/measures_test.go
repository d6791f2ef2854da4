package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMeasuresOf(t *testing.T) {
	t.Parallel()
	comments, guides := new(corpus), new(corpus)
	if err := comments.addGo("p.go", []byte("package p\n\n// F is how one can not.\nfunc F() {}\n\n// G can.\nfunc G() {}\n")); err != nil {
		t.Fatal(err)
	}
	if err := guides.addMarkdown("README.md", []byte("It can not.\nIt can.\n")); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, m := range measuresOf(comments, guides) {
		if m.value > 0 {
			got[m.name] = m.value
		}
	}
	want := map[string]float64{"comments/is-what": 125, "comments/can-not": 125, "comments/is-doc": 50, "guides/can-not": 200}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("measured (-want +got):\n%s", diff)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	measures := []measure{{name: "comments/make", value: 1.234}}
	for _, row := range []struct {
		reason string
		limits limits
		err    string
	}{
		{reason: "below its limit", limits: limits{"comments/make": 1.24}},
		{reason: "at its limit", limits: limits{"comments/make": 1.234}},
		{reason: "above its limit", limits: limits{"comments/make": 1.23}, err: "rose to 1.23, and its limit is 1.23"},
		{reason: "no limit", limits: limits{}, err: "comments/make has no limit"},
		{reason: "a limit of nothing", limits: limits{"comments/make": 2, "comments/maek": 1}, err: "comments/maek, which is not measured"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			err := row.limits.check(measures, "limits.yaml")
			if row.err == "" && err != nil || row.err != "" && (err == nil || !strings.Contains(err.Error(), row.err)) {
				t.Errorf("error %v, want %q", err, row.err)
			}
		})
	}
}

func TestLowered(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason  string
		old     limits
		measure measure
		want    float64
	}{
		{reason: "an improvement is kept", old: limits{"a": 2}, measure: measure{value: 1.234}, want: 1.24},
		{reason: "a limit never rises", old: limits{"a": 1}, measure: measure{value: 1.5}, want: 1},
		{reason: "a limit stops at the target", old: limits{"a": 2}, measure: measure{value: 0.1, target: 0.5}, want: 0.5},
		{reason: "a new measure starts where it is", old: limits{"b": 2}, measure: measure{value: 3, target: 0.5}, want: 3},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			row.measure.name = "a"
			if diff := cmp.Diff(limits{"a": row.want}, row.old.lowered([]measure{row.measure})); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRun holds that text above its limit fails until it is rewritten, and that lowered limits keep it so.
func TestRun(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	guide, file := filepath.Join(root, "README.md"), filepath.Join(root, "limits.yaml")
	write := func(path, content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(guide, "A pool can not and can not.\n")
	write(file, "{}\n")
	var out strings.Builder
	if err := run(&out, root, file, "", true); err != nil {
		t.Fatalf("new limits: %v", err)
	}
	write(guide, "A pool can not, can not, and can not.\n")
	if err := run(&out, root, file, "", false); err == nil || !strings.Contains(err.Error(), "guides/can-not (can not) rose to 333.33") {
		t.Errorf("one more: error %v", err)
	}
	if !strings.Contains(out.String(), "ABOVE ITS LIMIT") {
		t.Errorf("the report does not mark the measure:\n%s", &out)
	}
	out.Reset()
	if err := run(&out, root, file, "guides/can-not", false); err != nil || strings.Count(out.String(), "README.md:1: ") != 3 {
		t.Errorf("places: error %v, output:\n%s", err, &out)
	}
	if err := run(&out, root, file, "guides/cannot", false); err == nil {
		t.Error("an unknown measure has places")
	}
	write(guide, "A pool cannot.\n")
	if err := run(&out, root, file, "", true); err != nil {
		t.Errorf("rewritten: %v", err)
	}
	write(guide, "A pool can not and can not.\n")
	if err := run(&out, root, file, "", false); err == nil {
		t.Error("what was lowered rose again")
	}
}
