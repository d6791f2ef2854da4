package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/rolloutcontrol"
)

// noPoolError reports a name that no pool has.
type noPoolError struct {
	namespace, name string
	kinds           []string
	// elsewhere are other namespaces that have the name, and users the pools of an AWSLaunchConfig that has it.
	elsewhere, users []string
}

// Error implements error.
func (e *noPoolError) Error() string {
	text := (&rolloutcontrol.NotFoundError{Namespace: e.namespace, Name: e.name, Kinds: e.kinds}).Error()
	if len(e.users) > 0 {
		return fmt.Sprintf("%s. AWSLaunchConfig %[2]s is used by %s: name a pool", text, e.name, strings.Join(e.users, ", "))
	}
	return text + elsewhereText(e.elsewhere)
}

// mostElsewhere bounds how many namespaces an error names.
const mostElsewhere = 3

// elsewhereText says which namespaces have a name that was looked for in another one.
func elsewhereText(namespaces []string) string {
	switch more := len(namespaces) - mostElsewhere; {
	case len(namespaces) == 0:
		return ""
	case len(namespaces) == 1:
		return fmt.Sprintf(". Namespace %s has it: use -n %[1]s", namespaces[0])
	case more > 0:
		return fmt.Sprintf(". Namespaces %s, and %d more have it: choose one with -n", strings.Join(namespaces[:mostElsewhere], ", "), more)
	}
	return fmt.Sprintf(". Namespaces %s have it: choose one with -n", strings.Join(namespaces, ", "))
}

// poolKinds are the kinds of pools.
var poolKinds = []string{rolloutcontrol.KindSelfManaged, rolloutcontrol.KindManaged}

// isPoolKind reports whether a word names a kind of pools, or MachinePool, which leads to a pool.
func isPoolKind(word string) bool {
	kind := rolloutcontrol.KindNamed(word)
	return slices.Contains(poolKinds, kind) || kind == rolloutcontrol.KindMachinePool
}

// anyPool is the word that stands for all kinds of pools before a name.
const anyPool = "pool"

// pool returns the pool of a name, which may have its kind before it and a slash, such as
// awsmanagedmachinepool/workers. A MachinePool stands for the pool that it refers to. If there is none, the error
// says which namespaces have the name.
func (c planCluster) pool(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	found, err := c.findPool(ctx, name)
	var missing *noPoolError
	if errors.As(err, &missing) {
		missing.elsewhere, missing.users = c.elsewhere(ctx, missing.name, missing.kinds...), c.usersOf(ctx, missing.name)
	}
	return found, err
}

