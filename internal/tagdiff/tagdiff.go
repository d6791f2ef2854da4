// Package tagdiff compares the tags that an AWS resource should have with the tags that it has. It
// is pure, and knows no service: tags are the same everywhere in AWS, only the calls differ.
package tagdiff

import "slices"

// Stale returns the tags to set, because they are missing or have another value.
func Stale(wanted, seen map[string]string) map[string]string {
	stale := map[string]string{}
	for key, value := range wanted {
		if present, there := seen[key]; !there || present != value {
			stale[key] = value
		}
	}
	return stale
}

// Retired returns the keys of the tags to remove, sorted: keys that were set earlier and are no
// longer wanted. Foreign tags stay. Whether the resource is seen to have a tag does not count,
// because AWS may not show recent tags yet.
func Retired(keys []string, wanted map[string]string) []string {
	retired := slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		_, kept := wanted[key]
		return kept
	})
	slices.Sort(retired)
	return retired
}
