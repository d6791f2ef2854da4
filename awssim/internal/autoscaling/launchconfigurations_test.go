package autoscaling_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/world"
)

const (
	nodesGroup = "sg-0c1000000000000ab"
	profile    = "nodes.cluster-api-provider-aws.sigs.k8s.io"
)

// launchConfiguration is a launch configuration for t3.large.
func (f *fixture) launchConfiguration(name string, change ...func(*autoscaling.CreateLaunchConfigurationInput)) *autoscaling.CreateLaunchConfigurationInput {
	in := &autoscaling.CreateLaunchConfigurationInput{LaunchConfigurationName: aws.String(name), ImageId: &f.image, InstanceType: aws.String("t3.large")}
	for _, c := range change {
		c(in)
	}
	return in
}

// configured has a new group launch from a launch configuration.
func configured(name string) func(*create) {
	return func(in *create) { in.LaunchTemplate, in.LaunchConfigurationName = nil, aws.String(name) }
}

// configurations returns the names of the launch configurations of the group's instances, sorted;
// "template" for one that has a launch template.
func (f *fixture) configurations() []string {
	f.t.Helper()
	var names []string
	for _, i := range f.group().Instances {
		name := aws.ToString(i.LaunchConfigurationName)
		if i.LaunchTemplate != nil {
			name += "template"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// launched returns the EC2 instance of the group's only member.
func (f *fixture) launched() ec2types.Instance {
	f.t.Helper()
	out := call(f, f.ec2.DescribeInstances, &ec2.DescribeInstancesInput{InstanceIds: ids(f.group())})
	if len(out.Reservations) != 1 {
		f.t.Fatalf("%d instances", len(out.Reservations))
	}
	return out.Reservations[0].Instances[0]
}

func TestLaunchConfigurationsAreRefused(t *testing.T) {
	t.Parallel()
	f := start(t)
	call(f, f.asg.CreateLaunchConfiguration, f.launchConfiguration("taken"))
	type create = autoscaling.CreateLaunchConfigurationInput
	tests := []struct {
		reason      string
		change      func(*create)
		code, words string
	}{
		{"a name is unique", func(in *create) { in.LaunchConfigurationName = aws.String("taken") }, "AlreadyExists", "Launch Configuration by this name already exists - A launch configuration already exists with the name taken"},
		{"an image is named", func(in *create) { in.ImageId = nil }, "ValidationError", "either the InstanceID parameter or both the ImageId and InstanceType parameters"},
		{"an instance type is named", func(in *create) { in.InstanceType = nil }, "ValidationError", "either the InstanceID parameter or both"},
		{"the image exists", func(in *create) { in.ImageId = aws.String("ami-00000000000000000") }, "ValidationError", "AMI ami-00000000000000000 is invalid: The image id '[ami-00000000000000000]' does not exist"},
		{"the image is no parameter", func(in *create) { in.ImageId = aws.String("resolve:ssm:/image") }, "ValidationError", "is invalid"},
		{"the instance type exists", func(in *create) { in.InstanceType = aws.String("t99.large") }, "ValidationError", "Invalid value 't99.large' for InstanceType"},
		{"the key pair exists", func(in *create) { in.KeyName = aws.String("missing") }, "ValidationError", "The key pair 'missing' does not exist"},
		{"the security group exists", func(in *create) { in.SecurityGroups = []string{"sg-00000000000000000"} }, "ValidationError", "The security group 'sg-00000000000000000' does not exist"},
		{"groups are ids or names", func(in *create) { in.SecurityGroups = []string{"default", nodesGroup} }, "ValidationError", "not both at the same time"},
		{"the profile exists", func(in *create) { in.IamInstanceProfile = aws.String("missing") }, "ValidationError", "Invalid IamInstanceProfile: missing"},
		{"user data is encoded", func(in *create) { in.UserData = aws.String("#!/bin/sh") }, "ValidationError", "BASE64"},
		{"a price is a number", func(in *create) { in.SpotPrice = aws.String("cheap") }, "ValidationError", "SpotPrice"},
		{"a price is not zero", func(in *create) { in.SpotPrice = aws.String("0") }, "ValidationError", "SpotPrice"},
		{"no hosts", func(in *create) { in.PlacementTenancy = aws.String("host") }, "ValidationError", "tenancy"},
		{"the instance exists", func(in *create) { in.InstanceId = aws.String("i-00000000000000000") }, "ValidationError", "does not exist"},
	}
	for _, tt := range tests {
		in := f.launchConfiguration("new", tt.change)
		t.Run(tt.reason, func(t *testing.T) {
			of := *f
			of.t = t
			fails(&of, f.asg.CreateLaunchConfiguration, in, tt.code, tt.words)
		})
	}
	if n := len(call(f, f.asg.DescribeLaunchConfigurations, &autoscaling.DescribeLaunchConfigurationsInput{}).LaunchConfigurations); n != 1 {
		t.Errorf("%d launch configurations after refusals", n)
	}
}

func TestLaunchConfigurationsAreDescribedByPageAndName(t *testing.T) {
	t.Parallel()
	f := start(t, func(o *awssim.Options) {
		w := *world.Default()
		w.Quotas = map[string]int{world.QuotaLaunchConfigurations: 3}
		o.World = &w
	})
	for i := range 3 {
		call(f, f.asg.CreateLaunchConfiguration, f.launchConfiguration(fmt.Sprint("l", i)))
	}
	state, err := f.sim.Region("123456789012", "us-east-1").State()
	if err != nil {
		t.Fatal(err)
	}
	dumped, err := json.Marshal(state["autoscaling"])
	if err != nil || strings.Count(string(dumped), `"LaunchConfigurationARN":"arn:aws:autoscaling:us-east-1:123456789012:launchConfiguration:`) != 3 {
		t.Errorf("the state: %s, %v", dumped, err)
	}
	fails(f, f.asg.CreateLaunchConfiguration, f.launchConfiguration("l3"), "LimitExceeded", "Launch Configuration limit exceeded - You may only have 3 launch configurations")
	limits := call(f, f.asg.DescribeAccountLimits, &autoscaling.DescribeAccountLimitsInput{})
	if *limits.MaxNumberOfLaunchConfigurations != 3 || *limits.NumberOfLaunchConfigurations != 3 {
		t.Errorf("limits: %+v", limits)
	}
	var names []string
	pages := autoscaling.NewDescribeLaunchConfigurationsPaginator(f.asg, &autoscaling.DescribeLaunchConfigurationsInput{MaxRecords: aws.Int32(2)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(page.LaunchConfigurations) > 2 {
			t.Errorf("a page of %d", len(page.LaunchConfigurations))
		}
		for _, l := range page.LaunchConfigurations {
			names = append(names, *l.LaunchConfigurationName)
		}
	}
	if diff := cmp.Diff([]string{"l0", "l1", "l2"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	found := call(f, f.asg.DescribeLaunchConfigurations, &autoscaling.DescribeLaunchConfigurationsInput{LaunchConfigurationNames: []string{"l1", "none"}}).LaunchConfigurations
	if len(found) != 1 || *found[0].LaunchConfigurationName != "l1" || !*found[0].InstanceMonitoring.Enabled || *found[0].EbsOptimized || *found[0].UserData != "" {
		t.Errorf("l1 with its defaults: %+v", found)
	}
	call(f, f.asg.DeleteLaunchConfiguration, &autoscaling.DeleteLaunchConfigurationInput{LaunchConfigurationName: aws.String("l1")})
	fails(f, f.asg.DeleteLaunchConfiguration, &autoscaling.DeleteLaunchConfigurationInput{LaunchConfigurationName: aws.String("l1")},
		"ValidationError", "Launch configuration name not found - Launch configuration l1 not found")
	call(f, f.asg.CreateLaunchConfiguration, f.launchConfiguration("l3"))
}

func TestGroupsLaunchWhatTheirLaunchConfigurationSays(t *testing.T) {
	t.Parallel()
	f := start(t)
	call(f, f.asg.CreateLaunchConfiguration, f.launchConfiguration("all", func(in *autoscaling.CreateLaunchConfigurationInput) {
		in.InstanceType, in.IamInstanceProfile, in.SecurityGroups = aws.String("m5.large"), aws.String(profile), []string{nodesGroup}
		in.UserData = aws.String(base64.StdEncoding.EncodeToString([]byte("#!/bin/sh")))
		in.SpotPrice, in.AssociatePublicIpAddress, in.EbsOptimized = aws.String("0.09"), aws.Bool(true), aws.Bool(true)
		in.InstanceMonitoring = &types.InstanceMonitoring{Enabled: aws.Bool(false)}
		in.MetadataOptions = &types.InstanceMetadataOptions{HttpTokens: types.InstanceMetadataHttpTokensStateRequired, HttpPutResponseHopLimit: aws.Int32(2)}
		in.BlockDeviceMappings = []types.BlockDeviceMapping{{DeviceName: aws.String("/dev/sdf"), Ebs: &types.Ebs{VolumeSize: aws.Int32(7), VolumeType: aws.String("gp3")}}}
	}))
	g := f.running(newGroup("", 1, configured("all")))
	if g.LaunchTemplate != nil || *g.LaunchConfigurationName != "all" {
		t.Errorf("the group: %+v", g)
	}
	if diff := cmp.Diff([]string{"all"}, f.configurations()); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
	detail := call(f, f.asg.DescribeAutoScalingInstances, &autoscaling.DescribeAutoScalingInstancesInput{}).AutoScalingInstances[0]
	if aws.ToString(detail.LaunchConfigurationName) != "all" || detail.LaunchTemplate != nil {
		t.Errorf("the instance: %+v", detail)
	}
	i := f.launched()
	data := call(f, f.ec2.DescribeInstanceAttribute, &ec2.DescribeInstanceAttributeInput{InstanceId: i.InstanceId, Attribute: ec2types.InstanceAttributeNameUserData})
	devices := call(f, f.ec2.DescribeVolumes, &ec2.DescribeVolumesInput{Filters: []ec2types.Filter{
		{Name: aws.String("attachment.instance-id"), Values: []string{*i.InstanceId}}, {Name: aws.String("attachment.device"), Values: []string{"/dev/sdf"}},
	}}).Volumes
	if len(devices) != 1 {
		t.Fatalf("volumes: %+v", devices)
	}
	got := []any{
		*i.ImageId, i.InstanceType, i.InstanceLifecycle, i.PublicIpAddress != nil, *i.EbsOptimized, i.MetadataOptions.HttpTokens, *i.MetadataOptions.HttpPutResponseHopLimit,
		*i.SecurityGroups[0].GroupId, i.IamInstanceProfile != nil, *data.UserData.Value, *devices[0].Size, devices[0].VolumeType, *devices[0].Attachments[0].DeleteOnTermination,
		i.Monitoring.State,
	}
	want := []any{
		f.image, ec2types.InstanceTypeM5Large, ec2types.InstanceLifecycleTypeSpot, true, true, ec2types.HttpTokensStateRequired, int32(2),
		nodesGroup, true, base64.StdEncoding.EncodeToString([]byte("#!/bin/sh")), int32(7), ec2types.VolumeTypeGp3, true, ec2types.MonitoringStateDisabled,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what was launched (-want +got):\n%s", diff)
	}
}

func TestGroupsSwitchBetweenLaunchConfigurationAndTemplate(t *testing.T) {
	t.Parallel()
	f := start(t)
	call(f, f.asg.CreateLaunchConfiguration, f.launchConfiguration("old"))
	remove := &autoscaling.DeleteLaunchConfigurationInput{LaunchConfigurationName: aws.String("old")}
	update := &autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: aws.String("nodes"), LaunchConfigurationName: aws.String("old")}
	f.running(newGroup("", 1, configured("old")))
	fails(f, f.asg.DeleteLaunchConfiguration, remove, "ResourceInUse", "Cannot delete launch configuration old because it is attached to AutoScalingGroup nodes")

	f.point(f.template(), "1")
	if g := f.group(); g.LaunchConfigurationName != nil || g.LaunchTemplate == nil {
		t.Errorf("after the switch to a template: %+v", g)
	}
	f.setDesired(2)
	f.settled(2)
	if diff := cmp.Diff([]string{"old", "template"}, f.configurations()); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}

	both := *update
	both.LaunchTemplate = spec(f.template(), "1")
	fails(f, f.asg.UpdateAutoScalingGroup, &both, "ValidationError", "Valid requests must contain either LaunchTemplate, LaunchConfigurationName, InstanceId or MixedInstancesPolicy parameter.")
	call(f, f.asg.UpdateAutoScalingGroup, update)
	if g := f.group(); aws.ToString(g.LaunchConfigurationName) != "old" || g.LaunchTemplate != nil {
		t.Errorf("after the switch back: %+v", g)
	}

	// A refresh replaces instances with a launch configuration by instances with a template, and
	// the former go first when the group shrinks.
	f.refresh(desired(f.template(), "1"))
	f.ends(20*time.Minute, types.InstanceRefreshStatusSuccessful)
	f.settled(2)
	if diff := cmp.Diff([]string{"template", "template"}, f.configurations()); diff != "" {
		t.Errorf("refreshed (-want +got):\n%s", diff)
	}
	call(f, f.asg.UpdateAutoScalingGroup, update)
	f.setDesired(3)
	f.settled(3)
	f.setDesired(2)
	f.settled(2)
	if diff := cmp.Diff([]string{"template", "template"}, f.configurations()); diff != "" {
		t.Errorf("scaled in (-want +got):\n%s", diff)
	}
}

func TestDeletedLaunchConfigurationIsNotShownOfInstances(t *testing.T) {
	t.Parallel()
	f := start(t)
	call(f, f.asg.CreateLaunchConfiguration, f.launchConfiguration("old"))
	f.running(newGroup("", 1, configured("old")))
	f.point(f.template(), "1")
	call(f, f.asg.DeleteLaunchConfiguration, &autoscaling.DeleteLaunchConfigurationInput{LaunchConfigurationName: aws.String("old")})
	call(f, f.asg.CreateLaunchConfiguration, f.launchConfiguration("old"))
	if diff := cmp.Diff([]string{""}, f.configurations()); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
}

func TestRefreshOfLaunchConfigurationSkipsAndRollsBack(t *testing.T) {
	t.Parallel()
	f := start(t)
	call(f, f.asg.CreateLaunchConfiguration, f.launchConfiguration("old"))
	call(f, f.asg.CreateLaunchConfiguration, f.launchConfiguration("new"))
	before := ids(f.running(newGroup("", 2, configured("old"))))
	f.refresh(prefer(func(p *types.RefreshPreferences) { p.SkipMatching = aws.Bool(true) }))
	f.ends(10*time.Minute, types.InstanceRefreshStatusSuccessful)
	if diff := cmp.Diff(before, ids(f.group())); diff != "" {
		t.Errorf("instances that match were replaced (-want +got):\n%s", diff)
	}
	call(f, f.asg.UpdateAutoScalingGroup, &autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: aws.String("nodes"), LaunchConfigurationName: aws.String("new")})
	f.refresh(prefer(func(p *types.RefreshPreferences) { p.SkipMatching = aws.Bool(true) }))
	f.ends(20*time.Minute, types.InstanceRefreshStatusSuccessful)
	f.settled(2)
	if diff := cmp.Diff([]string{"new", "new"}, f.configurations()); diff != "" {
		t.Errorf("replaced (-want +got):\n%s", diff)
	}
	f.refresh(desired(f.template(), "1"))
	f.until(20*time.Minute, "an instance from the template", func() bool { return slices.Contains(f.configurations(), "template") })
	call(f, f.asg.RollbackInstanceRefresh, &autoscaling.RollbackInstanceRefreshInput{AutoScalingGroupName: aws.String("nodes")})
	f.ends(20*time.Minute, types.InstanceRefreshStatusRollbackSuccessful)
	f.settled(2)
	if diff := cmp.Diff([]string{"new", "new"}, f.configurations()); diff != "" {
		t.Errorf("rolled back (-want +got):\n%s", diff)
	}
}

func TestGroupsOfLaunchConfigurationsNeedSubnets(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason string
		change func(*autoscaling.CreateLaunchConfigurationInput)
		words  string
	}{
		{"a public address", func(in *autoscaling.CreateLaunchConfigurationInput) { in.AssociatePublicIpAddress = aws.Bool(false) }, "AssociatePublicIpAddress field can not be specified without a subnet id"},
		{"a tenancy", func(in *autoscaling.CreateLaunchConfigurationInput) { in.PlacementTenancy = aws.String("dedicated") }, "PlacementTenancy field can not be specified without a subnet id"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			call(f, f.asg.CreateLaunchConfiguration, f.launchConfiguration("l", tt.change))
			in := newGroup("", 1, configured("l"), func(in *create) { in.VPCZoneIdentifier, in.AvailabilityZones = nil, []string{"us-east-1a"} })
			fails(f, f.asg.CreateAutoScalingGroup, in, "ValidationError", tt.words)
			in.VPCZoneIdentifier, in.AvailabilityZones = aws.String(subnetA), nil
			f.running(in)
		})
	}
}

func TestWarmPoolsOfLaunchConfigurations(t *testing.T) {
	t.Parallel()
	f := start(t)
	call(f, f.asg.CreateLaunchConfiguration, f.launchConfiguration("l"))
	call(f, f.asg.CreateLaunchConfiguration, f.launchConfiguration("spot", func(in *autoscaling.CreateLaunchConfigurationInput) { in.SpotPrice = aws.String("0.05") }))
	f.running(newGroup("", 1, configured("l"), func(in *create) { in.MaxSize = aws.Int32(2) }))
	pool := &autoscaling.PutWarmPoolInput{AutoScalingGroupName: aws.String("nodes"), PoolState: types.WarmPoolStateHibernated}
	fails(f, f.asg.PutWarmPool, pool, "ValidationError", "hibernation")
	pool.PoolState = types.WarmPoolStateStopped
	call(f, f.asg.PutWarmPool, pool)
	f.until(10*time.Minute, "an instance in the warm pool", func() bool { return len(f.pool(types.LifecycleStateWarmedStopped)) == 1 })
	fails(f, f.asg.UpdateAutoScalingGroup, &autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: aws.String("nodes"), LaunchConfigurationName: aws.String("spot")},
		"ValidationError", "Spot Instances")
}

