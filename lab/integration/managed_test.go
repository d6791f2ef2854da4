package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/lab"
)

const (
	managedName    = "capa-mmp-0"
	managedVersion = "v1.34.0"
)

// managedWorld is a world whose cluster has an EKS control plane.
func managedWorld(t *testing.T) *world {
	t.Helper()
	return newWorldWith(t, managedOptions())
}

func managedOptions() options {
	return options{cluster: lab.ClusterOptions{Managed: true, KubernetesVersion: managedVersion}}
}

// applyManaged applies the manifest of a managed pool, with pairs of old and new text replaced.
func (w *world) applyManaged(replacements ...string) {
	w.Helper()
	w.ApplyFile("../../examples/managedmachinepool.yaml", replacements...)
}

// haveManaged has the managed pool of the example at rest, and what led there forgotten.
func (w *world) haveManaged(replacements ...string) {
	w.Helper()
	w.applyManaged(replacements...)
	w.Eventually("the managed pool has its two nodes", func() error { return w.managedSettled(2) })
	w.rest()
	w.Cloud.AWS.ClearCalls()
}

func (w *world) managedKey() client.ObjectKey {
	return client.ObjectKey{Namespace: w.Namespace, Name: managedName}
}

func (w *world) managed() (*infrav1.AWSManagedMachinePool, error) {
	pool := &infrav1.AWSManagedMachinePool{}
	return pool, w.Client.Get(w.Context(), w.managedKey(), pool)
}

func (w *world) mustManaged() *infrav1.AWSManagedMachinePool {
	w.Helper()
	pool, err := w.managed()
	if err != nil {
		w.Fatal(err)
	}
	return pool
}

// editManaged changes the managed pool's spec as a user would.
func (w *world) editManaged(edit func(*infrav1.AWSManagedMachinePool)) {
	w.Helper()
	edited(w, &infrav1.AWSManagedMachinePool{}, managedName, edit)
}

func (w *world) editManagedMachinePool(edit func(*clusterv1.MachinePool)) {
	w.Helper()
	edited(w, &clusterv1.MachinePool{}, managedName, edit)
}

// managedSettled is nil once the pool is ready for its current generation, rolled out, and core
// Cluster API has a Node for every replica.
func (w *world) managedSettled(replicas int) error {
	pool, err := w.managed()
	if err != nil {
		return err
	}
	if pool.Status.ObservedGeneration != pool.Generation {
		return fmt.Errorf("generation %d is observed of %d", pool.Status.ObservedGeneration, pool.Generation)
	}
	for _, kind := range []string{infrav1.ReadyCondition, infrav1.RolledOutCondition} {
		condition := meta.FindStatusCondition(pool.Status.Conditions, kind)
		if condition == nil || condition.Status != metav1.ConditionTrue || condition.ObservedGeneration != pool.Generation {
			return fmt.Errorf("conditions are %+v", pool.Status.Conditions)
		}
	}
	if got := ptr.Deref(pool.Status.UpToDateReplicas, -1); int(got) != replicas {
		return fmt.Errorf("%d instances are up to date of %+v", got, pool.Status.Instances)
	}
	if pool.Status.Nodegroup == nil || pool.Status.Nodegroup.Status != "ACTIVE" {
		return fmt.Errorf("the node group is %+v", pool.Status.Nodegroup)
	}
	machinePool := &clusterv1.MachinePool{}
	if err := w.Client.Get(w.Context(), w.managedKey(), machinePool); err != nil {
		return err
	}
	if len(machinePool.Status.NodeRefs) != replicas || len(pool.Spec.ProviderIDList) != replicas {
		return fmt.Errorf("the MachinePool has nodes %v, the pool instances %v", machinePool.Status.NodeRefs, pool.Spec.ProviderIDList)
	}
	return nil
}

func (w *world) eks() *eks.Client { return eks.NewFromConfig(w.awsConfig()) }
func (w *world) iam() *iam.Client { return iam.NewFromConfig(w.awsConfig()) }

// nodegroup is the pool's, by its default name.
func (w *world) nodegroup() *ekstypes.Nodegroup {
	w.Helper()
	return w.nodegroupNamed(w.Namespace + "_" + managedName)
}

func (w *world) nodegroupNamed(name string) *ekstypes.Nodegroup {
	w.Helper()
	nodegroup, err := w.describeNodegroup(name)
	if err != nil {
		w.Fatal(err)
	}
	return nodegroup
}

