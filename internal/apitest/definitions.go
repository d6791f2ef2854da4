package apitest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// Accepted says why the API server would refuse the definition: structural schema, defaults,
// compilation of every rule, and the limits of their estimated cost.
func Accepted(ctx context.Context, definition *apiextensionsv1.CustomResourceDefinition) error {
	internal, err := Internal(definition)
	if err != nil {
		return err
	}
	return crdvalidation.ValidateCustomResourceDefinition(ctx, internal).ToAggregate()
}

// EstimatedCost returns the sum of the API server's estimates for the rules of a schema, each as
// often as lists and maps above it may have items. A definition cannot be installed above
// validation.StaticEstimatedCRDCostLimit.
func EstimatedCost(s *structuralschema.Structural) (uint64, error) {
	return estimate("", s, true, 1)
}

func estimate(path string, s *structuralschema.Structural, root bool, times uint64) (uint64, error) {
	environments := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	results, err := schemacel.Compile(s, model.SchemaDeclType(s, root), celconfig.PerCallLimit, environments, schemacel.NewExpressionsEnvLoader())
	if err != nil {
		return 0, fmt.Errorf("compiling rules of %s: %w", path, err)
	}
	var total uint64
	for _, result := range results {
		if result.Error != nil {
			return 0, fmt.Errorf("compiling a rule of %s: %w", path, result.Error)
		}
		total += result.MaxCost * times
	}
	for name, property := range s.Properties {
		cost, err := estimate(path+"."+name, &property, false, times)
		if err != nil {
			return 0, err
		}
		total += cost
	}
	if s.Items == nil {
		return total, nil
	}
	if s.ValueValidation == nil || s.ValueValidation.MaxItems == nil {
		return 0, fmt.Errorf("%s has no maxItems: its rules have no bound", path)
	}
	items := uint64(*s.ValueValidation.MaxItems) //nolint:gosec // a bound of a schema that was accepted is not negative
	cost, err := estimate(path+"[]", s.Items, false, times*items)
	return total + cost, err
}

// Complaints lists the fields of the spec and the status without documentation, lists without
// maxItems, strings without maxLength, and maps without maxProperties: kubectl explain would not
// describe them, and the cost of rules could not be estimated.
func Complaints(definition *apiextensionsv1.CustomResourceDefinition) []string {
	var found []string
	schema := definition.Spec.Versions[len(definition.Spec.Versions)-1].Schema.OpenAPIV3Schema
	for _, part := range []string{"spec", "status"} {
		property, has := schema.Properties[part]
		if !has {
			continue // a template has no status
		}
		found = append(found, complaints(definition.Spec.Names.Kind+"."+part, &property)...)
	}
	return found
}

// complaints lists what is missing below the schema. The items of conditions are Kubernetes's own type.
func complaints(path string, schema *apiextensionsv1.JSONSchemaProps) []string {
	var found []string
	if schema.Description == "" && !strings.HasSuffix(path, "[]") && !strings.HasSuffix(path, "{}") {
		found = append(found, path+" has no documentation")
	}
	switch {
	case schema.Type == "array" && schema.MaxItems == nil:
		found = append(found, path+" has no maxItems")
	case schema.Type == "string" && schema.MaxLength == nil && schema.Enum == nil && schema.Format != "date-time":
		found = append(found, path+" has no maxLength")
	case schema.AdditionalProperties != nil && schema.MaxProperties == nil:
		found = append(found, path+" has no maxProperties")
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		property := schema.Properties[name]
		found = append(found, complaints(path+"."+name, &property)...)
	}
	if schema.Items != nil {
		found = append(found, complaints(path+"[]", schema.Items.Schema)...)
	}
	if schema.AdditionalProperties != nil {
		found = append(found, complaints(path+"{}", schema.AdditionalProperties.Schema)...)
	}
	return found
}
