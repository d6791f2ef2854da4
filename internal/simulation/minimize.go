package simulation

import "maps"

// Minimize returns steps of a schedule that can be left out so that it still violates an invariant.
// It tries ever smaller parts of the schedule, and calls violates at most tries times.
func Minimize(steps, tries int, violates func(skip map[int]bool) bool) map[int]bool {
	skip := map[int]bool{}
	for size := (steps + 1) / 2; size > 0 && tries > 0; size /= 2 {
		for from := 0; from < steps && tries > 0; from += size {
			without := maps.Clone(skip)
			for step := from; step < min(from+size, steps); step++ {
				without[step] = true
			}
			if len(without) == len(skip) {
				continue
			}
			tries--
			if violates(without) {
				skip = without
			}
		}
	}
	return skip
}
