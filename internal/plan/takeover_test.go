package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/aws/action"
)

// capas are the tags of resources that CAPA creates for a cluster.
var capas = map[string]string{"kubernetes.io/cluster/prod": "owned", "sigs.k8s.io/cluster-api-provider-aws/cluster/prod": "owned"}

// inAWS creates in AWS what CAPA creates for the pool, with tags on the template and the group, and returns
// the ARN of the group.
func (r *rig) inAWS(template, group map[string]string) string {
	r.Helper()
	var templateTags, instanceTags []ec2types.Tag
	for key, value := range template {
		templateTags = append(templateTags, ec2types.Tag{Key: &key, Value: &value})
	}
	instanceTags = append(instanceTags, ec2types.Tag{Key: ptr.To(infrav1.TagBootstrapDataSecret), Value: ptr.To(key.Namespace + "/bootstrap")})
	made, err := ec2.NewFromConfig(r.planner.AWS).CreateLaunchTemplate(r.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: ptr.To(key.Name),
		LaunchTemplateData: &ec2types.RequestLaunchTemplateData{
			ImageId: ptr.To(r.image()), InstanceType: "m5.large", UserData: ptr.To("I2Nsb3VkLWNvbmZpZwo="),
			SecurityGroupIds:  []string{"sg-0c1000000000000ab", "sg-0c1000000000000ac"},
			TagSpecifications: []ec2types.LaunchTemplateTagSpecificationRequest{{ResourceType: "instance", Tags: instanceTags}},
		},
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: "launch-template", Tags: templateTags}},
	})
	r.do(err)
	var groupTags []asgtypes.Tag
	for key, value := range group {
		groupTags = append(groupTags, asgtypes.Tag{Key: &key, Value: &value, PropagateAtLaunch: ptr.To(false)})
	}
	groups := autoscaling.NewFromConfig(r.planner.AWS)
	_, err = groups.CreateAutoScalingGroup(r.Context(), &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: ptr.To(key.Name), MinSize: ptr.To[int32](1), MaxSize: ptr.To[int32](5), DesiredCapacity: ptr.To[int32](3),
		VPCZoneIdentifier: ptr.To("subnet-0b2000000000000aa"), Tags: groupTags,
		LaunchTemplate: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: made.LaunchTemplate.LaunchTemplateId, Version: ptr.To("$Latest")},
	})
	r.do(err)
	for range 6 {
		r.clock.Step(20 * time.Second)
	}
	out, err := groups.DescribeAutoScalingGroups(r.Context(), &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{key.Name}})
	r.do(err)
	return awssdk.ToString(out.AutoScalingGroups[0].AutoScalingGroupARN)
}

// image returns an image that exists in the region.
func (r *rig) image() string {
	r.Helper()
	out, err := ec2.NewFromConfig(r.planner.AWS).DescribeImages(r.Context(), &ec2.DescribeImagesInput{Owners: []string{"819546954734"}})
	r.do(err)
	for _, image := range out.Images {
		if image.Architecture == ec2types.ArchitectureValuesX8664 {
			return *image.ImageId
		}
	}
	r.Fatal("there is no image")
	return ""
}

// anyNamespace returns a specification of an identity that every namespace may use.
func anyNamespace() capav1.AWSClusterIdentitySpec {
	return capav1.AWSClusterIdentitySpec{AllowedNamespaces: &capav1.AllowedNamespaces{}}
}

// identify has the cluster use an identity, which is created.
func (r *rig) identify(identity client.Object, kind capav1.AWSIdentityKind) {
	r.Helper()
	identity.SetName("tenant")
	r.do(r.cluster.Create(r.Context(), identity))
	network := &capav1.AWSCluster{}
	r.do(r.cluster.Get(r.Context(), client.ObjectKey{Namespace: key.Namespace, Name: "prod"}, network))
	network.Spec.IdentityRef = &capav1.AWSIdentityReference{Name: "tenant", Kind: kind}
	r.do(r.cluster.Update(r.Context(), network))
}

