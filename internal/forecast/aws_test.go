package forecast

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/internal/aws/action"
)

// rig has clients of a simulated AWS with a forecast between them and AWS, and clients without one.
type rig struct {
	*testing.T
	sim              *awssim.Simulator
	forecast         *AWS
	config           awssdk.Config
	ec2, realEC2     *ec2.Client
	groups, realASG  *autoscaling.Client
	template, subnet string
}

// newRig returns a rig in which AWS has a launch template of one version, and an empty group.
func newRig(t *testing.T) *rig {
	t.Helper()
	sim, clk, url := awssimtest.Start(t, time.Date(2026, time.November, 26, 10, 0, 0, 0, time.UTC), awssim.Options{})
	config := awssimtest.Config(url, "us-east-1", "123456789012")
	r := &rig{T: t, sim: sim, forecast: New(clk), config: config, realEC2: ec2.NewFromConfig(config), realASG: autoscaling.NewFromConfig(config), subnet: "subnet-0b2000000000000aa"}
	images, err := r.realEC2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{{Name: awssdk.String("architecture"), Values: []string{"x86_64"}}}})
	r.do(err)
	created, err := r.realEC2.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: awssdk.String("workers"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: "m5.large", ImageId: images.Images[0].ImageId},
	})
	r.do(err)
	r.template = *created.LaunchTemplate.LaunchTemplateId
	_, err = r.realASG.CreateAutoScalingGroup(t.Context(), r.newGroup("workers"))
	r.do(err)
	config.APIOptions = append(config.APIOptions, r.forecast.Install)
	r.ec2, r.groups = ec2.NewFromConfig(config), autoscaling.NewFromConfig(config)
	sim.ClearCalls()
	return r
}

func (r *rig) newGroup(name string) *autoscaling.CreateAutoScalingGroupInput {
	return &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: &name, MinSize: awssdk.Int32(0), MaxSize: awssdk.Int32(3), VPCZoneIdentifier: &r.subnet,
		LaunchTemplate: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: &r.template, Version: awssdk.String("1")},
		Tags:           []asgtypes.Tag{{Key: awssdk.String("owner"), Value: awssdk.String("blue"), ResourceId: &name, ResourceType: awssdk.String("auto-scaling-group"), PropagateAtLaunch: awssdk.Bool(false)}},
	}
}

func (r *rig) do(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// unchanged fails if AWS got a write.
func (r *rig) unchanged() {
	r.Helper()
	for _, call := range r.sim.Calls() {
		if action.Changes(call.Action) {
			r.Errorf("AWS got %s, and a forecast sends no write", call.Action)
		}
	}
}

// versions describes the versions of the template by their numbers, with their types.
func (r *rig) versions(numbers ...string) map[int64]string {
	r.Helper()
	output, err := r.ec2.DescribeLaunchTemplateVersions(r.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &r.template, Versions: numbers})
	r.do(err)
	types := map[int64]string{}
	for _, version := range output.LaunchTemplateVersions {
		types[*version.VersionNumber] = string(version.LaunchTemplateData.InstanceType)
		if awssdk.ToBool(version.DefaultVersion) {
			types[*version.VersionNumber] += " (default)"
		}
	}
	return types
}

func TestVersions(t *testing.T) {
	r := newRig(t)
	r.versions()
	for _, name := range []string{"m5.xlarge", "c5.large"} {
		_, err := r.ec2.CreateLaunchTemplateVersion(t.Context(), &ec2.CreateLaunchTemplateVersionInput{
			LaunchTemplateId: &r.template, LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: ec2types.InstanceType(name)},
		})
		r.do(err)
	}
	_, err := r.ec2.ModifyLaunchTemplate(t.Context(), &ec2.ModifyLaunchTemplateInput{LaunchTemplateId: &r.template, DefaultVersion: awssdk.String("3")})
	r.do(err)
	for _, tc := range []struct {
		reason  string
		numbers []string
		want    map[int64]string
	}{
		{reason: "All versions are listed.", want: map[int64]string{1: "m5.large", 2: "m5.xlarge", 3: "c5.large (default)"}},
		{reason: "A version of the forecast is found alone.", numbers: []string{"2"}, want: map[int64]string{2: "m5.xlarge"}},
		{reason: "AWS is asked only for the versions that it has.", numbers: []string{"1", "3"}, want: map[int64]string{1: "m5.large", 3: "c5.large (default)"}},
	} {
		if diff := cmp.Diff(tc.want, r.versions(tc.numbers...)); diff != "" {
			t.Errorf("%s DescribeLaunchTemplateVersions(%v): -want +got:\n%s", tc.reason, tc.numbers, diff)
		}
	}
	_, err = r.ec2.DeleteLaunchTemplateVersions(t.Context(), &ec2.DeleteLaunchTemplateVersionsInput{LaunchTemplateId: &r.template, Versions: []string{"1"}})
	r.do(err)
	if diff := cmp.Diff(map[int64]string{2: "m5.xlarge", 3: "c5.large (default)"}, r.versions()); diff != "" {
		t.Errorf("DescribeLaunchTemplateVersions after version 1 was deleted: -want +got:\n%s", diff)
	}
	output, err := r.ec2.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{LaunchTemplateIds: []string{r.template}})
	r.do(err)
	if template := output.LaunchTemplates[0]; *template.LatestVersionNumber != 3 || *template.DefaultVersionNumber != 3 {
		t.Errorf("DescribeLaunchTemplates: got latest version %d and default %d, want 3 and 3", *template.LatestVersionNumber, *template.DefaultVersionNumber)
	}
	r.unchanged()
}

