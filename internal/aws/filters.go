package aws

import "strings"

// wildcards escapes the wildcards of EC2's filters (AWS: Using_Filtering, "wildcards with the filters").
var wildcards = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`)

// FilterValues returns values for a filter of EC2 that each match the text itself and nothing else,
// whatever a user chose for it.
func FilterValues(texts ...string) []string {
	values := make([]string, 0, len(texts))
	for _, text := range texts {
		values = append(values, wildcards.Replace(text))
	}
	return values
}
