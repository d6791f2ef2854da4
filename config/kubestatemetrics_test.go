package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	sigsyaml "sigs.k8s.io/yaml"
)

// stateConfigurations has the directory of each configuration of kube-state-metrics, with the
// directory of the definitions of its kinds.
var stateConfigurations = map[string]string{
	"kube-state-metrics":             "crd/bases",
	"provisioner/kube-state-metrics": "provisioner/crd/bases",
}

// withoutMetrics has the kinds that have no metrics, with the reason.
var withoutMetrics = map[string]string{
	"AWSMachinePoolTemplate":        "it has no status",
	"AWSManagedMachinePoolTemplate": "it has no status",
}

// stateConfiguration reads a configuration. Fields that kube-state-metrics does not know are refused.
func stateConfiguration(t *testing.T, directory string) stateMetrics {
	t.Helper()
	var configuration stateMetrics
	if err := sigsyaml.UnmarshalStrict(read(t, filepath.Join(directory, "custom-resource-state.yaml")), &configuration); err != nil {
		t.Fatalf("%s: %v", directory, err)
	}
	if configuration.Kind != "CustomResourceStateMetrics" {
		t.Errorf("%s has kind %q", directory, configuration.Kind)
	}
	return configuration
}

// definitions returns the definitions of a directory by kind.
func definitions(t *testing.T, directory string) map[string]apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(directory, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		var definition apiextensionsv1.CustomResourceDefinition
		if err := sigsyaml.Unmarshal(read(t, file), &definition); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		found[definition.Spec.Names.Kind] = definition
	}
	return found
}

// storedSchema returns the schema of the version in which the objects of a kind are stored.
func storedSchema(t *testing.T, definition apiextensionsv1.CustomResourceDefinition, gvk metav1.GroupVersionKind) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	for _, version := range definition.Spec.Versions {
		if version.Storage && version.Served && version.Name == gvk.Version && definition.Spec.Group == gvk.Group {
			return withMetadata(*version.Schema.OpenAPIV3Schema)
		}
	}
	t.Fatalf("%v is no stored version", gvk)
	return apiextensionsv1.JSONSchemaProps{}
}

// TestStateMetricsFollowTheSchemas holds that every path of a configuration leads to a field with a
// usable value, so that a renamed field fails here, and that every kind with a status has metrics.
func TestStateMetricsFollowTheSchemas(t *testing.T) {
	t.Parallel()
	for directory, bases := range stateConfigurations {
		kinds := definitions(t, bases)
		covered := map[string]bool{}
		for _, resource := range stateConfiguration(t, directory).Spec.Resources {
			kind := resource.GroupVersionKind.Kind
			definition, exists := kinds[kind]
			if !exists || covered[kind] {
				t.Errorf("%s: there is no definition of %s, or the kind is listed twice", directory, kind)
				continue
			}
			covered[kind] = true
			if want := "kube_slipway_" + strings.ToLower(kind); resource.MetricNamePrefix != want {
				t.Errorf("the metrics of %s begin with %q, want %q", kind, resource.MetricNamePrefix, want)
			}
			if _, has := resource.LabelsFromPath["namespace"]; has != (definition.Spec.Scope == apiextensionsv1.NamespaceScoped) {
				t.Errorf("%s has a label for the namespace: %v", kind, has)
			}
			for _, problem := range stateProblems(storedSchema(t, definition, resource.GroupVersionKind), resource) {
				t.Errorf("%s: %s", kind, problem)
			}
		}
		for kind := range kinds {
			if _, without := withoutMetrics[kind]; without == covered[kind] {
				t.Errorf("%s has metrics: %v, and is listed as a kind without metrics: %v", kind, covered[kind], without)
			}
		}
	}
}

// TestStateMetricsRole holds that kube-state-metrics may list and watch the kinds of a configuration,
// and nothing else of Slipway's.
func TestStateMetricsRole(t *testing.T) {
	t.Parallel()
	for directory, bases := range stateConfigurations {
		kinds := definitions(t, bases)
		var group string
		var plurals []string
		for _, resource := range stateConfiguration(t, directory).Spec.Resources {
			group = resource.GroupVersionKind.Group
			plurals = append(plurals, kinds[resource.GroupVersionKind.Kind].Spec.Names.Plural)
		}
		slices.Sort(plurals)
		role := as[rbacv1.ClusterRole](t, parse(t, filepath.Join(directory, "role.yaml"))[0])
		want := []rbacv1.PolicyRule{
			{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"list", "watch"}},
			{APIGroups: []string{group}, Resources: plurals, Verbs: []string{"list", "watch"}},
		}
		if diff := cmp.Diff(want, role.Rules); diff != "" {
			t.Errorf("%s (-want +got):\n%s", directory, diff)
		}
		binding := as[rbacv1.ClusterRoleBinding](t, parse(t, filepath.Join(directory, "role_binding.yaml"))[0])
		if binding.RoleRef.Name != role.Name {
			t.Errorf("%s binds %q, want %q", directory, binding.RoleRef.Name, role.Name)
		}
	}
}

