package v1beta2_test

import (
	"slices"
	"strings"
	"testing"
)

type transitionCase struct {
	rule, reason, kind string
	status             string
	from, to           string
	says               string // empty: accepted
}

// transitionCases change an object from one spec to another; an empty message means that it may be done.
var transitionCases = []transitionCase{
	{
		rule: "LT2", reason: "EC2 cannot rename", kind: "AWSMachinePool",
		from: `{awsLaunchTemplate: {name: first}}`, to: `{awsLaunchTemplate: {name: second}}`, says: "cannot rename",
	},
	{
		rule: "LT2", reason: "dropping the name renames too", kind: "AWSMachinePool",
		from: `{awsLaunchTemplate: {name: first}}`, to: `{}`, says: "cannot rename",
	},
	{
		rule: "LT2", reason: "the pool has a template under its own name already", kind: "AWSMachinePool",
		from: `{}`, to: `{awsLaunchTemplate: {name: first}}`, says: "cannot rename",
	},
	{
		rule: "LT2", reason: "the empty name is no name", kind: "AWSMachinePool",
		from: `{awsLaunchTemplate: {name: ""}}`, to: `{}`,
	},
	{
		rule: "LT2", reason: "other fields change under a name", kind: "AWSMachinePool",
		from: `{awsLaunchTemplate: {name: first}}`, to: `{awsLaunchTemplate: {name: first, instanceType: c5.large}}`,
	},
	{
		rule: "LT2", reason: "EC2 cannot rename", kind: "AWSLaunchConfig",
		from: `{launchTemplateName: first}`, to: `{launchTemplateName: second}`, says: "cannot rename",
	},
	{
		rule: "LT2", reason: "dropping the name renames too", kind: "AWSLaunchConfig",
		from: `{launchTemplateName: first}`, to: `{}`, says: "cannot rename",
	},
	{
		rule: "LT2", reason: "no template yet, so that any name can be had", kind: "AWSLaunchConfig",
		from: `{}`, to: `{launchTemplateName: first}`,
	},
	{
		rule: "LT2", reason: "writing down the name that the template has", kind: "AWSLaunchConfig",
		status: `{launchTemplateName: first}`, from: `{}`, to: `{launchTemplateName: first}`,
	},
	{
		rule: "LT2", reason: "the template has another name", kind: "AWSLaunchConfig",
		status: `{launchTemplateName: first}`, from: `{}`, to: `{launchTemplateName: second}`, says: "cannot rename",
	},
	{
		rule: "SL2", reason: "a template of one cluster does not become another's", kind: "AWSLaunchConfig",
		from: `{}`, to: `{clusterName: two}`, says: "clusterName is immutable",
	},
}

// TestTransitions holds what may change and what may not, once an object exists.
func TestTransitions(t *testing.T) {
	t.Parallel()
	for _, c := range slices.Concat(transitionCases, sharingTransitions, managedTransitionCases) {
		t.Run(c.kind+"/"+c.rule+"/"+c.reason, func(t *testing.T) {
			t.Parallel()
			base := machinePoolBase
			switch c.kind {
			case "AWSLaunchConfig":
				base = launchConfigBase
			case "AWSManagedMachinePool":
				base = managedPoolBase
			}
			served := resource(t, c.kind, "v1beta2")
			stored, err := served.Create(t.Context(), object(t, base, "spec: "+c.from))
			if err != nil {
				t.Fatalf("creating: %v", err)
			}
			if c.status != "" {
				if stored, err = served.UpdateStatus(t.Context(), stored, object(t, base, "status: "+c.status)); err != nil {
					t.Fatalf("setting the status: %v", err)
				}
			}
			updated, err := served.Update(t.Context(), stored, object(t, base, "spec: "+c.to))
			changes(t, served, stored, updated, err)
			switch {
			case c.says == "" && err != nil:
				t.Errorf("refused (%s): %v", c.reason, err)
			case c.says != "" && err == nil:
				t.Errorf("accepted (%s)", c.reason)
			case c.says != "" && !strings.Contains(err.Error(), c.says):
				t.Errorf("the message (%s) does not say %q: %v", c.reason, c.says, err)
			}
		})
	}
}