func TestVersionOfUnreadTemplate(t *testing.T) {
	r := newRig(t)
	_, err := r.ec2.CreateLaunchTemplateVersion(t.Context(), &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: &r.template, LaunchTemplateData: &ec2types.RequestLaunchTemplateData{}})
	if err == nil {
		t.Error("CreateLaunchTemplateVersion succeeded, and the number of the version cannot be known")
	}
}

func TestNewTemplate(t *testing.T) {
	r := newRig(t)
	created, err := r.ec2.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: awssdk.String("new"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: "m5.large"},
		TagSpecifications: []ec2types.TagSpecification{{Tags: []ec2types.Tag{{Key: awssdk.String("owner"), Value: awssdk.String("blue")}}}},
	})
	r.do(err)
	id := *created.LaunchTemplate.LaunchTemplateId
	for _, tc := range []struct {
		reason string
		input  *ec2.DescribeLaunchTemplatesInput
		want   []string
	}{
		{reason: "It is found by its ID.", input: &ec2.DescribeLaunchTemplatesInput{LaunchTemplateIds: []string{id}}, want: []string{"new"}},
		{reason: "It is found by its name.", input: filtered("launch-template-name", "new", "other"), want: []string{"new"}},
		{reason: "It is found by its tag.", input: filtered("tag:owner", "blue"), want: []string{"new"}},
		{reason: "Another value of the tag is another owner.", input: filtered("tag:owner", "red")},
	} {
		output, err := r.ec2.DescribeLaunchTemplates(t.Context(), tc.input)
		r.do(err)
		var got []string
		for _, template := range output.LaunchTemplates {
			got = append(got, *template.LaunchTemplateName)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s DescribeLaunchTemplates: -want +got:\n%s", tc.reason, diff)
		}
	}
	versions, err := r.ec2.DescribeLaunchTemplateVersions(t.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id})
	r.do(err)
	if len(versions.LaunchTemplateVersions) != 1 {
		t.Errorf("DescribeLaunchTemplateVersions: got %d versions, want 1", len(versions.LaunchTemplateVersions))
	}
	r.unchanged()
}

func filtered(name string, values ...string) *ec2.DescribeLaunchTemplatesInput {
	return &ec2.DescribeLaunchTemplatesInput{Filters: []ec2types.Filter{{Name: &name, Values: values}}}
}

// group describes the group of a name.
func (r *rig) group(name string) asgtypes.AutoScalingGroup {
	r.Helper()
	output, err := r.groups.DescribeAutoScalingGroups(r.Context(), &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{name}})
	r.do(err)
	if len(output.AutoScalingGroups) != 1 {
		r.Fatalf("DescribeAutoScalingGroups(%q): got %d groups, want 1", name, len(output.AutoScalingGroups))
	}
	return output.AutoScalingGroups[0]
}

