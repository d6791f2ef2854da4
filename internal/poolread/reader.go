// Package poolread reads what package poolview shows: the objects of pools, the Nodes of their workload
// clusters, launch template versions, and events. It changes nothing, neither in Kubernetes nor in AWS.
package poolread

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/drain"
	"github.com/slipway-project/slipway/internal/poolview"
)

// Workloads reaches workload clusters.
type Workloads interface {
	Client(ctx context.Context, cluster types.NamespacedName) (drain.API, error)
}

// Reader reads the objects of pools.
type Reader struct {
	// Cluster reads the management cluster.
	Cluster client.Reader
	// Workloads reaches workload clusters; nil if they are not read.
	Workloads Workloads
}

// Pools returns the pools of a namespace, of all namespaces if it is empty, sorted by namespace, name and
// kind. It lists each kind of objects once and reads no workload cluster. If the user may list only one of the two
// kinds of pools, it returns those pools, and as missing why it has none of the other kind.
func (r Reader) Pools(ctx context.Context, namespace string) (pools []poolview.Objects, missing, err error) {
	selfManaged, managed := &infrav1.AWSMachinePoolList{}, &infrav1.AWSManagedMachinePoolList{}
	machinePools, configs := &clusterv1.MachinePoolList{}, &infrav1.AWSLaunchConfigList{}
	for _, kind := range []struct {
		name  string
		list  client.ObjectList
		pools bool
	}{{"AWSMachinePools", selfManaged, true}, {"AWSManagedMachinePools", managed, true}, {"MachinePools", machinePools, false}, {"AWSLaunchConfigs", configs, false}} {
		err := r.Cluster.List(ctx, kind.list, client.InNamespace(namespace))
		switch {
		case kind.pools && apierrors.IsForbidden(err) && missing == nil:
			missing = fmt.Errorf("listing %s: %w", kind.name, err)
		case err != nil:
			return nil, nil, fmt.Errorf("listing %s: %w", kind.name, err)
		}
	}
	pools = make([]poolview.Objects, 0, len(selfManaged.Items)+len(managed.Items))
	for i := range selfManaged.Items {
		pools = append(pools, poolview.Objects{SelfManaged: &selfManaged.Items[i]})
	}
	for i := range managed.Items {
		pools = append(pools, poolview.Objects{Managed: &managed.Items[i]})
	}
	poolview.Join(pools, machinePools.Items, configs.Items)
	return pools, missing, nil
}

// Pool returns the objects of one pool. The kind is AWSMachinePool or AWSManagedMachinePool.
func (r Reader) Pool(ctx context.Context, kind string, name client.ObjectKey) (poolview.Objects, error) {
	var found poolview.Objects
	var object client.Object
	if kind == poolview.ManagedKind {
		found.Managed = &infrav1.AWSManagedMachinePool{}
		object = found.Managed
	} else {
		found.SelfManaged = &infrav1.AWSMachinePool{}
		object = found.SelfManaged
	}
	if err := r.Cluster.Get(ctx, name, object); err != nil {
		return found, fmt.Errorf("reading %s %q: %w", kind, name.Name, err)
	}
	machinePools, configs := &clusterv1.MachinePoolList{}, &infrav1.AWSLaunchConfigList{}
	if err := r.Cluster.List(ctx, machinePools, client.InNamespace(name.Namespace)); err != nil {
		return found, fmt.Errorf("listing MachinePools: %w", err)
	}
	if err := r.Cluster.List(ctx, configs, client.InNamespace(name.Namespace)); err != nil {
		return found, fmt.Errorf("listing AWSLaunchConfigs: %w", err)
	}
	joined := []poolview.Objects{found}
	poolview.Join(joined, machinePools.Items, configs.Items)
	return joined[0], nil
}

