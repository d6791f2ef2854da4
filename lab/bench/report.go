package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slipway-project/slipway/bench/document"
)

// Markdown returns the results as a table for each run.
func Markdown(results []Result) string {
	var text strings.Builder
	if slices.ContainsFunc(results, func(result Result) bool { return result.Options.Own }) {
		text.WriteString(goalsTable(results) + "\n")
	}
	for i := range results {
		result := &results[i]
		fmt.Fprintf(&text, "## %s\n\n", title(result.Options))
		text.WriteString("| | time | calls | a pool | CPU | the laboratory's | memory | |\n|---|---|---|---|---|---|---|---|\n")
		for _, phase := range result.Phases {
			fmt.Fprintf(&text, "| %s | %v | %d | %.2f | %s | %v | %s | %s |\n", phase.Name, phase.Took.Round(10*time.Millisecond), phase.Total(),
				phase.hourly(result.Options.Pools), orNothing(phase.CPU > 0, phase.CPU.Round(10*time.Millisecond)), phase.LabCPU.Round(10*time.Millisecond),
				orNothing(phase.Memory > 0, fmt.Sprintf("%d MB, %d anonymous", phase.Memory>>20, phase.Anonymous>>20)), phase.Note)
		}
		text.WriteString("\n")
		for _, phase := range result.Phases {
			fmt.Fprintf(&text, "* %s: %s\n", phase.Name, actions(phase.Calls))
		}
		text.WriteString("\nRequests to the API server, the laboratory's own among them:\n\n")
		for _, phase := range result.Phases {
			fmt.Fprintf(&text, "* %s: %s\n", phase.Name, actions(phase.Requests))
		}
		if passes := result.Reconciles; passes != nil {
			fmt.Fprintf(&text, "\nOf %d passes, half took at most %v s, 99 %% at most %v s, 99.9 %% at most %v s (bounds of the metric's buckets).\n",
				passes.Count, passes.AtMost(0.5), passes.AtMost(0.99), passes.AtMost(0.999))
		}
		text.WriteString("\n")
	}
	return text.String()
}

// backlog is the number of pods that the goal is about.
const backlog = 20000

// ProvisionerMarkdown returns the measurements of a Provisioner as tables.
func ProvisionerMarkdown(result *ProvisionerResult) string {
	var text strings.Builder
	text.WriteString("| goal | measured | |\n|---|---|---|\n")
	if len(result.Waits) > 0 {
		waits := slices.Sorted(slices.Values(result.Waits))
		median := waits[len(waits)/2]
		fmt.Fprintf(&text, "| one pending pod to CreateFleet in 0.3 s at the median, AWS answering in 100 ms | %.2f s; at best %.2f s, at worst %.2f s (%d pods, %v apart, AWS answering in %v) | %s |\n",
			median.Seconds(), waits[0].Seconds(), waits[len(waits)-1].Seconds(), len(waits), result.Options.Apart, result.Options.Latency, document.Verdict(median <= 300*time.Millisecond))
	}
	if stream, once := result.Stream, result.AtOnce; once.Nodes > 0 {
		text.WriteString(streamRow(stream, once, result.StreamWaits))
	}
	if result.Peak > 0 {
		met := document.Verdict(result.Peak < 300<<20)
		if result.Options.Pods < backlog && result.Peak < 300<<20 {
			met = "not measured"
		}
		fmt.Fprintf(&text, "| 20,000 pending pods in less than 300 MB | at most %d MB resident (%d pods) | %s |\n", result.Peak>>20, result.Options.Pods, met)
	}
	text.WriteString("\n| | time | calls | CPU | the laboratory's | memory | |\n|---|---|---|---|---|---|---|\n")
	for i := range result.Phases {
		phase := &result.Phases[i]
		fmt.Fprintf(&text, "| %s | %v | %d | %v | %v | %s | %s |\n", phase.Name, phase.Took.Round(10*time.Millisecond), phase.Total(), phase.CPU.Round(10*time.Millisecond),
			phase.LabCPU.Round(10*time.Millisecond), fmt.Sprintf("%d MB, %d anonymous", phase.Memory>>20, phase.Anonymous>>20), phase.Note)
	}
	text.WriteString("\n")
	for i := range result.Phases {
		fmt.Fprintf(&text, "* %s: %s\n", result.Phases[i].Name, actions(result.Phases[i].Calls))
	}
	return text.String()
}

// streamRow returns the row of the goal that pods which keep coming cost little more than the same
// pods at once.
func streamRow(stream, once Launched, waits *Histogram) string {
	more, median := stream.USD/once.USD-1, "unknown"
	if waits != nil {
		median = fmt.Sprintf("at most %v s", waits.AtMost(0.5))
	}
	return fmt.Sprintf("| %d pods that come within %v cost at most 10 %% more than the same pods at once | %+.1f %%: %d nodes for %.2f USD an hour rather than %d for %.2f; "+
		"a node's first pod waited %s at the median | %s |\n", streamed, streamTime, 100*more, stream.Nodes, stream.USD, once.Nodes, once.USD, median, document.Verdict(more <= 0.1))
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
