package autoscaling_test

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
)

func TestInstanceLostWhilePendingIsReplaced(t *testing.T) {
	t.Parallel()
	f := start(t)
	call(f, f.asg.CreateAutoScalingGroup, newGroup(f.template(), 1))
	f.step(2 * time.Second)
	lost := f.in(types.LifecycleStatePending)
	f.kill(lost...)
	f.until(5*time.Minute, "another in service", func() bool { return len(f.in(types.LifecycleStateInService)) == 1 })
	if got := ids(f.group()); slices.Contains(got, lost[0]) {
		t.Errorf("the lost instance is still a member: %v", got)
	}
	var cancelled int
	for _, a := range f.activities() {
		if a.StatusCode == types.ScalingActivityStatusCodeCancelled {
			cancelled++
		}
	}
	if cancelled != 1 {
		t.Errorf("%d activities cancelled, want 1", cancelled)
	}
}

func TestActivitiesAreFilteredAndPaged(t *testing.T) {
	t.Parallel()
	f := start(t, func(o *awssim.Options) { o.Behavior.Capacity = []awssim.CapacityRule{{Available: 2}} })
	call(f, f.asg.CreateAutoScalingGroup, newGroup(f.template(), 3))
	f.step(3 * time.Minute)
	all := f.activities()
	of := func(change func(*autoscaling.DescribeScalingActivitiesInput)) []types.Activity {
		in := &autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: aws.String("nodes")}
		change(in)
		return call(f, f.asg.DescribeScalingActivities, in).Activities
	}
	by := func(name string, values ...string) func(*autoscaling.DescribeScalingActivitiesInput) {
		return func(in *autoscaling.DescribeScalingActivitiesInput) {
			in.Filters = []types.Filter{{Name: aws.String(name), Values: values}}
		}
	}
	if got := of(by("Status", "Successful")); len(got) != 2 {
		t.Errorf("%d successful, want 2", len(got))
	}
	half := beginning.Add(20 * time.Second).Format(time.RFC3339)
	early, late := of(by("StartTimeUpperBound", half)), of(by("StartTimeLowerBound", half))
	if len(early) < 3 || len(late) == 0 || len(early)+len(late) != len(all) {
		t.Errorf("%d early and %d late of %d", len(early), len(late), len(all))
	}
	if got := of(func(in *autoscaling.DescribeScalingActivitiesInput) {
		in.ActivityIds = []string{*all[1].ActivityId, "unknown"}
	}); len(got) != 1 {
		t.Errorf("%d by id, want 1", len(got))
	}
	var paged []string
	pages := autoscaling.NewDescribeScalingActivitiesPaginator(f.asg, &autoscaling.DescribeScalingActivitiesInput{MaxRecords: aws.Int32(2)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range page.Activities {
			paged = append(paged, *a.ActivityId)
		}
	}
	var want []string
	for _, a := range all {
		want = append(want, *a.ActivityId)
	}
	if diff := cmp.Diff(want, paged); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
	for _, tt := range []struct {
		name, value, words string
	}{{"Mood", "good", "Filter type Mood"}, {"StartTimeLowerBound", "yesterday", "ISO 8601"}} {
		fails(f, f.asg.DescribeScalingActivities, &autoscaling.DescribeScalingActivitiesInput{
			Filters: []types.Filter{{Name: aws.String(tt.name), Values: []string{tt.value}}},
		}, "ValidationError", tt.words)
	}
	fails(f, f.asg.DescribeScalingActivities, &autoscaling.DescribeScalingActivitiesInput{
		Filters: []types.Filter{{Name: aws.String("Status"), Values: []string{"Failed"}}},
	}, "ValidationError", "AutoScalingGroupName")
}

func TestScaleInKeepsTheDistribution(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.running(newGroup("", 8, mixed(f.template(), &types.InstancesDistribution{
		OnDemandPercentageAboveBaseCapacity: aws.Int32(50), SpotAllocationStrategy: aws.String("capacity-optimized-prioritized"),
	}, of("m5.large")...)))
	f.setDesired(4)
	f.settled(4)
	if diff := cmp.Diff(map[string]int{"m5.large": 2, "m5.large spot": 2}, f.described()); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
}

