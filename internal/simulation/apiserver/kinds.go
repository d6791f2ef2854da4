package apiserver

import (
	"fmt"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/slipway-project/slipway/internal/apitest"
)

// Kinds holds the rules of every kind that a server serves. One value serves many servers, at the
// same time: compiling the CEL rules of the definitions takes longer than a whole simulation.
type Kinds struct {
	scheme *runtime.Scheme
	rules  map[schema.GroupVersionKind]rules
	// schemas are the schemas of kinds that definitions name. A schema is compiled when the first
	// object of its kind is written: most kinds are never used, and what is compiled stays in memory.
	schemas map[schema.GroupVersionKind]func() (schemas, error)
	mapper  *meta.DefaultRESTMapper
}

// schemas are the schemas of a kind.
type schemas struct {
	// schema validates, defaults, and prunes objects; nil for a kind whose definition is not known.
	schema *apitest.Resource
	// statusSchema is schema for writes of the status, which leave the spec as it was validated before.
	statusSchema *apitest.Resource
}

// rules says how the server treats objects of a kind.
type rules struct {
	schemas
	// custom is true for custom resources. They have a generation, and an update must name a
	// resource version.
	custom bool
	// status is true for a kind with a status subresource.
	status bool
}

// clusterScoped lists the kinds without a namespace that have no definition here.
var clusterScoped = sets.New("Namespace", "Node", "PersistentVolume", "CustomResourceDefinition",
	"AWSClusterControllerIdentity", "AWSClusterRoleIdentity", "AWSClusterStaticIdentity")

// NewKinds returns the rules of the kinds in scheme. A kind that definitions name follows its
// schema; any other kind outside Kubernetes' own groups is a custom resource with a status
// subresource that accepts every field.
func NewKinds(scheme *runtime.Scheme, known apitest.Definitions) *Kinds {
	k := &Kinds{
		scheme: scheme, rules: map[schema.GroupVersionKind]rules{}, schemas: map[schema.GroupVersionKind]func() (schemas, error){},
		mapper: meta.NewDefaultRESTMapper(nil),
	}
	for gvk := range scheme.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal {
			continue
		}
		kind := rules{custom: !builtIn(gvk.Group), status: hasStatus(gvk)}
		scope := meta.RESTScope(meta.RESTScopeNamespace)
		if clusterScoped.Has(gvk.Kind) {
			scope = meta.RESTScopeRoot
		}
		if definition := known[gvk.Kind]; definition != nil && definition.Spec.Group == gvk.Group {
			kind.status = statusOf(definition, gvk.Version)
			k.schemas[gvk] = sync.OnceValues(func() (schemas, error) { return compile(known, gvk) })
			if definition.Spec.Scope == apiextensionsv1.ClusterScoped {
				scope = meta.RESTScopeRoot
			}
		}
		k.rules[gvk] = kind
		k.mapper.Add(gvk, scope)
	}
	return k
}

// compile compiles the schemas of a kind that definitions name.
func compile(known apitest.Definitions, gvk schema.GroupVersionKind) (schemas, error) {
	whole, err := known.Resource(gvk.Kind, gvk.Version)
	if err != nil {
		return schemas{}, fmt.Errorf("reading the definition of %s: %w", gvk.Kind, err)
	}
	status, err := known.StatusResource(gvk.Kind, gvk.Version)
	if err != nil {
		return schemas{}, fmt.Errorf("reading the status of %s: %w", gvk.Kind, err)
	}
	return schemas{schema: whole, statusSchema: status}, nil
}

// rulesOf returns the rules of a kind.
func (k *Kinds) rulesOf(gvk schema.GroupVersionKind) (rules, error) {
	found, known := k.rules[gvk]
	if !known {
		return rules{}, runtime.NewNotRegisteredErrForKind("simulation", gvk)
	}
	if compiled := k.schemas[gvk]; compiled != nil {
		var err error
		found.schemas, err = compiled()
		return found, err
	}
	return found, nil
}

// Scheme returns the scheme of the kinds.
func (k *Kinds) Scheme() *runtime.Scheme { return k.scheme }

// RESTMapper returns the mapping from kinds to resources.
func (k *Kinds) RESTMapper() meta.RESTMapper { return k.mapper }

// builtIn reports whether a group is Kubernetes' own.
func builtIn(group string) bool {
	switch group {
	case "", "apps", "batch", "policy", "events.k8s.io", "coordination.k8s.io", "storage.k8s.io":
		return true
	}
	return false
}

// hasStatus reports whether a kind without a definition has a status subresource.
func hasStatus(gvk schema.GroupVersionKind) bool {
	switch gvk.Kind {
	case "Secret", "ConfigMap", "Event", "Lease":
		return false
	}
	return true
}

func statusOf(definition *apiextensionsv1.CustomResourceDefinition, version string) bool {
	for _, candidate := range definition.Spec.Versions {
		if candidate.Name == version {
			return candidate.Subresources != nil && candidate.Subresources.Status != nil
		}
	}
	return false
}

func resourceOf(gvk schema.GroupVersionKind) schema.GroupResource {
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return plural.GroupResource()
}
