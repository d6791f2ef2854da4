package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// stateMetrics has the fields of a configuration of custom resource state that Slipway uses
// (kube-state-metrics: docs/metrics/extend/customresourcestate-metrics.md).
type stateMetrics struct {
	Kind string `json:"kind"`
	Spec struct {
		Resources []stateResource `json:"resources"`
	} `json:"spec"`
}

type stateResource struct {
	GroupVersionKind metav1.GroupVersionKind `json:"groupVersionKind"`
	MetricNamePrefix string                  `json:"metricNamePrefix"`
	LabelsFromPath   map[string][]string     `json:"labelsFromPath"`
	Metrics          []stateMetric           `json:"metrics"`
}

type stateMetric struct {
	Name      string `json:"name"`
	Help      string `json:"help"`
	ErrorLogV int    `json:"errorLogV"`
	Each      struct {
		Type     string       `json:"type"`
		Gauge    *stateValues `json:"gauge"`
		Info     *stateValues `json:"info"`
		StateSet *stateValues `json:"stateSet"`
	} `json:"each"`
}

// stateValues selects the values of a metric. Path begins at the object. ValueFrom and LabelsFromPath
// begin where Path leads to, or at the elements of the list there.
type stateValues struct {
	Path           []string            `json:"path"`
	ValueFrom      []string            `json:"valueFrom"`
	LabelsFromPath map[string][]string `json:"labelsFromPath"`
	LabelFromKey   string              `json:"labelFromKey"`
	LabelName      string              `json:"labelName"`
	List           []string            `json:"list"`
	NilIsZero      bool                `json:"nilIsZero"`
}

// numbersInText has the text fields that hold a number, with the reason.
var numbersInText = map[string]string{
	"status launchTemplateVersion": "Cluster API Provider AWS has the number of a version as text",
}

// distinctBy has the fields that no two elements of a list have in common, where the schema does not
// declare them.
var distinctBy = map[string][]string{
	"status runningVersions": {"imageID", "launchTemplateID", "version"},
	"status usedBy":          {"kind", "name"},
}

// withMetadata returns a schema with the fields of ObjectMeta, which the schema of a definition omits.
func withMetadata(root apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	moment := apiextensionsv1.JSONSchemaProps{Type: "string", Format: "date-time"}
	root.Properties = maps.Clone(root.Properties)
	root.Required = append(slices.Clone(root.Required), "metadata")
	root.Properties["metadata"] = apiextensionsv1.JSONSchemaProps{
		Type:     "object",
		Required: []string{"name", "uid", "generation", "creationTimestamp"},
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"name": text, "namespace": text, "uid": text, "creationTimestamp": moment, "deletionTimestamp": moment,
			"generation": {Type: "integer"},
			"labels":     {Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &text}},
		},
	}
	return root
}

// stateProblems returns the reasons why kube-state-metrics would not serve the metrics of a resource
// as they are meant.
func stateProblems(root apiextensionsv1.JSONSchemaProps, resource stateResource) []string {
	var problems []string
	for _, problem := range labelProblems(root, resource.LabelsFromPath) {
		problems = append(problems, "all metrics: "+problem)
	}
	names := map[string]bool{}
	for _, metric := range resource.Metrics {
		found := metricProblems(root, metric)
		if names[metric.Name] {
			found = append(found, "the name exists twice")
		}
		names[metric.Name] = true
		if !strings.HasSuffix(metric.Help, ".") {
			found = append(found, "it has no help that is a sentence")
		}
		for _, label := range metric.labels() {
			if _, twice := resource.LabelsFromPath[label]; twice {
				found = append(found, fmt.Sprintf("label %s exists twice", label))
			}
		}
		for _, problem := range found {
			problems = append(problems, metric.Name+": "+problem)
		}
	}
	return problems
}

func metricProblems(root apiextensionsv1.JSONSchemaProps, metric stateMetric) []string {
	each := metric.Each
	switch {
	case each.Type == "Gauge" && each.Gauge != nil && each.Info == nil && each.StateSet == nil:
		return gaugeProblems(root, *each.Gauge, metric.ErrorLogV > 0)
	case each.Type == "Info" && each.Info != nil && each.Gauge == nil && each.StateSet == nil:
		return infoProblems(root, metric.Name, *each.Info)
	case each.Type == "StateSet" && each.StateSet != nil && each.Gauge == nil && each.Info == nil:
		return stateSetProblems(root, *each.StateSet)
	}
	return []string{fmt.Sprintf("it has type %s and the settings of another", each.Type)}
}

// gaugeProblems checks a gauge. A list has a series for each element, and an object for each key.
func gaugeProblems(root apiextensionsv1.JSONSchemaProps, values stateValues, quiet bool) []string {
	target, always, err := field(root, values.Path)
	if err != nil {
		return []string{err.Error()}
	}
	var problems []string
	if !always && !quiet && !values.NilIsZero {
		problems = append(problems, fmt.Sprintf("%v may be missing, which is logged as an error without errorLogV", values.Path))
	}
	if values.NilIsZero && (target.Type == "array" || target.Type == "object") {
		problems = append(problems, fmt.Sprintf("nilIsZero serves a series without labels while %v is missing", values.Path))
	}
	switch target.Type {
	case "array":
		problems = append(problems, elementProblems(target, values)...)
		value, _, err := field(*target.Items.Schema, values.ValueFrom)
		if err != nil {
			return append(problems, err.Error())
		}
		if !numeric(value) {
			problems = append(problems, fmt.Sprintf("%v of the elements is no number", values.ValueFrom))
		}
	case "object":
		if values.LabelFromKey == "" || len(values.ValueFrom) > 0 || len(target.Properties) == 0 {
			problems = append(problems, fmt.Sprintf("the fields of %v have no label", values.Path))
		}
		for _, name := range slices.Sorted(maps.Keys(target.Properties)) {
			if !numeric(target.Properties[name]) {
				problems = append(problems, fmt.Sprintf("%v %s is no number", values.Path, name))
			}
		}
	default:
		if _, excepted := numbersInText[strings.Join(values.Path, " ")]; !numeric(target) && !excepted || len(values.ValueFrom) > 0 {
			problems = append(problems, fmt.Sprintf("%v is no number", values.Path))
		}
	}
	return problems
}

