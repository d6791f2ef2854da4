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
)

// pool returns the ids of the warm pool's instances in a lifecycle state.
func (f *fixture) pool(state types.LifecycleState) []string {
	f.t.Helper()
	var found []string
	for _, i := range call(f, f.asg.DescribeWarmPool, &autoscaling.DescribeWarmPoolInput{AutoScalingGroupName: aws.String("nodes")}).Instances {
		if i.LifecycleState == state {
			found = append(found, *i.InstanceId)
		}
	}
	return found
}

// hibernating lets instances hibernate that have a root volume of that size, in GiB. They have 8
// GiB of memory.
func (f *fixture) hibernating(size int32) func(*ec2types.RequestLaunchTemplateData) {
	f.t.Helper()
	image := call(f, f.ec2.DescribeImages, &ec2.DescribeImagesInput{ImageIds: []string{f.image}}).Images[0]
	return func(d *ec2types.RequestLaunchTemplateData) {
		d.HibernationOptions = &ec2types.LaunchTemplateHibernationOptionsRequest{Configured: aws.Bool(true)}
		d.BlockDeviceMappings = []ec2types.LaunchTemplateBlockDeviceMappingRequest{{
			DeviceName: image.RootDeviceName, Ebs: &ec2types.LaunchTemplateEbsBlockDeviceRequest{Encrypted: aws.Bool(true), VolumeSize: &size},
		}}
	}
}

// stopped returns why EC2 stopped an instance, "" if it did not.
func (f *fixture) stopped(id string) string {
	f.t.Helper()
	reason := call(f, f.ec2.DescribeInstances, &ec2.DescribeInstancesInput{InstanceIds: []string{id}}).Reservations[0].Instances[0].StateReason
	if reason == nil {
		return ""
	}
	return *reason.Code
}

// TestRootVolumeHoldsTheMemory holds that a group is not created whose instances could not hibernate.
func TestRootVolumeHoldsTheMemory(t *testing.T) {
	t.Parallel()
	f := start(t)
	small := f.template(f.hibernating(20), func(d *ec2types.RequestLaunchTemplateData) { d.InstanceType = ec2types.InstanceTypeM52xlarge })
	fails(f, f.asg.CreateAutoScalingGroup, newGroup(small, 1), "ValidationError", "too small to store")
	call(f, f.asg.CreateAutoScalingGroup, newGroup(f.template(), 0))
	fails(f, f.asg.PutWarmPool, &autoscaling.PutWarmPoolInput{AutoScalingGroupName: aws.String("nodes"), PoolState: types.WarmPoolStateHibernated},
		"ValidationError", "must configure hibernation")
}

func TestWarmPool(t *testing.T) {
	t.Parallel()
	tests := []struct {
		pool  types.WarmPoolState
		rests types.LifecycleState
		ec2   ec2types.InstanceStateName
		start time.Duration // from the call until the warm instance is in service
	}{
		{types.WarmPoolStateStopped, types.LifecycleStateWarmedStopped, ec2types.InstanceStateNameStopped, pending + 3*time.Second},
		{types.WarmPoolStateHibernated, types.LifecycleStateWarmedHibernated, ec2types.InstanceStateNameStopped, pending + 3*time.Second},
		{types.WarmPoolStateRunning, types.LifecycleStateWarmedRunning, ec2types.InstanceStateNameRunning, 3 * time.Second},
	}
	for _, tt := range tests {
		t.Run(string(tt.pool), func(t *testing.T) {
			t.Parallel()
			f := start(t)
			f.running(newGroup(f.template(f.hibernating(20)), 1, func(in *create) { in.MaxSize = aws.Int32(3) }))
			call(f, f.asg.PutWarmPool, &autoscaling.PutWarmPoolInput{
				AutoScalingGroupName: aws.String("nodes"), PoolState: tt.pool, InstanceReusePolicy: &types.InstanceReusePolicy{ReuseOnScaleIn: aws.Bool(true)},
			})
			f.until(time.Minute, "two warm", func() bool { return len(f.pool(tt.rests)) == 2 })
			f.step(shuttingDown)
			warm := f.pool(tt.rests)
			for _, id := range warm {
				if got := f.state(id); got != tt.ec2 {
					t.Errorf("%s is %s in EC2, want %s", id, got, tt.ec2)
				}
				if got := f.stopped(id); (got == "Client.UserInitiatedHibernate") != (tt.pool == types.WarmPoolStateHibernated) {
					t.Errorf("%s stopped for %q", id, got)
				}
			}
			f.setDesired(2)
			f.step(tt.start)
			if got := f.in(types.LifecycleStateInService); len(got) != 2 || !slices.Contains(warm, got[1]) {
				t.Errorf("in service %v, want one of the warm %v", got, warm)
			}
			if g := f.group(); *g.WarmPoolSize != 1 || g.WarmPoolConfiguration.PoolState != tt.pool {
				t.Errorf("warm pool of the group: %d %+v", *g.WarmPoolSize, g.WarmPoolConfiguration)
			}
			f.setDesired(1)
			f.until(2*time.Minute, "the instance is back in the pool", func() bool { return len(f.pool(tt.rests)) == 2 })
			fails(f, f.asg.DeleteAutoScalingGroup, &autoscaling.DeleteAutoScalingGroupInput{AutoScalingGroupName: aws.String("nodes")}, "ResourceInUse", "")
			call(f, f.asg.DeleteWarmPool, &autoscaling.DeleteWarmPoolInput{AutoScalingGroupName: aws.String("nodes")})
			f.until(time.Minute, "the pool is gone", func() bool { return f.group().WarmPoolConfiguration == nil })
			fails(f, f.asg.DeleteWarmPool, &autoscaling.DeleteWarmPoolInput{AutoScalingGroupName: aws.String("nodes")}, "ValidationError", "No warm pool")
		})
	}
}

