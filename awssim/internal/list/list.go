// Package list has functions on slices that package slices lacks.
package list

// Filter returns the elements that are kept, in their order, and leaves the slice as it is. It returns
// nil if none is kept.
func Filter[T any](all []T, keep func(T) bool) []T {
	var kept []T
	for _, v := range all {
		if keep(v) {
			kept = append(kept, v)
		}
	}
	return kept
}
