// Package namespaces decides which namespaces a list or a selector allows: for identities, and for
// what is shared between namespaces.
package namespaces

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrSelector is in the chain of errors about an invalid selector.
var ErrSelector = errors.New("the selector cannot be used")

// Allowed reports whether the list names a namespace or the selector selects it. The rules are
// CAPA's: without a list and a selector all are allowed; a selector that is there and empty selects
// none.
func Allowed(ctx context.Context, reader client.Reader, list []string, selector *metav1.LabelSelector, namespace string) (bool, error) {
	if list == nil && selector == nil || slices.Contains(list, namespace) {
		return true, nil
	}
	selects, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrSelector, err)
	}
	if selects.Empty() {
		return false, nil
	}
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := reader.Get(ctx, client.ObjectKey{Name: namespace}, object); err != nil {
		return false, fmt.Errorf("reading Namespace %q: %w", namespace, err)
	}
	return selects.Matches(labels.Set(object.Labels)), nil
}
