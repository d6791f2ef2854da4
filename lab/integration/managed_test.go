package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
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
	awsworld "github.com/slipway-project/slipway/awssim/world"
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

// managedSettled is nil once the pool is ready for its current generation, rolled out, and core Cluster API has a Node for every replica.
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
		return fmt.Errorf("%d instances are up to date", got)
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

func (w *world) eksCluster() string { return lab.EKSClusterName(w.Namespace, "capa") }

// nodegroup is the pool's, by its default name.
func (w *world) nodegroup() *ekstypes.Nodegroup {
	w.Helper()
	return w.nodegroupNamed(w.Namespace + "_" + managedName)
}

func (w *world) nodegroupNamed(name string) *ekstypes.Nodegroup {
	w.Helper()
	out, err := w.eks().DescribeNodegroup(w.Context(), &eks.DescribeNodegroupInput{ClusterName: aws.String(w.eksCluster()), NodegroupName: &name})
	if err != nil {
		w.Fatal(err)
	}
	return out.Nodegroup
}

// nodegroups are the names of all.
func (w *world) nodegroups() []string {
	w.Helper()
	out, err := w.eks().ListNodegroups(w.Context(), &eks.ListNodegroupsInput{ClusterName: aws.String(w.eksCluster())})
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

// TestManagedCreated holds what a new managed pool makes in AWS against what the manifest asks for.
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
		"team": "pool", "cost": "7", "kubernetes.io/cluster/" + w.eksCluster(): "owned", infrav1.TagManagedMachinePool: owner,
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
	role, err := w.iam().GetRole(t.Context(), &iam.GetRoleInput{RoleName: aws.String(roleIn(*group.NodeRole))})
	if err != nil {
		t.Fatal(err)
	}
	if want := w.eksCluster() + "-" + *group.NodegroupName; !strings.HasPrefix(*role.Role.RoleName, want[:min(len(want), 40)]) {
		t.Errorf("the role is called %s", *role.Role.RoleName)
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

// TestManagedEdits holds that edits in quick succession make one roll-out, that labels, taints and sizes replace no node, and that the pool can be deleted.
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
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = "m5.large" })
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.AWSLaunchTemplate.RootVolume.Size = 40 })
	w.awaitManaged(infrav1.RolledOutCondition, metav1.ConditionFalse, infrav1.RollingOutReason)
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
		roles, err := w.iam().ListRoles(w.Context(), &iam.ListRolesInput{})
		if err != nil {
			return err
		}
		for _, role := range roles.Roles {
			if strings.Contains(*role.RoleName, w.Namespace) {
				return fmt.Errorf("role %s is left", *role.RoleName)
			}
		}
		return w.remains()
	})
}

// TestManagedVersionUpgrade holds that a node group follows its control plane one minor version at a time, and waits for it.
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

// upgradeControlPlane gives the EKS cluster another version, in the simulated AWS and as CAPA's controller would say it.
func (w *world) upgradeControlPlane(version string) {
	w.Helper()
	cluster := awssim.Cluster{Name: w.eksCluster(), Version: version}
	controlPlane := &eksv1.AWSManagedControlPlane{}
	if err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "capa-control-plane"}, controlPlane); err != nil {
		w.Fatal(err)
	}
	for _, subnet := range controlPlane.Spec.NetworkSpec.Subnets {
		cluster.Subnets = append(cluster.Subnets, subnet.ID)
	}
	if err := w.Cloud.AWS.SetCluster(w.Account, w.Cloud.Region(), cluster); err != nil {
		w.Fatal(err)
	}
	controlPlane.Status.Version = &version
	if err := w.Client.Status().Update(w.Context(), controlPlane); err != nil {
		w.Fatal(err)
	}
}

// TestManagedMended holds that a bad template makes an update fail, that it is not tried again at once, and that a good edit is rolled out at once.
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

