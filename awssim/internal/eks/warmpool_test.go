package eks_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
)

// TestWarmPoolIsChangedInPlace holds that an update of a warm pool keeps the instances that are in it.
func TestWarmPoolIsChangedInPlace(t *testing.T) {
	t.Parallel()
	f := start(t)
	in := newGroup(1)
	in.WarmPoolConfig = &types.WarmPoolConfig{Enabled: aws.Bool(true), MinSize: aws.Int32(2), MaxGroupPreparedCapacity: aws.Int32(1)}
	f.active(in)
	warm := func() map[string]bool {
		t.Helper()
		ids := map[string]bool{}
		out := call(f, f.asg.DescribeWarmPool, &autoscaling.DescribeWarmPoolInput{AutoScalingGroupName: f.autoScalingGroup().AutoScalingGroupName})
		for _, instance := range out.Instances {
			ids[*instance.InstanceId] = true
		}
		return ids
	}
	f.until(5*time.Minute, "two instances are warm", func() bool { return len(warm()) == 2 })
	before := warm()
	call(f, f.eks.UpdateNodegroupConfig, &eks.UpdateNodegroupConfigInput{
		ClusterName: in.ClusterName, NodegroupName: in.NodegroupName, WarmPoolConfig: &types.WarmPoolConfig{MinSize: aws.Int32(3)},
	})
	f.until(5*time.Minute, "three instances are warm", func() bool { return len(warm()) == 3 })
	for id := range before {
		if !warm()[id] {
			t.Errorf("instance %s is not in the warm pool any more", id)
		}
	}
}
