package v1beta2_test

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestFieldsAreInTheGuide fails for a field of a pool, of its refreshes or of a launch config that
// docs/reference/fields.md does not mention, and for a rule there that does not exist.
func TestFieldsAreInTheGuide(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../../docs/reference/fields.md")
	if err != nil {
		t.Fatal(err)
	}
	self, managed, found := bytes.Cut(guide, []byte("\n# Fields of AWSManagedMachinePool\n"))
	if !found {
		t.Fatal("the guide has no part about AWSManagedMachinePool")
	}
	managed, config, found := bytes.Cut(managed, []byte("\n# Fields of AWSLaunchConfig\n"))
	if !found {
		t.Fatal("the guide has no part about AWSLaunchConfig")
	}
	for kind, part := range map[string][]byte{"AWSMachinePool": self, "AWSManagedMachinePool": managed, "AWSLaunchConfig": config} {
		named := namedFields(part)
		spec := definitions(t)[kind].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		for field, property := range spec.Properties {
			if !slices.Contains(named, field) {
				t.Errorf("%s: spec.%s is not in the guide", kind, field)
			}
			for inner := range property.Properties {
				if field == "refreshPreferences" && !slices.Contains(named, field+"."+inner) {
					t.Errorf("%s: spec.%s.%s is not in the guide", kind, field, inner)
				}
			}
		}
	}
	for _, match := range regexp.MustCompile(`\b((?:AS|RF|SL|IT|IM|IP|BD|MD|MK|CR|LT|TG|HK|WP|EK|SG|NI|PL|CP|CS|EN|HB|DP)[0-9]+W?)\b`).FindAllSubmatch(guide, -1) {
		if id := string(match[1]); enforcement[id] != inCRD && enforcement[id] != inWebhook && id != "AS10" {
			t.Errorf("the guide speaks of rule %s, which refuses nothing and warns of nothing", id)
		}
	}
}

// namedFields are the fields that a part of the guide mentions.
func namedFields(guide []byte) []string {
	var named []string
	for _, match := range regexp.MustCompile("`([a-zA-Z.]+)`").FindAllSubmatch(guide, -1) {
		named = append(named, string(match[1]))
	}
	return named
}
