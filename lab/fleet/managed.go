package fleet

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// ManagedVersion is the Kubernetes version of managed pools: their cluster has to have it.
const ManagedVersion = "v1.34.0"

func (f *Fleet) createManaged(ctx context.Context, i int) error {
	name := Name(i)
	meta := metav1.ObjectMeta{Namespace: f.Namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: f.Cluster}}
	machinePool, err := f.createMachinePool(ctx, meta, "AWSManagedMachinePool", ManagedVersion, "")
	if err != nil {
		return err
	}
	pool := &infrav1.AWSManagedMachinePool{ObjectMeta: meta, Spec: infrav1.AWSManagedMachinePoolSpec{
		AMIType: ptr.To(infrav1.AMITypeAL2023X86), SubnetIDs: []string{f.Subnet},
		Scaling:           &infrav1.ManagedMachinePoolScaling{MinSize: ptr.To[int32](0), MaxSize: ptr.To[int32](10)},
		AWSLaunchTemplate: &infrav1.AWSLaunchTemplate{InstanceType: "t3.large"},
	}}
	pool.OwnerReferences = ownedBy(machinePool)
	if err := f.Client.Create(ctx, pool); err != nil {
		return fmt.Errorf("creating AWSManagedMachinePool %q: %w", name, err)
	}
	return nil
}

// EditManaged changes a managed pool as a user would.
func (f *Fleet) EditManaged(ctx context.Context, i int, change func(*infrav1.AWSManagedMachinePool)) error {
	pool := &infrav1.AWSManagedMachinePool{}
	if err := f.Client.Get(ctx, f.Key(i), pool); err != nil {
		return fmt.Errorf("reading AWSManagedMachinePool %q: %w", Name(i), err)
	}
	before := pool.DeepCopy()
	change(pool)
	if err := f.Client.Patch(ctx, pool, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("editing AWSManagedMachinePool %q: %w", Name(i), err)
	}
	return nil
}

// ManagedPools returns all managed pools.
func (f *Fleet) ManagedPools(ctx context.Context) ([]infrav1.AWSManagedMachinePool, error) {
	pools := &infrav1.AWSManagedMachinePoolList{}
	if err := f.Client.List(ctx, pools, client.InNamespace(f.Namespace)); err != nil {
		return nil, fmt.Errorf("listing managed pools: %w", err)
	}
	return pools.Items, nil
}

// UnsettledManaged says why a managed pool is not settled, if it is not.
func UnsettledManaged(pool *infrav1.AWSManagedMachinePool) string {
	if pool.Status.ObservedGeneration != pool.Generation {
		return fmt.Sprintf("generation %d is observed of %d", pool.Status.ObservedGeneration, pool.Generation)
	}
	for _, kind := range []string{infrav1.ReadyCondition, infrav1.RolledOutCondition} {
		if !meta.IsStatusConditionTrue(pool.Status.Conditions, kind) {
			return fmt.Sprintf("%s is not true: %+v", kind, pool.Status.Conditions)
		}
	}
	if group := pool.Status.Nodegroup; group == nil || group.Status != "ACTIVE" {
		return fmt.Sprintf("the node group is %+v", group)
	}
	return ""
}
