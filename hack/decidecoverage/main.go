// Command decidecoverage reads a coverage profile and prints how much of each decide*.go file it
// covers. It fails if a file is covered less than -least percent.
//
//	go test -coverprofile cover.out ./internal/... && go run ./hack/decidecoverage cover.out
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/cover"
)

func main() {
	least := flag.Float64("least", 95, "the percentage of statements that each file must have covered")
	flag.Parse()
	profiles, err := cover.ParseProfiles(flag.Arg(0))
	if err == nil {
		err = report(os.Stdout, profiles, *least)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "decidecoverage:", err)
		os.Exit(1)
	}
}

// report prints the coverage of each decide file, the lowest first, and returns an error if one is
// below the least, or if there is none.
func report(out io.Writer, profiles []*cover.Profile, least float64) error {
	covered := map[string]float64{}
	for _, profile := range profiles {
		if name := path.Base(profile.FileName); strings.HasPrefix(name, "decide") && strings.HasSuffix(name, ".go") {
			covered[profile.FileName] = percentage(profile.Blocks)
		}
	}
	if len(covered) == 0 {
		return errors.New("the profile has no decide*.go file")
	}
	files := slices.SortedFunc(maps.Keys(covered), func(a, b string) int {
		return cmp.Or(cmp.Compare(covered[a], covered[b]), strings.Compare(a, b))
	})
	var low []string
	for _, file := range files {
		if _, err := fmt.Fprintf(out, "%6.1f %%  %s\n", covered[file], file); err != nil {
			return fmt.Errorf("printing the coverage: %w", err)
		}
		if covered[file] < least {
			low = append(low, file)
		}
	}
	if len(low) > 0 {
		return fmt.Errorf("below %.0f %% of statements: %s", least, strings.Join(low, ", "))
	}
	return nil
}

// percentage returns how many of the statements in some blocks were executed.
func percentage(blocks []cover.ProfileBlock) float64 {
	var all, executed int
	for _, block := range blocks {
		all += block.NumStmt
		if block.Count > 0 {
			executed += block.NumStmt
		}
	}
	if all == 0 {
		return 100
	}
	return 100 * float64(executed) / float64(all)
}