func TestGroup(t *testing.T) {
	for _, name := range []string{"workers", "new"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			ctx := t.Context()
			if name == "new" {
				_, err := r.groups.CreateAutoScalingGroup(ctx, r.newGroup(name))
				r.do(err)
			}
			_, err := r.groups.UpdateAutoScalingGroup(ctx, &autoscaling.UpdateAutoScalingGroupInput{
				AutoScalingGroupName: &name, MinSize: awssdk.Int32(2), LaunchTemplate: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: &r.template, Version: awssdk.String("2")},
			})
			r.do(err)
			_, err = r.groups.SuspendProcesses(ctx, &autoscaling.SuspendProcessesInput{AutoScalingGroupName: &name, ScalingProcesses: []string{"AZRebalance", "AlarmNotification"}})
			r.do(err)
			_, err = r.groups.ResumeProcesses(ctx, &autoscaling.ResumeProcessesInput{AutoScalingGroupName: &name, ScalingProcesses: []string{"AZRebalance"}})
			r.do(err)
			_, err = r.groups.CreateOrUpdateTags(ctx, &autoscaling.CreateOrUpdateTagsInput{Tags: []asgtypes.Tag{{Key: awssdk.String("team"), Value: awssdk.String("a"), ResourceId: &name}}})
			r.do(err)
			_, err = r.groups.DeleteTags(ctx, &autoscaling.DeleteTagsInput{Tags: []asgtypes.Tag{{Key: awssdk.String("owner"), ResourceId: &name}}})
			r.do(err)
			_, err = r.groups.PutWarmPool(ctx, &autoscaling.PutWarmPoolInput{AutoScalingGroupName: &name, MinSize: awssdk.Int32(1), PoolState: asgtypes.WarmPoolStateStopped})
			r.do(err)

			got := r.group(name)
			if *got.MinSize != 2 || *got.MaxSize != 3 || *got.DesiredCapacity != 2 {
				t.Errorf("sizes: got %d, %d, %d, want 2, 3, and 2: the capacity moves into the bounds", *got.MinSize, *got.MaxSize, *got.DesiredCapacity)
			}
			if *got.LaunchTemplate.Version != "2" {
				t.Errorf("version: got %s, want 2", *got.LaunchTemplate.Version)
			}
			if len(got.SuspendedProcesses) != 1 || *got.SuspendedProcesses[0].ProcessName != "AlarmNotification" {
				t.Errorf("suspended processes: got %v, want AlarmNotification", got.SuspendedProcesses)
			}
			if len(got.Tags) != 1 || *got.Tags[0].Key != "team" {
				t.Errorf("tags: got %v, want team", got.Tags)
			}
			if got.WarmPoolConfiguration == nil || got.WarmPoolConfiguration.PoolState != asgtypes.WarmPoolStateStopped {
				t.Errorf("warm pool: got %v, want one of stopped instances", got.WarmPoolConfiguration)
			}
			r.unchanged()
		})
	}
}

func TestRefresh(t *testing.T) {
	r := newRig(t)
	name := awssdk.String("workers")
	r.group(*name)
	start := &autoscaling.StartInstanceRefreshInput{AutoScalingGroupName: name}
	started, err := r.groups.StartInstanceRefresh(t.Context(), start)
	r.do(err)
	var underWay *asgtypes.InstanceRefreshInProgressFault
	if _, err := r.groups.StartInstanceRefresh(t.Context(), start); !errors.As(err, &underWay) {
		t.Errorf("a second StartInstanceRefresh: got error %v, want InstanceRefreshInProgress", err)
	}
	_, err = r.groups.CancelInstanceRefresh(t.Context(), &autoscaling.CancelInstanceRefreshInput{AutoScalingGroupName: name})
	r.do(err)
	output, err := r.groups.DescribeInstanceRefreshes(t.Context(), &autoscaling.DescribeInstanceRefreshesInput{AutoScalingGroupName: name})
	r.do(err)
	if len(output.InstanceRefreshes) != 1 || *output.InstanceRefreshes[0].InstanceRefreshId != *started.InstanceRefreshId || output.InstanceRefreshes[0].Status != asgtypes.InstanceRefreshStatusCancelling {
		t.Errorf("DescribeInstanceRefreshes: got %v, want the refresh, which is being canceled", output.InstanceRefreshes)
	}
	if refresh, group := r.forecast.Refresh(); refresh == nil || *group.AutoScalingGroupName != *name {
		t.Errorf("Refresh: got %v of %v, want that of group workers", refresh, group.AutoScalingGroupName)
	}
	r.unchanged()
}