// describeNodegroup returns the node group of that name as EKS describes it.
func (w *world) describeNodegroup(name string) (*ekstypes.Nodegroup, error) {
	out, err := w.eks().DescribeNodegroup(w.Context(), &eks.DescribeNodegroupInput{ClusterName: aws.String(w.eksCluster), NodegroupName: &name})
	if err != nil {
		return nil, err
	}
	return out.Nodegroup, nil
}

// nodegroups are the names of all.
func (w *world) nodegroups() []string {
	w.Helper()
	out, err := w.eks().ListNodegroups(w.Context(), &eks.ListNodegroupsInput{ClusterName: aws.String(w.eksCluster)})
	if err != nil {
		w.Fatal(err)
	}
	return out.Nodegroups
}

// awaitManaged waits until the managed pool has the condition for its current generation, and returns it.
func (w *world) awaitManaged(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	w.Helper()
	var found metav1.Condition
	w.Eventually(fmt.Sprintf("condition %s is %s for %s", kind, status, reason), func() error {
		pool, err := w.managed()
		if err != nil {
			return err
		}
		condition := meta.FindStatusCondition(pool.Status.Conditions, kind)
		if condition == nil || condition.Status != status || condition.Reason != reason || condition.ObservedGeneration != pool.Generation {
			return fmt.Errorf("generation %d has conditions %+v", pool.Generation, pool.Status.Conditions)
		}
		found = *condition
		return nil
	})
	return found
}

// managedReplaced is nil once no instance of before is left and the pool has settled.
func (w *world) managedReplaced(before []string, replicas int) error {
	for _, id := range w.running() {
		if slices.Contains(before, id) {
			return fmt.Errorf("instance %s is still there", id)
		}
	}
	return w.managedSettled(replicas)
}

// TestManagedCreated compares what a new managed pool creates in AWS with what the manifest asks
// for.
func TestManagedCreated(t *testing.T) {
	t.Parallel()
	options := managedOptions()
	options.cluster.AdditionalTags = map[string]string{"team": "cluster", "cost": "7"}
	w := newWorldWith(t, options)
	w.applyManaged("  scaling:\n", "  additionalTags: {team: pool}\n  labels: {tier: web}\n  scaling:\n")
	w.Eventually("the managed pool has its two nodes", func() error { return w.managedSettled(2) })
	w.rest()
	w.expectCounts(map[string]int{
		"CreateLaunchTemplate": 1, "CreateLaunchTemplateVersion": 0, "CreateNodegroup": 1, "UpdateNodegroupConfig": 0, "UpdateNodegroupVersion": 0, "CreateRole": 1,
	})
	group, owner := w.nodegroup(), w.Namespace+"/capa/"+managedName
	tags := map[string]string{
		"team": "pool", "cost": "7", "kubernetes.io/cluster/" + w.eksCluster: "owned", infrav1.TagManagedMachinePool: owner,
	}
	if diff := cmp.Diff(tags, group.Tags); diff != "" {
		t.Errorf("tags of the node group (-want +got):\n%s", diff)
	}
	if scaling := group.ScalingConfig; *scaling.MinSize != 1 || *scaling.MaxSize != 10 || *scaling.DesiredSize != 2 {
		t.Errorf("the sizes are %d, %d to %d", *scaling.DesiredSize, *scaling.MinSize, *scaling.MaxSize)
	}
	if group.AmiType != ekstypes.AMITypesAl2023X8664Standard || aws.ToString(group.Version) != "1.34" || group.Labels["tier"] != "web" {
		t.Errorf("the node group is %s of %s with labels %v", group.AmiType, aws.ToString(group.Version), group.Labels)
	}
	var template *ec2types.LaunchTemplate
	for _, candidate := range w.templates() {
		if *candidate.LaunchTemplateId == aws.ToString(group.LaunchTemplate.Id) {
			template = &candidate
		}
	}
	if template == nil || *template.LaunchTemplateName != "capa-control-plane-"+managedName {
		t.Fatalf("the node group's template is %+v", template)
	}
	for _, node := range w.Nodes() {
		if node.Labels["tier"] != "web" || node.Labels["eks.amazonaws.com/nodegroup"] != *group.NodegroupName {
			t.Errorf("a node has labels %v", node.Labels)
		}
	}
	role := infrav1.DefaultNodeRoleName(w.eksCluster, *group.NodegroupName)
	if roleIn(*group.NodeRole) != role {
		t.Errorf("the role is %s, not %s", *group.NodeRole, role)
	}
	if roles := w.nodeRoles(); !slices.Equal(roles, []string{role}) {
		t.Errorf("there are node roles %q", roles)
	}
	pool := w.mustManaged()
	if pool.Status.LaunchTemplateID != *template.LaunchTemplateId || ptr.Deref(pool.Status.LaunchTemplateVersion, "") != "1" || !pool.Status.Ready ||
		!ptr.Deref(pool.Status.Initialization.Provisioned, false) {
		t.Errorf("status is %+v", pool.Status)
	}
	for _, group := range w.groups() {
		for _, tag := range group.Tags {
			if *tag.Key == "team" && (*tag.Value != "pool" || !*tag.PropagateAtLaunch) {
				t.Errorf("the Auto Scaling group's tag team is %s, inherited %t", *tag.Value, *tag.PropagateAtLaunch)
			}
		}
	}
	w.awaitEvents("LaunchTemplateCreated", "NodeRoleCreated", "NodegroupCreated", "NodegroupActive")
}

