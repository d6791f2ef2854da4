package integration

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	awsworld "github.com/slipway-project/slipway/awssim/world"
)

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
	const hours = 3
	counts := w.countsDuring(hours * time.Hour)
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
	// Batched calls cost the same for a hundred pools.
	if sweeps := counts["DescribeAutoScalingGroups"] + counts["DescribeLaunchTemplates"]; sweeps > hours*(15+8)+4 {
		t.Errorf("at rest, there were %d sweeps in %d hours: %v", sweeps, hours, counts)
	}
}

// TestManagedTokenRotation holds that bootstrap data that differs only by its join token creates a
// version and replaces no node.
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

// TestManagedAutoscaled holds that a size that an autoscaler chose is left alone, is written into
// the MachinePool, and is moved into new bounds.
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

// TestManagedTemplateLost holds what happens to a node group whose launch template was deleted: the
// condition reports it, and with the policy Replace a second node group takes its place.
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

// TestManagedBusyNeighbours holds that an edit gets its version within two seconds while fifty
// other pools' node groups are being created.
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
	began := w.Kept()
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
	if took := w.Kept() - began; took > 2*time.Second {
		t.Errorf("the edit got its version after %v", took)
	}
}

// TestManagedAdopted holds that a node group and a launch template that CAPA created, by its names
// and with its tags, are taken over without replacing a node, and that the next edit rolls it.
func TestManagedAdopted(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	owned := map[string]string{
		"Name": "capa-control-plane-" + managedName, "kubernetes.io/cluster/" + w.eksCluster: "owned",
		"sigs.k8s.io/cluster-api-provider-aws/cluster/" + w.eksCluster: "owned", "sigs.k8s.io/cluster-api-provider-aws/role": "node",
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
		ClusterName: aws.String(w.eksCluster), NodegroupName: aws.String(w.Namespace + "_" + managedName), NodeRole: aws.String(fmt.Sprintf(role, w.Account)),
		Subnets: []string{privateSubnetA}, AmiType: ekstypes.AMITypesAl2023X8664Standard, LaunchTemplate: &ekstypes.LaunchTemplateSpecification{
			Id: template.LaunchTemplate.LaunchTemplateId, Version: aws.String("1"),
		},
		ScalingConfig: &ekstypes.NodegroupScalingConfig{MinSize: aws.Int32(1), MaxSize: aws.Int32(10), DesiredSize: aws.Int32(2)},
		Tags:          map[string]string{"kubernetes.io/cluster/" + w.eksCluster: "owned", "foreign": "kept"},
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

// TestManagedPruning holds that the version that a node group was created from is never pruned,
// however many newer ones there are and however few are kept.
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
	w.Eventually("versions that are not in use are gone", func() error {
		out, err := w.ec2().DescribeLaunchTemplateVersions(w.Context(), &ec2.DescribeLaunchTemplateVersionsInput{
			LaunchTemplateId: aws.String(w.mustManaged().Status.LaunchTemplateID),
		})
		if err != nil {
			return err
		}
		var numbers []int64
		for _, version := range out.LaunchTemplateVersions {
			// The version before the newest stays if the pool's status still wanted it when the others were deleted.
			if *version.VersionNumber != rotations {
				numbers = append(numbers, *version.VersionNumber)
			}
		}
		slices.Sort(numbers)
		return equals(numbers, []int64{1, rotations + 1})
	})
	w.expectCounts(map[string]int{"UpdateNodegroupVersion": 0})
	if group := w.nodegroup(); aws.ToString(group.LaunchTemplate.Version) != "1" || len(group.Health.Issues) > 0 {
		t.Errorf("the node group has version %s and issues %v", aws.ToString(group.LaunchTemplate.Version), group.Health.Issues)
	}
}

// TestManagedSecondManager holds that a manager that starts while a pool is at rest, or after a
// move that dropped all status, changes nothing.
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