func TestHooks(t *testing.T) {
	r := newRig(t)
	name := awssdk.String("workers")
	_, err := r.groups.PutLifecycleHook(t.Context(), &autoscaling.PutLifecycleHookInput{
		AutoScalingGroupName: name, LifecycleHookName: awssdk.String("drain"), LifecycleTransition: awssdk.String("autoscaling:EC2_INSTANCE_TERMINATING"), HeartbeatTimeout: awssdk.Int32(60),
	})
	r.do(err)
	_, err = r.groups.PutLifecycleHook(t.Context(), &autoscaling.PutLifecycleHookInput{AutoScalingGroupName: name, LifecycleHookName: awssdk.String("drain"), HeartbeatTimeout: awssdk.Int32(90)})
	r.do(err)
	hooks := func() []asgtypes.LifecycleHook {
		output, err := r.groups.DescribeLifecycleHooks(t.Context(), &autoscaling.DescribeLifecycleHooksInput{AutoScalingGroupName: name})
		r.do(err)
		return output.LifecycleHooks
	}
	if got := hooks(); len(got) != 1 || *got[0].HeartbeatTimeout != 90 || awssdk.ToString(got[0].LifecycleTransition) == "" {
		t.Errorf("DescribeLifecycleHooks: got %v, want drain with 90 s and its transition", got)
	}
	_, err = r.groups.DeleteLifecycleHook(t.Context(), &autoscaling.DeleteLifecycleHookInput{AutoScalingGroupName: name, LifecycleHookName: awssdk.String("drain")})
	r.do(err)
	if got := hooks(); len(got) != 0 {
		t.Errorf("DescribeLifecycleHooks after the deletion: got %v, want none", got)
	}
	r.unchanged()
}

func TestAttachments(t *testing.T) {
	r := newRig(t)
	name, sources := awssdk.String("workers"), []asgtypes.TrafficSourceIdentifier{{Identifier: awssdk.String("arn:tg/b"), Type: awssdk.String("elbv2")}}
	_, err := r.groups.AttachLoadBalancerTargetGroups(t.Context(), &autoscaling.AttachLoadBalancerTargetGroupsInput{AutoScalingGroupName: name, TargetGroupARNs: []string{"arn:tg/a", "arn:tg/c"}})
	r.do(err)
	_, err = r.groups.DetachLoadBalancerTargetGroups(t.Context(), &autoscaling.DetachLoadBalancerTargetGroupsInput{AutoScalingGroupName: name, TargetGroupARNs: []string{"arn:tg/c"}})
	r.do(err)
	_, err = r.groups.AttachTrafficSources(t.Context(), &autoscaling.AttachTrafficSourcesInput{AutoScalingGroupName: name, TrafficSources: sources})
	r.do(err)
	if got := r.group(*name); !slices.Equal(got.TargetGroupARNs, []string{"arn:tg/a"}) || len(got.TrafficSources) != 1 {
		t.Errorf("DescribeAutoScalingGroups: got target groups %v and traffic sources %v, want a, and b", got.TargetGroupARNs, got.TrafficSources)
	}
	_, err = r.groups.DetachTrafficSources(t.Context(), &autoscaling.DetachTrafficSourcesInput{AutoScalingGroupName: name, TrafficSources: sources})
	r.do(err)
	if got := r.group(*name); len(got.TrafficSources) != 0 {
		t.Errorf("DescribeAutoScalingGroups after the detachment: got traffic sources %v, want none", got.TrafficSources)
	}
	r.unchanged()
}

