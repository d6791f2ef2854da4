package v1beta2_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"

	"github.com/slipway-project/slipway/internal/apitest"
)

// TestDefinitionsAreAccepted checks definitions as the API server does when they are applied:
// structural schema, defaults, compilation of every rule, and the limits of their estimated cost.
func TestDefinitionsAreAccepted(t *testing.T) {
	t.Parallel()
	for kind, definition := range definitions(t) {
		if err := apitest.Accepted(t.Context(), definition); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestRulesCostLittle keeps half of the API server's cost budget for the fields and rules to come:
// a definition over the budget cannot be installed.
func TestRulesCostLittle(t *testing.T) {
	t.Parallel()
	const budget = validation.StaticEstimatedCRDCostLimit / 2
	for kind, definition := range definitions(t) {
		for _, version := range definition.Spec.Versions {
			found, err := definitions(t).Resource(kind, version.Name)
			if err != nil {
				t.Fatal(err)
			}
			total, err := apitest.EstimatedCost(found.Structural)
			if err != nil {
				t.Fatalf("%s %s: %v", kind, version.Name, err)
			}
			t.Logf("%s %s: %.1f%% of what the API server allows", kind, version.Name,
				100*float64(total)/validation.StaticEstimatedCRDCostLimit)
			if total > budget {
				t.Errorf("%s %s: estimated cost %d is above %d", kind, version.Name, total, budget)
			}
		}
	}
}

func TestVersionsHaveOneSchema(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"AWSMachinePool", "AWSManagedMachinePool"} {
		definition := definitions(t)[kind]
		var names []string
		for _, version := range definition.Spec.Versions {
			names = append(names, version.Name)
			if !version.Served {
				t.Errorf("%s %s is not served: manifests of that version would not apply", kind, version.Name)
			}
			if version.Storage != (version.Name == "v1beta2") {
				t.Errorf("%s %s: storage is %v", kind, version.Name, version.Storage)
			}
			first := definition.Spec.Versions[0]
			if diff := cmp.Diff(first.Schema, version.Schema); diff != "" {
				t.Errorf("the schema of %s %s differs from that of %s, and nothing converts:\n%s", kind, version.Name, first.Name, diff)
			}
			if diff := cmp.Diff(first.AdditionalPrinterColumns, version.AdditionalPrinterColumns); diff != "" {
				t.Errorf("the columns of %s %s differ from those of %s:\n%s", kind, version.Name, first.Name, diff)
			}
			if version.Subresources == nil || version.Subresources.Status == nil {
				t.Errorf("%s %s has no status subresource", kind, version.Name)
			}
		}
		if diff := cmp.Diff([]string{"v1beta1", "v1beta2"}, names); diff != "" {
			t.Errorf("versions of %s:\n%s", kind, diff)
		}
		if strategy := definition.Spec.Conversion.Strategy; strategy != apiextensionsv1.NoneConverter {
			t.Errorf("conversion of %s is %q: a webhook would have to answer", kind, strategy)
		}
	}
}

// TestContractLabels holds what Cluster API and clusterctl read from definitions (reference:
// Cluster API contract checklist, 5.1 and 5.3).
func TestContractLabels(t *testing.T) {
	t.Parallel()
	want := map[string]map[string]string{
		"AWSMachinePool": {
			"cluster.x-k8s.io/provider": "infrastructure-slipway",
			"cluster.x-k8s.io/v1beta1":  "v1beta1_v1beta2",
			"cluster.x-k8s.io/v1beta2":  "v1beta2",
		},
		"AWSManagedMachinePool": {
			"cluster.x-k8s.io/provider": "infrastructure-slipway",
			"cluster.x-k8s.io/v1beta1":  "v1beta1_v1beta2",
			"cluster.x-k8s.io/v1beta2":  "v1beta2",
		},
		"AWSMachinePoolMachine": {
			"cluster.x-k8s.io/provider": "infrastructure-slipway",
			"cluster.x-k8s.io/v1beta1":  "v1beta2",
			"cluster.x-k8s.io/v1beta2":  "v1beta2",
		},
		"AWSMachinePoolTemplate": {
			"cluster.x-k8s.io/provider": "infrastructure-slipway",
			"cluster.x-k8s.io/v1beta1":  "v1beta2",
			"cluster.x-k8s.io/v1beta2":  "v1beta2",
		},
		"AWSManagedMachinePoolTemplate": {
			"cluster.x-k8s.io/provider": "infrastructure-slipway",
			"cluster.x-k8s.io/v1beta1":  "v1beta2",
			"cluster.x-k8s.io/v1beta2":  "v1beta2",
		},
		"AWSLaunchConfig": {
			"cluster.x-k8s.io/provider":        "infrastructure-slipway",
			"cluster.x-k8s.io/v1beta1":         "v1beta2",
			"cluster.x-k8s.io/v1beta2":         "v1beta2",
			"clusterctl.cluster.x-k8s.io/move": "",
		},
		"AWSLaunchConfigTemplate": {
			"cluster.x-k8s.io/provider":        "infrastructure-slipway",
			"cluster.x-k8s.io/v1beta1":         "v1beta2",
			"cluster.x-k8s.io/v1beta2":         "v1beta2",
			"clusterctl.cluster.x-k8s.io/move": "", // no owner leads to it
		},
	}
	got := map[string]map[string]string{}
	for kind, definition := range definitions(t) {
		got[kind] = definition.Labels
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	want := map[string]apiextensionsv1.CustomResourceDefinitionNames{
		"AWSMachinePool": {
			Plural: "awsmachinepools", Singular: "awsmachinepool", Kind: "AWSMachinePool", ListKind: "AWSMachinePoolList",
			ShortNames: []string{"awsmp"}, Categories: []string{"cluster-api"},
		},
		"AWSManagedMachinePool": {
			Plural: "awsmanagedmachinepools", Singular: "awsmanagedmachinepool", Kind: "AWSManagedMachinePool",
			ListKind: "AWSManagedMachinePoolList", ShortNames: []string{"awsmmp"}, Categories: []string{"cluster-api"},
		},
		"AWSMachinePoolTemplate": {
			Plural: "awsmachinepooltemplates", Singular: "awsmachinepooltemplate", Kind: "AWSMachinePoolTemplate", ListKind: "AWSMachinePoolTemplateList",
			ShortNames: []string{"awsmpt"}, Categories: []string{"cluster-api"},
		},
		"AWSManagedMachinePoolTemplate": {
			Plural: "awsmanagedmachinepooltemplates", Singular: "awsmanagedmachinepooltemplate", Kind: "AWSManagedMachinePoolTemplate",
			ListKind: "AWSManagedMachinePoolTemplateList", ShortNames: []string{"awsmmpt"}, Categories: []string{"cluster-api"},
		},
		"AWSMachinePoolMachine": {
			Plural: "awsmachinepoolmachines", Singular: "awsmachinepoolmachine", Kind: "AWSMachinePoolMachine",
			ListKind: "AWSMachinePoolMachineList", ShortNames: []string{"awsmpm"}, Categories: []string{"cluster-api"},
		},
		"AWSLaunchConfigTemplate": {
			Plural: "awslaunchconfigtemplates", Singular: "awslaunchconfigtemplate", Kind: "AWSLaunchConfigTemplate",
			ListKind: "AWSLaunchConfigTemplateList", ShortNames: []string{"awslct"}, Categories: []string{"cluster-api"},
		},
		"AWSLaunchConfig": {
			Plural: "awslaunchconfigs", Singular: "awslaunchconfig", Kind: "AWSLaunchConfig",
			ListKind: "AWSLaunchConfigList", ShortNames: []string{"awslc"}, Categories: []string{"cluster-api"},
		},
	}
	got := map[string]apiextensionsv1.CustomResourceDefinitionNames{}
	for kind, definition := range definitions(t) {
		got[kind] = definition.Spec.Names
		if definition.Spec.Scope != apiextensionsv1.NamespaceScoped {
			t.Errorf("%s has scope %s", kind, definition.Spec.Scope)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// TestFieldsAreDocumentedAndBounded fails for a field without documentation, a list without
// maxItems, or a string without maxLength: kubectl explain would say nothing, and the cost of rules
// could not be estimated.
func TestFieldsAreDocumentedAndBounded(t *testing.T) {
	t.Parallel()
	for _, definition := range definitions(t) {
		for _, complaint := range apitest.Complaints(definition) {
			t.Error(complaint)
		}
	}
}
