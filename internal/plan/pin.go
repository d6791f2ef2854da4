package plan

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pins reports whether edits pin the pool of a target, or a launch config that it may use, to a version.
func pins(edits []edit, target target) bool {
	return slices.ContainsFunc(edits, func(edit edit) bool {
		kind := kindNamed(edit.after.GetKind())
		if kind != nil && (kind != target.kind || client.ObjectKeyFromObject(edit.after) != target.name) {
			return false // the edit of another pool
		}
		return slices.ContainsFunc(edit.fields(), func(field field) bool { return field.pins() && field.new != nil })
	})
}

// pinsOf returns the edits of one field that set or remove a pin. A pin decides whether the other
// fields of an edit have an effect, so the other fields are compared with the edit of it.
func pinsOf(alone []edit) []edit {
	var found []edit
	for _, edit := range alone {
		if edit.only.pins() {
			found = append(found, edit)
		}
	}
	return found
}

// pins reports whether a field is a pin.
func (f *field) pins() bool { return slices.Equal(f.path, []string{"spec", "pinnedVersion"}) }
