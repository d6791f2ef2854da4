// Package fleet creates many pools, for tests and benchmarks of the cost of a thousand pools. It
// stands in for Cluster API's controllers of machine pools and bootstrap data, which would take
// longer than what is measured: it sets the owner reference, the cluster's label, and the bootstrap
// data's name as they would. Run it in a laboratory without them (lab.Options.WithoutPools).
package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// atOnce is the number of requests that the fleet has under way.
const atOnce = 8

// userData is bootstrap data that never changes and joins no cluster: the machines need not become
// Nodes.
const userData = "#cloud-config\nruncmd:\n  - echo pool %s\n"

// Fleet is pools of one cluster, by number.
type Fleet struct {
	// Client reaches the management cluster.
	Client             client.Client
	Namespace, Cluster string
	// Subnet is the id of the one that instances are launched into.
	Subnet string
	// Replicas of each pool.
	Replicas int32
	// Managed selects AWSManagedMachinePools, which bring no bootstrap data: EKS has its own.
	Managed bool
	// NoRefresh leaves it to another controller to replace instances after an edit.
	NoRefresh bool
	// Shape changes a new AWSMachinePool, UserData its bootstrap data; nil for pools that are all
	// alike.
	Shape    func(i int, pool *infrav1.AWSMachinePool)
	UserData func(i int) string
}

// profile is an instance profile of the default world, which nodes need that read their bootstrap
// data from elsewhere.
const profile = "nodes.cluster-api-provider-aws.sigs.k8s.io"

// StoreIn has a pool keep its bootstrap data outside of its launch template.
func StoreIn(storage infrav1.BootstrapStorage, pool *infrav1.AWSMachinePool) {
	pool.Spec.BootstrapStorage, pool.Spec.AWSLaunchTemplate.IamInstanceProfile = storage, profile
}

// Name returns the name of a pool, of its MachinePool, and of everything else that belongs to it.
func Name(i int) string { return fmt.Sprintf("pool-%04d", i) }

// Key returns the pool's key.
func (f *Fleet) Key(i int) client.ObjectKey {
	return client.ObjectKey{Namespace: f.Namespace, Name: Name(i)}
}

// Create creates the pools from number first to one before end.
func (f *Fleet) Create(ctx context.Context, first, end int) error {
	return Each(first, end, func(i int) error { return f.create(ctx, i) })
}

// Each calls do with each number from first to one before end, several at once, and returns what
// failed.
func Each(first, end int, do func(int) error) error {
	var group sync.WaitGroup
	var mu sync.Mutex
	var failures []error
	next := first
	for range atOnce {
		group.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= end {
					return
				}
				if err := do(i); err != nil {
					mu.Lock()
					failures = append(failures, err)
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	return errors.Join(failures...)
}

func (f *Fleet) create(ctx context.Context, i int) error {
	if f.Managed {
		return f.createManaged(ctx, i)
	}
	name := Name(i)
	labels := map[string]string{clusterv1.ClusterNameLabel: f.Cluster}
	meta := metav1.ObjectMeta{Namespace: f.Namespace, Name: name, Labels: labels}
	data := fmt.Sprintf(userData, name)
	if f.UserData != nil {
		data = f.UserData(i)
	}
	secret := &corev1.Secret{
		ObjectMeta: meta,
		Type:       clusterv1.ClusterSecretType,
		StringData: map[string]string{"value": data, "format": "cloud-config"},
	}
	if err := f.Client.Create(ctx, secret); err != nil {
		return fmt.Errorf("creating the bootstrap data of pool %q: %w", name, err)
	}
	machinePool, err := f.createMachinePool(ctx, meta, "AWSMachinePool", "v1.25.0", name)
	if err != nil {
		return err
	}
	pool := &infrav1.AWSMachinePool{ObjectMeta: meta, Spec: infrav1.AWSMachinePoolSpec{
		MaxSize:           10,
		Subnets:           []infrav1.AWSResourceReference{{ID: &f.Subnet}},
		AWSLaunchTemplate: &infrav1.AWSLaunchTemplate{InstanceType: "t3.large"},
	}}
	if f.NoRefresh {
		pool.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Disable: true}
	}
	if f.Shape != nil {
		f.Shape(i, pool)
	}
	pool.OwnerReferences = ownedBy(machinePool)
	if err := f.Client.Create(ctx, pool); err != nil {
		return fmt.Errorf("creating AWSMachinePool %q: %w", name, err)
	}
	return nil
}

// createMachinePool creates the MachinePool of a pool of a kind, with the name of its bootstrap
// data, empty for none.
func (f *Fleet) createMachinePool(ctx context.Context, meta metav1.ObjectMeta, kind, version, data string) (*clusterv1.MachinePool, error) {
	machinePool := &clusterv1.MachinePool{ObjectMeta: meta, Spec: clusterv1.MachinePoolSpec{
		ClusterName: f.Cluster,
		Replicas:    &f.Replicas,
		Template: clusterv1.MachineTemplateSpec{Spec: clusterv1.MachineSpec{
			ClusterName: f.Cluster,
			Version:     version,
			Bootstrap:   clusterv1.Bootstrap{DataSecretName: &data},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: infrav1.GroupVersion.Group, Kind: kind, Name: meta.Name,
			},
		}},
	}}
	if err := f.Client.Create(ctx, machinePool); err != nil {
		return nil, fmt.Errorf("creating MachinePool %q: %w", meta.Name, err)
	}
	return machinePool, nil
}