// TestTakeover holds what is found out about a pool of CAPA's before Slipway reconciles it.
func TestTakeover(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		// template and group are tags in AWS; a group without tags does not exist.
		template, group map[string]string
		change          func(*rig, *infrav1.AWSMachinePool)
		problem         string
		creates         bool
		// account is where no group was found.
		account string
		adopted bool
		busy    string
	}{
		{reason: "CAPA's tags name the cluster.", template: capas, group: capas, adopted: true},
		{reason: "The cluster is paused meanwhile.", template: capas, group: capas, adopted: true, change: func(r *rig, _ *infrav1.AWSMachinePool) {
			cluster := &clusterv1.Cluster{}
			r.do(r.cluster.Get(r.Context(), client.ObjectKey{Namespace: key.Namespace, Name: "prod"}, cluster))
			cluster.Spec.Paused = ptr.To(true)
			r.do(r.cluster.Update(r.Context(), cluster))
		}},
		{reason: "The pool was released to CAPA before.", template: capas, group: capas, adopted: true, change: func(_ *rig, pool *infrav1.AWSMachinePool) {
			pool.Annotations = map[string]string{infrav1.ReleaseAnnotation: "true"}
		}},
		{reason: "The tags of the group do not name the cluster.", template: capas, group: map[string]string{"team": "red"}, problem: infrav1.OwnerTagMissingReason},
		{reason: "The tags of the template do not name the cluster.", template: map[string]string{"team": "red"}, group: capas, problem: infrav1.AdoptionBlockedReason},
		{reason: "spec.providerID names another group.", template: capas, group: capas, problem: infrav1.NameTakenReason, change: func(_ *rig, pool *infrav1.AWSMachinePool) {
			pool.Spec.ProviderID += "-of-another"
		}},
		{reason: "The group does not exist.", creates: true, account: account},
		{reason: "An instance refresh is in progress.", template: capas, group: capas, busy: "Instance refresh", change: func(r *rig, _ *infrav1.AWSMachinePool) {
			_, err := autoscaling.NewFromConfig(r.planner.AWS).StartInstanceRefresh(r.Context(), &autoscaling.StartInstanceRefreshInput{AutoScalingGroupName: ptr.To(key.Name)})
			r.do(err)
		}},
		{reason: "The identity of the cluster is in another account.", template: capas, group: capas, creates: true, account: "210987654321", change: func(r *rig, _ *infrav1.AWSMachinePool) {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "keys"}, Data: map[string][]byte{"AccessKeyID": []byte("210987654321"), "SecretAccessKey": []byte("secret")}}
			r.identify(&capav1.AWSClusterStaticIdentity{Spec: capav1.AWSClusterStaticIdentitySpec{AWSClusterIdentitySpec: anyNamespace(), SecretRef: "keys"}}, capav1.ClusterStaticIdentityKind)
			r.do(r.cluster.Create(r.Context(), secret))
		}},
		{reason: "The role of the cluster's identity does not trust the caller.", template: capas, group: capas, problem: infrav1.CredentialsInvalidReason + ": assuming role arn:aws:iam::210987654321:role/capa", change: func(r *rig, _ *infrav1.AWSMachinePool) {
			r.identify(&capav1.AWSClusterRoleIdentity{Spec: capav1.AWSClusterRoleIdentitySpec{AWSClusterIdentitySpec: anyNamespace(), AWSRoleSpec: capav1.AWSRoleSpec{RoleArn: "arn:aws:iam::210987654321:role/capa"}}}, capav1.ClusterRoleIdentityKind)
		}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r, object := newRig(t), pool()
			r.planner.SecretNamespace = "system"
			object.Spec.AWSLaunchTemplate.AMI.ID = ptr.To(r.image())
			object.Labels = map[string]string{clusterv1.ClusterNameLabel: "prod"}
			machinePool := &clusterv1.MachinePool{}
			r.do(r.cluster.Get(t.Context(), key, machinePool))
			object.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachinePool", Name: key.Name, UID: machinePool.UID}}
			if row.group != nil {
				object.Spec.ProviderID = r.inAWS(row.template, row.group)
			}
			if row.change != nil {
				row.change(r, object)
			}
			r.do(r.cluster.Create(t.Context(), object))
			version := r.server.Version()
			r.sim.ClearCalls()
			got := r.planner.Takeovers(t.Context(), time.Minute, PoolName{"AWSMachinePool", key})[0]
			r.do(got.Err)
			if r.server.Version() != version || slices.ContainsFunc(r.sim.Calls(), func(call awssim.Call) bool { return action.Changes(call.Action) }) {
				t.Error("the plan of a takeover changed something")
			}
			problems := ""
			for _, problem := range got.Problems {
				problems += problem.Condition + " " + problem.Reason + ": " + problem.Message + "\n"
			}
			if (problems != "") != (row.problem != "") || !strings.Contains(problems, row.problem) || got.Creates != row.creates || got.Account != row.account ||
				(got.Adopted.Status == metav1.ConditionTrue) != row.adopted || len(got.Replaced()) > 0 || (row.busy == "") != (got.Busy == "") || !strings.Contains(got.Busy, row.busy) {
				t.Errorf("%s Got %+v, with problems %s", row.reason, got, problems)
			}
		})
	}
	if got := newRig(t).planner.Takeovers(t.Context(), time.Minute, PoolName{"Cluster", key})[0]; got.Err == nil {
		t.Error("a Cluster can be taken over")
	}
}

// TestTakeoversOfMany holds that many pools are tried from one reading of the cluster and of AWS, at the same time, within
// the request budgets, and in their order; and that one of them which fails leaves the others alone.
func TestTakeoversOfMany(t *testing.T) {
	const count = 10
	r := newRig(t)
	r.runMany(count)
	names := make([]PoolName, count)
	for i := range names {
		names[i] = PoolName{"AWSMachinePool", client.ObjectKey{Namespace: key.Namespace, Name: fmt.Sprintf("pool-%d", i)}}
	}
	alone := make([]Tried, count)
	for i, name := range names {
		alone[i] = r.planner.Takeovers(t.Context(), time.Minute, name)[0]
		r.do(alone[i].Err)
	}
	r.sim.ClearCalls()
	reads := &countingReader{Reader: r.cluster}
	planner := *r.planner
	planner.Cluster, planner.AtOnce, planner.Limits = reads, 4, aws.Limits{"ec2:": {Burst: 2, PerSecond: 1}, "autoscaling:": {Burst: 2, PerSecond: 1}}
	r.clock.SetRate(1000)
	defer r.clock.SetRate(0)
	missing := PoolName{"AWSMachinePool", client.ObjectKey{Namespace: key.Namespace, Name: "missing"}}
	together := planner.Takeovers(t.Context(), time.Hour, append(slices.Clone(names), missing)...)
	if diff := cmp.Diff(alone, together[:count]); diff != "" {
		t.Errorf("-each alone +together:\n%s", diff)
	}
	if err := together[count].Err; err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a pool that does not exist: got error %v", err)
	}
	described := 0
	for _, call := range r.sim.Calls() {
		if call.Action == "DescribeAutoScalingGroups" {
			described++
		}
	}
	// Each pool, the one that is missing, and the template, the Cluster, the AWSCluster, the identity, and the Secret.
	if gets := reads.gets.Load(); gets != count+6 || described != 1 {
		t.Errorf("the cluster was read %d times and the groups %d times, want %d and 1", gets, described, count+6)
	}
}
