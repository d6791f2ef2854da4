package rehearsal

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/slipway-project/slipway/internal/plan"
	"github.com/slipway-project/slipway/internal/terminal"
)

const (
	// longestText bounds a text of the output. Texts come from servers and from files.
	longestText = 300
	// mostNamed is the number of instances of an event that are named.
	mostNamed = 5
)

// Print writes a result as text.
func Print(out io.Writer, result Result) error {
	if len(result.Pools) == 0 {
		return plan.Print(out, result.Plan)
	}
	for i, pool := range result.Pools {
		if i > 0 {
			fmt.Fprintln(out)
		}
		if err := printPool(out, result.Changes, pool); err != nil {
			return err
		}
	}
	return nil
}

func printPool(out io.Writer, changes []plan.Change, pool Pool) error {
	screen := terminal.ScreenOf(out, os.Getenv)
	if err := screen.Fprintf(out, "%s %s/%s: a copy with %d nodes in a simulated AWS\n", pool.Kind, pool.Namespace, pool.Name, pool.Instances); err != nil {
		return fmt.Errorf("printing the simulation: %w", err)
	}
	table := terminal.NewTable(out, screen, "TIME", "UP", "SOURCE", "EVENT")
	for _, change := range changes {
		fmt.Fprintf(table, "0s\t%d\tEdit\t%s\n", pool.Instances, printable(edited(change)))
	}
	skipped := furtherFailures(pool.Events)
	for i, event := range pool.Events {
		if skipped[i] {
			continue
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\n", event.After, event.NodesUp, event.Source, printable(textOf(event)))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return printSummary(out, screen, pool)
}

// mostFailures is the number of instances that do not start whose events are shown.
const mostFailures = 3

// furtherFailures returns the events, by their index, that are only about instances which do not start after
// others did not.
func furtherFailures(events []Event) map[int]bool {
	further, failures := map[string]bool{}, 0
	for _, event := range events {
		if event.What != doesNotStart {
			continue
		}
		for _, id := range event.Instances {
			failures++
			further[id] = failures > mostFailures
		}
	}
	skipped := map[int]bool{}
	for i, event := range events {
		shown := slices.ContainsFunc(event.Instances, func(id string) bool { return !further[id] })
		skipped[i] = len(event.Instances) > 0 && !shown
	}
	return skipped
}

// edited describes a field that was edited.
func edited(change plan.Change) string {
	switch {
	case change.Old == "":
		return fmt.Sprintf("%s of %s is set to %s", change.Path, change.Object, change.New)
	case change.New == "":
		return fmt.Sprintf("%s of %s is removed, was %s", change.Path, change.Object, change.Old)
	}
	return fmt.Sprintf("%s of %s: %s → %s", change.Path, change.Object, change.Old, change.New)
}

// plural turns what happens to one instance into what happens to several.
var plural = strings.NewReplacer("is ", "are ", "does ", "do ")

// textOf describes an event.
func textOf(event Event) string {
	text := event.What
	if count := len(event.Instances); count > 0 {
		if count > 1 {
			text = plural.Replace(text)
		}
		shown := strings.Join(event.Instances[:min(count, mostNamed)], ", ")
		if count > mostNamed {
			shown += fmt.Sprintf(" and %d more", count-mostNamed)
		}
		text = shown + " " + text
	}
	switch {
	case event.Detail == "" || strings.Contains(text, event.Detail):
		return text
	case event.Source == "Slipway":
		return text + ", because: " + event.Detail
	}
	return text + ": " + event.Detail
}

// outcomes describe the outcomes.
var outcomes = map[Outcome]string{
	RolledOut:  "all nodes run the edited spec",
	RolledBack: "the roll-out failed, and all nodes run the configuration of before again",
	Degraded:   "the roll-out counts as complete, and new instances still fail one after another",
	Stopped:    "the roll-out stopped: see the conditions",
	Unfinished: "the roll-out was not complete at the limit of time",
}

func printSummary(out io.Writer, screen terminal.Screen, pool Pool) error {
	err := screen.Fprintf(out, "\n%s after %s: %s\n", pool.Outcome, pool.Took, outcomes[pool.Outcome])
	table := terminal.NewTable(out, screen)
	fmt.Fprintf(table, "  Versions created\t%d\n", pool.Versions)
	fmt.Fprintf(table, "  Instances replaced\t%d of %d\n", pool.Replaced, pool.Instances)
	switch {
	case pool.Failed > mostFailures:
		fmt.Fprintf(table, "  Instances that failed\t%d, of which the first %d are shown\n", pool.Failed, mostFailures)
	case pool.Failed > 0:
		fmt.Fprintf(table, "  Instances that failed\t%d\n", pool.Failed)
	}
	fmt.Fprintf(table, "  Fewest nodes up\t%d of %d", pool.FewestUp, pool.Instances)
	if pool.FewestUp < pool.Instances {
		fmt.Fprintf(table, ", first after %s", pool.FewestAfter)
	}
	fmt.Fprintln(table)
	for _, condition := range pool.Conditions {
		text := fmt.Sprintf("%s is %s, %s", condition.Type, condition.Status, condition.Reason)
		if condition.Message != "" {
			text += ": " + condition.Message
		}
		fmt.Fprintf(table, "  Condition\t%s\n", printable(text))
	}
	if flushed := table.Flush(); err == nil {
		err = flushed
	}
	return err
}

func printable(text string) string { return terminal.Line(text, longestText) }
