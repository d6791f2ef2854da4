package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/lab/labtest"
)

var update = flag.Bool("update", false, "write the session of README.md instead of comparing it")

// varying matches what differs from one run of a session to the next: the identifiers of AWS, and times.
var varying = regexp.MustCompile(`\b(i|lt)-[0-9a-f]{17}\b|\b\d{4}-\d\d-\d\d \d\d:\d\d\b`)

// TestReadme holds that the session of README.md is what hack/cast.sh prints in a laboratory, apart from
// identifiers and times. With -update, it writes what the script prints.
func TestReadme(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(root, "README.md")
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin = "```console\n"
	before, rest, found := strings.Cut(string(content), begin)
	shown, after, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatal("README.md has no block that begins with ```console")
	}
	session := cast(t, root)
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+session+"```\n"+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	stable := func(text string) string { return varying.ReplaceAllString(text, "...") }
	if diff := cmp.Diff(stable(session), stable(shown)); diff != "" {
		t.Errorf("README.md: run go test ./cmd/lab -run TestReadme -update in lab (-printed +shown):\n%s", diff)
	}
}

// cast returns what hack/cast.sh prints in a laboratory.
func cast(t *testing.T, root string) string {
	t.Helper()
	programs := t.TempDir()
	if err := labtest.BuildSlipway(t.Context(), root, filepath.Join(programs, "slipway")); err != nil {
		t.Fatal(err)
	}
	output, notes, err := inLaboratory(t, root, programs, []string{"--cluster", "capa", "--clock-rate", "150"}, "hack/cast.sh")
	if err != nil {
		t.Fatalf("hack/cast.sh: %v:\n%s%s", err, output, notes)
	}
	return output
}