func TestRefreshReachesTheWarmPool(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template()
	f.running(newGroup(template, 1, func(in *create) { in.MaxSize = aws.Int32(3) }))
	call(f, f.asg.PutWarmPool, &autoscaling.PutWarmPoolInput{AutoScalingGroupName: aws.String("nodes")})
	f.until(time.Minute, "two warm", func() bool { return len(f.pool(types.LifecycleStateWarmedStopped)) == 2 })
	f.step(shuttingDown)
	before := append(f.pool(types.LifecycleStateWarmedStopped), ids(f.group())...)
	f.point(template, f.version(template, ec2types.InstanceTypeM5Large))
	f.refresh()
	f.ends(20*time.Minute, types.InstanceRefreshStatusSuccessful)
	for _, id := range append(f.pool(types.LifecycleStateWarmedStopped), ids(f.group())...) {
		if slices.Contains(before, id) {
			t.Errorf("%s was not replaced", id)
		}
	}
	if r := f.last(); *r.ProgressDetails.WarmPoolProgress.PercentageComplete != 100 || *r.ProgressDetails.LivePoolProgress.PercentageComplete != 100 {
		t.Errorf("progress %+v %+v", r.ProgressDetails.LivePoolProgress, r.ProgressDetails.WarmPoolProgress)
	}
}

func TestWarmPoolsAreRefused(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template()
	spot := f.template(func(d *ec2types.RequestLaunchTemplateData) {
		d.InstanceMarketOptions = &ec2types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: ec2types.MarketTypeSpot}
	})
	tests := []struct {
		reason string
		group  func(*create)
		change func(*autoscaling.PutWarmPoolInput)
		words  string
	}{
		{"no Spot template", func(in *create) { in.LaunchTemplate = spec(spot, "1") }, func(*autoscaling.PutWarmPoolInput) {}, "Spot"},
		{"no Spot in a policy", mixed(template, &types.InstancesDistribution{OnDemandPercentageAboveBaseCapacity: aws.Int32(50)}, of("m5.large")...), func(*autoscaling.PutWarmPoolInput) {}, "Spot"},
		{"no weights", mixed(template, nil, types.LaunchTemplateOverrides{InstanceType: aws.String("m5.large"), WeightedCapacity: aws.String("2")}), func(*autoscaling.PutWarmPoolInput) {}, "weights"},
		{"hibernation is configured", func(*create) {}, func(in *autoscaling.PutWarmPoolInput) { in.PoolState = types.WarmPoolStateHibernated }, "hibernation"},
		{"a size is not negative", func(*create) {}, func(in *autoscaling.PutWarmPoolInput) { in.MinSize = aws.Int32(-1) }, "minSize"},
		{"a capacity is at least -1", func(*create) {}, func(in *autoscaling.PutWarmPoolInput) { in.MaxGroupPreparedCapacity = aws.Int32(-2) }, "maxGroupPreparedCapacity"},
	}
	for i, tt := range tests {
		name := aws.String("group-" + string(rune('a'+i)))
		call(f, f.asg.CreateAutoScalingGroup, newGroup(template, 0, tt.group, func(in *create) { in.AutoScalingGroupName = name }))
		in := &autoscaling.PutWarmPoolInput{AutoScalingGroupName: name}
		tt.change(in)
		t.Log(tt.reason)
		fails(f, f.asg.PutWarmPool, in, "ValidationError", tt.words)
	}
}
