package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/rolloutcontrol"
)

// noPoolError reports a name that no pool has.
type noPoolError struct {
	namespace, name string
	kinds           []string
}

// Error implements error.
func (e *noPoolError) Error() string {
	return fmt.Sprintf("namespace %s has no %s %q", e.namespace, strings.Join(e.kinds, " or "), e.name)
}

// poolKinds are the kinds of pools.
var poolKinds = []string{rolloutcontrol.KindSelfManaged, rolloutcontrol.KindManaged}

// isPoolKind reports whether a word names a kind of pools.
func isPoolKind(word string) bool { return slices.Contains(poolKinds, rolloutcontrol.KindNamed(word)) }

// pool returns the pool of a name, which may have its kind before it and a slash, such as
// awsmanagedmachinepool/workers.
func (c planCluster) pool(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	kinds := poolKinds
	if kind, rest, qualified := strings.Cut(name, "/"); qualified {
		if !isPoolKind(kind) {
			return nil, fmt.Errorf("%.64q is no kind of pools: use awsmachinepool/NAME or awsmanagedmachinepool/NAME", kind)
		}
		kinds, name = []string{rolloutcontrol.KindNamed(kind)}, rest
	}
	switch {
	case name == "":
		return nil, errors.New("the name of the pool is empty")
	case len(content.IsPathSegmentName(name)) > 0: // no object can have the name
		return nil, &noPoolError{namespace: c.namespace, kinds: kinds, name: name}
	}
	var found []*unstructured.Unstructured
	for _, kind := range kinds {
		object := &unstructured.Unstructured{}
		object.SetNamespace(c.namespace)
		object.SetName(name)
		present, err := c.present(ctx, infrav1.GroupVersion.WithKind(kind), object)
		if err != nil {
			return nil, fmt.Errorf("reading %s %q: %w", kind, name, err)
		}
		if present != nil {
			object.SetGroupVersionKind(infrav1.GroupVersion.WithKind(kind))
			found = append(found, object)
		}
	}
	switch len(found) {
	case 0:
		return nil, &noPoolError{namespace: c.namespace, kinds: kinds, name: name}
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("namespace %s has pools of two kinds with the name %q: use awsmachinepool/%[2]s or awsmanagedmachinepool/%[2]s", c.namespace, name)
}

// subject returns the object of a name whose edit can be planned: a pool, or a MachinePool or an AWSLaunchConfig that
// is named with its kind.
func (c planCluster) subject(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	word, rest, qualified := strings.Cut(name, "/")
	kind := infrav1.GroupVersion.WithKind(rolloutcontrol.KindNamed(word))
	switch {
	case !qualified || isPoolKind(word):
		return c.pool(ctx, name)
	case kind.Kind == "":
		return nil, fmt.Errorf("%.64q is not a kind whose edit can be planned: use awsmachinepool/NAME, awsmanagedmachinepool/NAME, machinepool/NAME, or awslaunchconfig/NAME", word)
	case rest == "":
		return nil, fmt.Errorf("the name of the %s is empty", kind.Kind)
	case len(content.IsPathSegmentName(rest)) > 0: // no object can have the name
		return nil, &noPoolError{namespace: c.namespace, kinds: []string{kind.Kind}, name: rest}
	case kind.Kind == rolloutcontrol.KindMachinePool:
		kind = clusterv1.GroupVersion.WithKind(kind.Kind)
	}
	object := &unstructured.Unstructured{}
	object.SetNamespace(c.namespace)
	object.SetName(rest)
	found, err := c.present(ctx, kind, object)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s %q: %w", kind.Kind, rest, err)
	case found == nil:
		return nil, &noPoolError{namespace: c.namespace, kinds: []string{kind.Kind}, name: rest}
	}
	object.SetGroupVersionKind(kind)
	return object, nil
}
