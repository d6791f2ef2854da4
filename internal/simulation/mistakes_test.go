package simulation_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slipway-project/slipway/internal/simulation"
)

var (
	tableFlag   = flag.String("table", "", "write which mistake was noticed after how many schedules into the table of this file")
	kindFlag    = flag.String("kind", simulation.SelfManaged, "the kind of the objects with which -notices is run")
	noticesFlag = flag.Int("notices", 0, "run so many schedules at most, until one notices the mistake in the product that is run")
)

// mistakePatience is the time that a product with a mistake may take until everything is as it must
// be. A schedule that takes the product longer without the mistake does not count.
const mistakePatience = time.Hour

// finding holds how a mistake was noticed.
type finding struct {
	after     uint64
	invariant string
	cause     error
}

// String is read by found.
func (f finding) String() string {
	first, _, _ := strings.Cut(f.cause.Error(), "\n")
	return fmt.Sprintf("noticed after %d schedules, by %q: %s", f.after, f.invariant, first)
}

// findingPattern matches a finding.
var findingPattern = regexp.MustCompile(`noticed after (\d+) schedules, by "([^"]*)": (.*)`)

// found reads a finding from the output of a test, false if there is none.
func found(output string) (finding, bool) {
	match := findingPattern.FindStringSubmatch(output)
	if match == nil {
		return finding{}, false
	}
	after, err := strconv.ParseUint(match[1], 10, 64)
	return finding{after: after, invariant: match[2], cause: errors.New(match[3])}, err == nil
}

// notice runs schedules of a kind of pools until one violates an invariant, false if none does.
func notice(t *testing.T, kind string, flaw simulation.Flaw, schedules int, patience time.Duration) (finding, bool) {
	t.Helper()
	for seed := range uint64(schedules) {
		var violation *simulation.ViolationError
		if !errors.As(run(t, simulation.Options{Kind: kind, Seed: seed, Flaw: flaw, Patience: patience}).Violation, &violation) {
			continue
		}
		slow := slices.Contains([]string{simulation.ReachesSpec, simulation.ComesToRest, simulation.NoneLeft, simulation.PodsPlaced}, violation.Invariant)
		if slow && patience != 0 && run(t, simulation.Options{Kind: kind, Seed: seed, Patience: patience}).Violation != nil {
			continue
		}
		return finding{after: seed + 1, invariant: violation.Invariant, cause: violation.Cause}, true
	}
	return finding{}, false
}

// TestNotices is run with -notices in a product with a mutant.
func TestNotices(t *testing.T) {
	if *noticesFlag == 0 {
		t.Skip("the product has no mistake on purpose")
	}
	if one, is := notice(t, *kindFlag, simulation.Flaw{}, *noticesFlag, 0); is {
		t.Log(one)
	}
}

// record writes a row of the table of mistakes, in the order of the rows that there are.
func record(t *testing.T, kind, name, rule string, one finding) {
	t.Helper()
	if *tableFlag == "" {
		return
	}
	text, err := os.ReadFile(*tableFlag)
	if err != nil {
		t.Fatal(err)
	}
	row := fmt.Sprintf("| %s | %s | %s | %d | %s |", name, kind, rule, one.after, one.invariant)
	changed, err := withRow(string(text), name, row)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(*tableFlag, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
}

// tableEnd is the line after the table.
const tableEnd = "<!-- end of mistakes -->"

// withRow returns a document with a row of its table added, in place of the row that begins with
// the same name.
func withRow(document, name, row string) (string, error) {
	lines := strings.Split(document, "\n")
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "| "+name+" |"):
			lines[i] = row
			return strings.Join(lines, "\n"), nil
		case line == tableEnd:
			before := strings.Join(lines[:i], "\n")
			return before + "\n" + row + "\n" + strings.Join(lines[i:], "\n"), nil
		}
	}
	return "", errors.New("the document has no table of mistakes")
}

// TestWithRow adds and changes rows.
func TestWithRow(t *testing.T) {
	t.Parallel()
	document := "text\n| a | 1 |\n" + tableEnd + "\nmore"
	for _, row := range []struct{ reason, name, row, want string }{
		{"another name", "b", "| b | 2 |", "text\n| a | 1 |\n| b | 2 |\n" + tableEnd + "\nmore"},
		{"the same name", "a", "| a | 3 |", "text\n| a | 3 |\n" + tableEnd + "\nmore"},
	} {
		got, err := withRow(document, row.name, row.row)
		if err != nil || got != row.want {
			t.Errorf("%s: %q, %v", row.reason, got, err)
		}
	}
}

// TestTableListsMistakes holds that every mistake that the documentation lists exists, and breaks
// the rule that the table names.
func TestTableListsMistakes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/simulation.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, one := range slices.Concat(mutants, steeringMutants, managedMutants, managedSteeringMutants, provisionerMutants) {
		known[fmt.Sprintf("%s | mutant | %s", one.name, one.rule)] = true
	}
	for _, one := range slices.Concat(flaws, steeringFlaws, managedFlaws, provisionerFlaws) {
		known[fmt.Sprintf("%s | flaw | %s", one.name, one.rule)] = true
	}
	rows := regexp.MustCompile(`(?m)^\| (.* \| (?:mutant|flaw) \| .*?) \| \d+ \|`).FindAllStringSubmatch(string(text), -1)
	if len(rows) < 40 {
		t.Errorf("docs/simulation.md lists %d mistakes: run make mutants", len(rows))
	}
	for _, row := range rows {
		if !known[row[1]] {
			t.Errorf("docs/simulation.md lists %q, which is no mistake any longer", row[1])
		}
	}
}

// atMost returns how many schedules a mistake is run through.
func atMost(flagged int) int { return cmp.Or(flagged, quickSchedules) }