// TestManagedIdle holds that managed pools at rest cost no more than 1.2 calls each and hour, and no write.
func TestManagedIdle(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	names := []string{managedName}
	w.applyManaged()
	for i := range 7 {
		names = append(names, fmt.Sprintf("capa-mmp-%d", i+1))
		w.applyManaged(managedName, names[i+1])
	}
	for _, name := range names {
		w.Eventually(name+" is ready", func() error {
			pool := &infrav1.AWSManagedMachinePool{}
			if err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, pool); err != nil {
				return err
			}
			if ready := pool.Status.ReadyReplicas; ready == nil || *ready != 2 || pool.Status.Nodegroup.Status != "ACTIVE" || len(pool.Spec.ProviderIDList) != 2 {
				return fmt.Errorf("status is %+v", pool.Status)
			}
			return nil
		})
	}
	w.rest()
	w.pass(10 * time.Minute)
	w.Cloud.AWS.ClearCalls()
	const hours = 3
	w.pass(hours * time.Hour)
	counts := map[string]int{}
	for _, call := range w.calls() {
		counts[call.Action]++
	}
	if writes := w.writes(); len(writes) != 0 {
		t.Errorf("at rest, the manager wrote %q", writes)
	}
	own := 0
	for _, action := range []string{"DescribeNodegroup", "DescribeUpdate", "ListUpdates", "GetRole", "ListAttachedRolePolicies"} {
		own += counts[action]
	}
	if most := hours * len(names); own > most {
		t.Errorf("at rest, %d pools cost %d calls of their own in %d hours, want at most %d: %v", len(names), own, hours, most, counts)
	}
	// What is batched costs the same for a hundred pools.
	if sweeps := counts["DescribeAutoScalingGroups"] + counts["DescribeLaunchTemplates"]; sweeps > hours*(15+8)+4 {
		t.Errorf("at rest, there were %d sweeps in %d hours: %v", sweeps, hours, counts)
	}
}

// TestManagedTokenRotation holds that bootstrap data that differs by its join token alone makes a version and replaces no node.
func TestManagedTokenRotation(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	joins := func(token string) []byte {
		return []byte("#!/bin/bash\necho kubeadm join --token " + token + " 10.0.0.1:6443\n")
	}
	w.createSecret("managed-bootstrap", map[string][]byte{"value": joins("abcdef.0123456789abcdef")})
	w.applyManaged(`dataSecretName: ""`, "dataSecretName: managed-bootstrap")
	w.Eventually("there is a version", func() error {
		pool, err := w.managed()
		if err != nil {
			return err
		}
		if pool.Status.WantedVersion != 1 || pool.Status.Nodegroup == nil {
			return fmt.Errorf("status is %+v", pool.Status)
		}
		return nil
	})
	w.editSecret("managed-bootstrap", func(data map[string][]byte) { data["value"] = joins("fedcba.fedcba9876543210") })
	w.Eventually("the second version is wanted", func() error {
		if pool := w.mustManaged(); pool.Status.WantedVersion != 2 {
			return fmt.Errorf("version %d is wanted", pool.Status.WantedVersion)
		}
		return nil
	})
	w.rest()
	w.expectCounts(map[string]int{"UpdateNodegroupVersion": 0, "CreateNodegroup": 1})
}

// TestManagedAutoscaled holds that a size that an autoscaler chose is left alone, is written into the MachinePool, and is moved into new bounds.
func TestManagedAutoscaled(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	w.haveManaged("  name: capa-mmp-0\nspec:\n  clusterName", "  name: capa-mmp-0\n  annotations: {cluster.x-k8s.io/replicas-managed-by: cluster-autoscaler}\nspec:\n  clusterName")
	group := w.nodegroup().Resources.AutoScalingGroups[0].Name
	if _, err := w.asg().SetDesiredCapacity(t.Context(), &autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: group, DesiredCapacity: aws.Int32(3)}); err != nil {
		t.Fatal(err)
	}
	replicas := func(want int32) func() error {
		return func() error {
			machinePool := &clusterv1.MachinePool{}
			if err := w.Client.Get(w.Context(), w.managedKey(), machinePool); err != nil {
				return err
			}
			if got := ptr.Deref(machinePool.Spec.Replicas, -1); got != want {
				return fmt.Errorf("%d replicas", got)
			}
			return w.managedSettled(int(want))
		}
	}
	w.Eventually("the MachinePool follows", replicas(3))
	w.expectCounts(map[string]int{"UpdateNodegroupConfig": 0})
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.Scaling.MinSize = ptr.To[int32](4) })
	w.Eventually("the size is within the bounds", replicas(4))
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) {
		pool.Spec.Scaling = &infrav1.ManagedMachinePoolScaling{MinSize: ptr.To[int32](1), MaxSize: ptr.To[int32](2)}
	})
	w.Eventually("the size is within the bounds", replicas(2))
}

// TestManagedTemplateLost holds what becomes of a node group whose launch template somebody deleted: the condition says it, and with the policy
// Replace a second node group takes its place.
func TestManagedTemplateLost(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	w.haveManaged()
	group := w.nodegroup()
	if _, err := w.ec2().DeleteLaunchTemplate(t.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: group.LaunchTemplate.Id}); err != nil {
		t.Fatal(err)
	}
	w.awaitManaged(infrav1.NodegroupReadyCondition, metav1.ConditionFalse, infrav1.TemplateLostReason)
	if groups := w.nodegroups(); len(groups) != 1 {
		t.Errorf("there are node groups %q", groups)
	}
	before := w.running()
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.TemplateLossPolicy = infrav1.TemplateLossReplace })
	w.Eventually("another node group took its place", func() error {
		if groups := w.nodegroups(); len(groups) != 1 || groups[0] == *group.NodegroupName {
			return fmt.Errorf("there are node groups %q", groups)
		}
		return w.managedReplaced(before, 2)
	})
	w.awaitEvents("NodegroupReplacing", "NodegroupReplaced")
	w.deleteManaged()
}