func TestGroupFromAnInstanceCreatesItsLaunchConfiguration(t *testing.T) {
	t.Parallel()
	f := start(t)
	made := call(f, f.ec2.RunInstances, &ec2.RunInstancesInput{
		ImageId: &f.image, InstanceType: ec2types.InstanceTypeM5Large, MinCount: aws.Int32(1), MaxCount: aws.Int32(1), SubnetId: aws.String(subnetB),
		SecurityGroupIds: []string{nodesGroup}, UserData: aws.String(base64.StdEncoding.EncodeToString([]byte("#!/bin/sh"))),
	}).Instances[0]
	ofInstance := func(in *create) { in.LaunchTemplate, in.InstanceId, in.VPCZoneIdentifier = nil, made.InstanceId, nil }
	fails(f, f.asg.CreateAutoScalingGroup, newGroup("", 1, ofInstance, func(in *create) { in.MinSize = aws.Int32(99) }), "ValidationError", "Max bound")
	if n := len(call(f, f.asg.DescribeLaunchConfigurations, &autoscaling.DescribeLaunchConfigurationsInput{}).LaunchConfigurations); n != 0 {
		t.Errorf("a refused group left %d launch configurations", n)
	}
	g := f.running(newGroup("", 1, ofInstance))
	if *g.LaunchConfigurationName != "nodes" || *g.VPCZoneIdentifier != subnetB {
		t.Errorf("the group: %+v", g)
	}
	l := call(f, f.asg.DescribeLaunchConfigurations, &autoscaling.DescribeLaunchConfigurationsInput{}).LaunchConfigurations[0]
	got := []any{*l.LaunchConfigurationName, *l.ImageId, *l.InstanceType, l.SecurityGroups, *l.UserData, len(l.BlockDeviceMappings), f.launched().InstanceType}
	want := []any{"nodes", f.image, "m5.large", []string{nodesGroup}, base64.StdEncoding.EncodeToString([]byte("#!/bin/sh")), 0, ec2types.InstanceTypeM5Large}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the launch configuration (-want +got):\n%s", diff)
	}
	call(f, f.asg.CreateLaunchConfiguration, &autoscaling.CreateLaunchConfigurationInput{
		LaunchConfigurationName: aws.String("other"), InstanceId: made.InstanceId, InstanceType: aws.String("t3.large"),
	})
	other := call(f, f.asg.DescribeLaunchConfigurations, &autoscaling.DescribeLaunchConfigurationsInput{LaunchConfigurationNames: []string{"other"}}).LaunchConfigurations[0]
	if *other.InstanceType != "t3.large" || *other.ImageId != f.image {
		t.Errorf("what the request says wins: %+v", other)
	}
}

func TestLaunchesOfLaunchConfigurationsFail(t *testing.T) {
	t.Parallel()
	f := start(t)
	// A type of another architecture is seen at the launch, not before.
	call(f, f.asg.CreateLaunchConfiguration, f.launchConfiguration("l", func(in *autoscaling.CreateLaunchConfigurationInput) { in.InstanceType = aws.String("m6g.large") }))
	call(f, f.asg.CreateAutoScalingGroup, newGroup("", 1, configured("l")))
	f.until(time.Minute, "a failed launch", func() bool { return len(f.failed()) > 0 })
}