// TestPageListsStateMetrics compares the table in docs/reference/observability.md with the
// configurations: metrics, their labels, and the kinds that have them.
func TestPageListsStateMetrics(t *testing.T) {
	t.Parallel()
	configured, kinds := map[string]string{}, []string{}
	for directory := range stateConfigurations {
		for _, resource := range stateConfiguration(t, directory).Spec.Resources {
			kinds = append(kinds, resource.GroupVersionKind.Kind)
			for _, metric := range resource.Metrics {
				configured[resource.MetricNamePrefix+"_"+metric.Name] = strings.Join(metric.labels(), ",")
			}
		}
	}
	page, err := os.ReadFile("../docs/reference/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `kube_slipway_KIND_([a-z_]+)(?:\\{([a-z_,]*)\\})?` \\| ([A-Za-z, ]+) \\|").FindAllStringSubmatch(string(page), -1) {
		of := strings.Split(row[3], ", ")
		if row[3] == "all" {
			of = kinds
		}
		for _, kind := range of {
			name := fmt.Sprintf("kube_slipway_%s_%s", strings.ToLower(kind), row[1])
			if _, twice := documented[name]; twice {
				t.Errorf("%s has two rows", name)
			}
			documented[name] = row[2]
		}
	}
	if diff := cmp.Diff(configured, documented); diff != "" {
		t.Errorf("the page lists other metrics than are configured (-configured +documented):\n%s", diff)
	}
}

// TestStateProblems holds that a mistake in a configuration is found, above all a field that does not
// exist.
func TestStateProblems(t *testing.T) {
	t.Parallel()
	gvk := metav1.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "AWSMachinePool"}
	root := storedSchema(t, definitions(t, "crd/bases")[gvk.Kind], gvk)
	for _, row := range []struct{ reason, metric, want string }{
		{"a number", "{name: a, help: A., errorLogV: 5, each: {type: Gauge, gauge: {path: [status, replicas]}}}", ""},
		{"a renamed field", "{name: a, help: A., errorLogV: 5, each: {type: Gauge, gauge: {path: [status, replica]}}}", "[status replica] leads to no field: there is no replica"},
		{"a field of a list's elements", "{name: a, help: A., errorLogV: 5, each: {type: Gauge, gauge: {path: [status, conditions, '[type=Paused]', state]}}}", "there is no state"},
		{"an element by a field that it has not", "{name: a, help: A., errorLogV: 5, each: {type: Gauge, gauge: {path: [status, conditions, '[name=Paused]', status]}}}", "[name=Paused] selects no element"},
		{"a text", "{name: a, help: A., errorLogV: 5, each: {type: Gauge, gauge: {path: [status, launchTemplateID]}}}", "is no number"},
		{"a label", "{name: a, help: A., errorLogV: 5, each: {type: Gauge, gauge: {path: [status, conditions], valueFrom: [lastTransitionTime], labelsFromPath: {type: [kind]}}}}", "there is no kind"},
		{"a label that all series have", "{name: info, help: A., each: {type: Info, info: {labelsFromPath: {name: [metadata, uid]}}}}", "label name exists twice"},
		{"a label that is an object", "{name: info, help: A., each: {type: Info, info: {labelsFromPath: {uid: [metadata, uid], group: [status, autoScalingGroup]}}}}", "label group is no text"},
		{"information that may be missing altogether", "{name: info, help: A., each: {type: Info, info: {labelsFromPath: {group: [status, autoScalingGroup, name]}}}}", "has no uid"},
		{"two series with the same labels", "{name: a, help: A., errorLogV: 5, each: {type: Gauge, gauge: {path: [status, instances], valueFrom: [launchTemplateVersion], labelsFromPath: {zone: [availabilityZone]}}}}", "no label for instanceID"},
		{"an error in the log for each object", "{name: a, help: A., each: {type: Gauge, gauge: {path: [status, replicas]}}}", "errorLogV"},
		{"a zero without labels", "{name: a, help: A., errorLogV: 5, each: {type: Gauge, gauge: {path: [status, conditions], valueFrom: [lastTransitionTime], nilIsZero: true, labelsFromPath: {type: [type]}}}}", "nilIsZero"},
		{"a status that is left out", "{name: a, help: A., each: {type: StateSet, stateSet: {path: [status, conditions], labelName: status, valueFrom: [status], list: ['True'], labelsFromPath: {type: [type]}}}}", "want True, False, Unknown"},
		{"another type", "{name: a, help: A., each: {type: Gauge, info: {labelsFromPath: {uid: [metadata, uid]}}}}", "type Gauge"},
		{"no help", "{name: a, each: {type: Info, info: {labelsFromPath: {uid: [metadata, uid]}}}}", "no help"},
	} {
		resource := stateResource{GroupVersionKind: gvk, LabelsFromPath: map[string][]string{"name": {"metadata", "name"}}, Metrics: make([]stateMetric, 1)}
		if err := sigsyaml.UnmarshalStrict([]byte(row.metric), &resource.Metrics[0]); err != nil {
			t.Fatalf("%s: %v", row.reason, err)
		}
		got := strings.Join(stateProblems(root, resource), "\n")
		if (row.want == "") != (got == "") || !strings.Contains(got, row.want) {
			t.Errorf("%s: the problems are %q, want %q", row.reason, got, row.want)
		}
	}
}

// labels returns the names of the labels that a metric has in addition to those of all metrics of its
// kind.
func (m stateMetric) labels() []string {
	var names []string
	for _, values := range []*stateValues{m.Each.Gauge, m.Each.Info, m.Each.StateSet} {
		if values == nil {
			continue
		}
		names = slices.AppendSeq(names, maps.Keys(values.LabelsFromPath))
		for _, name := range []string{values.LabelFromKey, values.LabelName} {
			if name != "" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}
