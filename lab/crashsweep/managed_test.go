package crashsweep

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/capa"
)

const (
	managedName = "capa-mmp-0"
	// privateSubnet is the one that the example's zone has.
	privateSubnet = "subnet-0b2000000000000aa"
)

// onEKS is a cluster with an EKS control plane.
var onEKS = lab.ClusterOptions{Managed: true, KubernetesVersion: "v1.34.0"}

// managedScenarios are the scenarios of AWSManagedMachinePools.
var managedScenarios = []scenario{
	{
		name:    "create a managed pool",
		cluster: onEKS,
		prepare: func(*harness) {},
		act:     func(h *harness) { createManaged(h) },
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
		// A lost answer to an update is not repeated; labels and template are two updates, and a
		// crash between them may have the settling window begin anew.
		repeats: 1,
	},
	{
		name:    "token rotation of a managed pool",
		cluster: onEKS,
		prepare: func(h *harness) {
			createManaged(h, h.withOwnImage()...)
			h.env.Eventually("the managed pool is ready", func() error { return h.managedReady(2) })
		},
		act: func(h *harness) { h.putBootstrapData(1) },
		done: func(h *harness) error {
			if versions := h.world().Versions; len(versions) != 2 {
				return fmt.Errorf("versions are %v", versions)
			}
			return h.managedReady(2)
		},
	},
	{
		name:    "adopt a managed pool",
		cluster: onEKS,
		prepare: haveCAPAsManaged,
		act:     unpauseManaged,
		done: func(h *harness) error {
			for _, instance := range h.world().Instances {
				if instance.Version != "1" {
					return fmt.Errorf("an instance is %+v", instance)
				}
			}
			return h.managedReady(2)
		},
	},
	{
		name:    "delete a managed pool that was not taken over",
		cluster: onEKS,
		prepare: haveCAPAsManaged,
		act: func(h *harness) {
			deleteManaged(h)
			h.awaitDeletion(&infrav1.AWSManagedMachinePool{}, managedName)
			unpauseManaged(h)
		},
		done: managedGone,
		rate: unhurried,
	},
	{
		name:    "release a managed pool",
		cluster: onEKS,
		prepare: func(h *harness) {
			haveCAPAsManaged(h)
			unpauseManaged(h)
			h.env.Eventually("the managed pool is taken over", func() error { return h.managedReady(2) })
		},
		act: func(h *harness) {
			h.editManaged(func(pool *infrav1.AWSManagedMachinePool) {
				metav1.SetMetaDataAnnotation(&pool.ObjectMeta, infrav1.ReleaseAnnotation, "true")
			})
		},
		done: func(h *harness) error {
			pool, err := h.managed()
			if err == nil && !meta.IsStatusConditionTrue(pool.Status.Conditions, infrav1.ReleasedCondition) {
				err = fmt.Errorf("conditions are %+v", pool.Status.Conditions)
			}
			return err
		},
	},
	{
		name:    "replace a node group whose template is lost",
		cluster: onEKS,
		prepare: func(h *harness) {
			haveManaged(h)
			h.editManaged(func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.TemplateLossPolicy = infrav1.TemplateLossReplace })
			h.env.Eventually("the managed pool has seen it", func() error { return h.managedReady(2) })
		},
		act: loseManagedTemplate,
		done: func(h *harness) error {
			if groups := h.world().Nodegroups; len(groups) != 1 || !strings.HasPrefix(groups[0], "ns_"+managedName+"-hash ") {
				return fmt.Errorf("node groups are %q", groups)
			}
			return h.managedReady(2)
		},
		rate: unhurried,
	},
	{
		name:    "delete a managed pool",
		cluster: onEKS,
		prepare: haveManaged,
		act:     deleteManaged,
		done:    managedGone,
		rate:    unhurried,
	},
}

func deleteManaged(h *harness) {
	machinePool := &clusterv1.MachinePool{}
	machinePool.Namespace, machinePool.Name = h.env.Namespace, managedName
	if err := h.env.Client.Delete(h.env.Context(), machinePool); err != nil {
		h.Fatal(err)
	}
}

// managedGone is nil when no object of the pool is left.
func managedGone(h *harness) error {
	for _, object := range []client.Object{&clusterv1.MachinePool{}, &infrav1.AWSManagedMachinePool{}, &infrav1.AWSLaunchConfig{}} {
		err := h.env.Client.Get(h.env.Context(), client.ObjectKey{Namespace: h.env.Namespace, Name: managedName}, object)
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("%T is still there: %w", object, err)
		}
	}
	return nil
}

func createManaged(h *harness, replacements ...string) {
	h.env.ApplyFile("../../examples/managedmachinepool.yaml", replacements...)
}

