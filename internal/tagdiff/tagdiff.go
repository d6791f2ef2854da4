// Package tagdiff compares the tags that an AWS resource should have with the tags that it has. It
// is pure, and knows no service: tags are the same everywhere in AWS, only the calls differ.
package tagdiff

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

// Retired returns the tags to remove: the keys that were set earlier, are no longer wanted, and are
// still there. Foreign tags stay.
func Retired(keys []string, wanted, seen map[string]string) map[string]string {
	retired := map[string]string{}
	for _, key := range keys {
		_, kept := wanted[key]
		if value, there := seen[key]; there && !kept {
			retired[key] = value
		}
	}
	return retired
}
