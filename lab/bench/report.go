package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Markdown is the results as a table for each run.
func Markdown(results []Result) string {
	var text strings.Builder
	if slices.ContainsFunc(results, func(result Result) bool { return result.Options.Own && !result.Options.Managed }) {
		text.WriteString(goalsTable(results) + "\n")
	}
	for i := range results {
		result := &results[i]
		fmt.Fprintf(&text, "## %s\n\n", title(result.Options))
		text.WriteString("| | time | calls | a pool | CPU | the laboratory's | memory | |\n|---|---|---|---|---|---|---|---|\n")
		for _, phase := range result.Phases {
			fmt.Fprintf(&text, "| %s | %v | %d | %.2f | %s | %v | %s | %s |\n", phase.Name, phase.Took.Round(10*time.Millisecond), phase.Total(),
				float64(phase.Total())/float64(result.Options.Pools), orNothing(phase.CPU > 0, phase.CPU.Round(10*time.Millisecond)), phase.LabCPU.Round(10*time.Millisecond),
				orNothing(phase.Memory > 0, fmt.Sprintf("%d MB, %d anonymous", phase.Memory>>20, phase.Anonymous>>20)), phase.Note)
		}
		text.WriteString("\n")
		for _, phase := range result.Phases {
			fmt.Fprintf(&text, "* %s: %s\n", phase.Name, actions(phase.Calls))
		}
		if passes := result.Reconciles; passes != nil {
			fmt.Fprintf(&text, "\nOf %d passes, half took at most %v s, 99 %% at most %v s, 99.9 %% at most %v s (bounds of the metric's buckets).\n",
				passes.Count, passes.AtMost(0.5), passes.AtMost(0.99), passes.AtMost(0.999))
		}
		text.WriteString("\n")
	}
	return text.String()
}

func title(options Options) string {
	text := fmt.Sprintf("%d pools, AWS answering in %v", options.Pools, options.Latency)
	if options.Pools == 1 {
		text = strings.Replace(text, "pools", "pool", 1)
	}
	if options.Managed {
		text = strings.Replace(text, " pool", " managed pool", 1)
	}
	if options.Storage != "" {
		text += ", bootstrap data in " + string(options.Storage)
	}
	if options.Unbounded {
		text += ", no bound to request rates"
	}
	if options.Throttling {
		text += ", throttled as documented"
	}
	return text
}

func orNothing(known bool, value any) string {
	if !known {
		return ""
	}
	return fmt.Sprint(value)
}

func actions(calls map[string]int) string {
	var parts []string
	for _, action := range slices.Sorted(maps.Keys(calls)) {
		parts = append(parts, fmt.Sprintf("%s %d", action, calls[action]))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