// TestManagedBusyNeighbours holds that an edit gets its version within two seconds while fifty other pools' node groups are being made.
func TestManagedBusyNeighbours(t *testing.T) {
	t.Parallel()
	options := managedOptions()
	options.behavior.Nodes = []awssim.NodeRule{{NeverReady: true}}
	options.quotas = map[string]int{awsworld.QuotaNodeGroups: 60}
	w := newWorldWith(t, options)
	w.clock.SetRate(5) // EKS gives up after a quarter of an hour
	const neighbours = 50
	for i := range neighbours {
		w.applyManaged(managedName, fmt.Sprintf("busy-%d", i))
	}
	w.applyManaged()
	w.Eventually("all node groups are being made", func() error {
		if groups := w.nodegroups(); len(groups) != neighbours+1 {
			return fmt.Errorf("there are %d node groups", len(groups))
		}
		return nil
	})
	w.clock.SetRate(1)
	creating := 0
	for _, name := range w.nodegroups() {
		if w.nodegroupNamed(name).Status == ekstypes.NodegroupStatusCreating {
			creating++
		}
	}
	if creating < neighbours {
		t.Errorf("%d node groups are being made", creating)
	}
	began := time.Now()
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = "m5.large" })
	w.Eventually("there is a version", func() error {
		config := &infrav1.AWSLaunchConfig{}
		if err := w.Client.Get(w.Context(), w.managedKey(), config); err != nil {
			return err
		}
		if config.Status.Version != 2 {
			return fmt.Errorf("version %d is wanted", config.Status.Version)
		}
		return nil
	})
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the edit got its version after %v", took)
	}
}

// TestManagedAdopted holds that a node group and a launch template that CAPA made, by its names and with its tags, are taken over without replacing a node, and
// that the next edit rolls it.
func TestManagedAdopted(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	owned := map[string]string{
		"Name": "capa-control-plane-" + managedName, "kubernetes.io/cluster/" + w.eksCluster(): "owned",
		"sigs.k8s.io/cluster-api-provider-aws/cluster/" + w.eksCluster(): "owned", "sigs.k8s.io/cluster-api-provider-aws/role": "node",
	}
	var tags []ec2types.Tag
	for key, value := range owned {
		tags = append(tags, ec2types.Tag{Key: aws.String(key), Value: aws.String(value)})
	}
	template, err := w.ec2().CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String("capa-control-plane-" + managedName),
		LaunchTemplateData: &ec2types.RequestLaunchTemplateData{
			InstanceType:      ec2types.InstanceTypeT3Large,
			TagSpecifications: []ec2types.LaunchTemplateTagSpecificationRequest{{ResourceType: ec2types.ResourceTypeInstance, Tags: tags}},
		},
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeLaunchTemplate, Tags: tags}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const role = "arn:aws:iam::%s:role/eks-nodegroup.cluster-api-provider-aws.sigs.k8s.io"
	_, err = w.eks().CreateNodegroup(t.Context(), &eks.CreateNodegroupInput{
		ClusterName: aws.String(w.eksCluster()), NodegroupName: aws.String(w.Namespace + "_" + managedName), NodeRole: aws.String(fmt.Sprintf(role, w.Account)),
		Subnets: []string{privateSubnetA}, AmiType: ekstypes.AMITypesAl2023X8664Standard, LaunchTemplate: &ekstypes.LaunchTemplateSpecification{
			Id: template.LaunchTemplate.LaunchTemplateId, Version: aws.String("1"),
		},
		ScalingConfig: &ekstypes.NodegroupScalingConfig{MinSize: aws.Int32(1), MaxSize: aws.Int32(10), DesiredSize: aws.Int32(2)},
		Tags:          map[string]string{"kubernetes.io/cluster/" + w.eksCluster(): "owned", "foreign": "kept"},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Eventually("CAPA's node group is active", func() error {
		if status := w.nodegroup().Status; status != ekstypes.NodegroupStatusActive {
			return fmt.Errorf("it is %s", status)
		}
		return nil
	})
	before := w.running()
	w.applyManaged()
	w.Eventually("the node group is taken over", func() error { return w.managedSettled(2) })
	w.rest()
	if after := w.running(); !slices.Equal(after, before) {
		t.Errorf("instances are %q, and were %q", after, before)
	}
	w.expectCounts(map[string]int{"CreateNodegroup": 0, "UpdateNodegroupVersion": 0, "CreateLaunchTemplate": 0, "CreateRole": 0, "DetachRolePolicy": 0})
	if group := w.nodegroup(); group.Tags["foreign"] != "kept" || group.Tags[infrav1.TagManagedMachinePool] != w.Namespace+"/capa/"+managedName {
		t.Errorf("tags are %v", group.Tags)
	}
	w.awaitEvents("NodegroupAdopted")
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = "m5.large" })
	w.Eventually("the nodes were replaced", func() error { return w.managedReplaced(before, 2) })
	w.expectCounts(map[string]int{"UpdateNodegroupVersion": 1})
	w.deleteManaged()
	if _, err := w.iam().GetRole(t.Context(), &iam.GetRoleInput{RoleName: aws.String("eks-nodegroup.cluster-api-provider-aws.sigs.k8s.io")}); err != nil {
		t.Errorf("a role that is not the pool's was deleted: %v", err)
	}
}