// findPool returns the pool of a name, like pool.
func (c planCluster) findPool(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	kinds := append(slices.Clone(poolKinds), rolloutcontrol.KindMachinePool)
	if kind, rest, qualified := strings.Cut(name, "/"); qualified {
		switch {
		case isPoolKind(kind):
			kinds = []string{rolloutcontrol.KindNamed(kind)}
		case kind != anyPool:
			return nil, fmt.Errorf("%.64q is no kind of pools: use awsmachinepool/NAME, awsmanagedmachinepool/NAME, or machinepool/NAME", kind)
		}
		name = rest
	}
	missing := &noPoolError{namespace: c.namespace, kinds: kinds, name: name}
	switch {
	case name == "":
		return nil, errors.New("the name of the pool is empty")
	case len(content.IsPathSegmentName(name)) > 0: // no object can have the name
		return nil, missing
	}
	var found []*unstructured.Unstructured
	for _, kind := range kinds {
		if kind == rolloutcontrol.KindMachinePool {
			continue
		}
		present, err := c.named(ctx, kind, name)
		if err != nil {
			return nil, err
		}
		if present != nil {
			found = append(found, present)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, fmt.Errorf("namespace %s has pools of two kinds with the name %q: use awsmachinepool/%[2]s or awsmanagedmachinepool/%[2]s", c.namespace, name)
	case slices.Contains(kinds, rolloutcontrol.KindMachinePool):
		return c.poolOf(ctx, name, missing)
	}
	return nil, missing
}

// named returns the pool of a kind and a name, nil if there is none.
func (c planCluster) named(ctx context.Context, kind, name string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetNamespace(c.namespace)
	object.SetName(name)
	present, err := c.present(ctx, infrav1.GroupVersion.WithKind(kind), object)
	if err != nil {
		return nil, fmt.Errorf("reading %s %q: %w", kind, name, err)
	}
	return present, nil
}

// poolOf returns the pool of a MachinePool. A user who may not read MachinePools, and asked for a pool of either
// kind, learns that there is no pool.
func (c planCluster) poolOf(ctx context.Context, name string, missing *noPoolError) (*unstructured.Unstructured, error) {
	owner := &clusterv1.MachinePool{}
	err := c.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, owner)
	unreadable := meta.IsNoMatchError(err) || apierrors.IsForbidden(err)
	reference := owner.Spec.Template.Spec.InfrastructureRef
	switch {
	case apierrors.IsNotFound(err):
		return nil, missing
	case unreadable && len(missing.kinds) > 1:
		missing.kinds = poolKinds
		return nil, missing
	case err != nil:
		return nil, fmt.Errorf("reading MachinePool %q: %w", name, err)
	case reference.APIGroup != infrav1.GroupVersion.Group || !slices.Contains(poolKinds, reference.Kind):
		return nil, fmt.Errorf("MachinePool %q refers to %.64s %q, which is not a pool of Slipway", name, reference.Kind, reference.Name)
	}
	found, err := c.named(ctx, reference.Kind, reference.Name)
	if err == nil && found == nil {
		err = fmt.Errorf("%s %q, which MachinePool %q refers to, does not exist", reference.Kind, reference.Name, name)
	}
	return found, err
}

// mostUsers bounds how many pools of an AWSLaunchConfig an error names.
const mostUsers = 5

// usersOf returns some pools that launch from an AWSLaunchConfig of a name, none if there is none.
func (c planCluster) usersOf(ctx context.Context, name string) []string {
	config := &infrav1.AWSLaunchConfig{}
	if len(content.IsPathSegmentName(name)) > 0 || c.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, config) != nil {
		return nil // the error that there is no such pool remains
	}
	var users []string
	for _, user := range config.Status.UsedBy {
		users = append(users, user.Kind+" "+user.Name)
	}
	return users[:min(len(users), mostUsers)]
}

// elsewhere returns the other namespaces that have an object of a name and of one of some kinds, as far as the user
// may list them.
func (c planCluster) elsewhere(ctx context.Context, name string, kinds ...string) []string {
	var namespaces []string
	for _, kind := range kinds {
		group := infrav1.GroupVersion
		if kind == rolloutcontrol.KindMachinePool || kind == kindCluster {
			group = clusterv1.GroupVersion
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(group.WithKind(kind + "List"))
		if c.List(ctx, list) != nil {
			continue // the error that there is no such object remains
		}
		for i := range list.Items {
			if item := &list.Items[i]; item.Name == name && item.Namespace != c.namespace {
				namespaces = append(namespaces, item.Namespace)
			}
		}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

// kindCluster is the kind of the clusters of Cluster API.
const kindCluster = "Cluster"

// subject returns the object of a name whose edit can be planned: a pool, or a MachinePool or an AWSLaunchConfig that
// is named with its kind.
func (c planCluster) subject(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	word, rest, qualified := strings.Cut(name, "/")
	kind := infrav1.GroupVersion.WithKind(rolloutcontrol.KindNamed(word))
	switch {
	case !qualified || word == anyPool || slices.Contains(poolKinds, kind.Kind):
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
		return nil, &noPoolError{namespace: c.namespace, kinds: []string{kind.Kind}, name: rest, elsewhere: c.elsewhere(ctx, rest, kind.Kind)}
	}
	return found, nil
}
