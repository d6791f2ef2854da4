package forecast

import (
	"errors"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/internal/aws/action"
)

// rig has clients of a simulated AWS with a forecast between them and AWS, and clients without one.
type rig struct {
	*testing.T
	sim              *awssim.Simulator
	forecast         *AWS
	ec2, realEC2     *ec2.Client
	groups, realASG  *autoscaling.Client
	template, subnet string
}

// newRig returns a rig in which AWS has a launch template of one version, and an empty group.
func newRig(t *testing.T) *rig {
	t.Helper()
	sim, clk, url := awssimtest.Start(t, time.Date(2026, time.November, 26, 10, 0, 0, 0, time.UTC), awssim.Options{})
	config := awssimtest.Config(url, "us-east-1", "123456789012")
	r := &rig{T: t, sim: sim, forecast: New(clk), realEC2: ec2.NewFromConfig(config), realASG: autoscaling.NewFromConfig(config), subnet: "subnet-0b2000000000000aa"}
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
