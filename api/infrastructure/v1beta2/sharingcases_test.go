package v1beta2_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const launchConfigTemplateBase = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSLaunchConfigTemplate
metadata: {name: nodes, namespace: default}
spec: {template: {spec: {instanceType: m5.large}}}
`

// inTemplate wraps the spec of an AWSLaunchConfig in the spec of an AWSLaunchConfigTemplate.
const inTemplate = "spec: {template: {spec: %s}}"

// launchConfigTemplateCases hold for spec.template.spec of an AWSLaunchConfigTemplate.
var launchConfigTemplateCases = []ruleCase{
	{
		rule: "SL40", reason: "two launch templates cannot have one name", accept: `{name: ""}`, refuse: `{name: nodes}`,
		says: "each AWSLaunchConfig has its own EC2 launch template, and the names must be unique",
	},
}

// sharingCases are about where an AWSMachinePool has what its instances are launched with.
var sharingCases = []ruleCase{
	{
		rule: "SL41", reason: "one place of three", accept: `{awsLaunchTemplate: null, launchConfigTemplateRef: {name: nodes, namespace: shared}}`,
		refuse: `{launchConfigTemplateRef: {name: nodes}}`, says: "exactly one of awsLaunchTemplate, launchConfigRef, and launchConfigTemplateRef must be set",
	},
	{
		rule: "SL41", reason: "and not none", accept: `{awsLaunchTemplate: {instanceType: m5.large}}`, refuse: `{awsLaunchTemplate: null}`,
		says: "exactly one of awsLaunchTemplate, launchConfigRef, and launchConfigTemplateRef must be set",
	},
	{
		rule: "SL41", reason: "nor two references", accept: `{awsLaunchTemplate: null, launchConfigTemplateRef: {name: nodes}}`,
		refuse: `{awsLaunchTemplate: null, launchConfigRef: {name: a}, launchConfigTemplateRef: {name: nodes}}`, says: "exactly one of awsLaunchTemplate, launchConfigRef, and launchConfigTemplateRef must be set",
	},
	{
		rule: "SL43", reason: "a shared launch config keeps its own versions", accept: `{versionsToKeep: 3}`,
		refuse: `{awsLaunchTemplate: null, launchConfigRef: {name: a}, versionsToKeep: 3}`, says: "an AWSLaunchConfig has its own versionsToKeep",
	},
	{
		rule: "SL43", reason: "no pool goes back for all", accept: `{refreshPreferences: {rollback: true}}`,
		refuse: `{awsLaunchTemplate: null, launchConfigRef: {name: a}, refreshPreferences: {rollback: true}}`, says: "rollback is not supported for a shared AWSLaunchConfig, because other pools may use it",
	},
	{
		rule: "SL43", reason: "a shared launch config has its own bootstrap data", accept: `{bootstrapStorage: UserData}`,
		refuse: `{awsLaunchTemplate: null, launchConfigRef: {name: a}, bootstrapStorage: UserData}`, says: "an AWSLaunchConfig has its own bootstrap data",
	},
	{
		rule: "SL43", reason: "nor is it held by one pool", accept: `{rollout: Manual, pinnedVersion: 1}`,
		refuse: `{awsLaunchTemplate: null, launchConfigRef: {name: a}, rollout: Manual}`, says: "an AWSLaunchConfig has its own rollout and pinnedVersion",
	},
	{
		rule: "SL44", reason: "two ways to roll out", accept: `{rollout: Automatic}`, refuse: `{rollout: Paused}`, says: "supported values",
	},
	{
		rule: "SL44", reason: "versions begin at 1", accept: `{pinnedVersion: 1}`, refuse: `{pinnedVersion: 0}`, says: "greater than or equal to 1",
	},
	{
		rule: "SL7", reason: "the profile of a template is not the pool's to know",
		accept: `{awsLaunchTemplate: null, launchConfigTemplateRef: {name: nodes}, bootstrapStorage: S3}`,
		refuse: `{bootstrapStorage: S3}`, says: "set awsLaunchTemplate.iamInstanceProfile",
	},
}

// sharingTransitions lists edits of references, pools, and launch configs.
var sharingTransitions = slices.Concat(referenceTransitions, existingTransitions)

var referenceTransitions = []transitionCase{
	{
		rule: "SL42", reason: "a shared launch config does not become the pool's own", kind: "AWSMachinePool",
		from: `{awsLaunchTemplate: null, launchConfigRef: {name: a}}`, to: `{}`, says: "a pool cannot switch between its own AWSLaunchConfig and a shared one",
	},
	{
		rule: "SL42", reason: "nor the other way", kind: "AWSMachinePool",
		from: `{awsLaunchTemplate: null, launchConfigTemplateRef: {name: a}}`, to: `{awsLaunchTemplate: null, launchConfigRef: {name: a}}`,
		says: "a pool cannot switch between its own AWSLaunchConfig and a shared one",
	},
	{
		rule: "SL42", reason: "a group can launch from another", kind: "AWSMachinePool",
		from: `{awsLaunchTemplate: null, launchConfigRef: {name: a}}`, to: `{awsLaunchTemplate: null, launchConfigRef: {name: b}}`,
	},
	{
		rule: "SL42", reason: "rotation by a new name, as with Cluster API's templates", kind: "AWSMachinePool",
		from: `{awsLaunchTemplate: null, launchConfigTemplateRef: {name: a}}`, to: `{awsLaunchTemplate: null, launchConfigTemplateRef: {name: b}}`,
	},
}

// TestTemplatesHaveWhatLaunchConfigsHave fails for a field of an AWSLaunchConfig that an
// AWSLaunchConfigTemplate lacks, and no reason is known for: what one pool can launch with, pools
// of many clusters can.
func TestTemplatesHaveWhatLaunchConfigsHave(t *testing.T) {
	t.Parallel()
	reasons := map[string]string{
		"existing":           "a template makes launch templates, and what exists need not be made",
		"clusterName":        "each cluster has a launch config of its own",
		"launchTemplateName": "two EC2 launch templates cannot have one name",
		"kubernetesVersion":  "the MachinePool says it",
		"bootstrap":          "the MachinePool names the Secret, and the pool where it is kept",
		"nodegroup":          "an AWSManagedMachinePool says it",
		"rollback":           "a pool asks for it, for itself",
		"rollout":            "a pool holds its own roll-outs",
		"pinnedVersion":      "versions are those of one launch template",
	}
	config := definitions(t)["AWSLaunchConfig"].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	template := definitions(t)["AWSLaunchConfigTemplate"].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["template"].Properties["spec"]
	for field, want := range config.Properties {
		got, exists := template.Properties[field]
		if _, known := reasons[field]; exists == known {
			t.Errorf("spec.%s: in a template %v, and known not to be %v", field, exists, known)
		}
		want.Description, got.Description = "", ""
		if diff := cmp.Diff(want, got); exists && diff != "" {
			t.Errorf("spec.%s differs in a template:\n%s", field, diff)
		}
	}
}
