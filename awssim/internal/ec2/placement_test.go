package ec2_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func TestPlacementGroups(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	in := &ec2.CreatePlacementGroupInput{GroupName: aws.String("close"), Strategy: types.PlacementStrategyCluster}
	if _, err := r.ec2.CreatePlacementGroup(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	_, err := r.ec2.CreatePlacementGroup(t.Context(), in)
	wantError(t, err, "InvalidPlacementGroup.Duplicate", "close")
	out, err := r.run(func(in *ec2.RunInstancesInput) { in.Placement = &types.Placement{GroupName: aws.String("close")} })
	if err != nil || *out.Instances[0].Placement.GroupName != "close" {
		t.Fatalf("launching into the group: %v", err)
	}
	_, err = r.run(func(in *ec2.RunInstancesInput) {
		in.Placement = &types.Placement{GroupName: aws.String("close"), PartitionNumber: aws.Int32(1)}
	})
	wantError(t, err, "InvalidParameterCombination", "partition")
	if _, err := r.ec2.CreatePlacementGroup(t.Context(), &ec2.CreatePlacementGroupInput{
		GroupName: aws.String("parted"), Strategy: types.PlacementStrategyPartition, PartitionCount: aws.Int32(3),
	}); err != nil {
		t.Fatal(err)
	}
	_, err = r.run(func(in *ec2.RunInstancesInput) {
		in.Placement = &types.Placement{GroupName: aws.String("parted"), PartitionNumber: aws.Int32(4)}
	})
	wantError(t, err, "InvalidParameterValue", "3 partitions")
	_, err = r.ec2.DeletePlacementGroup(t.Context(), &ec2.DeletePlacementGroupInput{GroupName: aws.String("close")})
	wantError(t, err, "InvalidPlacementGroup.InUse", "close")
	groups, err := r.ec2.DescribePlacementGroups(t.Context(), &ec2.DescribePlacementGroupsInput{GroupNames: []string{"close"}})
	if err != nil || groups.PlacementGroups[0].Strategy != types.PlacementStrategyCluster {
		t.Errorf("describing the group: %v, %v", groups, err)
	}
	if _, err := r.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{*out.Instances[0].InstanceId}}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ec2.DeletePlacementGroup(t.Context(), &ec2.DeletePlacementGroupInput{GroupName: aws.String("close")}); err != nil {
		t.Errorf("an empty group can be deleted: %v", err)
	}
}
