package apitest

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"sync"
)

// mostValidations bounds how many validations are remembered.
const mostValidations = 1 << 15

// validations remembers what was found valid, so that it is not validated again: a validation takes
// much longer than encoding its input, and simulations repeat the same objects.
type validations struct {
	mu    sync.Mutex
	found map[[sha256.Size]byte]bool
}

// once calls validate, unless it returned no error before for an equal input. The input is
// everything that the answer depends on.
func (v *validations) once(validate func() error, input ...any) error {
	encoded, err := json.Marshal(input)
	if err != nil {
		return validate()
	}
	key := sha256.Sum256(encoded)
	v.mu.Lock()
	known := v.found[key]
	v.mu.Unlock()
	if known {
		return nil
	}
	if err := validate(); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.found == nil {
		v.found = map[[sha256.Size]byte]bool{}
	}
	if len(v.found) < mostValidations {
		v.found[key] = true
	}
	return nil
}

// validated returns the part of an object that validation reads. It reduces the metadata to the
// name and the generated name, because rules cannot read the rest.
func validated(object map[string]any) map[string]any {
	seen := maps.Clone(object)
	if metadata, is := object["metadata"].(map[string]any); is {
		seen["metadata"] = [2]any{metadata["name"], metadata["generateName"]}
	}
	return seen
}
