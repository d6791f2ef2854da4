package pool

import (
	"cmp"
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/ownership"
)

// IsMachinePool goes by group and kind: the version changes with Cluster API's releases.
func IsMachinePool(reference metav1.OwnerReference) bool {
	version, err := schema.ParseGroupVersion(reference.APIVersion)
	return err == nil && version.Group == clusterv1.GroupVersion.Group && reference.Kind == "MachinePool"
}

// OwningMachinePool returns the MachinePool that owns a pool, nil if it does not yet or is gone. Users can
// write any owner reference, so a MachinePool that refers to another object does not own the pool: it would
// have two pools follow its size, and set it.
func OwningMachinePool(ctx context.Context, reader client.Reader, pool client.Object) (*clusterv1.MachinePool, error) {
	for _, reference := range pool.GetOwnerReferences() {
		if !IsMachinePool(reference) {
			continue
		}
		machinePool := &clusterv1.MachinePool{}
		err := reader.Get(ctx, client.ObjectKey{Namespace: pool.GetNamespace(), Name: reference.Name}, machinePool)
		if err == nil && refersTo(machinePool, pool) {
			return machinePool, nil
		}
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("reading MachinePool %q: %w", reference.Name, err)
		}
	}
	return nil, nil
}

// refersTo reports whether a MachinePool refers to a pool, or to nothing yet.
func refersTo(machinePool *clusterv1.MachinePool, pool client.Object) bool {
	kind := "AWSMachinePool"
	if _, managed := pool.(*infrav1.AWSManagedMachinePool); managed {
		kind = "AWSManagedMachinePool"
	}
	reference := machinePool.Spec.Template.Spec.InfrastructureRef
	return reference.Name == "" || reference.APIGroup == infrav1.GroupVersion.Group && reference.Kind == kind && reference.Name == pool.GetName()
}

// Owners returns the MachinePool that owns a pool and the Cluster of both, each of them nil if
// there is none, and the Cluster's name: as the MachinePool says it, or as it was recorded before
// anything was created in AWS. Of a pool that is being deleted, the record counts first.
func Owners(ctx context.Context, reader client.Reader, pool client.Object) (*clusterv1.MachinePool, *clusterv1.Cluster, string, error) {
	recorded := pool.GetAnnotations()[ownership.ClusterAnnotation]
	name := cmp.Or(recorded, pool.GetLabels()[clusterv1.ClusterNameLabel])
	machinePool, err := OwningMachinePool(ctx, reader, pool)
	if err != nil {
		return nil, nil, name, err
	}
	if machinePool != nil && (recorded == "" || pool.GetDeletionTimestamp() == nil) {
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
