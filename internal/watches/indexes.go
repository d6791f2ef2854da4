package watches

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/pool"
)

// Index finds objects of a kind in the cache by a value that is computed from each of them. Without
// one, a lookup copies all objects of the kind, and what a change costs grows with their number.
type Index struct {
	// Object is an empty object of the kind.
	Object client.Object
	Name   string
	// Value returns the value by which an object is found. An object with an empty value is not found.
	Value func(object client.Object) string
}

// Values returns what the cache wants to know of an object.
func (i Index) Values(object client.Object) []string {
	if value := i.Value(object); value != "" {
		return []string{value}
	}
	return nil
}

// AddIndexes adds indexes to a cache.
func AddIndexes(ctx context.Context, cache client.FieldIndexer, indexes []Index) error {
	for _, index := range indexes {
		if err := cache.IndexField(ctx, index.Object, index.Name, index.Values); err != nil {
			return fmt.Errorf("indexing %T by %s: %w", index.Object, index.Name, err)
		}
	}
	return nil
}

// Names of the indexes of PoolIndexes.
const (
	byLaunchConfig   = "launchConfig"
	byTemplate       = "spec.launchConfigTemplateRef"
	byInfrastructure = "spec.template.spec.infrastructureRef"
)

// PoolIndexes returns the indexes that LaunchingFrom, ReferringToTemplate and ReferringToPool look up.
func PoolIndexes() []Index {
	indexes := []Index{{&clusterv1.MachinePool{}, byInfrastructure, infrastructureOf}}
	for _, kind := range []client.Object{&infrav1.AWSMachinePool{}, &infrav1.AWSManagedMachinePool{}} {
		indexes = append(indexes, Index{kind, byLaunchConfig, LaunchConfigOf}, Index{kind, byTemplate, templateOf})
	}
	return indexes
}

// LaunchingFrom selects the pools of a kind whose LaunchConfigOf is a launch config.
func LaunchingFrom(config types.NamespacedName) []client.ListOption {
	return []client.ListOption{client.InNamespace(config.Namespace), client.MatchingFields{byLaunchConfig: config.Name}}
}

// ReferringToTemplate selects the pools of a kind, in any namespace, whose
// spec.launchConfigTemplateRef is a template.
func ReferringToTemplate(template types.NamespacedName) []client.ListOption {
	return []client.ListOption{client.MatchingFields{byTemplate: template.String()}}
}

// ReferringToPool selects the MachinePools whose infrastructure is a pool of a kind.
func ReferringToPool(kind string, pool types.NamespacedName) []client.ListOption {
	return []client.ListOption{client.InNamespace(pool.Namespace), client.MatchingFields{byInfrastructure: kind + "/" + pool.Name}}
}

// LaunchConfigOf returns the name of the launch config that a pool launches from: the one that it
// refers to, or one that bears its own name. It returns an empty name for a pool without one.
func LaunchConfigOf(object client.Object) string {
	config, _ := referencesOf(object)
	managed, isManaged := object.(*infrav1.AWSManagedMachinePool)
	switch {
	case config != nil:
		return config.Name
	case isManaged && !managed.Spec.Templated():
		return ""
	default:
		return object.GetName()
	}
}

func templateOf(object client.Object) string {
	if _, template := referencesOf(object); template != nil {
		return pool.TemplateKey(object.GetNamespace(), *template).String()
	}
	return ""
}

// referencesOf returns where the launch config of a pool comes from.
func referencesOf(object client.Object) (*infrav1.LaunchConfigReference, *infrav1.LaunchConfigTemplateReference) {
	switch pool := object.(type) {
	case *infrav1.AWSMachinePool:
		return pool.Spec.LaunchConfigRef, pool.Spec.LaunchConfigTemplateRef
	case *infrav1.AWSManagedMachinePool:
		return pool.Spec.LaunchConfigRef, pool.Spec.LaunchConfigTemplateRef
	default:
		return nil, nil
	}
}

// infrastructureOf returns the kind and the name of the pool of ours that a MachinePool refers to.
func infrastructureOf(object client.Object) string {
	machinePool, is := object.(*clusterv1.MachinePool)
	if !is {
		return ""
	}
	reference := machinePool.Spec.Template.Spec.InfrastructureRef
	if reference.APIGroup != infrav1.GroupVersion.Group {
		return ""
	}
	return reference.Kind + "/" + reference.Name
}