func TestTemplateRequirementsChooseTypes(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template(func(d *ec2types.RequestLaunchTemplateData) {
		d.InstanceType = ""
		d.InstanceRequirements = &ec2types.InstanceRequirementsRequest{
			VCpuCount: &ec2types.VCpuCountRangeRequest{Min: aws.Int32(4), Max: aws.Int32(4)}, MemoryMiB: &ec2types.MemoryMiBRequest{Min: aws.Int32(1)},
			CpuManufacturers: []ec2types.CpuManufacturer{ec2types.CpuManufacturerAmd}, InstanceGenerations: []ec2types.InstanceGeneration{ec2types.InstanceGenerationCurrent},
		}
	})
	f.running(newGroup("", 1, mixed(template, nil)))
	kind := f.sim.World().InstanceType(*f.group().Instances[0].InstanceType)
	if kind.VCPUs != 4 || kind.Processor != "AMD" || !kind.CurrentGeneration {
		t.Errorf("chose %+v", kind)
	}
}

func TestGroupSizedInVCPUs(t *testing.T) {
	t.Parallel()
	f := start(t)
	call(f, f.asg.CreateAutoScalingGroup, newGroup("", 16, mixed(f.template(), nil, types.LaunchTemplateOverrides{InstanceRequirements: &types.InstanceRequirements{
		VCpuCount: &types.VCpuCountRequest{Min: aws.Int32(4), Max: aws.Int32(4)}, MemoryMiB: &types.MemoryMiBRequest{Min: aws.Int32(1)},
		CpuManufacturers: []types.CpuManufacturer{types.CpuManufacturerIntel},
	}}), func(in *create) { in.DesiredCapacityType = aws.String("vcpu") }))
	f.settled(4)
}

func TestZonesAloneUseDefaultSubnets(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.running(newGroup(f.template(), 2, func(in *create) { in.VPCZoneIdentifier, in.AvailabilityZoneIds = nil, []string{"use1-az1", "use1-az3"} }))
	if diff := cmp.Diff([]string{"us-east-1a", "us-east-1c"}, f.group().AvailabilityZones); diff != "" {
		t.Errorf("zones (-want +got):\n%s", diff)
	}
	for _, i := range f.sim.Region("123456789012", "us-east-1").Instances() {
		if id := *i.SubnetId; id != "subnet-0b1000000000000aa" && id != "subnet-0b1000000000000ac" {
			t.Errorf("launched into %s, which is not a default subnet of the zones", id)
		}
	}
}

func TestVocabulary(t *testing.T) {
	t.Parallel()
	f := start(t)
	if n := len(call(f, f.asg.DescribeScalingProcessTypes, &autoscaling.DescribeScalingProcessTypesInput{}).Processes); n != 9 {
		t.Errorf("%d processes", n)
	}
	if n := len(call(f, f.asg.DescribeTerminationPolicyTypes, &autoscaling.DescribeTerminationPolicyTypesInput{}).TerminationPolicyTypes); n != 7 {
		t.Errorf("%d termination policies", n)
	}
	if n := len(call(f, f.asg.DescribeLifecycleHookTypes, &autoscaling.DescribeLifecycleHookTypesInput{}).LifecycleHookTypes); n != 2 {
		t.Errorf("%d kinds of hooks", n)
	}
	if n := len(call(f, f.asg.DescribePolicies, &autoscaling.DescribePoliciesInput{}).ScalingPolicies) +
		len(call(f, f.asg.DescribeScheduledActions, &autoscaling.DescribeScheduledActionsInput{}).ScheduledUpdateGroupActions) +
		len(call(f, f.asg.DescribeNotificationConfigurations, &autoscaling.DescribeNotificationConfigurationsInput{}).NotificationConfigurations) +
		len(call(f, f.asg.DescribeLaunchConfigurations, &autoscaling.DescribeLaunchConfigurationsInput{}).LaunchConfigurations); n != 0 {
		t.Errorf("%d resources exist that no request created", n)
	}
}
