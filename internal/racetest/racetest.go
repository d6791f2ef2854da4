// Package racetest lets tests with one goroutine do less under the race detector, which slows them down by
// a factor of five to ten and finds nothing in them.
package racetest

// Fewer returns how often a test repeats something: as often as given, or a smaller number of times under
// the race detector.
func Fewer(normal, underRace int) int {
	if enabled {
		return underRace
	}
	return normal
}