// withOwnImage are the replacements that give the example's template an image and bootstrap data,
// without which CAPA runs none.
func (h *harness) withOwnImage() []string {
	h.Helper()
	h.putBootstrapData(0)
	return []string{
		`dataSecretName: ""`, "dataSecretName: " + poolName,
		"  amiType: AL2023_x86_64_STANDARD\n", "  amiType: CUSTOM\n",
		"    rootVolume:\n      size: 30", "    ami: {id: " + h.image("amazon-eks-node-al2023-x86_64-standard-1.34-*") + "}",
	}
}

// haveCAPAsManaged has a managed pool as Cluster API Provider AWS leaves it. It is paused, so that
// the manager does nothing yet.
func haveCAPAsManaged(h *harness) {
	const head = "kind: AWSManagedMachinePool\nmetadata:\n"
	createManaged(h, append(h.withOwnImage(), head, head+"  annotations: {"+clusterv1.PausedAnnotation+": \"true\"}\n")...)
	provider := capa.Managed{Provider: capa.Provider{
		Client: h.env.Client, AWS: h.env.AWSConfig(), Key: client.ObjectKey{Namespace: h.env.Namespace, Name: managedName},
	}}
	h.env.Eventually("CAPA makes its node group", func() error { return provider.Create(h.env.Context(), privateSubnet) })
	h.env.Eventually("CAPA's node group is active", func() error {
		group, err := provider.Nodegroup(h.env.Context())
		if err == nil && group.Status != ekstypes.NodegroupStatusActive {
			err = fmt.Errorf("it is %s", group.Status)
		}
		return err
	})
}

func unpauseManaged(h *harness) {
	h.editManaged(func(pool *infrav1.AWSManagedMachinePool) { delete(pool.Annotations, clusterv1.PausedAnnotation) })
}

// loseManagedTemplate deletes the launch template that the node group was created from, outside
// Slipway.
func loseManagedTemplate(h *harness) {
	pool, err := h.managed()
	if err != nil {
		h.Fatal(err)
	}
	_, err = ec2.NewFromConfig(h.env.AWSConfig()).DeleteLaunchTemplate(h.env.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &pool.Status.LaunchTemplateID})
	if err != nil {
		h.Fatal(err)
	}
}

func (h *harness) managed() (*infrav1.AWSManagedMachinePool, error) {
	pool := &infrav1.AWSManagedMachinePool{}
	return pool, h.env.Client.Get(h.env.Context(), client.ObjectKey{Namespace: h.env.Namespace, Name: managedName}, pool)
}

// haveManaged has the pool of the example, at rest.
func haveManaged(h *harness) {
	createManaged(h)
	h.env.Eventually("the managed pool is ready", func() error { return h.managedReady(2) })
}

func (h *harness) editManaged(change func(*infrav1.AWSManagedMachinePool)) {
	h.Helper()
	pool, err := h.managed()
	if err != nil {
		h.Fatal(err)
	}
	before := pool.DeepCopy()
	change(pool)
	if err := h.env.Client.Patch(h.env.Context(), pool, client.MergeFrom(before)); err != nil {
		h.Fatal(err)
	}
}

// managedReady is nil for a managed pool that has acted on its spec, with the given number of
// instances in service, all of them up to date.
func (h *harness) managedReady(replicas int32) error {
	pool, err := h.managed()
	if err != nil {
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

// successor matches the suffix of the name of a node group that took the place of another.
var successor = regexp.MustCompile(`-[0-9a-f]{8}$`)

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
		var gone *ekstypes.ResourceNotFoundException
		if errors.As(err, &gone) {
			continue // it was deleted since it was listed
		}
		if err != nil {
			h.Fatal(err)
		}
		group := out.Nodegroup
		world.Nodegroups = append(world.Nodegroups, strings.Join([]string{
			successor.ReplaceAllString(plain(name), "-hash"), string(group.Status), "version " + awssdk.ToString(group.LaunchTemplate.Version), fmt.Sprint(len(group.Labels), " labels"),
			fmt.Sprint(len(group.Tags), " tags"), strconv.Itoa(int(*group.ScalingConfig.DesiredSize)),
		}, " "))
	}
	roles, err := iam.NewFromConfig(h.env.AWSConfig()).ListRoles(h.env.Context(), &iam.ListRolesInput{})
	if err != nil {
		h.Fatal(err)
	}
	for _, role := range roles.Roles {
		if strings.HasPrefix(*role.RoleName, "capa_") || strings.HasSuffix(*role.RoleName, "_nodegroup-iam-service-role") {
			world.Roles++
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
