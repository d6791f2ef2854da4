package wire

import (
	"slices"
	"strings"
	"testing"
)

// TestEmptyListsAreLists holds that each name of the table is the name of a list in the model.
func TestEmptyListsAreLists(t *testing.T) {
	t.Parallel()
	for service, names := range emptyLists {
		for name := range names {
			structure, member, _ := strings.Cut(name, ".")
			if !slices.ContainsFunc(services[service].model.outputs[structure], func(f field) bool { return f.goName == member && f.item != "" }) {
				t.Errorf("the model of %s has no list %s", service, name)
			}
		}
	}
}
