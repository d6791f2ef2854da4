package v1alpha2_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/config/provisioner/crd"
	"github.com/slipway-project/slipway/internal/apitest"
)

const provisionerBase = `
apiVersion: provisioning.karpenter.sh/v1alpha2
kind: Provisioner
metadata: {name: default}
spec:
  cluster: {name: one}
`

func definition(t testing.TB) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	loaded, err := apitest.Load(crd.FS, "bases")
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded) != 2 || loaded["Provisioner"] == nil || loaded["ProvisionedNode"] == nil {
		t.Fatalf("there are %d definitions, want those of Provisioner and ProvisionedNode", len(loaded))
	}
	return loaded["Provisioner"]
}

func served(t testing.TB) *apitest.Resource {
	t.Helper()
	resource, err := apitest.Definitions{"Provisioner": definition(t)}.Resource("Provisioner", "v1alpha2")
	if err != nil {
		t.Fatal(err)
	}
	return resource
}

func object(t testing.TB, base string, patches ...string) map[string]any {
	t.Helper()
	patched, err := apitest.Object(base, patches...)
	if err != nil {
		t.Fatal(err)
	}
	return patched
}

// TestDefinition holds what the API server, and those who read the definition, expect of it. Half
// of the cost budget is kept for rules to come.
func TestDefinition(t *testing.T) {
	t.Parallel()
	defined := definition(t)
	if err := apitest.Accepted(t.Context(), defined); err != nil {
		t.Error(err)
	}
	cost, err := apitest.EstimatedCost(served(t).Structural)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("rules cost %.1f%% of what the API server allows", 100*float64(cost)/validation.StaticEstimatedCRDCostLimit)
	if cost > validation.StaticEstimatedCRDCostLimit/2 {
		t.Errorf("rules cost %d, more than half of what the API server allows", cost)
	}
	for _, complaint := range apitest.Complaints(defined) {
		t.Error(complaint)
	}
	if defined.Spec.Scope != apiextensionsv1.ClusterScoped {
		t.Errorf("scope is %s", defined.Spec.Scope)
	}
	names := apiextensionsv1.CustomResourceDefinitionNames{Plural: "provisioners", Singular: "provisioner", Kind: "Provisioner", ListKind: "ProvisionerList"}
	if diff := cmp.Diff(names, defined.Spec.Names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if len(defined.Labels) > 0 {
		t.Errorf("labels are %v: the kind is none of Cluster API's", defined.Labels)
	}
	if err := provisioningv1.AddToScheme(runtime.NewScheme()); err != nil {
		t.Error(err)
	}
}

// TestDocumentsShape applies the manifest of the document, with every field that it has.
func TestDocumentsShape(t *testing.T) {
	t.Parallel()
	stored, err := served(t).Create(t.Context(), object(t, `
apiVersion: provisioning.karpenter.sh/v1alpha2
kind: Provisioner
metadata: {name: default}
spec:
  cluster: {name: one, caBundle: LS0tLS1CRUdJTg==, endpoint: "https://one.example.com"}
  taints: [{key: dedicated, value: batch, effect: NoSchedule}]
  zones: [us-east-1a, us-west-2-lax-1a]
  instanceTypes: [m5.large, u-12tb1.112xlarge]
  ttlSeconds: 30
  labels:
    team: batch
    node.k8s.aws/launch-template-name: name-of-lt
    node.k8s.aws/launch-template-version: $LATEST
    node.k8s.aws/capacity-type: spot
`))
	if err != nil {
		t.Fatal(err)
	}
	var got provisioningv1.Provisioner
	encoded, err := json.Marshal(stored)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(encoded, &got); err != nil {
		t.Fatal(err)
	}
	ttl := int64(30)
	want := provisioningv1.ProvisionerSpec{
		Cluster:       provisioningv1.ProvisionerCluster{Name: "one", CABundle: "LS0tLS1CRUdJTg==", Endpoint: "https://one.example.com"},
		Taints:        []provisioningv1.Taint{{Key: "dedicated", Value: "batch", Effect: "NoSchedule"}},
		Zones:         []string{"us-east-1a", "us-west-2-lax-1a"},
		InstanceTypes: []string{"m5.large", "u-12tb1.112xlarge"},
		TTLSeconds:    &ttl,
		Labels: provisioningv1.Labels{
			"team":                                 "batch",
			provisioningv1.LabelLaunchTemplateName: "name-of-lt",
			provisioningv1.LabelLaunchTemplateVersion: provisioningv1.VersionLatestOfDocument,
			provisioningv1.LabelCapacityType:          provisioningv1.CapacityTypeSpot,
		},
	}
	if diff := cmp.Diff(want, got.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

// TestRules holds every rule at creation and at update, with a neighbor on either side of it.
func TestRules(t *testing.T) {
	t.Parallel()
	resource := served(t)
	for _, c := range ruleCases {
		t.Run(c.rule+"/"+c.reason, func(t *testing.T) {
			t.Parallel()
			accepted, refused := object(t, provisionerBase, c.accept), object(t, provisionerBase, c.refuse)
			if _, err := resource.Create(t.Context(), accepted); err != nil {
				t.Errorf("creating what is allowed: %v", err)
			}
			if _, err := resource.Create(t.Context(), refused); !c.onUpdate {
				says(t, "creating", c, err)
			}
			stored, err := resource.Create(t.Context(), object(t, provisionerBase, `metadata: {labels: {was: here}}`))
			if err != nil {
				t.Fatalf("creating the object to update: %v", err)
			}
			updated, err := resource.Update(t.Context(), stored, accepted)
			if err != nil {
				t.Errorf("updating to what is allowed: %v", err)
			}
			changes(t, resource, stored, updated, err)
			updated, err = resource.Update(t.Context(), stored, refused)
			says(t, "updating", c, err)
			changes(t, resource, stored, updated, err)
		})
	}
}

func name(object map[string]any) any { return object["metadata"].(map[string]any)["name"] }

// changes holds that an update of the spec has the same outcome, given as err, if only what changed is
// validated, as the API server of the simulation does.
func changes(t *testing.T, resource *apitest.Resource, before, after map[string]any, err error) {
	t.Helper()
	if after == nil || !reflect.DeepEqual(name(before), name(after)) {
		return // more than the spec changed
	}
	if alone := resource.ValidateChange(t.Context(), before, after, "spec"); (alone == nil) != (err == nil) {
		t.Errorf("validating the change alone returns %v, and validating the update %v", alone, err)
	}
}

func says(t *testing.T, what string, c ruleCase, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s what is not allowed was accepted: %s", what, c.refuse)
		return
	}
	if !strings.Contains(err.Error(), c.says) {
		t.Errorf("%s what is not allowed: the message does not say %q:\n%v", what, c.says, err)
	}
}

func TestArchitectureLabels(t *testing.T) {
	t.Parallel()
	for architecture, want := range map[provisioningv1.Architecture]string{"": "", "x86_64": "amd64", "amd64": "amd64", "arm64": "arm64"} {
		if got := architecture.Label(); got != want {
			t.Errorf("%q: got %q, want %q", architecture, got, want)
		}
	}
}

// TestColumns holds what kubectl get shows, wide columns in brackets.
func TestColumns(t *testing.T) {
	t.Parallel()
	shown := object(t, provisionerBase, `{metadata: {creationTimestamp: null}, spec: {architecture: arm64}, status: {nodes: 3,
		resources: {cpu: "12", memory: 48Gi}, conditions: [{type: Ready, status: "True", reason: Ready, message: fine}]}}`)
	convertor, err := tableconvertor.New(definition(t).Spec.Versions[0].AdditionalPrinterColumns)
	if err != nil {
		t.Fatal(err)
	}
	table, err := convertor.ConvertToTable(t.Context(), &unstructured.Unstructured{Object: shown}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, column := range table.ColumnDefinitions {
		cell := fmt.Sprintf("%s=%v", column.Name, table.Rows[0].Cells[i])
		if column.Priority > 0 {
			cell = "[" + cell + "]"
		}
		got = append(got, cell)
	}
	want := []string{
		"Name=default", "Cluster=one", "Ready=True", "Nodes=3", "CPU=12", "Memory=48Gi", "[Architecture=arm64]", "[Message=fine]", "Age=<nil>",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
}