func TestRole(t *testing.T) {
	f := New(clocktesting.NewFakePassiveClock(time.Date(2026, time.November, 26, 10, 0, 0, 0, time.UTC)))
	client := iam.New(iam.Options{Region: "us-east-1", APIOptions: []func(*middleware.Stack) error{f.Install}, HTTPClient: unreachable{}, Credentials: awssdk.AnonymousCredentials{}})
	ctx, name := t.Context(), awssdk.String("nodes")
	for _, err := range []error{
		second(client.CreateRole(ctx, &iam.CreateRoleInput{RoleName: name, AssumeRolePolicyDocument: awssdk.String("{}"), PermissionsBoundary: awssdk.String("arn:a")})),
		second(client.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: name, PolicyArn: awssdk.String("arn:cni")})),
		second(client.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: name, PolicyArn: awssdk.String("arn:ecr")})),
		second(client.DetachRolePolicy(ctx, &iam.DetachRolePolicyInput{RoleName: name, PolicyArn: awssdk.String("arn:cni")})),
		second(client.PutRolePermissionsBoundary(ctx, &iam.PutRolePermissionsBoundaryInput{RoleName: name, PermissionsBoundary: awssdk.String("arn:b")})),
		second(client.TagRole(ctx, &iam.TagRoleInput{RoleName: name, Tags: []iamtypes.Tag{{Key: awssdk.String("owner"), Value: awssdk.String("a")}, {Key: awssdk.String("team"), Value: awssdk.String("x")}}})),
		second(client.TagRole(ctx, &iam.TagRoleInput{RoleName: name, Tags: []iamtypes.Tag{{Key: awssdk.String("owner"), Value: awssdk.String("b")}}})),
		second(client.UntagRole(ctx, &iam.UntagRoleInput{RoleName: name, TagKeys: []string{"team"}})),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := client.GetRole(ctx, &iam.GetRoleInput{RoleName: name})
	if err != nil {
		t.Fatal(err)
	}
	if role := got.Role; *role.PermissionsBoundary.PermissionsBoundaryArn != "arn:b" || len(role.Tags) != 1 || *role.Tags[0].Value != "b" {
		t.Errorf("GetRole: got boundary %s and tags %v, want arn:b and owner b", *role.PermissionsBoundary.PermissionsBoundaryArn, role.Tags)
	}
	policies, err := client.ListAttachedRolePolicies(ctx, &iam.ListAttachedRolePoliciesInput{RoleName: name})
	if err != nil || len(policies.AttachedPolicies) != 1 || *policies.AttachedPolicies[0].PolicyArn != "arn:ecr" {
		t.Errorf("ListAttachedRolePolicies: got %v and error %v, want arn:ecr", policies, err)
	}
	if _, err := client.DeleteRolePermissionsBoundary(ctx, &iam.DeleteRolePermissionsBoundaryInput{RoleName: name}); err != nil {
		t.Fatal(err)
	}
	if got, err = client.GetRole(ctx, &iam.GetRoleInput{RoleName: name}); err != nil || got.Role.PermissionsBoundary != nil {
		t.Errorf("GetRole after the deletion of the boundary: got %v and error %v, want none", got, err)
	}
}

// second returns the error of a call.
func second[O any](_ O, err error) error { return err }

// TestUnknownWrite holds that a write whose answer is not known is neither sent nor answered.
func TestUnknownWrite(t *testing.T) {
	r := newRig(t)
	_, err := r.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{"i-0123456789abcdef0"}})
	var unknown *UnknownWriteError
	if !errors.As(err, &unknown) || unknown.Call.String() != "ec2:TerminateInstances" {
		t.Errorf("TerminateInstances: got error %v, want that its effect is not known", err)
	}
	_, err = r.ec2.RunInstances(t.Context(), &ec2.RunInstancesInput{MinCount: awssdk.Int32(1), MaxCount: awssdk.Int32(1)})
	if !errors.As(err, &unknown) {
		t.Errorf("RunInstances: got error %v, want that its effect is not known", err)
	}
	r.unchanged()
}

