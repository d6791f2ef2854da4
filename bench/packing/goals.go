package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-project/slipway/bench/document"
	"github.com/slipway-project/slipway/bench/workload"
)

// measurement holds the outcome of one case for each packer. Beside is nil if no other packer was
// measured.
type measurement struct {
	of     workload.Case
	own    outcome
	beside *outcome
}

// rate returns pods per CPU second.
func (o outcome) rate() float64 { return float64(o.Placed) / o.CPU.Seconds() }

// span returns the least and the greatest of some numbers.
func span(values []float64) (least, greatest float64) {
	return slices.Min(values), slices.Max(values)
}

// goals returns a table of the goals and what was measured of them. It is empty if no other packer
// was measured.
func goals(all []measurement) string {
	var faster, dearer []float64
	for _, one := range all {
		if one.beside == nil {
			continue
		}
		faster = append(faster, one.own.rate()/one.beside.rate())
		dearer = append(dearer, 100*(one.own.Price/one.beside.Price-1))
	}
	if len(faster) == 0 {
		return ""
	}
	slowest, fastest := span(faster)
	cheapest, dearest := span(dearer)
	var table strings.Builder
	table.WriteString("\n| goal | measured | |\n|---|---|---|\n")
	fmt.Fprintf(&table, "| ten times Karpenter's pods per CPU second, in every case | %.0f to %.0f times, in %d cases | %s |\n",
		slowest, fastest, len(faster), document.Verdict(slowest >= 10))
	slowdown := worstSlowdown(all)
	fmt.Fprintf(&table, "| flat in the number of launch templates: at most twice the CPU time for 50 times as many | at most %.1f times for the same pods | %s |\n",
		slowdown, document.Verdict(slowdown <= 2))
	fmt.Fprintf(&table, "| nodes no dearer than Karpenter's, in every case | %+.0f %% to %+.0f %% | %s |\n",
		cheapest, dearest, document.Verdict(dearest < 0.5))
	return table.String()
}

// worstSlowdown returns how many times the CPU time of the fastest case the slowest one of the same
// pods takes, for the pods for which that is most.
func worstSlowdown(all []measurement) float64 {
	rates := map[string][]float64{}
	for _, one := range all {
		pods := fmt.Sprintf("%d %s", one.of.Number, one.of.Kind)
		rates[pods] = append(rates[pods], one.own.rate())
	}
	worst := 1.0
	for _, of := range rates {
		least, greatest := span(of)
		worst = max(worst, greatest/least)
	}
	return worst
}
