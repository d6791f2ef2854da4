package autoscaling_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
)

// Capacity Reservations of these tests, and the resource group that they are in.
const (
	reservedB     = "cr-0123456789abcdef0"
	interruptible = "cr-0123456789abcdef1"
	reservations  = "arn:aws:resource-groups:us-east-1:123456789012:group/reservations"
)

// reserve buys capacity in zone b: two t3.large on demand, and one that can be interrupted.
func (f *fixture) reserve() {
	f.t.Helper()
	for _, c := range []awssim.CapacityReservation{
		{ID: reservedB, InstanceType: "t3.large", Zone: "us-east-1b", Count: 2, ResourceGroup: reservations},
		{ID: interruptible, InstanceType: "t3.large", Zone: "us-east-1b", Count: 1, Interruptible: true, ResourceGroup: reservations},
	} {
		if err := f.sim.Region("123456789012", "us-east-1").SetCapacityReservation(c); err != nil {
			f.t.Fatal(err)
		}
	}
}

// places counts the group's instances by zone and Capacity Reservation.
func (f *fixture) places() map[string]int {
	f.t.Helper()
	count := map[string]int{}
	out := call(f, f.ec2.DescribeInstances, &ec2.DescribeInstancesInput{InstanceIds: ids(f.group())})
	for _, r := range out.Reservations {
		for _, i := range r.Instances {
			count[strings.TrimSpace(*i.Placement.AvailabilityZone+" "+aws.ToString(i.CapacityReservationId))]++
		}
	}
	return count
}

func reserving(preference types.CapacityReservationPreference, strategy types.CapacityDistributionStrategy, segments ...types.TargetCapacityType) func(*create) {
	return func(in *create) {
		in.CapacityReservationSpecification = &types.CapacityReservationSpecification{
			CapacityReservationPreference: preference,
			CapacityReservationTarget:     &types.CapacityReservationTarget{CapacityReservationResourceGroupArns: []string{reservations}},
		}
		if strategy != "" {
			in.AvailabilityZoneDistribution = &types.AvailabilityZoneDistribution{CapacityDistributionStrategy: strategy}
		}
		if len(segments) > 0 {
			mixed(*in.LaunchTemplate.LaunchTemplateId, &types.InstancesDistribution{DistributionSegments: []types.DistributionSegment{{TargetCapacityTypes: segments}}}, of("t3.large")...)(in)
		}
	}
}

func TestCapacityReservationsOfAGroup(t *testing.T) {
	t.Parallel()
	const first, only = types.CapacityReservationPreferenceCapacityReservationsFirst, types.CapacityReservationPreferenceCapacityReservationsOnly
	for _, row := range []struct {
		reason string
		change func(*create)
		want   map[string]int
	}{
		{"the balance of the zones comes before reservations", reserving(first, ""),
			map[string]int{"us-east-1a": 1, "us-east-1b " + reservedB: 1, "us-east-1c": 1}},
		{"reservations come before the balance if the group says so", reserving(first, types.CapacityDistributionStrategyReservationsThenBalanced),
			map[string]int{"us-east-1a": 1, "us-east-1b " + reservedB: 2}},
		{"no reservation is used without a request", reserving(types.CapacityReservationPreferenceNone, ""),
			map[string]int{"us-east-1a": 1, "us-east-1b": 1, "us-east-1c": 1}},
		{"there is no more than is reserved", reserving(only, ""), map[string]int{"us-east-1b " + reservedB: 2}},
		{"segments are filled in their order", reserving(first, "", "interruptible-capacity-reservation", "on-demand-capacity-reservation", "on-demand"),
			map[string]int{"us-east-1b " + interruptible: 1, "us-east-1b " + reservedB: 2}},
		{"what is left is on demand where the segment says so", reserving(first, "", "interruptible-capacity-reservation", "on-demand"),
			map[string]int{"us-east-1b " + interruptible: 1, "us-east-1a": 1, "us-east-1b": 1}},
		{"and else is not launched", reserving(first, "", "interruptible-capacity-reservation"), map[string]int{"us-east-1b " + interruptible: 1}},
	} {
		f := start(t)
		f.reserve()
		call(f, f.asg.CreateAutoScalingGroup, newGroup(f.template(), 3, row.change, func(in *create) {
			in.LifecycleHookSpecificationList = nil
		}))
		f.step(time.Minute)
		call(f, f.asg.SuspendProcesses, &autoscaling.SuspendProcessesInput{AutoScalingGroupName: aws.String("nodes"), ScalingProcesses: []string{"AZRebalance"}})
		if difference := cmp.Diff(row.want, f.places()); difference != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, difference)
		}
	}
}

func TestDistributionSegmentsStayAndGo(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template()
	kinds := []types.DistributionSegment{{TargetCapacityTypes: []types.TargetCapacityType{types.TargetCapacityTypeOnDemand}}}
	update := func(d types.InstancesDistribution) []types.DistributionSegment {
		call(f, f.asg.UpdateAutoScalingGroup, &autoscaling.UpdateAutoScalingGroupInput{
			AutoScalingGroupName: aws.String("nodes"), MixedInstancesPolicy: &types.MixedInstancesPolicy{InstancesDistribution: &d},
		})
		return f.group().MixedInstancesPolicy.InstancesDistribution.DistributionSegments
	}
	for _, row := range []struct {
		reason string
		change func(*create)
		words  string
	}{
		{"segments need a resource group", mixed(template, &types.InstancesDistribution{DistributionSegments: kinds}), "resource group"},
		{"a segment has types", reserving(types.CapacityReservationPreferenceCapacityReservationsFirst, "", ""), "enum value set"},
		{"a type is listed once", reserving(types.CapacityReservationPreferenceCapacityReservationsFirst, "", "on-demand", "on-demand"), "Duplicate"},
	} {
		t.Log(row.reason)
		fails(f, f.asg.CreateAutoScalingGroup, newGroup(template, 0, row.change), "ValidationError", row.words)
	}
	call(f, f.asg.CreateAutoScalingGroup, newGroup(template, 0, reserving(types.CapacityReservationPreferenceCapacityReservationsFirst, "", types.TargetCapacityTypeOnDemand)))
	if got := update(types.InstancesDistribution{OnDemandAllocationStrategy: aws.String("lowest-price")}); len(got) != 1 {
		t.Errorf("an update that says nothing of segments leaves %v", got)
	}
	if got := update(types.InstancesDistribution{OnDemandBaseCapacity: aws.Int32(0)}); len(got) != 0 {
		t.Errorf("shares of On-Demand leave %v", got)
	}
	if got := update(types.InstancesDistribution{DistributionSegments: kinds}); len(got) != 1 {
		t.Errorf("segments that were set are %v", got)
	}
	if got := update(types.InstancesDistribution{DistributionSegments: []types.DistributionSegment{}}); len(got) != 0 {
		t.Errorf("an empty list leaves %v", got)
	}
}

// TestCapacityInVCPUs holds that instances are counted by what they have, and that AWS says by how much.
func TestCapacityInVCPUs(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.requiring(2)
	call(f, f.asg.CreateAutoScalingGroup, newGroup(template, 5, mixed(template, nil), func(in *create) { in.DesiredCapacityType = aws.String("vcpu") }))
	f.settled(3)
	for _, i := range f.group().Instances {
		if aws.ToString(i.WeightedCapacity) != "2" {
			t.Errorf("an instance of 2 vCPUs has weight %q", aws.ToString(i.WeightedCapacity))
		}
	}
}