func roleIn(arn string) string { return arn[strings.LastIndex(arn, "/")+1:] }

// TestManagedEdits holds that edits in quick succession lead to one roll-out, that labels, taints,
// and sizes replace no node, and that the pool can be deleted.
func TestManagedEdits(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	w.haveManaged()
	before := w.running()

	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) {
		pool.Spec.Labels = map[string]string{"tier": "web"}
		pool.Spec.Taints = []infrav1.Taint{{Key: "dedicated", Value: "web", Effect: infrav1.TaintEffectPreferNoSchedule}}
	})
	w.editManagedMachinePool(func(machinePool *clusterv1.MachinePool) { machinePool.Spec.Replicas = ptr.To[int32](3) })
	w.Eventually("there are three nodes", func() error { return w.managedSettled(3) })
	w.Eventually("the labels are EKS's", func() error {
		if group := w.nodegroup(); group.Labels["tier"] != "web" || len(group.Taints) != 1 {
			return fmt.Errorf("labels %v, taints %v", group.Labels, group.Taints)
		}
		return w.managedSettled(3)
	})
	for _, id := range before {
		if !slices.Contains(w.running(), id) {
			t.Errorf("instance %s was replaced for labels", id)
		}
	}
	w.expectCounts(map[string]int{"UpdateNodegroupVersion": 0, "CreateLaunchTemplateVersion": 0})

	before = w.running()
	w.clock.SetRate(0) // so that it is quick, however long it takes
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = "m5.large" })
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.AWSLaunchTemplate.RootVolume.Size = 40 })
	w.Eventually("both edits are seen", func() error {
		config, pool := w.managedConfig(), w.mustManaged()
		if root := config.Spec.RootVolume; root == nil || root.Size != 40 || config.Status.ObservedGeneration != config.Generation || pool.Status.WantedVersion != config.Status.Version {
			return fmt.Errorf("root volume %+v, version %d is wanted of %d", root, pool.Status.WantedVersion, config.Status.Version)
		}
		return nil
	})
	w.awaitManaged(infrav1.RolledOutCondition, metav1.ConditionFalse, infrav1.SettlingReason)
	w.clock.SetRate(unhurried)
	w.awaitManaged(infrav1.RolledOutCondition, metav1.ConditionFalse, infrav1.RollingOutReason)
	w.clock.SetRate(rate)
	w.Eventually("the nodes were replaced", func() error { return w.managedReplaced(before, 3) })
	w.rest()
	w.expectCounts(map[string]int{"UpdateNodegroupVersion": 1})
	pool := w.mustManaged()
	if update := pool.Status.Update; update == nil || update.Status != "Successful" || !strings.Contains(update.Cause, "m5.large") {
		t.Errorf("the update is %+v", update)
	}
	w.awaitEvents("NodegroupUpdateStarted", "NodegroupUpdated")
	w.deleteManaged()
}

