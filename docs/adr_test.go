package docs_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// adrName matches the file name of a decision record.
var adrName = regexp.MustCompile(`^(\d{4})-[a-z0-9]+(-[a-z0-9]+)*\.md$`)

// adrReference matches a mention of a decision record in code or text, such as ADR 7 or docs/adr/0007.
var adrReference = regexp.MustCompile(`(?:\bADR |\badr/)(\d+)`)

// TestDecisionRecords holds that decision records are numbered without gaps, have one format, and
// are in the index in their order.
func TestDecisionRecords(t *testing.T) {
	t.Parallel()
	sections := []string{"Status", "Context", "Decision", "Consequences"}
	index := read(t, "adr/README.md")
	listed := 0
	for i, name := range records(t) {
		number := i + 1
		if want := fmt.Sprintf("%04d", number); adrName.FindStringSubmatch(name)[1] != want {
			t.Errorf("%s: the next record has the number %s", name, want)
		}
		content := read(t, "adr/"+name)
		title, found := strings.CutPrefix(strings.SplitN(content, "\n", 2)[0], fmt.Sprintf("# %d. ", number))
		if !found {
			t.Errorf("%s: the title does not begin with the number", name)
		}
		got := []string{}
		for _, line := range strings.Split(content, "\n") {
			if section, isSection := strings.CutPrefix(line, "## "); isSection {
				got = append(got, section)
			}
		}
		if diff := cmp.Diff(sections, got); diff != "" {
			t.Errorf("%s: sections (-want +got):\n%s", name, diff)
		}
		row := fmt.Sprintf("| [%04d](%s) | %s |", number, name, title)
		at := strings.Index(index, row)
		if at < listed {
			t.Errorf("adr/README.md lacks the row %q, or has it in another place", row)
			continue
		}
		listed = at
	}
}

// TestDecisionRecordsThatAreNamedExist holds that comments and pages name only records that exist.
func TestDecisionRecordsThatAreNamedExist(t *testing.T) {
	t.Parallel()
	count := len(records(t))
	for _, file := range append(pages(t), sources(t)...) {
		for _, match := range adrReference.FindAllStringSubmatch(read(t, file), -1) {
			number := 0
			if _, err := fmt.Sscanf(match[1], "%d", &number); err != nil || number < 1 || number > count {
				t.Errorf("%s names the decision record %q, which does not exist", file, match[0])
			}
		}
	}
}

// records returns the file names of the decision records, sorted.
func records(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("adr/*.md")
	if err != nil || len(paths) < 2 {
		t.Fatalf("listing records: %v (%d found)", err, len(paths))
	}
	names := []string{}
	for _, path := range paths {
		name := filepath.Base(path)
		if name == "README.md" {
			continue
		}
		if !adrName.MatchString(name) {
			t.Fatalf("%s is not the name of a record", path)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// sources returns the Go files of the product and its tools, by their paths from docs.
func sources(t *testing.T) []string {
	t.Helper()
	found := []string{}
	for _, root := range []string{"../api", "../awssim", "../bench", "../cmd", "../hack", "../internal", "../lab"} {
		found = append(found, walk(t, root, ".go")...)
	}
	if len(found) < 100 {
		t.Fatalf("found only %d Go files", len(found))
	}
	return found
}
