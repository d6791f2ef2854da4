package rolloutcontrol

import (
	"encoding/json"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// FieldManager is the field manager of the commands.
const FieldManager = "kubectl-slipway"

// Patch is a merge patch of one object. It holds the resource version that was read, so that it fails if
// the object has changed since.
type Patch struct {
	Object client.Object
	Body   []byte
}

// Change holds the patches of a command.
type Change struct {
	Patches []Patch
	// Reason says what is changed, and Notes what follows from it that the command's name does not say.
	Reason string
	Notes  []string
	// Affected are the other pools that launch from the same launch config, by kind and name.
	Affected []string
}

// patch adds a patch of an object's spec and annotations to a change. A nil value removes what it is for.
func (c *Change) patch(object client.Object, spec, annotations map[string]any) {
	metadata := map[string]any{"resourceVersion": object.GetResourceVersion()}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	body := map[string]any{"metadata": metadata}
	if len(spec) > 0 {
		body["spec"] = spec
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		panic(err) // texts and numbers can be written as JSON
	}
	c.Patches = append(c.Patches, Patch{Object: object, Body: encoded})
}

// note adds a note to a change.
func (c *Change) note(format string, values ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, values...))
}
