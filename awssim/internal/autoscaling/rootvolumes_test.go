package autoscaling_test

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
)

// imaged returns overrides for types that all launch an image.
func imaged(image string, instanceTypes ...string) []types.LaunchTemplateOverrides {
	overrides := of(instanceTypes...)
	for i := range overrides {
		overrides[i].ImageId = &image
	}
	return overrides
}

// newImage copies the image of the fixture, and returns the id of the copy.
func (f *fixture) newImage(name string) string {
	f.t.Helper()
	out := call(f, f.ec2.CopyImage, &ec2.CopyImageInput{Name: &name, SourceImageId: &f.image, SourceRegion: aws.String("us-east-1")})
	f.step(time.Hour)
	return *out.ImageId
}

// replaceRoots is a refresh of the strategy ReplaceRootVolume to a policy with the overrides.
func replaceRoots(template, version string, overrides ...types.LaunchTemplateOverrides) func(*autoscaling.StartInstanceRefreshInput) {
	return func(in *autoscaling.StartInstanceRefreshInput) {
		in.Strategy = types.RefreshStrategyReplaceRootVolume
		in.DesiredConfiguration = &types.DesiredConfiguration{MixedInstancesPolicy: &types.MixedInstancesPolicy{
			LaunchTemplate: &types.LaunchTemplate{LaunchTemplateSpecification: spec(template, version), Overrides: overrides},
		}}
	}
}

// machine holds the attributes of an instance that a root volume replacement must keep, and the
// ones that it changes.
type machine struct{ ID, Address, Interface, Volume, Image string }

// machines returns the group's instances as EC2 and Auto Scaling have them, by id.
func (f *fixture) machines() map[string]machine {
	f.t.Helper()
	all := map[string]machine{}
	for _, r := range call(f, f.ec2.DescribeInstances, &ec2.DescribeInstancesInput{InstanceIds: ids(f.group())}).Reservations {
		for _, i := range r.Instances {
			all[*i.InstanceId] = machine{*i.InstanceId, *i.PrivateIpAddress, *i.NetworkInterfaces[0].NetworkInterfaceId, *i.BlockDeviceMappings[0].Ebs.VolumeId, *i.ImageId}
		}
	}
	for _, i := range f.group().Instances {
		if got := aws.ToString(i.ImageId); got != all[*i.InstanceId].Image {
			f.t.Errorf("Auto Scaling says that %s has the image %q, EC2 says %q", *i.InstanceId, got, all[*i.InstanceId].Image)
		}
	}
	return all
}

// images counts the group's instances by image.
func (f *fixture) images() map[string]int {
	f.t.Helper()
	count := map[string]int{}
	for _, m := range f.machines() {
		count[m.Image]++
	}
	return count
}

