package v1beta2_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// TestEveryRuleIsBroken fails when the CRDs have a rule that no case breaks. No other test would
// notice that such a rule is wrong or has no effect.
func TestEveryRuleIsBroken(t *testing.T) {
	t.Parallel()
	for kind, refusals := range map[string]string{
		"AWSMachinePool": refusals(t, "AWSMachinePool", machinePoolBase, map[string][]ruleCase{
			"spec: {awsLaunchTemplate: %s}": launchTemplateCases, "spec: %s": append(machinePoolCases, sharedCases...),
			"spec: {ignition: %s}": ignitionCases,
		}),
		"AWSManagedMachinePool": refusals(t, "AWSManagedMachinePool", managedPoolBase, map[string][]ruleCase{
			"spec: {awsLaunchTemplate: %s}": launchTemplateCases, "spec: %s": append(managedPoolCases, managedSharedRefusals()...),
		}),
		"AWSLaunchConfig": refusals(t, "AWSLaunchConfig", launchConfigBase, map[string][]ruleCase{
			"spec: %s": slices.Concat(launchConfigCases, launchDataCases, launchPlaceCases, launchTemplateCases, sharedCases), bootstrapIgnition: ignitionCases,
		}),
		"AWSLaunchConfigTemplate": refusals(t, "AWSLaunchConfigTemplate", launchConfigTemplateBase, map[string][]ruleCase{
			inTemplate: slices.Concat(launchConfigTemplateCases, launchTemplateCases, sharedCases, launchDataCases, launchPlaceCases),
		}),
	} {
		for path, message := range messages(kind, definitions(t)[kind].Spec.Versions[0].Schema.OpenAPIV3Schema) {
			if !strings.Contains(refusals, message) && !unreachable[kind+": "+message] {
				t.Errorf("%s: no case is refused with %q", path, message)
			}
		}
	}
}

// unreachable are the rules that come with an embedded type, and cannot be broken there: an
// AWSLaunchConfig has no name to change.
var unreachable = map[string]bool{
	"AWSLaunchConfig: EC2 cannot rename a launch template: restore the previous name, or create a new pool":           true,
	"AWSLaunchConfigTemplate: EC2 cannot rename a launch template: restore the previous name, or create a new pool":   true,
	"AWSLaunchConfigTemplate: a launch template name must have 3 to 128 characters: letters, digits, and ( ) . - / _": true,
}

// refusals returns all that is said about the cases to refuse, and about transitions.
func refusals(t *testing.T, kind, base string, cases map[string][]ruleCase) string {
	t.Helper()
	served := resource(t, kind, "v1beta2")
	var said strings.Builder
	for wrap, group := range cases {
		for _, c := range group {
			if _, err := served.Create(t.Context(), object(t, base, fmt.Sprintf(wrap, c.refuse))); err != nil {
				fmt.Fprintln(&said, err)
			}
		}
	}
	for _, c := range slices.Concat(transitionCases, sharingTransitions, managedTransitionCases) {
		if c.kind != kind || c.status != "" && kind != "AWSManagedMachinePool" {
			continue
		}
		stored, err := served.Create(t.Context(), object(t, base, "spec: "+c.from))
		if err != nil {
			t.Fatal(err)
		}
		if c.status != "" {
			if stored, err = served.UpdateStatus(t.Context(), stored, object(t, base, "status: "+c.status)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err = served.Update(t.Context(), stored, object(t, base, "spec: "+c.to)); err != nil {
			fmt.Fprintln(&said, err)
		}
	}
	return said.String()
}

// messages returns the messages of all rules by where they are in the schema.
func messages(path string, s *apiextensionsv1.JSONSchemaProps) map[string]string {
	found := map[string]string{}
	for i, rule := range s.XValidations {
		found[fmt.Sprintf("%s rule %d", path, i)] = rule.Message
	}
	add := func(more map[string]string) {
		for where, message := range more {
			found[where] = message
		}
	}
	for name, property := range s.Properties {
		add(messages(path+"."+name, &property))
	}
	if s.Items != nil {
		add(messages(path+"[]", s.Items.Schema))
	}
	return found
}