// deleteManaged deletes the pool, and holds that nothing of it is left.
func (w *world) deleteManaged() {
	w.Helper()
	w.remove(&clusterv1.MachinePool{}, managedName)
	w.Eventually("nothing is left", func() error {
		pool, err := w.managed()
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("the pool is there: %w, conditions %+v", err, pool.Status.Conditions)
		}
		if groups := w.nodegroups(); len(groups) != 0 {
			return fmt.Errorf("node groups %q are left", groups)
		}
		if roles := w.nodeRoles(); len(roles) != 0 {
			return fmt.Errorf("roles %q are left", roles)
		}
		return w.remains()
	})
}

// nodeRoles returns the names of the roles that pools created under names of their own.
func (w *world) nodeRoles() []string {
	w.Helper()
	out, err := w.iam().ListRoles(w.Context(), &iam.ListRolesInput{})
	if err != nil {
		w.Fatal(err)
	}
	var names []string
	for _, role := range out.Roles {
		if strings.HasPrefix(*role.RoleName, "capa_") || strings.HasSuffix(*role.RoleName, "_nodegroup-iam-service-role") {
			names = append(names, *role.RoleName)
		}
	}
	return names
}

// TestManagedVersionUpgrade holds that a node group follows its control plane one minor version at
// a time, and waits for it.
func TestManagedVersionUpgrade(t *testing.T) {
	t.Parallel()
	options := managedOptions()
	options.cluster.KubernetesVersion = "v1.32.3"
	w := newWorldWith(t, options)
	w.haveManaged("v1.34.0", "v1.32.3")
	if got := aws.ToString(w.nodegroup().Version); got != "1.32" {
		t.Fatalf("the node group has version %s", got)
	}
	w.editManagedMachinePool(func(machinePool *clusterv1.MachinePool) { machinePool.Spec.Template.Spec.Version = "v1.34.0" })
	w.awaitManaged(infrav1.NodegroupReadyCondition, metav1.ConditionFalse, infrav1.WaitingForControlPlaneReason)
	w.upgradeControlPlane("1.34")
	w.Eventually("the nodes have the version", func() error {
		if got := aws.ToString(w.nodegroup().Version); got != "1.34" {
			return fmt.Errorf("the node group has version %s", got)
		}
		return w.managedSettled(2)
	})
	w.expectCounts(map[string]int{"UpdateNodegroupVersion": 2, "CreateLaunchTemplateVersion": 0})
}

// upgradeControlPlane gives the EKS cluster another version, in the simulated AWS and as CAPA's
// controller would say it.
func (w *world) upgradeControlPlane(version string) {
	w.Helper()
	cluster := awssim.Cluster{Name: w.eksCluster, Version: version}
	controlPlane := &eksv1.AWSManagedControlPlane{}
	if err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "capa-control-plane"}, controlPlane); err != nil {
		w.Fatal(err)
	}
	for _, subnet := range controlPlane.Spec.NetworkSpec.Subnets {
		cluster.Subnets = append(cluster.Subnets, subnet.ID)
	}
	if err := w.Cloud.AWS.Region(w.Account, w.Cloud.Region()).SetCluster(cluster); err != nil {
		w.Fatal(err)
	}
	controlPlane.Status.Version = &version
	if err := w.Client.Status().Update(w.Context(), controlPlane); err != nil {
		w.Fatal(err)
	}
}

// TestManagedMended holds that an update to a bad template fails, that it is not tried again at
// once, and that a good edit is rolled out at once.
func TestManagedMended(t *testing.T) {
	t.Parallel()
	options := managedOptions()
	options.behavior.Nodes = []awssim.NodeRule{{UserData: "does-not-join", NeverReady: true}}
	w := newWorldWith(t, options)
	w.createSecret("managed-bootstrap", map[string][]byte{"value": []byte("#!/bin/bash\necho joins\n")})
	w.haveManaged(`dataSecretName: ""`, "dataSecretName: managed-bootstrap")
	w.editSecret("managed-bootstrap", func(data map[string][]byte) { data["value"] = []byte("#!/bin/bash\necho does-not-join\n") })
	w.awaitManaged(infrav1.RolledOutCondition, metav1.ConditionFalse, infrav1.NodegroupUpdateFailedReason)
	w.awaitEvents("NodegroupUpdateFailed")
	before := w.running()
	w.editSecret("managed-bootstrap", func(data map[string][]byte) { data["value"] = []byte("#!/bin/bash\necho joins again\n") })
	w.Eventually("the nodes were replaced", func() error { return w.managedReplaced(before, 2) })
}
