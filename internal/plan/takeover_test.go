package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
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
		adopted         bool
		busy            string
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
		{reason: "The group does not exist.", creates: true},
		{reason: "An instance refresh is in progress.", template: capas, group: capas, busy: "instance refresh", adopted: true, change: func(r *rig, _ *infrav1.AWSMachinePool) {
			_, err := autoscaling.NewFromConfig(r.planner.AWS).StartInstanceRefresh(r.Context(), &autoscaling.StartInstanceRefreshInput{AutoScalingGroupName: ptr.To(key.Name)})
			r.do(err)
		}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r, object := newRig(t), pool()
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
			got, err := r.planner.Takeover(t.Context(), "AWSMachinePool", key)
			r.do(err)
			if r.server.Version() != version || slices.ContainsFunc(r.sim.Calls(), func(call awssim.Call) bool { return action.Changes(call.Action) }) {
				t.Error("the plan of a takeover changed something")
			}
			problems := ""
			for _, problem := range got.Problems {
				problems += problem.Condition + " " + problem.Reason + ": " + problem.Message + "\n"
			}
			if (problems != "") != (row.problem != "") || !strings.Contains(problems, row.problem) || got.Creates != row.creates ||
				(got.Adopted.Status == metav1.ConditionTrue) != row.adopted || len(got.Replaced()) > 0 || (row.busy == "") != (got.Busy == "") || !strings.Contains(got.Busy, row.busy) {
				t.Errorf("%s Got %+v, with problems %s", row.reason, got, problems)
			}
		})
	}
	if _, err := newRig(t).planner.Takeover(t.Context(), "Cluster", key); err == nil {
		t.Error("a Cluster can be taken over")
	}
}
