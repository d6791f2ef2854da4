package ec2_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim"
)

// TestReadLagOfInstances: what is described of an instance lags behind the launch, and so do its
// tags behind their change (EC2 developer guide, "Eventual consistency").
func TestReadLagOfInstances(t *testing.T) {
	t.Parallel()
	r := newRig(t, withBehavior(awssim.Behavior{ReadLag: 5 * time.Second}))
	out, err := r.run(func(in *ec2.RunInstancesInput) {
		in.TagSpecifications = []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{tag("state", "old")}}}
	})
	if err != nil {
		t.Fatal(err)
	}
	id := *out.Instances[0].InstanceId
	_, err = r.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	wantError(t, err, "InvalidInstanceID.NotFound", id)
	described := func() (tags, statuses, volumes int) {
		found, err := r.ec2.DescribeTags(t.Context(), &ec2.DescribeTagsInput{Filters: []types.Filter{filter("resource-id", id), filter("value", "old")}})
		if err != nil {
			t.Fatal(err)
		}
		status, err := r.ec2.DescribeInstanceStatus(t.Context(), &ec2.DescribeInstanceStatusInput{IncludeAllInstances: aws.Bool(true)})
		if err != nil {
			t.Fatal(err)
		}
		disks, err := r.ec2.DescribeVolumes(t.Context(), &ec2.DescribeVolumesInput{})
		if err != nil {
			t.Fatal(err)
		}
		return len(found.Tags), len(status.InstanceStatuses), len(disks.Volumes)
	}
	if tags, statuses, volumes := described(); tags+statuses+volumes != 0 {
		t.Errorf("at once there are %d tags, %d statuses, %d volumes", tags, statuses, volumes)
	}
	// Calls that change something see the present.
	if _, err := r.ec2.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{id}, Tags: []types.Tag{tag("more", "old")}}); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(5 * time.Second)
	if tags, statuses, volumes := described(); tags != 2 || statuses != 1 || volumes != 1 {
		t.Errorf("after the lag there are %d tags, %d statuses, %d volumes", tags, statuses, volumes)
	}
	if _, err := r.ec2.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{id}, Tags: []types.Tag{tag("more", "old")}}); err != nil {
		t.Fatal(err)
	}
	if got := len(r.instance(id).Tags); got != 2 {
		t.Errorf("the deleted tag is gone at once: %d tags", got)
	}
	r.clock.Step(5 * time.Second)
	if got := len(r.instance(id).Tags); got != 1 {
		t.Errorf("after the lag there are %d tags", got)
	}
}
