package autoscalinggroup

import (
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// TestHibernatedWarmPool holds that instances of a warm pool hibernate where their launch template
// lets them, and come into service as they were; and that AWS's refusal is shown where it does not.
func TestHibernatedWarmPool(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	desired := r.here(plain())
	desired.MinSize, desired.MaxSize, desired.Capacity = 0, 2, ptr.To[int32](1)
	group := r.create(desired)
	wanted := WarmPoolOf(&infrav1.WarmPool{MinSize: 1, State: "Hibernated"})
	if err := r.groups.Make(t.Context(), Desired{WarmPool: wanted}, Change{Operation: SetWarmPool}, &group); err == nil {
		t.Fatal("instances that cannot hibernate are put into a warm pool for it")
	}
	desired.Version = r.hibernating()
	if err := r.groups.Update(t.Context(), desired, group); err != nil {
		t.Fatal(err)
	}
	r.change(Desired{WarmPool: wanted}, Given{}, &group, warmPoolChanges)
	r.settle()
	warm, err := r.groups.WarmInstances(t.Context(), "pool")
	if err != nil || len(warm) != 1 || warm[0].LifecycleState != "Warmed:Hibernated" {
		t.Fatalf("warm instances %+v: %v", warm, err)
	}
	desired.Capacity = ptr.To[int32](2)
	if err := r.groups.Update(t.Context(), desired, r.see("pool")); err != nil {
		t.Fatal(err)
	}
	r.settle()
	for _, instance := range r.see("pool").Instances {
		if instance.ID == warm[0].ID && instance.InService() {
			return
		}
	}
	t.Errorf("the instance that hibernated is not in service: %+v", r.see("pool").Instances)
}

// hibernating adds a version to the template whose instances can hibernate, and returns its number.
func (r *rig) hibernating() int64 {
	r.Helper()
	made, err := r.ec2.CreateLaunchTemplateVersion(r.Context(), &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: &r.template, SourceVersion: awssdk.String("1"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{
			HibernationOptions: &ec2types.LaunchTemplateHibernationOptionsRequest{Configured: awssdk.Bool(true)},
			BlockDeviceMappings: []ec2types.LaunchTemplateBlockDeviceMappingRequest{{
				DeviceName: awssdk.String("/dev/sda1"), Ebs: &ec2types.LaunchTemplateEbsBlockDeviceRequest{Encrypted: awssdk.Bool(true), VolumeSize: awssdk.Int32(30)},
			}},
		},
	})
	if err != nil {
		r.Fatal(err)
	}
	return *made.LaunchTemplateVersion.VersionNumber
}

func TestWarmSurplus(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		group  Group
		want   int32
	}{
		{reason: "no warm pool"},
		{reason: "the size that is prepared", group: Group{Capacity: 2, MaxSize: 10, WarmPoolSize: 2, WarmPool: &WarmPool{Prepared: 4}}},
		{reason: "one more", group: Group{Capacity: 2, MaxSize: 10, WarmPoolSize: 3, WarmPool: &WarmPool{Prepared: 4}}, want: 1},
		{reason: "the group's max size prepares", group: Group{Capacity: 2, MaxSize: 10, WarmPoolSize: 8, WarmPool: &WarmPool{Prepared: noPreparedCapacity}}},
		{reason: "the min size holds", group: Group{Capacity: 4, MaxSize: 10, WarmPoolSize: 2, WarmPool: &WarmPool{MinSize: 2, Prepared: 4}}},
		{reason: "more than all in the group", group: Group{Capacity: 6, MaxSize: 10, WarmPoolSize: 1, WarmPool: &WarmPool{Prepared: 4}}, want: 1},
		{reason: "it is being deleted", group: Group{WarmPoolSize: 2, WarmPoolDeleting: true, WarmPool: &WarmPool{MinSize: 2}}, want: 2},
	} {
		if got := row.group.WarmSurplus(); got != row.want {
			t.Errorf("%s: %d, want %d", row.reason, got, row.want)
		}
	}
}
