// Package apitest owns an API server's treatment of custom resources without the server: it prunes,
// defaults and validates objects against a custom resource definition with the API server's own
// libraries, in the server's order. Tests of the definitions use it, so that thousands of objects
// can be tried in a second.
package apitest

import (
	"context"
	"fmt"
	"io/fs"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"sigs.k8s.io/yaml"
)

// Definitions are custom resource definitions by kind.
type Definitions map[string]*apiextensionsv1.CustomResourceDefinition

// Load reads every definition, one per YAML file, in the directory dir of fsys.
func Load(fsys fs.FS, dir string) (Definitions, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("listing definitions: %w", err)
	}
	definitions := Definitions{}
	for _, entry := range entries {
		data, err := fs.ReadFile(fsys, dir+"/"+entry.Name())
		if err != nil {
			return nil, fmt.Errorf("reading a definition: %w", err)
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(data, &definition); err != nil {
			return nil, fmt.Errorf("reading %s: %w", entry.Name(), err)
		}
		apiextensionsv1.SetDefaults_CustomResourceDefinition(&definition)
		apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&definition.Spec)
		definitions[definition.Spec.Names.Kind] = &definition
	}
	return definitions, nil
}

// Internal returns the definition as the API server's validation wants it.
func Internal(definition *apiextensionsv1.CustomResourceDefinition) (*apiextensions.CustomResourceDefinition, error) {
	var internal apiextensions.CustomResourceDefinition
	err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(
		definition, &internal, nil)
	if err != nil {
		return nil, fmt.Errorf("converting definition %q: %w", definition.Name, err)
	}
	return &internal, nil
}

// Resource treats objects of one version of a kind as the API server does.
type Resource struct {
	// Structural is the schema of the version.
	Structural *structuralschema.Structural

	schema validation.SchemaValidator
	// cel returns the compiled rules. They are compiled when they are first needed, which takes long.
	cel func() *schemacel.Validator

	// definition is the definition that the resource was built from.
	definition *apiextensionsv1.JSONSchemaProps
	mu         sync.Mutex
	// fields validate single fields and items, by path. One that is nil cannot be validated without
	// the others.
	fields map[string]*Resource
	// itemwise is true for a single field that is a list whose items can be validated one by one.
	itemwise bool
	// levels hold the rules about the fields of each part.
	levels map[string]*level
	// valid holds which validations found no mistake.
	valid validations
}

// Resource returns the version of the kind.
func (d Definitions) Resource(kind, version string) (*Resource, error) {
	definition, ok := d[kind]
	if !ok {
		return nil, fmt.Errorf("no definition of kind %q", kind)
	}
	for _, candidate := range definition.Spec.Versions {
		if candidate.Name == version && candidate.Served {
			return newResource(candidate.Schema.OpenAPIV3Schema)
		}
	}
	return nil, fmt.Errorf("kind %q is not served as %q", kind, version)
}

// StatusResource returns the version of the kind for writes of the status alone. It has neither the
// spec, whose rules take most of the time of a validation, nor the rules of the object as a whole.
func (d Definitions) StatusResource(kind, version string) (*Resource, error) {
	definition := d[kind].DeepCopy()
	if definition == nil {
		return nil, fmt.Errorf("no definition of kind %q", kind)
	}
	preserve := true
	for i := range definition.Spec.Versions {
		schema := definition.Spec.Versions[i].Schema.OpenAPIV3Schema
		schema.XValidations = nil
		schema.Properties["spec"] = apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserve}
	}
	return Definitions{kind: definition}.Resource(kind, version)
}

func newResource(schema *apiextensionsv1.JSONSchemaProps) (*Resource, error) {
	var internal apiextensions.JSONSchemaProps
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(schema, &internal, nil)
	if err != nil {
		return nil, fmt.Errorf("converting a schema: %w", err)
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil {
		return nil, fmt.Errorf("reading a structural schema: %w", err)
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		return nil, fmt.Errorf("making a schema validator: %w", err)
	}
	return &Resource{
		Structural: structural,
		schema:     validator,
		cel: sync.OnceValue(func() *schemacel.Validator {
			return schemacel.NewValidator(structural, true, celconfig.PerCallLimit)
		}),
		definition: schema,
		fields:     map[string]*Resource{},
		levels:     map[string]*level{},
	}, nil
}

// Create returns the object as it would be stored, or why it would be refused. An unknown field is
// refused, as kubectl does.
func (r *Resource) Create(ctx context.Context, object map[string]any) (map[string]any, error) {
	stored, err := r.admit(object)
	if err != nil {
		return nil, err
	}
	delete(stored, "status")
	return stored, r.valid.once(func() error { return r.validateCreate(ctx, stored) }, "create", validated(stored))
}

// validateCreate runs the server's validation of a new object that is pruned and defaulted.
func (r *Resource) validateCreate(ctx context.Context, stored map[string]any) error {
	errs := validation.ValidateCustomResource(nil, stored, r.schema)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, r.Structural, stored)...)
	if !blocks(errs) {
		found, _ := r.cel().Validate(ctx, nil, r.Structural, stored, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, found...)
	}
	return errs.ToAggregate()
}

