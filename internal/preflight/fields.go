package preflight

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/slipway-project/slipway/config/crd"
	"github.com/slipway-project/slipway/internal/apitest"
)

// ownSchemas returns the schemas of this program's definitions, by the name of the definition.
var ownSchemas = sync.OnceValues(func() (map[string]*apiextensionsv1.JSONSchemaProps, error) {
	definitions, err := apitest.Load(crd.FS, "bases")
	if err != nil {
		return nil, fmt.Errorf("reading the definitions of this program: %w", err)
	}
	schemas := map[string]*apiextensionsv1.JSONSchemaProps{}
	for _, definition := range definitions {
		schemas[definition.Name] = schemaOf(definition)
	}
	return schemas, nil
})

// schemaOf returns the schema of the version that the manager uses, nil if there is none.
func schemaOf(definition *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.JSONSchemaProps {
	for _, one := range definition.Spec.Versions {
		if one.Name == slipwayVersion && one.Schema != nil {
			return one.Schema.OpenAPIV3Schema
		}
	}
	return nil
}

// lackedFields returns the fields that this program has and a definition of Slipway's in the cluster
// lacks. The API server drops them from objects that are written. It returns only the outermost of nested fields.
func lackedFields(definition *apiextensionsv1.CustomResourceDefinition) ([]string, error) {
	schemas, err := ownSchemas()
	if err != nil {
		return nil, err
	}
	own, found := schemas[definition.Name], schemaOf(definition)
	if own == nil || found == nil {
		return nil, nil
	}
	return differences("", own, found), nil
}

// differences returns the fields of one schema that another lacks. Paths begin with a parent.
func differences(parent string, own, found *apiextensionsv1.JSONSchemaProps) []string {
	if found.XPreserveUnknownFields != nil && *found.XPreserveUnknownFields {
		return nil
	}
	var lacking []string
	for _, name := range slices.Sorted(maps.Keys(own.Properties)) {
		path := name
		if parent != "" {
			path = parent + "." + name
		}
		below, has := found.Properties[name]
		if !has {
			lacking = append(lacking, path)
			continue
		}
		of := own.Properties[name]
		lacking = append(lacking, differences(path, &of, &below)...)
	}
	if own.Items != nil && found.Items != nil && own.Items.Schema != nil && found.Items.Schema != nil {
		lacking = append(lacking, differences(parent, own.Items.Schema, found.Items.Schema)...)
	}
	if own.AdditionalProperties != nil && found.AdditionalProperties != nil && own.AdditionalProperties.Schema != nil && found.AdditionalProperties.Schema != nil {
		lacking = append(lacking, differences(parent, own.AdditionalProperties.Schema, found.AdditionalProperties.Schema)...)
	}
	return lacking
}