// infoProblems checks a metric of names. It needs a label that every object has: kube-state-metrics
// serves no series without labels. The paths must not lead anywhere from the parts of an object,
// because kube-state-metrics tries them there too.
func infoProblems(root apiextensionsv1.JSONSchemaProps, name string, values stateValues) []string {
	problems := labelProblems(root, values.LabelsFromPath)
	if name != "info" || len(values.Path) > 0 {
		problems = append(problems, "it is not named info, or has a path")
	}
	if len(values.LabelsFromPath["uid"]) == 0 {
		problems = append(problems, "it has no uid")
	}
	for _, path := range values.LabelsFromPath {
		for part, properties := range root.Properties {
			if _, ambiguous := properties.Properties[path[0]]; ambiguous {
				problems = append(problems, fmt.Sprintf("%v may lead to a field of %s", path, part))
			}
		}
	}
	return problems
}

// stateSetProblems checks a metric with a series for each value of a field of a list's elements.
func stateSetProblems(root apiextensionsv1.JSONSchemaProps, values stateValues) []string {
	target, _, err := field(root, values.Path)
	if err != nil {
		return []string{err.Error()}
	}
	if target.Type != "array" || values.Path[0] != "status" || values.LabelName == "" {
		return []string{fmt.Sprintf("%v is no list of the status, or there is no labelName", values.Path)}
	}
	problems := elementProblems(target, values)
	value, _, err := field(*target.Items.Schema, values.ValueFrom)
	if err != nil {
		return append(problems, err.Error())
	}
	if allowed := enumOf(value); !slices.Equal(allowed, values.List) {
		problems = append(problems, fmt.Sprintf("values are %s, want %s", strings.Join(values.List, ", "), strings.Join(allowed, ", ")))
	}
	return problems
}

// elementProblems checks the labels of the elements of a list. Elements with the same labels would be
// one series with several values, which Prometheus refuses.
func elementProblems(list apiextensionsv1.JSONSchemaProps, values stateValues) []string {
	problems := labelProblems(*list.Items.Schema, values.LabelsFromPath)
	keys := list.XListMapKeys
	if len(keys) == 0 {
		keys = distinctBy[strings.Join(values.Path, " ")]
	}
	if len(keys) == 0 {
		problems = append(problems, fmt.Sprintf("it is unknown what distinguishes the elements of %v", values.Path))
	}
	for _, key := range keys {
		if !slices.ContainsFunc(slices.Collect(maps.Values(values.LabelsFromPath)), func(path []string) bool { return slices.Equal(path, []string{key}) }) {
			problems = append(problems, fmt.Sprintf("there is no label for %s, which distinguishes the elements of %v", key, values.Path))
		}
	}
	return problems
}

func labelProblems(root apiextensionsv1.JSONSchemaProps, labels map[string][]string) []string {
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		switch value, _, err := field(root, labels[name]); {
		case err != nil:
			problems = append(problems, fmt.Sprintf("label %s: %v", name, err))
		case value.Type != "string" && value.Type != "integer" && value.Type != "boolean":
			problems = append(problems, fmt.Sprintf("label %s is no text, but %s", name, value.Type))
		}
	}
	return problems
}

// field returns the schema that a path leads to, and whether every object has that field. A part such
// as [type=Ready] selects the element of a list.
func field(schema apiextensionsv1.JSONSchemaProps, path []string) (found apiextensionsv1.JSONSchemaProps, always bool, err error) {
	if len(path) == 0 {
		return schema, false, fmt.Errorf("a path is empty")
	}
	always = true
	for _, part := range path {
		if selector, selects := strings.CutPrefix(part, "["); selects {
			key, _, _ := strings.Cut(selector, "=")
			if schema.Type != "array" {
				return schema, false, fmt.Errorf("%v leads to no field: %s selects no element", path, part)
			}
			schema, always = *schema.Items.Schema, false
			if _, exists := schema.Properties[key]; !exists {
				return schema, false, fmt.Errorf("%v leads to no field: %s selects no element", path, part)
			}
			continue
		}
		always = always && slices.Contains(schema.Required, part)
		next, exists := schema.Properties[part]
		switch {
		case exists:
			schema = next
		case schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil:
			schema = *schema.AdditionalProperties.Schema
		default:
			return schema, false, fmt.Errorf("%v leads to no field: there is no %s", path, part)
		}
	}
	return schema, always, nil
}

// numeric reports whether kube-state-metrics can make a number of every value of a field. It converts
// True, False and Unknown, times, and quantities.
func numeric(schema apiextensionsv1.JSONSchemaProps) bool {
	switch schema.Type {
	case "integer", "number", "boolean":
		return true
	case "string":
		return schema.Format == "date-time" || slices.Equal(enumOf(schema), []string{"True", "False", "Unknown"})
	}
	return schema.XIntOrString
}

func enumOf(schema apiextensionsv1.JSONSchemaProps) []string {
	var values []string
	for _, value := range schema.Enum {
		values = append(values, strings.Trim(string(value.Raw), `"`))
	}
	return values
}