func TestNodegroup(t *testing.T) {
	f := New(clocktesting.NewFakePassiveClock(time.Date(2026, time.November, 26, 10, 0, 0, 0, time.UTC)))
	cluster, name := awssdk.String("blue"), awssdk.String("workers")
	// A client that reaches nothing: all answers are the forecast's.
	client := eks.New(eks.Options{Region: "us-east-1", APIOptions: []func(*middleware.Stack) error{f.Install}, HTTPClient: unreachable{}, Credentials: awssdk.AnonymousCredentials{}})
	ctx := t.Context()
	_, err := client.CreateNodegroup(ctx, &eks.CreateNodegroupInput{
		ClusterName: cluster, NodegroupName: name, NodeRole: awssdk.String("role"), Subnets: []string{"subnet-1"},
		Labels: map[string]string{"tier": "a", "old": "x"}, Tags: map[string]string{"owner": "blue"},
		LaunchTemplate: &ekstypes.LaunchTemplateSpecification{Id: awssdk.String("lt-1"), Version: awssdk.String("1")},
		ScalingConfig:  &ekstypes.NodegroupScalingConfig{MinSize: awssdk.Int32(1), MaxSize: awssdk.Int32(3), DesiredSize: awssdk.Int32(2)},
	})
	if err != nil {
		t.Fatal(err)
	}
	updated, err := client.UpdateNodegroupConfig(ctx, &eks.UpdateNodegroupConfigInput{
		ClusterName: cluster, NodegroupName: name, ScalingConfig: &ekstypes.NodegroupScalingConfig{DesiredSize: awssdk.Int32(3)},
		Labels: &ekstypes.UpdateLabelsPayload{AddOrUpdateLabels: map[string]string{"tier": "b"}, RemoveLabels: []string{"old"}},
		Taints: &ekstypes.UpdateTaintsPayload{AddOrUpdateTaints: []ekstypes.Taint{{Key: awssdk.String("tier"), Effect: ekstypes.TaintEffectNoSchedule}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.UpdateNodegroupVersion(ctx, &eks.UpdateNodegroupVersionInput{ClusterName: cluster, NodegroupName: name, LaunchTemplate: &ekstypes.LaunchTemplateSpecification{Version: awssdk.String("2")}}); err != nil {
		t.Fatal(err)
	}
	described, err := client.DescribeNodegroup(ctx, &eks.DescribeNodegroupInput{ClusterName: cluster, NodegroupName: name})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.UntagResource(ctx, &eks.UntagResourceInput{ResourceArn: described.Nodegroup.NodegroupArn, TagKeys: []string{"owner"}}); err != nil {
		t.Fatal(err)
	}
	if described, err = client.DescribeNodegroup(ctx, &eks.DescribeNodegroupInput{ClusterName: cluster, NodegroupName: name}); err != nil {
		t.Fatal(err)
	}
	group := described.Nodegroup
	got := map[string]any{
		"version": *group.LaunchTemplate.Version, "template": *group.LaunchTemplate.Id, "labels": group.Labels, "tags": len(group.Tags), "taints": len(group.Taints),
		"sizes": []int32{*group.ScalingConfig.MinSize, *group.ScalingConfig.DesiredSize, *group.ScalingConfig.MaxSize}, "status": string(group.Status),
	}
	want := map[string]any{
		"version": "2", "template": "lt-1", "labels": map[string]string{"tier": "b"}, "tags": 0, "taints": 1,
		"sizes": []int32{1, 3, 3}, "status": "CREATING",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("DescribeNodegroup: -want +got:\n%s", diff)
	}
	update, err := client.DescribeUpdate(ctx, &eks.DescribeUpdateInput{Name: cluster, NodegroupName: name, UpdateId: updated.Update.Id})
	if err != nil || update.Update.Status != ekstypes.UpdateStatusSuccessful {
		t.Errorf("DescribeUpdate: got %v and error %v, want an update that was successful", update, err)
	}
	if _, err := client.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: cluster}); err == nil {
		t.Error("DescribeCluster was answered, and the forecast knows no clusters")
	}
}

func TestStorage(t *testing.T) {
	f := New(clocktesting.NewFakePassiveClock(time.Date(2026, time.November, 26, 10, 0, 0, 0, time.UTC)))
	options := []func(*middleware.Stack) error{f.Install}
	objects := s3.New(s3.Options{Region: "us-east-1", APIOptions: options, HTTPClient: unreachable{}, Credentials: awssdk.AnonymousCredentials{}})
	parameters := ssm.New(ssm.Options{Region: "us-east-1", APIOptions: options, HTTPClient: unreachable{}, Credentials: awssdk.AnonymousCredentials{}})
	ctx := t.Context()
	bucket, key, name := awssdk.String("data"), awssdk.String("blue/1"), "/blue/1"
	if _, err := objects.PutObject(ctx, &s3.PutObjectInput{Bucket: bucket, Key: key, Metadata: map[string]string{"owner": "blue"}}); err != nil {
		t.Fatal(err)
	}
	if head, err := objects.HeadObject(ctx, &s3.HeadObjectInput{Bucket: bucket, Key: key}); err != nil || head.Metadata["owner"] != "blue" {
		t.Errorf("HeadObject: got %v and error %v, want the metadata that was put", head, err)
	}
	if _, err := parameters.PutParameter(ctx, &ssm.PutParameterInput{Name: &name, Value: awssdk.String("x"), Description: awssdk.String("of blue")}); err != nil {
		t.Fatal(err)
	}
	byName := &ssm.DescribeParametersInput{ParameterFilters: []ssmtypes.ParameterStringFilter{{Key: awssdk.String("Name"), Values: []string{name}}}}
	if described, err := parameters.DescribeParameters(ctx, byName); err != nil || len(described.Parameters) != 1 || *described.Parameters[0].Description != "of blue" {
		t.Errorf("DescribeParameters: got %v and error %v, want the parameter that was put", described, err)
	}
	if _, err := parameters.DeleteParameters(ctx, &ssm.DeleteParametersInput{Names: []string{name}}); err != nil {
		t.Fatal(err)
	}
	if _, err := parameters.DescribeParameters(ctx, byName); err == nil {
		t.Error("DescribeParameters of a deleted parameter did not reach AWS")
	}
}

// unreachable is an AWS that does not answer.
type unreachable struct{}

func (unreachable) Do(*http.Request) (*http.Response, error) { return nil, errors.New("unreachable") }
