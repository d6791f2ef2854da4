package awssim_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
)

// TestGroupsAndTemplatesAsTheyAre holds that groups, templates and versions can be seen as they are
// while calls still show what was.
func TestGroupsAndTemplatesAsTheyAre(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{Behavior: awssim.Behavior{ReadLag: time.Hour}})
	calls, groups := ec2.NewFromConfig(e.config(key)), autoscaling.NewFromConfig(e.config(key))
	image := e.World().Region(region).Images[0].ID
	created := must[*ec2.CreateLaunchTemplateOutput](t)(calls.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String("workers"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{ImageId: &image, InstanceType: "m5.large"},
	}))
	template := created.LaunchTemplate.LaunchTemplateId
	must[*ec2.CreateLaunchTemplateVersionOutput](t)(calls.CreateLaunchTemplateVersion(t.Context(), &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: template, LaunchTemplateData: &ec2types.RequestLaunchTemplateData{ImageId: &image, InstanceType: "m5.xlarge"},
	}))
	must[*autoscaling.CreateAutoScalingGroupOutput](t)(groups.CreateAutoScalingGroup(t.Context(), &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: aws.String("workers"), MinSize: aws.Int32(0), MaxSize: aws.Int32(1), VPCZoneIdentifier: aws.String("subnet-0b2000000000000aa"),
		LaunchTemplate: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: template, Version: aws.String("2")},
	}))

	described := must[*autoscaling.DescribeAutoScalingGroupsOutput](t)(groups.DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{}))
	if len(described.AutoScalingGroups) != 0 {
		t.Error("a call shows the group before the read lag is over")
	}
	if now := e.Region(account, region).AutoScalingGroups(); len(now) != 1 || *now[0].AutoScalingGroupName != "workers" || *now[0].LaunchTemplate.Version != "2" {
		t.Errorf("the groups are %+v", now)
	}
	if now := e.Region(account, region).LaunchTemplates(); len(now) != 1 || *now[0].LaunchTemplateId != *template || *now[0].LatestVersionNumber != 2 {
		t.Errorf("the templates are %+v", now)
	}
	versions := e.Region(account, region).LaunchTemplateVersions(*template)
	if len(versions) != 2 || versions[0].LaunchTemplateData.InstanceType != "m5.xlarge" || versions[1].LaunchTemplateData.InstanceType != "m5.large" {
		t.Errorf("the versions, the newest first, are %+v", versions)
	}
	if none := e.Region(account, region).LaunchTemplateVersions("lt-0"); none != nil {
		t.Errorf("a template that does not exist has versions %+v", none)
	}
}

// TestNodegroupsAsTheyAre holds that node groups and their updates can be seen as they are, the oldest
// first, while calls still show what was.
func TestNodegroupsAsTheyAre(t *testing.T) {
	t.Parallel()
	clock := simclock.New(start, 0)
	t.Cleanup(clock.Close)
	e := serve(t, awssim.Options{Clock: clock, Behavior: awssim.Behavior{ReadLag: time.Hour}})
	held := e.Region(account, region)
	if err := held.SetCluster(awssim.Cluster{Name: "demo", Version: "1.34", Subnets: []string{"subnet-0b2000000000000aa"}}); err != nil {
		t.Fatal(err)
	}
	calls := eks.NewFromConfig(e.config(key))
	for _, name := range []string{"second", "first"} {
		must[*eks.CreateNodegroupOutput](t)(calls.CreateNodegroup(t.Context(), &eks.CreateNodegroupInput{
			ClusterName: aws.String("demo"), NodegroupName: &name, Subnets: []string{"subnet-0b2000000000000aa"},
			NodeRole:      aws.String("arn:aws:iam::" + account + ":role/eks-nodegroup.cluster-api-provider-aws.sigs.k8s.io"),
			ScalingConfig: &ekstypes.NodegroupScalingConfig{MinSize: aws.Int32(0), MaxSize: aws.Int32(1), DesiredSize: aws.Int32(0)},
		}))
		clock.Step(time.Minute)
	}
	must[*eks.UpdateNodegroupConfigOutput](t)(calls.UpdateNodegroupConfig(t.Context(), &eks.UpdateNodegroupConfigInput{
		ClusterName: aws.String("demo"), NodegroupName: aws.String("first"), Labels: &ekstypes.UpdateLabelsPayload{AddOrUpdateLabels: map[string]string{"a": "b"}},
	}))
	groups := held.Nodegroups()
	if len(groups) != 2 || *groups[0].NodegroupName != "second" || len(groups[0].Updates) != 0 || groups[0].Status != ekstypes.NodegroupStatusActive {
		t.Fatalf("the node groups are %+v", groups)
	}
	if updates := groups[1].Updates; len(updates) != 1 || updates[0].Type != ekstypes.UpdateTypeConfigUpdate || updates[0].Status != ekstypes.UpdateStatusInProgress {
		t.Errorf("the updates are %+v", updates)
	}
}