func TestRefreshReplacesRootVolumes(t *testing.T) {
	t.Parallel()
	f := start(t)
	template, image := f.template(), f.newImage("second")
	f.running(newGroup("", 2, mixed(template, nil, imaged(f.image, "m5.large")...)))
	before := f.machines()
	launches := len(f.activities())
	f.refresh(replaceRoots(template, "1", imaged(image, "m5.large")...), prefer(func(p *types.RefreshPreferences) { p.MinHealthyPercentage = aws.Int32(50) }))
	if got := f.last().Strategy; got != types.RefreshStrategyReplaceRootVolume {
		t.Errorf("the strategy is %s", got)
	}
	first, seen := "", []types.LifecycleState{}
	f.until(10*time.Minute, "success", func() bool {
		if len(f.in(types.LifecycleStateInService)) < 1 {
			t.Errorf("no instance is in service: %v", f.summary())
		}
		for _, i := range f.group().Instances {
			if first == "" && i.LifecycleState == types.LifecycleStateReplacingRootVolume {
				first = *i.InstanceId
			}
			if *i.InstanceId == first && !slices.Contains(seen, i.LifecycleState) {
				seen = append(seen, i.LifecycleState)
			}
		}
		return f.last().Status == types.InstanceRefreshStatusSuccessful
	})
	want := []types.LifecycleState{
		types.LifecycleStateReplacingRootVolume, types.LifecycleStateReplacingRootVolumeProceed, types.LifecycleStateRootVolumeReplaced, types.LifecycleStateInService,
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("states of the first instance (-want +got):\n%s", diff)
	}
	after := f.machines()
	for id, m := range before {
		if after[id].Volume == m.Volume {
			t.Errorf("%s has the root volume it had: %+v", id, after[id])
		}
		m.Volume, m.Image = after[id].Volume, image
		if diff := cmp.Diff(m, after[id]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
	if got := *f.group().MixedInstancesPolicy.LaunchTemplate.Overrides[0].ImageId; got != image {
		t.Errorf("in the end the group launches %s, want %s", got, image)
	}
	if got := len(f.activities()) - launches; got != 2 {
		t.Errorf("%d activities, want one for each root volume", got)
	}

	f.refresh(replaceRoots(template, "1", imaged(image, "m5.large")...), prefer(func(p *types.RefreshPreferences) { p.SkipMatching = aws.Bool(true) }))
	f.ends(time.Minute, types.InstanceRefreshStatusSuccessful)
	if diff := cmp.Diff(after, f.machines()); diff != "" {
		t.Errorf("with skip matching, instances that had the image changed (-before +after):\n%s", diff)
	}
	f.refresh(replaceRoots(template, "1", imaged(image, "m5.large")...))
	f.ends(10*time.Minute, types.InstanceRefreshStatusSuccessful)
	for id, m := range f.machines() {
		if m.Volume == after[id].Volume {
			t.Errorf("without skip matching, %s keeps its root volume", id)
		}
	}
}

// TestHooksHoldRootVolumeReplacements holds that hooks for terminations hold an instance before,
// and hooks for launches after its root volume is replaced.
func TestHooksHoldRootVolumeReplacements(t *testing.T) {
	t.Parallel()
	f := start(t)
	template, image := f.template(), f.newImage("second")
	f.running(newGroup("", 1, mixed(template, nil, imaged(f.image, "m5.large")...)))
	id := f.group().Instances[0].InstanceId
	f.hook("before", terminating)
	f.hook("after", launching)
	f.refresh(replaceRoots(template, "1", imaged(image, "m5.large")...))
	f.until(time.Minute, "waiting before", func() bool { return len(f.in(types.LifecycleStateReplacingRootVolumeWait)) == 1 })
	f.step(5 * time.Minute)
	if got := f.images()[f.image]; got != 1 {
		t.Errorf("before the hook was completed, the root volume was replaced")
	}
	f.complete("before", *id, "CONTINUE")
	f.until(time.Minute, "waiting after", func() bool { return len(f.in(types.LifecycleStatePendingWait)) == 1 })
	if got := f.images()[image]; got != 1 {
		t.Errorf("after the hook was completed, the root volume was not replaced")
	}
	f.complete("after", *id, "CONTINUE")
	f.ends(time.Minute, types.InstanceRefreshStatusSuccessful)
	if got := f.in(types.LifecycleStateInService); !slices.Equal(got, []string{*id}) {
		t.Errorf("in service are %q, want %s", got, *id)
	}
}

// TestFailedRootVolumeReplacementTerminates holds that an instance is terminated whose root volume
// could not be replaced, and that a new one takes its place.
func TestFailedRootVolumeReplacementTerminates(t *testing.T) {
	t.Parallel()
	f := start(t)
	template, image := f.template(), f.newImage("second")
	f.running(newGroup("", 1, mixed(template, nil, imaged(f.image, "m5.large")...)))
	id := *f.group().Instances[0].InstanceId
	f.hook("before", terminating)
	f.refresh(replaceRoots(template, "1", imaged(image, "m5.large")...))
	f.until(time.Minute, "waiting", func() bool { return len(f.in(types.LifecycleStateReplacingRootVolumeWait)) == 1 })
	call(f, f.ec2.DeregisterImage, &ec2.DeregisterImageInput{ImageId: &image})
	f.complete("before", id, "CONTINUE")
	f.until(time.Minute, "termination", func() bool { return len(f.in(types.LifecycleStateTerminatingWait)) == 1 })
	f.complete("before", id, "CONTINUE")
	f.step(10 * time.Minute)
	if f.last().Status == types.InstanceRefreshStatusSuccessful {
		t.Error("the refresh succeeded without its image")
	}
	call(f, f.asg.RollbackInstanceRefresh, &autoscaling.RollbackInstanceRefreshInput{AutoScalingGroupName: aws.String("nodes")})
	f.ends(time.Hour, types.InstanceRefreshStatusRollbackSuccessful)
	f.settled(1)
	if diff := cmp.Diff(map[string]int{f.image: 1}, f.images()); diff != "" || *f.group().Instances[0].InstanceId == id {
		t.Errorf("images after the roll-back (-want +got):\n%s", diff)
	}
}

// TestRootVolumeRefreshStopsHalfWay holds what checkpoints, cancellations and roll-backs leave.
func TestRootVolumeRefreshStopsHalfWay(t *testing.T) {
	t.Parallel()
	f := start(t)
	template, image := f.template(), f.newImage("second")
	f.running(newGroup("", 4, mixed(template, nil, imaged(f.image, "m5.large")...)))
	before := ids(f.group())
	half := func() {
		f.refresh(replaceRoots(template, "1", imaged(image, "m5.large")...), prefer(func(p *types.RefreshPreferences) {
			p.MinHealthyPercentage, p.CheckpointPercentages, p.CheckpointDelay, p.SkipMatching = aws.Int32(50), []int32{50, 100}, aws.Int32(3600), aws.Bool(true)
		}))
		f.until(20*time.Minute, "half of the root volumes", func() bool { return f.images()[image] == 2 })
		f.step(10 * time.Minute)
		if diff := cmp.Diff(map[string]int{f.image: 2, image: 2}, f.images()); diff != "" {
			t.Errorf("images at the checkpoint (-want +got):\n%s", diff)
		}
	}
	half()
	fails(f, f.asg.PutWarmPool, &autoscaling.PutWarmPoolInput{AutoScalingGroupName: aws.String("nodes")}, "ValidationError", "active instance refresh")
	stray := call(f, f.ec2.RunInstances, &ec2.RunInstancesInput{ImageId: &image, InstanceType: ec2types.InstanceTypeC5Large, SubnetId: aws.String(subnetA), MinCount: aws.Int32(1), MaxCount: aws.Int32(1)})
	f.step(pending)
	fails(f, f.asg.AttachInstances, &autoscaling.AttachInstancesInput{AutoScalingGroupName: aws.String("nodes"), InstanceIds: []string{*stray.Instances[0].InstanceId}},
		"ValidationError", "not in the mixed instances policy")
	call(f, f.asg.CancelInstanceRefresh, &autoscaling.CancelInstanceRefreshInput{AutoScalingGroupName: aws.String("nodes")})
	f.ends(time.Minute, types.InstanceRefreshStatusCancelled)
	if got := *f.group().MixedInstancesPolicy.LaunchTemplate.Overrides[0].ImageId; got != f.image {
		t.Errorf("after the cancellation, the group launches %s, want %s", got, f.image)
	}
	if diff := cmp.Diff(map[string]int{f.image: 2, image: 2}, f.images()); diff != "" {
		t.Errorf("images after the cancellation (-want +got):\n%s", diff)
	}
	half()
	call(f, f.asg.RollbackInstanceRefresh, &autoscaling.RollbackInstanceRefreshInput{AutoScalingGroupName: aws.String("nodes")})
	f.ends(20*time.Minute, types.InstanceRefreshStatusRollbackSuccessful)
	if diff := cmp.Diff(map[string]int{f.image: 4}, f.images()); diff != "" {
		t.Errorf("images after the roll-back (-want +got):\n%s", diff)
	}
	if got := ids(f.group()); !slices.Equal(before, got) {
		t.Errorf("instances were %q and are %q", before, got)
	}
}

// TestRootVolumeStrategyIsRefused holds the requirements and limitations that AWS lists.
func TestRootVolumeStrategyIsRefused(t *testing.T) {
	t.Parallel()
	f := start(t)
	template, image := f.template(), f.newImage("second")
	second := f.version(template, ec2types.InstanceTypeM5Large)
	many := *call(f, f.ec2.RegisterImage, &ec2.RegisterImageInput{
		Name: aws.String("many"), Architecture: ec2types.ArchitectureValuesX8664, RootDeviceName: aws.String("/dev/sda1"), VirtualizationType: aws.String("hvm"), EnaSupport: aws.Bool(true),
		BlockDeviceMappings: []ec2types.BlockDeviceMapping{
			{DeviceName: aws.String("/dev/sda1"), Ebs: &ec2types.EbsBlockDevice{SnapshotId: f.snapshot()}},
			{DeviceName: aws.String("/dev/sdb"), Ebs: &ec2types.EbsBlockDevice{VolumeSize: aws.Int32(10)}},
		},
	}).ImageId
	type group = func(*autoscaling.CreateAutoScalingGroupInput)
	usual := mixed(template, nil, imaged(f.image, "m5.large", "c5.large")...)
	wanted := replaceRoots(template, "1", imaged(image, "m5.large", "c5.large")...)
	tests := []struct {
		reason  string
		group   group
		prepare func(name *string)
		refresh func(*autoscaling.StartInstanceRefreshInput)
		words   string
	}{
		{reason: "the group has a mixed instances policy", group: func(*autoscaling.CreateAutoScalingGroupInput) {}, refresh: wanted, words: "with a mixed instances policy"},
		{reason: "there is a desired configuration", group: usual, words: "desired configuration",
			refresh: func(in *autoscaling.StartInstanceRefreshInput) { in.Strategy = types.RefreshStrategyReplaceRootVolume }},
		{reason: "every override has an image", group: usual, refresh: replaceRoots(template, "1", of("m5.large", "c5.large")...), words: "ImageId"},
		{reason: "those of the group too", group: mixed(template, nil, of("m5.large", "c5.large")...), refresh: wanted, words: "ImageId"},
		{reason: "the desired version is a number", group: usual, refresh: replaceRoots(template, "$Latest", imaged(image, "m5.large", "c5.large")...), words: "$Latest"},
		{reason: "and so is the group's", refresh: wanted, words: "$Latest", group: func(in *autoscaling.CreateAutoScalingGroupInput) {
			usual(in)
			in.MixedInstancesPolicy.LaunchTemplate.LaunchTemplateSpecification.Version = aws.String("$Latest")
		}},
		{reason: "no warm pool", group: usual, refresh: wanted, words: "warm pool",
			prepare: func(name *string) {
				call(f, f.asg.PutWarmPool, &autoscaling.PutWarmPoolInput{AutoScalingGroupName: name})
			}},
		{reason: "no load balancer", refresh: wanted, words: "Elastic Load Balancing", group: func(in *autoscaling.CreateAutoScalingGroupInput) {
			usual(in)
			in.TargetGroupARNs = []string{"arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web/6d0ecf831eec9f09"}
		}},
		{reason: "images with the root volume alone", group: usual, refresh: replaceRoots(template, "1", imaged(many, "m5.large", "c5.large")...), words: "single root volume"},
		{reason: "every instance has a type of the policy", group: usual, refresh: replaceRoots(template, "1", imaged(image, "c5.large")...), words: "m5.large"},
		{reason: "every instance has the launch template version", group: usual, refresh: replaceRoots(template, second, imaged(image, "m5.large", "c5.large")...), words: "does not match"},
	}
	for i, tt := range tests {
		t.Log(tt.reason)
		name := aws.String([]string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"}[i])
		in := newGroup(template, 1, tt.group)
		in.AutoScalingGroupName = name
		call(f, f.asg.CreateAutoScalingGroup, in)
		f.step(time.Minute)
		if tt.prepare != nil {
			tt.prepare(name)
		}
		refresh := &autoscaling.StartInstanceRefreshInput{AutoScalingGroupName: name, Preferences: &types.RefreshPreferences{}}
		tt.refresh(refresh)
		fails(f, f.asg.StartInstanceRefresh, refresh, "ValidationError", tt.words)
	}
}

// snapshot returns the snapshot of the fixture's image.
func (f *fixture) snapshot() *string {
	f.t.Helper()
	return call(f, f.ec2.DescribeImages, &ec2.DescribeImagesInput{ImageIds: []string{f.image}}).Images[0].BlockDeviceMappings[0].Ebs.SnapshotId
}
