package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/go-cmp/cmp"
)

// ExamplesFile names the file of the examples that the tests of an API group keep, below the
// directory of the group. The reference of rules shows them.
const ExamplesFile = "testdata/examples.json"

// Example is one case that a test executes: the API server accepts one patch of an object, and
// refuses the other with a message that contains Says.
type Example struct {
	Rule   string `json:"rule"`
	Kind   string `json:"kind"`
	Accept string `json:"accept,omitempty"`
	Refuse string `json:"refuse"`
	Says   string `json:"says"`
}

// CheckExamples returns an error if the file differs from the examples. Only the first example of
// each rule and message counts. With update, it writes the file.
func CheckExamples(examples []Example, update bool) error {
	type key struct{ rule, says string }
	seen := map[key]bool{}
	var distinct []Example
	for _, one := range examples {
		if !seen[key{one.Rule, one.Says}] {
			seen[key{one.Rule, one.Says}] = true
			distinct = append(distinct, one)
		}
	}
	encoded := &bytes.Buffer{}
	encoder := json.NewEncoder(encoded)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(distinct); err != nil {
		return fmt.Errorf("encoding the examples: %w", err)
	}
	if update {
		if err := os.MkdirAll(filepath.Dir(ExamplesFile), 0o750); err != nil {
			return fmt.Errorf("creating the directory of the examples: %w", err)
		}
		if err := os.WriteFile(ExamplesFile, encoded.Bytes(), 0o600); err != nil {
			return fmt.Errorf("writing the examples: %w", err)
		}
		return nil
	}
	kept, err := os.ReadFile(ExamplesFile)
	if err != nil {
		return fmt.Errorf("reading the examples: %w", err)
	}
	if diff := cmp.Diff(string(kept), encoded.String()); diff != "" {
		return fmt.Errorf("%s differs from the cases of the tests (run make generate):\n%s", ExamplesFile, diff)
	}
	return nil
}