// TestManagedPruning holds that the version that a node group was made from is never pruned, however many newer ones there are and however few are kept.
func TestManagedPruning(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	joins := func(round int) []byte {
		return fmt.Appendf(nil, "#!/bin/bash\nkubeadm join --token abcd%02d.0123456789abcdef 10.0.0.1:6443\n", round)
	}
	w.createSecret("managed-bootstrap", map[string][]byte{"value": joins(0)})
	w.applyManaged(`dataSecretName: ""`, "dataSecretName: managed-bootstrap", "  scaling:\n", "  versionsToKeep: 1\n  scaling:\n")
	w.Eventually("the node group is active", func() error {
		if pool, err := w.managed(); err != nil || pool.Status.Nodegroup == nil || pool.Status.Nodegroup.Status != "ACTIVE" {
			return fmt.Errorf("status is %+v, %w", pool.Status, err)
		}
		return nil
	})
	const rotations = 11 // fewer versions that differ by their token alone are left alone
	for round := range rotations {
		w.editSecret("managed-bootstrap", func(data map[string][]byte) { data["value"] = joins(round + 1) })
		w.Eventually("there is a version", func() error {
			if got := w.mustManaged().Status.WantedVersion; got != int64(round+2) {
				return fmt.Errorf("version %d is wanted", got)
			}
			return nil
		})
	}
	w.Eventually("what nobody uses is gone", func() error {
		out, err := w.ec2().DescribeLaunchTemplateVersions(w.Context(), &ec2.DescribeLaunchTemplateVersionsInput{
			LaunchTemplateId: aws.String(w.mustManaged().Status.LaunchTemplateID),
		})
		if err != nil {
			return err
		}
		var numbers []int64
		for _, version := range out.LaunchTemplateVersions {
			numbers = append(numbers, *version.VersionNumber)
		}
		slices.Sort(numbers)
		return equals(numbers, []int64{1, rotations + 1})
	})
	w.expectCounts(map[string]int{"UpdateNodegroupVersion": 0})
	if group := w.nodegroup(); aws.ToString(group.LaunchTemplate.Version) != "1" || len(group.Health.Issues) > 0 {
		t.Errorf("the node group has version %s and issues %v", aws.ToString(group.LaunchTemplate.Version), group.Health.Issues)
	}
}

// TestManagedSecondManager holds that a manager that starts beside a pool at rest, or after a move that dropped all status, changes nothing.
func TestManagedSecondManager(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	w.haveManaged("  scaling:\n", "  additionalTags: {team: pool}\n  labels: {tier: web}\n  roleAdditionalPolicies: [\"arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore\"]\n  scaling:\n")
	w.stopManager()
	pool := w.mustManaged()
	pool.Status = infrav1.AWSManagedMachinePoolStatus{}
	config := &infrav1.AWSLaunchConfig{}
	if err := w.Client.Get(w.Context(), w.managedKey(), config); err != nil {
		t.Fatal(err)
	}
	config.Status = infrav1.AWSLaunchConfigStatus{}
	for _, object := range []client.Object{config, pool} {
		if err := w.Client.Status().Update(w.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	w.Cloud.AWS.ClearCalls()
	w.startManager()
	w.Eventually("the pool is as it was", func() error { return w.managedSettled(2) })
	w.rest()
	if writes := w.writes(); len(writes) != 0 {
		t.Errorf("the second manager wrote %q", writes)
	}
	after := w.mustManaged()
	w.pass(10 * time.Minute)
	if now := w.mustManaged(); now.ResourceVersion != after.ResourceVersion {
		t.Errorf("the pool is written at rest: %s, then %s", after.ResourceVersion, now.ResourceVersion)
	}
}
