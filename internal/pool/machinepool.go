package pool

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/ownership"
)

// IsMachinePool goes by group and kind: the version changes with Cluster API's releases.
func IsMachinePool(reference metav1.OwnerReference) bool {
	version, err := schema.ParseGroupVersion(reference.APIVersion)
	return err == nil && version.Group == clusterv1.GroupVersion.Group && reference.Kind == "MachinePool"
}

// OwningMachinePool is the MachinePool that owns a pool, nil if it does not yet or is gone.
func OwningMachinePool(ctx context.Context, reader client.Reader, pool client.Object) (*clusterv1.MachinePool, error) {
	for _, reference := range pool.GetOwnerReferences() {
		if !IsMachinePool(reference) {
			continue
		}
		machinePool := &clusterv1.MachinePool{}
		err := reader.Get(ctx, client.ObjectKey{Namespace: pool.GetNamespace(), Name: reference.Name}, machinePool)
		if err == nil {
			return machinePool, nil
		}
		if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("reading MachinePool %q: %w", reference.Name, err)
		}
	}
	return nil, nil
}

// Owners returns the MachinePool that owns a pool and the Cluster of both, each of them nil if
// there is none, and the Cluster's name: as the MachinePool says it, or as it was recorded before
// anything was created in AWS.
func Owners(ctx context.Context, reader client.Reader, pool client.Object) (*clusterv1.MachinePool, *clusterv1.Cluster, string, error) {
	name := cmp.Or(pool.GetAnnotations()[ownership.ClusterAnnotation], pool.GetLabels()[clusterv1.ClusterNameLabel])
	machinePool, err := OwningMachinePool(ctx, reader, pool)
	if err != nil {
		return nil, nil, name, err
	}
	if machinePool != nil {
		name = machinePool.Spec.ClusterName
	}
	if name == "" {
		return machinePool, nil, "", nil
	}
	owner, err := GetCluster(ctx, reader, pool.GetNamespace(), name)
	return machinePool, owner, name, err
}

// Autoscaled is true for a pool whose size an external autoscaler decides (Cluster API: replicas-managed-by).
func Autoscaled(machinePool *clusterv1.MachinePool) bool {
	value, annotated := machinePool.Annotations[clusterv1.ReplicasManagedByAnnotation]
	return annotated && value != "false"
}
