package apiserver

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/slipway-project/slipway/internal/apitest"
)

// Kinds holds the rules of every kind that a server serves. It is read-only once built, so that one
// value serves many servers: compiling the CEL rules of the definitions takes longer than a whole
// simulation.
type Kinds struct {
	scheme *runtime.Scheme
	rules  map[schema.GroupVersionKind]rules
	mapper *meta.DefaultRESTMapper
}

// rules says how the server treats objects of a kind.
type rules struct {
	// schema validates, defaults, and prunes objects; nil for a kind whose definition is not known.
	schema *apitest.Resource
	// statusSchema is schema for writes of the status, which leave the spec as it was validated before.
	statusSchema *apitest.Resource
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
func NewKinds(scheme *runtime.Scheme, definitions apitest.Definitions) (*Kinds, error) {
	k := &Kinds{scheme: scheme, rules: map[schema.GroupVersionKind]rules{}, mapper: meta.NewDefaultRESTMapper(nil)}
	for gvk := range scheme.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal {
			continue
		}
		kind := rules{custom: !builtIn(gvk.Group), status: hasStatus(gvk)}
		scope := meta.RESTScope(meta.RESTScopeNamespace)
		if clusterScoped.Has(gvk.Kind) {
			scope = meta.RESTScopeRoot
		}
		if definition := definitions[gvk.Kind]; definition != nil && definition.Spec.Group == gvk.Group {
			resource, err := definitions.Resource(gvk.Kind, gvk.Version)
			if err != nil {
				return nil, fmt.Errorf("reading the definition of %s: %w", gvk.Kind, err)
			}
			kind.schema, kind.status = resource, statusOf(definition, gvk.Version)
			if kind.statusSchema, err = definitions.StatusResource(gvk.Kind, gvk.Version); err != nil {
				return nil, fmt.Errorf("reading the status of %s: %w", gvk.Kind, err)
			}
			if definition.Spec.Scope == apiextensionsv1.ClusterScoped {
				scope = meta.RESTScopeRoot
			}
		}
		k.rules[gvk] = kind
		k.mapper.Add(gvk, scope)
	}
	return k, nil
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
