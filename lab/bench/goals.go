package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-project/slipway/bench/document"
)

// goal is one of Slipway's, and what of the results it is about.
type goal struct {
	text string
	// pools is how many there must be for the goal to be met; with fewer its number is shown, and shows nothing.
	pools int
	// kind is which pools the goal is about.
	kind kind
	// of says what was measured and whether that is good enough; "" if the result has nothing to say about it.
	of func(Result) (measured string, met bool)
}

// kind says which pools a goal is about.
type kind int

const (
	selfManaged kind = iota
	managed
	both
)

// has reports whether a goal of the kind is about some pools.
func (k kind) has(options Options) bool {
	return k == both || (k == managed) == options.Managed
}

// many and some are the numbers of pools that goals are about.
const (
	many = 1000
	some = 100
)

var goals = []goal{
	{"a quiet pool among 1,000 costs at most 0.2 calls an hour", many, selfManaged, ofPhase(quietHour, func(r Result, p Phase) (string, bool) {
		hourly := p.hourly(r.Options.Pools)
		return fmt.Sprintf("%.3f", hourly), r.Options.Pools < many || hourly <= 0.2
	})},
	{"a quiet managed pool among 100 costs at most 1.2 calls an hour", some, managed, ofPhase(quietHour, func(r Result, p Phase) (string, bool) {
		hourly := p.hourly(r.Options.Pools)
		return fmt.Sprintf("%.3f", hourly), r.Options.Pools < some || hourly <= 1.2
	})},
	{"100 pools are created in 3 s, unthrottled", some, selfManaged, ofPhase(creating, func(r Result, p Phase) (string, bool) {
		return seconds(r.Options.Pools == some && r.Options.Unbounded, p.Answered), p.Answered <= 3*time.Second
	})},
	{"100 pools are created in 12 s on the rates that AWS documents", some, selfManaged, ofPhase(creating, func(r Result, p Phase) (string, bool) {
		return seconds(r.Options.Pools == some && r.Options.Throttling, p.Answered), p.Answered <= 12*time.Second
	})},
	{"creating 100 pools costs at most 3.5 calls a pool", some, selfManaged, ofPhase(creating, func(r Result, p Phase) (string, bool) {
		if r.Options.Pools != some {
			return "", true
		}
		each := float64(p.Total()) / some
		return fmt.Sprintf("%.2f", each), each <= 3.5
	})},
	{"an edit among 1,000 pools makes its version within 0.5 s, AWS answering in 100 ms", many, selfManaged, ofPhase(oneEdit, func(_ Result, p Phase) (string, bool) {
		return seconds(true, p.Answered), p.Answered <= 500*time.Millisecond
	})},
	{"a cold start with 1,000 pools takes at most 10 s", many, selfManaged, ofPhase(coldStart, func(_ Result, p Phase) (string, bool) {
		return seconds(true, p.Answered), p.Answered <= 10*time.Second
	})},
	{"a cold start with 1,000 pools costs at most 30 reads", many, selfManaged, ofPhase(coldStart, func(_ Result, p Phase) (string, bool) {
		return fmt.Sprint(p.Total()), p.Total() <= 30
	})},
	{"memory is at most 120 MB, and 25 MB more for 1,000 pools", many, both, func(r Result) (string, bool) {
		var most int64
		for _, phase := range r.Phases {
			most = max(most, phase.Memory>>20)
		}
		return fmt.Sprintf("%d MB", most), most <= 120+25*int64(r.Options.Pools)/many
	}},
	{"99.9 % of all passes take less than 2 s", many, both, func(r Result) (string, bool) {
		if r.Reconciles == nil {
			return "", true
		}
		bound := r.Reconciles.AtMost(0.999)
		return fmt.Sprintf("at most %v s", bound), bound <= 2
	}},
}

func ofPhase(name string, of func(Result, Phase) (string, bool)) func(Result) (string, bool) {
	return func(result Result) (string, bool) {
		i := slices.IndexFunc(result.Phases, func(phase Phase) bool { return phase.Name == name })
		if i < 0 {
			return "", true
		}
		return of(result, result.Phases[i])
	}
}

// seconds formats a duration in seconds, "" if it does not count.
func seconds(counts bool, took time.Duration) string {
	if !counts {
		return ""
	}
	return fmt.Sprintf("%.2f s", took.Seconds())
}

// goalsTable has a row for each goal of pools as they were measured, with all that was measured for it.
func goalsTable(results []Result) string {
	var text strings.Builder
	text.WriteString("| goal | measured | |\n|---|---|---|\n")
	for _, goal := range goals {
		about := slices.DeleteFunc(slices.Clone(results), func(result Result) bool { return !goal.kind.has(result.Options) })
		if len(about) == 0 {
			continue
		}
		var measured []string
		all, enough := true, false
		for i := range about {
			if value, met := goal.of(about[i]); value != "" {
				measured = append(measured, fmt.Sprintf("%s (%s)", value, title(about[i].Options)))
				all, enough = all && met, enough || about[i].Options.Pools >= goal.pools
			}
		}
		verdict := document.Verdict(all)
		if all && !enough {
			verdict = "not measured"
		}
		fmt.Fprintf(&text, "| %s | %s | %s |\n", goal.text, strings.Join(measured, "; "), verdict)
	}
	text.WriteString(growth(results))
	return text.String()
}

// mostGrowth is by how much a pool's CPU time may grow from some pools to many.
const mostGrowth = 0.2

// growth returns the row of the goal that pools cost the same however many there are; nothing if that
// was not measured.
func growth(results []Result) string {
	of := func(pools int, name string) time.Duration {
		for i := range results {
			options := results[i].Options
			if options.Pools != pools || !options.Own || options.Managed || options.Throttling || options.Unbounded {
				continue
			}
			for _, phase := range results[i].Phases {
				if phase.Name == name {
					return phase.CPU / time.Duration(pools)
				}
			}
		}
		return 0
	}
	var measured []string
	met := true
	for _, name := range []string{creating, allEdited} {
		few, lots := of(some, name), of(many, name)
		if few == 0 || lots == 0 {
			return ""
		}
		ratio := float64(lots)/float64(few) - 1
		measured = append(measured, fmt.Sprintf("%s: %v among %d, %v among %d (%+.0f %%)", name, lots.Round(time.Millisecond), many, few.Round(time.Millisecond), some, 100*ratio))
		met = met && ratio <= mostGrowth
	}
	return fmt.Sprintf("| a pool costs at most %.0f %% more CPU time among %d than among %d | %s | %s |\n", 100*mostGrowth, many, some, strings.Join(measured, "; "), document.Verdict(met))
}
