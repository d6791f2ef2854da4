package apitest

import (
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// Object returns the object that the YAML says, with the JSON merge patches (YAML too) applied. It
// is decoded as the API server does: whole numbers become int64.
func Object(base string, patches ...string) (map[string]any, error) {
	document, err := yaml.YAMLToJSON([]byte(base))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", base, err)
	}
	for _, patch := range patches {
		if patch == "" {
			continue
		}
		difference, err := yaml.YAMLToJSON([]byte(patch))
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", patch, err)
		}
		if document, err = jsonpatch.MergePatch(document, difference); err != nil {
			return nil, fmt.Errorf("patching with %s: %w", patch, err)
		}
	}
	var decoded map[string]any
	if err := utiljson.Unmarshal(document, &decoded); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", document, err)
	}
	return decoded, nil
}