// Update returns the object as it would be stored in place of old, or why it would be refused. The
// old status stays.
func (r *Resource) Update(ctx context.Context, old, object map[string]any) (map[string]any, error) {
	stored, err := r.admit(object)
	if err != nil {
		return nil, err
	}
	delete(stored, "status")
	if status, ok := old["status"]; ok {
		stored["status"] = runtime.DeepCopyJSONValue(status)
	}
	return stored, r.ValidateUpdate(ctx, old, stored)
}

// UpdateStatus returns old with the status of object, or why it would be refused.
func (r *Resource) UpdateStatus(ctx context.Context, old, object map[string]any) (map[string]any, error) {
	stored := runtime.DeepCopyJSON(old)
	admitted, err := r.admit(object)
	if err != nil {
		return nil, err
	}
	stored["status"] = admitted["status"]
	return stored, r.ValidateUpdate(ctx, old, stored)
}

// ValidateUpdate runs the server's update validation of an object that is pruned and defaulted,
// ratcheting included: unchanged values are not held against an update. An object without a mistake
// needs no comparison with the one before, which takes most of the time.
func (r *Resource) ValidateUpdate(ctx context.Context, old, stored map[string]any) error {
	errs := validation.ValidateCustomResource(nil, stored, r.schema)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, r.Structural, stored)...)
	if len(errs) == 0 {
		errs, _ = r.cel().Validate(ctx, nil, r.Structural, stored, old, celconfig.RuntimeCELCostBudget)
	}
	if len(errs) == 0 {
		return nil
	}
	return r.validateRatcheting(ctx, old, stored)
}

// validateRatcheting does the same as ValidateUpdate, for an object with mistakes, which it may
// have had before.
func (r *Resource) validateRatcheting(ctx context.Context, old, stored map[string]any) error {
	correlated := common.NewCorrelatedObject(stored, old, &model.Structural{Structural: r.Structural})
	errs := validation.ValidateCustomResourceUpdate(nil, stored, old, r.schema, validation.WithRatcheting(correlated))
	if before := listtype.ValidateListSetsAndMaps(nil, r.Structural, old); len(before) == 0 {
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, r.Structural, stored)...)
	}
	if !blocks(errs) {
		found, _ := r.cel().Validate(ctx, nil, r.Structural, stored, old, celconfig.RuntimeCELCostBudget,
			schemacel.WithRatcheting(correlated))
		errs = append(errs, found...)
	}
	return errs.ToAggregate()
}

// Default returns a copy of the object with the schema's defaults.
func (r *Resource) Default(object map[string]any) map[string]any {
	defaulted := runtime.DeepCopyJSON(object)
	defaulting.PruneNonNullableNullsWithoutDefaults(defaulted, r.Structural)
	defaulting.Default(defaulted, r.Structural)
	return defaulted
}

// Normalize returns a copy of the object without the fields that the schema does not have, and with
// the schema's defaults.
func (r *Resource) Normalize(object map[string]any) map[string]any {
	normal := r.Prune(object)
	defaulting.PruneNonNullableNullsWithoutDefaults(normal, r.Structural)
	defaulting.Default(normal, r.Structural)
	return normal
}

// Prune returns a copy of the object without the fields that the schema does not have, which is
// what the API server stores for a client that does not ask for strict validation.
func (r *Resource) Prune(object map[string]any) map[string]any {
	pruned := runtime.DeepCopyJSON(object)
	pruning.PruneWithOptions(pruned, r.Structural, true, structuralschema.UnknownFieldPathOptions{})
	return pruned
}

func (r *Resource) admit(object map[string]any) (map[string]any, error) {
	admitted := r.Default(object)
	unknown := pruning.PruneWithOptions(admitted, r.Structural, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	if len(unknown) > 0 {
		return nil, fmt.Errorf("unknown fields: %q", unknown)
	}
	return admitted, nil
}

// blocks reports whether the errors prevent the server from checking the rules.
func blocks(errs field.ErrorList) bool {
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany,
			field.ErrorTypeTypeInvalid:
			return true
		default:
		}
	}
	return false
}
