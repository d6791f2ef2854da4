package crashsweep

import (
	"fmt"
	"strconv"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/lab"
)

const managedName = "capa-mmp-0"

// onEKS is a cluster with an EKS control plane.
var onEKS = lab.ClusterOptions{Managed: true, KubernetesVersion: "v1.34.0"}

// managedScenarios are those of AWSManagedMachinePools.
var managedScenarios = []scenario{
	{
		name:    "create a managed pool",
		cluster: onEKS,
		prepare: func(*harness) {},
		act:     createManaged,
		done:    func(h *harness) error { return h.managedReady(2) },
	},
	{
		name:    "edit a managed pool",
		cluster: onEKS,
		prepare: haveManaged,
		act: func(h *harness) {
			h.editManaged(func(pool *infrav1.AWSManagedMachinePool) {
				pool.Spec.Labels = map[string]string{"tier": "web"}
				pool.Spec.AWSLaunchTemplate.InstanceType = "m5.large"
			})
		},
		done: func(h *harness) error {
			for _, instance := range h.world().Instances {
				if instance.Type != "m5.large" {
					return fmt.Errorf("an instance is %+v", instance)
				}
			}
			return h.managedReady(2)
		},
		// A lost answer to an update is not repeated; labels and template are two updates, and a crash between them may have the settling window begin anew.
		repeats: 1,
	},
	{
		name:    "delete a managed pool",
		cluster: onEKS,
		prepare: haveManaged,
		act: func(h *harness) {
			machinePool := &clusterv1.MachinePool{}
			machinePool.Namespace, machinePool.Name = h.env.Namespace, managedName
			if err := h.env.Client.Delete(h.env.Context(), machinePool); err != nil {
				h.Fatal(err)
			}
		},
		done: func(h *harness) error {
			for _, object := range []client.Object{&clusterv1.MachinePool{}, &infrav1.AWSManagedMachinePool{}, &infrav1.AWSLaunchConfig{}} {
				err := h.env.Client.Get(h.env.Context(), client.ObjectKey{Namespace: h.env.Namespace, Name: managedName}, object)
				if !apierrors.IsNotFound(err) {
					return fmt.Errorf("%T is still there: %w", object, err)
				}
			}
			return nil
		},
		rate: unhurried,
	},
}

func createManaged(h *harness) { h.env.ApplyFile("../../examples/managedmachinepool.yaml") }

// haveManaged has the pool of the example, at rest.
func haveManaged(h *harness) {
	createManaged(h)
	h.env.Eventually("the managed pool is ready", func() error { return h.managedReady(2) })
}

func (h *harness) editManaged(change func(*infrav1.AWSManagedMachinePool)) {
	h.Helper()
	pool := &infrav1.AWSManagedMachinePool{}
	if err := h.env.Client.Get(h.env.Context(), client.ObjectKey{Namespace: h.env.Namespace, Name: managedName}, pool); err != nil {
		h.Fatal(err)
	}
	before := pool.DeepCopy()
	change(pool)
	if err := h.env.Client.Patch(h.env.Context(), pool, client.MergeFrom(before)); err != nil {
		h.Fatal(err)
	}
}

// managedReady is nil for a managed pool that has acted on its spec, with the given number of instances in service, all of them up to date.
func (h *harness) managedReady(replicas int32) error {
	pool := &infrav1.AWSManagedMachinePool{}
	if err := h.env.Client.Get(h.env.Context(), client.ObjectKey{Namespace: h.env.Namespace, Name: managedName}, pool); err != nil {
		return err
	}
	status := pool.Status
	for _, kind := range []string{infrav1.ReadyCondition, infrav1.RolledOutCondition} {
		condition := meta.FindStatusCondition(status.Conditions, kind)
		if condition == nil || condition.Status != "True" || condition.ObservedGeneration != pool.Generation {
			return fmt.Errorf("%s is not true: %+v", kind, status.Conditions)
		}
	}
	if status.Nodegroup == nil || status.Nodegroup.Status != "ACTIVE" || !maintained(pool) {
		return fmt.Errorf("the node group is %+v", status.Nodegroup)
	}
	if status.Replicas != replicas || ptr.Deref(status.ReadyReplicas, 0) != replicas || ptr.Deref(status.UpToDateReplicas, 0) != replicas ||
		len(pool.Spec.ProviderIDList) != int(replicas) || len(h.env.Nodes()) != int(replicas) {
		return fmt.Errorf("status is %+v", status)
	}
	return nil
}

// maintained is true once the node group has the labels that the spec asks for, as far as the pool knows.
func maintained(pool *infrav1.AWSManagedMachinePool) bool {
	return pool.Status.Update == nil || pool.Status.Update.Status != "InProgress"
}

// addManaged adds what managed pools have, without the test's namespace in names.
func (h *harness) addManaged(world *World) {
	h.Helper()
	plain := func(name string) string { return strings.ReplaceAll(name, h.env.Namespace, "ns") }
	cluster := lab.EKSClusterName(h.env.Namespace, "capa")
	groups, err := eks.NewFromConfig(h.env.AWSConfig()).ListNodegroups(h.env.Context(), &eks.ListNodegroupsInput{ClusterName: &cluster})
	if err != nil {
		return // there is no EKS cluster
	}
	for _, name := range groups.Nodegroups {
		out, err := eks.NewFromConfig(h.env.AWSConfig()).DescribeNodegroup(h.env.Context(), &eks.DescribeNodegroupInput{ClusterName: &cluster, NodegroupName: &name})
		if err != nil {
			h.Fatal(err)
		}
		group := out.Nodegroup
		world.Nodegroups = append(world.Nodegroups, strings.Join([]string{
			plain(name), string(group.Status), "version " + awssdk.ToString(group.LaunchTemplate.Version), fmt.Sprint(len(group.Labels), " labels"),
			fmt.Sprint(len(group.Tags), " tags"), strconv.Itoa(int(*group.ScalingConfig.DesiredSize)),
		}, " "))
	}
	roles, err := iam.NewFromConfig(h.env.AWSConfig()).ListRoles(h.env.Context(), &iam.ListRolesInput{})
	if err != nil {
		h.Fatal(err)
	}
	for _, role := range roles.Roles {
		if strings.Contains(*role.RoleName, h.env.Namespace) {
			world.Roles++ // a hash of the namespace is in the name
		}
	}
	pools := &infrav1.AWSManagedMachinePoolList{}
	if err := h.env.Client.List(h.env.Context(), pools, client.InNamespace(h.env.Namespace)); err != nil {
		h.Fatal(err)
	}
	for i := range pools.Items {
		pool := &pools.Items[i]
		parts := append([]string{pool.Name, strconv.Itoa(int(pool.Status.Replicas)), awssdk.ToString(pool.Status.LaunchTemplateVersion)}, pool.Finalizers...)
		world.Pools = append(world.Pools, strings.Join(append(parts, conditionTexts(pool)...), " "))
	}
}
