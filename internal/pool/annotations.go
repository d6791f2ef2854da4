package pool

// AnnotationChanges returns how annotations differ after a change. The value of one that was removed
// is empty.
func AnnotationChanges(before, after map[string]string) map[string]string {
	changes := map[string]string{}
	for key, value := range after {
		if present, known := before[key]; !known || present != value {
			changes[key] = value
		}
	}
	for key := range before {
		if _, kept := after[key]; !kept {
			changes[key] = ""
		}
	}
	return changes
}
