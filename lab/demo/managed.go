package demo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/examples"
	"github.com/slipway-project/slipway/lab"
)

// The names in examples/managedmachinepool.yaml, and of the EKS cluster that the managed pool is in.
const (
	managedName    = "capa-mmp-0"
	managedCluster = "managed"
	managedVersion = "v1.34.0"
)

// managedStory is the same for a managed pool: the same launch template, and a node group of EKS's
// in place of a group of one's own.
var managedStory = []step{
	{
		title: "Apply MachinePool and AWSManagedMachinePool in an EKS cluster",
		act: func(ctx context.Context, s *stage) error {
			_, err := s.lab.NewCluster(ctx, lab.ClusterOptions{Namespace: namespace, Name: managedCluster, Managed: true, KubernetesVersion: managedVersion})
			if err != nil {
				return err
			}
			return apply(ctx, s.client, strings.ReplaceAll(examples.ManagedMachinePool, "clusterName: capa", "clusterName: "+managedCluster))
		},
		expected: "2 nodes Ready, node group ACTIVE at template version 1, instances t3.large",
		see:      seeManaged,
	},
	{
		title: "Change the instance type of the managed pool to m6i.large",
		act: func(ctx context.Context, s *stage) error {
			pool, err := s.managed(ctx)
			if err != nil {
				return err
			}
			return edit(ctx, s, pool, func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = "m6i.large" })
		},
		expected: "2 nodes Ready, node group ACTIVE at template version 2, instances m6i.large",
		see:      seeManaged,
	},
	{
		title: "Delete the managed MachinePool",
		act: func(ctx context.Context, s *stage) error {
			machinePool := &clusterv1.MachinePool{}
			machinePool.Namespace, machinePool.Name = namespace, managedName
			return s.client.Delete(ctx, machinePool)
		},
		expected: "AWS holds nothing, no node and no object is left",
		see:      func(ctx context.Context, s *stage) (string, error) { return seeNothingOf(ctx, s, managedName) },
	},
}

func (s *stage) managed(ctx context.Context) (*infrav1.AWSManagedMachinePool, error) {
	pool := &infrav1.AWSManagedMachinePool{}
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: managedName}, pool); err != nil {
		return nil, fmt.Errorf("reading the managed pool: %w", err)
	}
	return pool, nil
}

// seeManaged describes the managed pool, and the types of its instances.
func seeManaged(ctx context.Context, s *stage) (string, error) {
	pool, err := s.managed(ctx)
	if err != nil {
		return "", err
	}
	status := pool.Status
	if status.ObservedGeneration != pool.Generation || !meta.IsStatusConditionTrue(status.Conditions, infrav1.RolledOutCondition) || status.Nodegroup == nil {
		return "the managed pool has not acted on its spec yet", nil
	}
	ready, err := s.readyNodes(ctx)
	if err != nil {
		return "", err
	}
	version := ""
	if status.LaunchTemplateVersion != nil {
		version = *status.LaunchTemplateVersion
	}
	return fmt.Sprintf("%d nodes Ready, node group %s at template version %s, instances %s", ready, status.Nodegroup.Status, version, s.instanceTypes()), nil
}

// instanceTypes returns the types of all running instances.
func (s *stage) instanceTypes() string {
	types := map[string]bool{}
	for _, instance := range s.lab.Cloud.AWS.Region(awssim.DefaultAccount, s.lab.Cloud.Region()).Instances() {
		if instance.State.Name == "running" {
			types[string(instance.InstanceType)] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(types)), " and ")
}

// seeNothingOf looks for anything that pools of the names left behind.
func seeNothingOf(ctx context.Context, s *stage, names ...string) (string, error) {
	for _, name := range names {
		for _, object := range []client.Object{
			&clusterv1.MachinePool{}, &infrav1.AWSMachinePool{}, &infrav1.AWSManagedMachinePool{}, &infrav1.AWSLaunchConfig{},
		} {
			err := s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
			if err == nil {
				return fmt.Sprintf("%T %s is still there", object, name), nil
			}
			if !apierrors.IsNotFound(err) {
				return "", err
			}
		}
	}
	left, err := s.left(ctx)
	if err != nil {
		return "", err
	}
	if left != "" {
		return "AWS still holds " + left, nil
	}
	nodes, err := s.readyNodes(ctx)
	if err != nil || nodes > 0 {
		return fmt.Sprintf("AWS holds nothing, and %d nodes are left", nodes), err
	}
	return "AWS holds nothing, no node and no object is left", nil
}