func ownedBy(machinePool *clusterv1.MachinePool) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "MachinePool", Name: machinePool.Name, UID: machinePool.UID,
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}}
}

// Edit changes a pool as a user would.
func (f *Fleet) Edit(ctx context.Context, i int, change func(*infrav1.AWSMachinePool)) error {
	pool := &infrav1.AWSMachinePool{}
	if err := f.Client.Get(ctx, f.Key(i), pool); err != nil {
		return fmt.Errorf("reading AWSMachinePool %q: %w", Name(i), err)
	}
	before := pool.DeepCopy()
	change(pool)
	if err := f.Client.Patch(ctx, pool, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("editing AWSMachinePool %q: %w", Name(i), err)
	}
	return nil
}

// MachinePool returns the MachinePool of a pool.
func (f *Fleet) MachinePool(ctx context.Context, name string) (*clusterv1.MachinePool, error) {
	machinePool := &clusterv1.MachinePool{}
	if err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.Namespace, Name: name}, machinePool); err != nil {
		return nil, fmt.Errorf("reading MachinePool %q: %w", name, err)
	}
	return machinePool, nil
}

// Scale changes the replicas of a pool's MachinePool.
func (f *Fleet) Scale(ctx context.Context, i int, replicas int32) error {
	machinePool, err := f.MachinePool(ctx, Name(i))
	if err != nil {
		return err
	}
	before := machinePool.DeepCopy()
	machinePool.Spec.Replicas = &replicas
	if err := f.Client.Patch(ctx, machinePool, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("scaling MachinePool %q: %w", Name(i), err)
	}
	return nil
}

// Delete deletes a pool as core Cluster API does: the MachinePool, its infrastructure and its
// bootstrap data together.
func (f *Fleet) Delete(ctx context.Context, i int) error {
	meta := metav1.ObjectMeta{Namespace: f.Namespace, Name: Name(i)}
	for _, object := range []client.Object{
		&clusterv1.MachinePool{ObjectMeta: meta}, &infrav1.AWSMachinePool{ObjectMeta: meta}, &corev1.Secret{ObjectMeta: meta},
	} {
		if err := client.IgnoreNotFound(f.Client.Delete(ctx, object)); err != nil {
			return fmt.Errorf("deleting pool %q: %w", Name(i), err)
		}
	}
	return nil
}

// Rotate replaces a pool's bootstrap data, as its bootstrap provider does before a join token expires.
func (f *Fleet) Rotate(ctx context.Context, i int, data string) error {
	secret := &corev1.Secret{}
	if err := f.Client.Get(ctx, f.Key(i), secret); err != nil {
		return fmt.Errorf("reading the bootstrap data of pool %q: %w", Name(i), err)
	}
	before := secret.DeepCopy()
	secret.Data["value"] = []byte(data)
	if err := f.Client.Patch(ctx, secret, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("rotating the bootstrap data of pool %q: %w", Name(i), err)
	}
	return nil
}

// Pools returns all pools.
func (f *Fleet) Pools(ctx context.Context) ([]infrav1.AWSMachinePool, error) {
	pools := &infrav1.AWSMachinePoolList{}
	if err := f.Client.List(ctx, pools, client.InNamespace(f.Namespace)); err != nil {
		return nil, fmt.Errorf("listing pools: %w", err)
	}
	return pools.Items, nil
}

// Configs returns their launch configs.
func (f *Fleet) Configs(ctx context.Context) ([]infrav1.AWSLaunchConfig, error) {
	configs := &infrav1.AWSLaunchConfigList{}
	if err := f.Client.List(ctx, configs, client.InNamespace(f.Namespace)); err != nil {
		return nil, fmt.Errorf("listing launch configs: %w", err)
	}
	return configs.Items, nil
}

// Unsettled says which pools are not ready for their current generation with all their instances in
// service and up to date, and why.
func (f *Fleet) Unsettled(ctx context.Context) (map[string]string, error) {
	pools, err := f.Pools(ctx)
	if err != nil {
		return nil, err
	}
	unsettled := map[string]string{}
	for i := range pools {
		if reason := Unsettled(&pools[i]); reason != "" {
			unsettled[pools[i].Name] = reason
		}
	}
	return unsettled, nil
}

// Unsettled says why a pool is not settled, if it is not.
func Unsettled(pool *infrav1.AWSMachinePool) string {
	status := &pool.Status
	if status.ObservedGeneration != pool.Generation {
		return fmt.Sprintf("generation %d is observed of %d", status.ObservedGeneration, pool.Generation)
	}
	for _, kind := range []string{infrav1.ReadyCondition, infrav1.RolledOutCondition} {
		condition := meta.FindStatusCondition(status.Conditions, kind)
		switch {
		case condition == nil:
			return kind + " is not known"
		case condition.Status != metav1.ConditionTrue:
			return kind + " is " + string(condition.Status) + ", " + condition.Reason + ": " + condition.Message
		}
	}
	if ready := ptr.Deref(status.ReadyReplicas, 0); ready != status.Replicas || ready == 0 {
		return fmt.Sprintf("%d of %d instances are in service", ready, status.Replicas)
	}
	return ""
}
