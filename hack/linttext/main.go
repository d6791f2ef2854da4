// Command linttext measures how comments and guides are written, and fails if a measure is above its
// limit in limits.yaml: the occurrences of unidiomatic wordings per 1,000 words, the shares of doc
// comments that do not open as Go's do, and the share of lines that are too wide.
//
// The limits are a ratchet. After an improvement, -lower writes what is measured as the new limits.
// Every measure has a target, and a limit is never lowered below it.
//
//	go run ./hack/linttext
//	go run ./hack/linttext -list comments/make
//	go run ./hack/linttext -lower
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() {
	root := flag.String("root", ".", "the directory whose text is measured")
	limits := flag.String("limits", "hack/linttext/limits.yaml", "the file of the limits")
	list := flag.String("list", "", "print the places that count for a measure, such as comments/make")
	lower := flag.Bool("lower", false, "lower the limits to what is measured")
	flag.Parse()
	if err := run(os.Stdout, *root, *limits, *list, *lower); err != nil {
		fmt.Fprintln(os.Stderr, "linttext:", err)
		os.Exit(1)
	}
}

// run measures the text under a directory and compares it with limits.
func run(out io.Writer, root, limitsFile, list string, lower bool) error {
	comments, guides, err := read(root)
	if err != nil {
		return err
	}
	measures := measuresOf(comments, guides)
	if list != "" {
		return printPlaces(out, measures, list)
	}
	limits, err := readLimits(limitsFile)
	if err != nil {
		return err
	}
	if lower {
		limits = limits.lowered(measures)
		if err := limits.write(limitsFile); err != nil {
			return err
		}
	}
	if err := printReport(out, comments, guides, measures, limits); err != nil {
		return fmt.Errorf("printing the report: %w", err)
	}
	return limits.check(measures, limitsFile)
}

// printPlaces prints what counts for a measure, one place in a line.
func printPlaces(out io.Writer, measures []measure, name string) error {
	i := slices.IndexFunc(measures, func(m measure) bool { return m.name == name })
	if i < 0 {
		return fmt.Errorf("there is no measure %q; a report lists them", name)
	}
	for _, place := range measures[i].places {
		if _, err := fmt.Fprintf(out, "%s:%d: %s\n", place.path, place.line, place.text); err != nil {
			return fmt.Errorf("printing the places: %w", err)
		}
	}
	return nil
}

// printReport prints a table of all measures.
func printReport(out io.Writer, comments, guides *corpus, measures []measure, limits limits) error {
	var report strings.Builder
	fmt.Fprintf(&report, "%d words of comments, %d words of guides. Wordings are counted per 1,000 words.\n\n", comments.words, guides.words)
	fmt.Fprintf(&report, "%-22s %9s %7s %7s  %-52s %s\n", "measure", "measured", "limit", "target", "wording", "write instead")
	for _, m := range measures {
		state := ""
		if m.exceeds(limits[m.name]) {
			state = "  ABOVE ITS LIMIT"
		}
		fmt.Fprintf(&report, "%-22s %9s %7.2f %7.2f  %-52s %s%s\n", m.name, m.measured(), limits[m.name], m.target, m.wording, m.instead, state)
	}
	_, err := io.WriteString(out, report.String())
	return err
}
