package pool

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// GetCluster returns the Cluster of the given name, nil if there is none.
func GetCluster(ctx context.Context, reader client.Reader, namespace, name string) (*clusterv1.Cluster, error) {
	found := &clusterv1.Cluster{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, found)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading Cluster %q: %w", name, err)
	}
	return found, nil
}

// deleteForMoveAnnotation is the annotation that clusterctl sets on an object before it deletes it
// at the end of a move (clusterctl: api/v1alpha3, annotations.go).
const deleteForMoveAnnotation = "clusterctl.cluster.x-k8s.io/delete-for-move"

// Paused says whether the object is paused, by itself or by its Cluster, and shows it in the Paused
// condition. Nothing else should be done with a paused object, its deletion included. An object
// that clusterctl move takes away counts as paused: it is deleted with its finalizers, maybe after
// its Cluster, and what it stands for in AWS lives on in another management cluster.
func Paused(object reconciling.Conditioned, owner *clusterv1.Cluster) bool {
	message := ""
	_, annotated := object.GetAnnotations()[clusterv1.PausedAnnotation]
	_, moved := object.GetAnnotations()[deleteForMoveAnnotation]
	switch {
	case moved:
		message = "clusterctl move moved it to another management cluster: annotation " + deleteForMoveAnnotation + " is set"
	case annotated:
		message = "annotation " + clusterv1.PausedAnnotation + " is set"
	case owner != nil && ptr.Deref(owner.Spec.Paused, false):
		message = fmt.Sprintf("Cluster %q is paused", owner.Name)
	}
	if message != "" {
		reconciling.True(object, infrav1.PausedCondition, infrav1.PausedReason, message)
		return true
	}
	reconciling.False(object, infrav1.PausedCondition, infrav1.NotPausedReason, "")
	return false
}
