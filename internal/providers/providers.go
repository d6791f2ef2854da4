// Package providers finds what clusterctl installed in a management cluster for Cluster API, for
// Cluster API Provider AWS (CAPA) and for Slipway, and what their arguments and webhooks mean for pools.
package providers

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// Label is the label by which clusterctl marks what belongs to a provider.
const Label = "cluster.x-k8s.io/provider"

// The values of the label.
const (
	ClusterAPI = "cluster-api"
	CAPA       = "infrastructure-aws"
	Slipway    = "infrastructure-slipway"
)

// Names of CAPA's objects in its release (CAPA: config/default/kustomization.yaml).
const (
	CAPANamespace         = "capa-system"
	CAPAManager           = "capa-controller-manager"
	CAPAValidatingWebhook = "capa-validating-webhook-configuration"
	CAPAMutatingWebhook   = "capa-mutating-webhook-configuration"
)

// MachinePoolGate is the feature gate of the controllers of pools, in Cluster API and in CAPA. It is
// on by default, and it is beta (CAPA 2.13: feature/feature.go; Cluster API 1.14: feature/feature.go).
const (
	MachinePoolGate = "MachinePool"
	allBetaGate     = "AllBeta"
)

// mostObjects limits the objects of one kind of one provider that are read. Each provider has one or two.
const mostObjects = 50

// Query selects objects of one kind of a provider.
type Query struct {
	Provider string
	// Namespace limits the query. All namespaces if empty.
	Namespace string
	// Otherwise is the object that counts if none has the label.
	Otherwise types.NamespacedName
}

// Find returns the objects of a provider. Without any that has clusterctl's label, it returns the one
// with the name of the query, if that exists. The list and the object are empty ones of one kind.
func Find[T client.Object](ctx context.Context, reader client.Reader, list client.ObjectList, object T, query Query) ([]T, error) {
	options := []client.ListOption{client.InNamespace(query.Namespace), client.MatchingLabels{Label: query.Provider}, client.Limit(mostObjects)}
	if err := reader.List(ctx, list, options...); err != nil {
		return nil, fmt.Errorf("listing the %ss of %s: %w", kindOf(object), query.Provider, err)
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, fmt.Errorf("listing the %ss of %s: %w", kindOf(object), query.Provider, err)
	}
	var found []T
	for _, item := range items {
		if one, is := item.(T); is {
			found = append(found, one)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	switch err := reader.Get(ctx, query.Otherwise, object); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s %s: %w", kindOf(object), strings.TrimPrefix(query.Otherwise.String(), "/"), err)
	}
	return []T{object}, nil
}

// kindOf returns the kind of an object: the one it names, or the name of its Go type.
func kindOf(object client.Object) string {
	if kind := object.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		return kind
	}
	return reflect.TypeOf(object).Elem().Name()
}

// Gate returns whether a feature gate that is on by default is on. It is not known if its value is not
// a truth value. Each flag adds to the flags before it.
func Gate(args []string, name string) (on, known bool) {
	values := map[string]string{}
	for i, arg := range args {
		value, found := strings.CutPrefix(strings.TrimPrefix(arg, "-"), "-feature-gates=")
		if !found && strings.TrimLeft(arg, "-") == "feature-gates" && strings.HasPrefix(arg, "-") && i+1 < len(args) {
			value, found = args[i+1], true
		}
		if !found {
			continue
		}
		for pair := range strings.SplitSeq(value, ",") {
			key, text, _ := strings.Cut(pair, "=")
			values[strings.TrimSpace(key)] = strings.TrimSpace(text)
		}
	}
	for _, key := range []string{name, allBetaGate} {
		if text, set := values[key]; set {
			on, err := strconv.ParseBool(text)
			return on, err == nil
		}
	}
	return true, true
}

// PoolResources are the resources that CAPA and Slipway both define.
var PoolResources = []string{"awsmachinepools", "awsmanagedmachinepools"}

// ConcernPools reports whether the rules of a webhook select a resource that both define, and whether
// they select nothing else.
func ConcernPools(rules []admissionv1.RuleWithOperations) (some, only bool) {
	only = true
	for _, rule := range rules {
		ours := slices.Contains(rule.APIGroups, infrav1.GroupVersion.Group)
		for _, resource := range rule.Resources {
			pool := ours && slices.Contains(PoolResources, resource)
			selected := (ours || slices.Contains(rule.APIGroups, "*")) && (slices.Contains(PoolResources, resource) || strings.HasPrefix(resource, "*"))
			some, only = some || selected, only && pool && len(rule.APIGroups) == 1
		}
	}
	return some, some && only
}