// WithNodes adds the Nodes of the workload cluster to the objects of a pool, and the Machines of the pool if
// it has some. It returns why they cannot be read, which leaves the objects as they are.
func (r Reader) WithNodes(ctx context.Context, objects *poolview.Objects) error {
	if pool := objects.SelfManaged; pool != nil && objects.MachinePool != nil && pool.Status.InfrastructureMachineKind != "" {
		machines := &clusterv1.MachineList{}
		err := r.Cluster.List(ctx, machines, client.InNamespace(pool.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: objects.MachinePool.Spec.ClusterName})
		if err != nil {
			return fmt.Errorf("listing Machines: %w", err)
		}
		objects.Machines = machines.Items
	}
	api, err := r.workload(ctx, *objects)
	if err != nil || api == nil {
		return err
	}
	var nodes []corev1.Node
	instances := instancesOf(*objects)
	err = api.EachNode(ctx, func(node *corev1.Node) bool {
		if slices.Contains(instances, poolview.InstanceID(node.Spec.ProviderID)) {
			nodes = append(nodes, *node)
		}
		return true
	})
	if err != nil {
		return err
	}
	objects.Nodes = nodes
	return nil
}

// WithPods adds the names of the pods that PodDisruptionBudgets hold to the drains of a view. A name is added
// only if it is certain: if as many pods of the budget's namespace must leave the node as the budget holds.
func (r Reader) WithPods(ctx context.Context, objects poolview.Objects, view *poolview.View) error {
	if !slices.ContainsFunc(view.Drains, poolview.Drain.Blocked) {
		return nil
	}
	api, err := r.workload(ctx, objects)
	if err != nil || api == nil {
		return err
	}
	for i := range view.Drains {
		drained := &view.Drains[i]
		if !drained.Blocked() || drained.Node == "" {
			continue
		}
		pods, err := api.Pods(ctx, drained.Node)
		if err != nil {
			return err
		}
		for j := range drained.Budgets {
			budget := &drained.Budgets[j]
			if names := leaving(pods, budget.Namespace); len(names) == budget.Pods {
				budget.Names = names
			}
		}
	}
	return nil
}

// leaving returns the names of the pods of a namespace that must leave their node, and that are not being
// deleted.
func leaving(pods []corev1.Pod, namespace string) []string {
	var names []string
	for i := range pods {
		if pod := &pods[i]; pod.Namespace == namespace && pod.DeletionTimestamp.IsZero() && drain.Leaves(pod) {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return names
}

// workload returns the API of the workload cluster of a pool, nil if workload clusters are not read.
func (r Reader) workload(ctx context.Context, objects poolview.Objects) (drain.API, error) {
	owner := objects.MachinePool
	if r.Workloads == nil || owner == nil {
		return nil, nil
	}
	return r.Workloads.Client(ctx, types.NamespacedName{Namespace: owner.Namespace, Name: owner.Spec.ClusterName})
}

func instancesOf(objects poolview.Objects) []string {
	var instances []infrav1.AWSMachinePoolInstanceStatus
	if objects.SelfManaged != nil {
		instances = objects.SelfManaged.Status.Instances
	} else {
		instances = objects.Managed.Status.Instances
	}
	ids := make([]string, 0, len(instances))
	for i := range instances {
		ids = append(ids, instances[i].InstanceID)
	}
	return ids
}

// ClusterOf returns the Cluster of a pool.
func (r Reader) ClusterOf(ctx context.Context, objects poolview.Objects) (*clusterv1.Cluster, error) {
	if objects.MachinePool == nil {
		return nil, &NoOwnerError{Pool: objectOf(objects).GetName()}
	}
	cluster := &clusterv1.Cluster{}
	name := client.ObjectKey{Namespace: objects.MachinePool.Namespace, Name: objects.MachinePool.Spec.ClusterName}
	if err := r.Cluster.Get(ctx, name, cluster); err != nil {
		return nil, fmt.Errorf("reading Cluster %q: %w", name.Name, err)
	}
	return cluster, nil
}

// NoOwnerError reports a pool that no MachinePool owns.
type NoOwnerError struct{ Pool string }

// Error implements error.
func (e *NoOwnerError) Error() string {
	return fmt.Sprintf("pool %q has no MachinePool yet, so that its cluster is not known", e.Pool)
}

func objectOf(objects poolview.Objects) metav1.Object {
	if objects.SelfManaged != nil {
		return objects.SelfManaged
	}
	return objects.Managed
}
