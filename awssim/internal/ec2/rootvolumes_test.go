package ec2_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
)

// otherImage returns an image of amd64 other than the one that run launches.
func (r *rig) otherImage() types.Image {
	r.Helper()
	launched := r.image(types.ArchitectureValuesX8664)
	out, err := r.ec2.DescribeImages(r.Context(), &ec2.DescribeImagesInput{Filters: []types.Filter{filter("name", "capa-ami-ubuntu-24.04-*"), filter("architecture", "x86_64")}})
	if err != nil {
		r.Fatal(err)
	}
	for _, image := range out.Images {
		if *image.ImageId != *launched.ImageId {
			return image
		}
	}
	r.Fatal("the world has one image alone")
	return types.Image{}
}

func (r *rig) rootTask(id string) types.ReplaceRootVolumeTask {
	r.Helper()
	out, err := r.ec2.DescribeReplaceRootVolumeTasks(r.Context(), &ec2.DescribeReplaceRootVolumeTasksInput{ReplaceRootVolumeTaskIds: []string{id}})
	if err != nil || len(out.ReplaceRootVolumeTasks) != 1 {
		r.Fatalf("describing the task %s: %v, %v", id, out, err)
	}
	return out.ReplaceRootVolumeTasks[0]
}

// TestReplaceRootVolume holds what AWS says an instance keeps and what changes when its root volume
// is replaced by one of another image.
func TestReplaceRootVolume(t *testing.T) {
	t.Parallel()
	r := newRig(t, withBehavior(awssim.Behavior{InstanceTimes: awssim.InstanceTimes{Boot: time.Minute}}))
	out, err := r.run(func(in *ec2.RunInstancesInput) {
		in.BlockDeviceMappings = []types.BlockDeviceMapping{
			{DeviceName: aws.String("/dev/sda1"), Ebs: &types.EbsBlockDevice{VolumeSize: aws.Int32(90), VolumeType: types.VolumeTypeGp3}},
			{DeviceName: aws.String("/dev/sdb"), Ebs: &types.EbsBlockDevice{VolumeSize: aws.Int32(10)}},
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	id, image := out.Instances[0].InstanceId, r.otherImage().ImageId
	r.clock.Step(time.Minute)
	before := r.instance(*id)
	in := &ec2.CreateReplaceRootVolumeTaskInput{
		InstanceId: id, ImageId: image, DeleteReplacedRootVolume: aws.Bool(true), ClientToken: aws.String("once"),
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeReplaceRootVolumeTask, Tags: []types.Tag{tag("why", "patch")}}},
	}
	created, err := r.ec2.CreateReplaceRootVolumeTask(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	again, err := r.ec2.CreateReplaceRootVolumeTask(t.Context(), in)
	if err != nil || *again.ReplaceRootVolumeTask.ReplaceRootVolumeTaskId != *created.ReplaceRootVolumeTask.ReplaceRootVolumeTaskId {
		t.Errorf("the same token gave another task: %v, %v", again, err)
	}
	task := *created.ReplaceRootVolumeTask.ReplaceRootVolumeTaskId
	if got := r.rootTask(task); got.TaskState != types.ReplaceRootVolumeTaskStatePending || *got.Tags[0].Value != "patch" {
		t.Errorf("the task begins as %+v", got)
	}
	_, err = r.ec2.CreateReplaceRootVolumeTask(t.Context(), &ec2.CreateReplaceRootVolumeTaskInput{InstanceId: id})
	wantError(t, err, "IncorrectState", task)
	r.clock.Step(10 * time.Second)
	if got := r.rootTask(task).TaskState; got != types.ReplaceRootVolumeTaskStateInProgress {
		t.Errorf("while the instance reboots, the task is %s", got)
	}
	if i, _ := r.sim.Region(awssim.DefaultAccount, region).Instance(*id); i.Booted || i.State.Name != types.InstanceStateNameRunning {
		t.Errorf("while the instance reboots, it is %s, booted %t", i.State.Name, i.Booted)
	}
	r.clock.Step(time.Minute)
	if got := r.rootTask(task); got.TaskState != types.ReplaceRootVolumeTaskStateSucceeded || got.CompleteTime == nil {
		t.Errorf("the task ends as %+v", got)
	}
	after := r.instance(*id)
	if i, _ := r.sim.Region(awssim.DefaultAccount, region).Instance(*id); !i.Booted || *after.ImageId != *image {
		t.Errorf("afterwards the instance has booted %t and has the image %s, want %s", i.Booted, *after.ImageId, *image)
	}
	if diff := cmp.Diff(before.NetworkInterfaces, after.NetworkInterfaces, cmp.Comparer(func(a, b types.InstanceNetworkInterface) bool {
		return *a.NetworkInterfaceId == *b.NetworkInterfaceId && *a.PrivateIpAddress == *b.PrivateIpAddress
	})); diff != "" {
		t.Errorf("network interfaces (-before +after):\n%s", diff)
	}
	old, replaced := *before.BlockDeviceMappings[0].Ebs.VolumeId, *after.BlockDeviceMappings[0].Ebs.VolumeId
	if old == replaced || *before.BlockDeviceMappings[1].Ebs.VolumeId != *after.BlockDeviceMappings[1].Ebs.VolumeId {
		t.Errorf("volumes were %v and are %v", before.BlockDeviceMappings, after.BlockDeviceMappings)
	}
	volumes, err := r.ec2.DescribeVolumes(t.Context(), &ec2.DescribeVolumesInput{VolumeIds: []string{replaced}})
	if err != nil {
		t.Fatal(err)
	}
	if v := volumes.Volumes[0]; *v.Size != 90 || v.VolumeType != types.VolumeTypeGp3 || *v.Attachments[0].DeleteOnTermination != *before.BlockDeviceMappings[0].Ebs.DeleteOnTermination {
		t.Errorf("the new root volume does not have the size, type and fate of the old one: %+v", v)
	}
	_, err = r.ec2.DescribeVolumes(t.Context(), &ec2.DescribeVolumesInput{VolumeIds: []string{old}})
	wantError(t, err, "InvalidVolume.NotFound", old)
}

// TestReplaceRootVolumeByAnotherVolume holds that the replaced volume stays where its deletion is
// not asked for, and may come back.
func TestReplaceRootVolumeByAnotherVolume(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	i := r.launched(nil)
	r.clock.Step(time.Minute)
	first := *r.instance(*i.InstanceId).BlockDeviceMappings[0].Ebs.VolumeId
	_, err := r.ec2.CreateReplaceRootVolumeTask(t.Context(), &ec2.CreateReplaceRootVolumeTaskInput{InstanceId: i.InstanceId, VolumeId: &first})
	wantError(t, err, "IncorrectState", first)
	if _, err := r.ec2.CreateReplaceRootVolumeTask(t.Context(), &ec2.CreateReplaceRootVolumeTaskInput{InstanceId: i.InstanceId}); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(time.Minute)
	now := r.instance(*i.InstanceId)
	if *now.BlockDeviceMappings[0].Ebs.VolumeId == first || *now.ImageId != *i.ImageId {
		t.Errorf("restored to its launch state, the instance has %v", now.BlockDeviceMappings)
	}
	if _, err := r.ec2.CreateReplaceRootVolumeTask(t.Context(), &ec2.CreateReplaceRootVolumeTaskInput{InstanceId: i.InstanceId, VolumeId: &first}); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(time.Minute)
	if got := *r.instance(*i.InstanceId).BlockDeviceMappings[0].Ebs.VolumeId; got != first {
		t.Errorf("the root volume is %s, want %s", got, first)
	}
}

func TestReplaceRootVolumeRefusals(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.launched(nil).InstanceId
	other := r.otherImage().ImageId
	stopped := r.launched(nil).InstanceId
	metal := r.launched(func(in *ec2.RunInstancesInput) { in.InstanceType = types.InstanceTypeM5Metal }).InstanceId
	r.clock.Step(time.Minute)
	if _, err := r.ec2.StopInstances(t.Context(), &ec2.StopInstancesInput{InstanceIds: []string{*stopped}}); err != nil {
		t.Fatal(err)
	}
	rows := []struct {
		reason string
		in     ec2.CreateReplaceRootVolumeTaskInput
		code   string
	}{
		{"the instance exists", ec2.CreateReplaceRootVolumeTaskInput{InstanceId: aws.String("i-00000000")}, "InvalidInstanceID.NotFound"},
		{"the instance runs", ec2.CreateReplaceRootVolumeTaskInput{InstanceId: stopped}, "IncorrectInstanceState"},
		{"not on bare metal", ec2.CreateReplaceRootVolumeTaskInput{InstanceId: metal}, "UnsupportedOperation"},
		{"the image exists", ec2.CreateReplaceRootVolumeTaskInput{InstanceId: id, ImageId: aws.String("ami-00000000")}, "InvalidAMIID.NotFound"},
		{"the image is for the same architecture", ec2.CreateReplaceRootVolumeTaskInput{InstanceId: id, ImageId: r.image(types.ArchitectureValuesArm64).ImageId}, "InvalidParameterValue"},
		{"one source", ec2.CreateReplaceRootVolumeTaskInput{InstanceId: id, ImageId: other, VolumeId: aws.String("vol-00000000")}, "InvalidParameterCombination"},
		{"the volume exists", ec2.CreateReplaceRootVolumeTaskInput{InstanceId: id, VolumeId: aws.String("vol-00000000")}, "InvalidVolume.NotFound"},
		{"a snapshot of the root volume", ec2.CreateReplaceRootVolumeTaskInput{InstanceId: id, SnapshotId: aws.String("snap-00000000")}, "InvalidSnapshot.NotFound"},
		{"the rate is from 100 to 300", ec2.CreateReplaceRootVolumeTaskInput{InstanceId: id, ImageId: other, VolumeInitializationRate: aws.Int64(400)}, "InvalidParameterValue"},
		{"a dry run changes nothing", ec2.CreateReplaceRootVolumeTaskInput{InstanceId: id, ImageId: other, DryRun: aws.Bool(true)}, "DryRunOperation"},
	}
	for _, row := range rows {
		_, err := r.ec2.CreateReplaceRootVolumeTask(t.Context(), &row.in)
		if got := code(t, err); got != row.code {
			t.Errorf("%s: %q, want %q (%v)", row.reason, got, row.code, err)
		}
	}
	if out, err := r.ec2.DescribeReplaceRootVolumeTasks(t.Context(), &ec2.DescribeReplaceRootVolumeTasksInput{}); err != nil || len(out.ReplaceRootVolumeTasks) != 0 {
		t.Errorf("refused requests left tasks: %v, %v", out, err)
	}
}

// TestReplaceRootVolumeFails holds that a task fails whose image is gone before the volume is
// created, and that the instance keeps its volume.
func TestReplaceRootVolumeFails(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	i := r.launched(nil)
	image, err := r.ec2.CopyImage(t.Context(), &ec2.CopyImageInput{Name: aws.String("copy"), SourceImageId: i.ImageId, SourceRegion: aws.String(region)})
	if err != nil {
		t.Fatal(err)
	}
	r.clock.Step(time.Hour)
	created, err := r.ec2.CreateReplaceRootVolumeTask(t.Context(), &ec2.CreateReplaceRootVolumeTaskInput{InstanceId: i.InstanceId, ImageId: image.ImageId})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.ec2.DeregisterImage(t.Context(), &ec2.DeregisterImageInput{ImageId: image.ImageId}); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(time.Minute)
	if got := r.rootTask(*created.ReplaceRootVolumeTask.ReplaceRootVolumeTaskId).TaskState; got != types.ReplaceRootVolumeTaskStateFailed {
		t.Errorf("the task is %s", got)
	}
	if got := *r.instance(*i.InstanceId).ImageId; got != *i.ImageId {
		t.Errorf("the instance has the image %s", got)
	}
}
