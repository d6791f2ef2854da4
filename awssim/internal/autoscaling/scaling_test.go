package autoscaling_test

import (
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
	"pgregory.net/rapid"

	"github.com/slipway-project/slipway/awssim"
)

func (f *fixture) kill(ids ...string) {
	f.t.Helper()
	call(f, f.ec2.TerminateInstances, &ec2.TerminateInstancesInput{InstanceIds: ids})
}

// failed returns the group's failed activities, newest first.
func (f *fixture) failed() []types.Activity {
	f.t.Helper()
	var found []types.Activity
	for _, a := range f.activities() {
		if a.StatusCode == types.ScalingActivityStatusCodeFailed {
			found = append(found, a)
		}
	}
	return found
}

func TestTerminatedInstanceIsReplaced(t *testing.T) {
	t.Parallel()
	f := start(t)
	before := ids(f.running(newGroup(f.template(), 2)))
	f.kill(before[0])
	f.step(time.Second)
	if got := *f.group().Instances[0].HealthStatus; got != "Unhealthy" {
		t.Errorf("health %s", got)
	}
	f.until(time.Minute, "replaced", func() bool {
		return len(f.in(types.LifecycleStateInService)) == 2 && len(f.group().Instances) == 2
	})
	if after := ids(f.group()); slices.Contains(after, before[0]) || !slices.Contains(after, before[1]) {
		t.Errorf("before %v, after %v", before, after)
	}
	causes := ""
	for _, a := range f.activities() {
		causes += *a.Cause
	}
	for _, want := range []string{"an EC2 health check indicating it has been terminated or stopped", "an unhealthy instance needing to be replaced"} {
		if !strings.Contains(causes, want) {
			t.Errorf("no activity says %q", want)
		}
	}
}

func TestSetInstanceHealth(t *testing.T) {
	t.Parallel()
	f := start(t)
	before := ids(f.running(newGroup(f.template(), 1, func(in *autoscaling.CreateAutoScalingGroupInput) { in.HealthCheckGracePeriod = aws.Int32(300) })))
	sick := &autoscaling.SetInstanceHealthInput{InstanceId: aws.String(before[0]), HealthStatus: aws.String("Unhealthy")}
	call(f, f.asg.SetInstanceHealth, sick)
	f.step(time.Minute)
	if diff := cmp.Diff(before, ids(f.group())); diff != "" {
		t.Fatalf("replaced within the grace period (-want +got):\n%s", diff)
	}
	sick.ShouldRespectGracePeriod = aws.Bool(false)
	call(f, f.asg.SetInstanceHealth, sick)
	f.until(time.Minute, "replaced", func() bool { return !slices.Contains(ids(f.group()), before[0]) })
	fails(f, f.asg.SetInstanceHealth, &autoscaling.SetInstanceHealthInput{InstanceId: aws.String("i-00000000000000000"), HealthStatus: aws.String("Healthy")},
		"ValidationError", "No managed instance found")
}

func TestMaintenancePolicyLaunchesFirst(t *testing.T) {
	t.Parallel()
	f := start(t)
	before := ids(f.running(newGroup(f.template(), 2, func(in *autoscaling.CreateAutoScalingGroupInput) {
		in.InstanceMaintenancePolicy = &types.InstanceMaintenancePolicy{MinHealthyPercentage: aws.Int32(100), MaxHealthyPercentage: aws.Int32(150)}
	})))
	call(f, f.asg.SetInstanceHealth, &autoscaling.SetInstanceHealthInput{InstanceId: aws.String(before[0]), HealthStatus: aws.String("Unhealthy")})
	most := 0
	f.until(2*time.Minute, "replaced", func() bool {
		inService := len(f.in(types.LifecycleStateInService))
		most = max(most, inService+len(f.in(types.LifecycleStatePending)))
		if inService < 2 {
			t.Fatalf("%d in service: %v", inService, f.summary())
		}
		return !slices.Contains(ids(f.group()), before[0])
	})
	if most != 3 {
		t.Errorf("at most %d in service or pending, want the new one beside the unhealthy one", most)
	}
}

func TestMaxInstanceLifetime(t *testing.T) {
	t.Parallel()
	f := start(t)
	before := ids(f.running(newGroup(f.template(), 2, func(in *autoscaling.CreateAutoScalingGroupInput) { in.MaxInstanceLifetime = aws.Int32(86_400) })))
	f.step(24*time.Hour - time.Minute)
	if diff := cmp.Diff(before, ids(f.group())); diff != "" {
		t.Fatalf("replaced too early (-want +got):\n%s", diff)
	}
	f.step(10 * time.Minute)
	for _, id := range ids(f.group()) {
		if slices.Contains(before, id) {
			t.Errorf("%s is older than a day: %v", id, f.summary())
		}
	}
	f.settled(2)
}

func TestFailedLaunchesAreRetriedLater(t *testing.T) {
	t.Parallel()
	f := start(t, func(o *awssim.Options) {
		o.Behavior.Capacity = []awssim.CapacityRule{{InstanceType: "t3.large", Available: 1}}
	})
	call(f, f.asg.CreateAutoScalingGroup, newGroup(f.template(), 2))
	f.step(20 * time.Minute)
	failures := f.failed()
	if len(f.in(types.LifecycleStateInService)) != 1 || len(failures) < 3 || len(failures) > 8 {
		t.Fatalf("%d failures in 20 min: %v", len(failures), f.summary())
	}
	if first, second := failures[len(failures)-2].StartTime.Sub(*failures[len(failures)-1].StartTime),
		failures[len(failures)-3].StartTime.Sub(*failures[len(failures)-2].StartTime); second <= first {
		t.Errorf("retries after %s and then %s, want them to slow down", first, second)
	}
	if m := *failures[0].StatusMessage; !strings.Contains(m, "We currently do not have sufficient t3.large capacity") || !strings.HasSuffix(m, "Launching EC2 instance failed.") {
		t.Errorf("message %q", m)
	}
	behavior := f.sim.Behavior()
	behavior.Capacity = nil
	f.sim.SetBehavior(behavior)
	f.step(16 * time.Minute)
	f.settled(2)
}

func TestZoneWithoutCapacityIsLeftOut(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason   string
		strategy types.CapacityDistributionStrategy
		want     int
	}{
		{"best effort goes elsewhere", types.CapacityDistributionStrategyBalancedBestEffort, 3},
		{"balanced only does not", types.CapacityDistributionStrategyBalancedOnly, 0},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			f := start(t, func(o *awssim.Options) { o.Behavior.Capacity = []awssim.CapacityRule{{Zone: "us-east-1a"}} })
			call(f, f.asg.CreateAutoScalingGroup, newGroup(f.template(), 3, func(in *autoscaling.CreateAutoScalingGroupInput) {
				in.AvailabilityZoneDistribution = &types.AvailabilityZoneDistribution{CapacityDistributionStrategy: tt.strategy}
			}))
			f.step(20 * time.Second)
			if got := len(f.in(types.LifecycleStateInService)); got != tt.want {
				t.Errorf("%d in service, want %d: %v", got, tt.want, f.summary())
			}
		})
	}
}

func TestRebalancingAfterAZoneRecovers(t *testing.T) {
	t.Parallel()
	f := start(t, func(o *awssim.Options) { o.Behavior.Capacity = []awssim.CapacityRule{{Zone: "us-east-1a"}} })
	f.running(newGroup(f.template(), 4, func(in *autoscaling.CreateAutoScalingGroupInput) {
		in.VPCZoneIdentifier = aws.String(subnetA + "," + subnetB)
	}))
	behavior := f.sim.Behavior()
	behavior.Capacity = nil
	f.sim.SetBehavior(behavior)
	fewest := 4
	balanced := func() bool {
		fewest = min(fewest, len(f.in(types.LifecycleStateInService)))
		zones := map[string]int{}
		for _, i := range f.group().Instances {
			zones[*i.AvailabilityZone]++
		}
		return zones["us-east-1a"] == 2 && zones["us-east-1b"] == 2
	}
	f.until(40*time.Minute, "two in each zone", balanced)
	if fewest < 4 {
		t.Errorf("rebalancing took the group down to %d in service", fewest)
	}
}

func TestGroupMovesToItsNewSubnets(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.running(newGroup(f.template(), 2, func(in *autoscaling.CreateAutoScalingGroupInput) { in.VPCZoneIdentifier = aws.String(subnetA) }))
	call(f, f.asg.UpdateAutoScalingGroup, &autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: aws.String("nodes"), VPCZoneIdentifier: aws.String(subnetB)})
	f.until(10*time.Minute, "both moved", func() bool {
		g := f.group()
		return len(g.Instances) == 2 && !slices.ContainsFunc(g.Instances, func(i types.Instance) bool { return *i.AvailabilityZone != "us-east-1b" })
	})
}

// TestWeightedGroupMovesToItsNewSubnets: a replacement that weighs less than the instance it
// replaces is not terminated before that instance can go.
func TestWeightedGroupMovesToItsNewSubnets(t *testing.T) {
	t.Parallel()
	f := start(t)
	heavy, light := types.LaunchTemplateOverrides{InstanceType: aws.String("m5.xlarge"), WeightedCapacity: aws.String("2")},
		types.LaunchTemplateOverrides{InstanceType: aws.String("m5.large"), WeightedCapacity: aws.String("1")}
	template := f.template()
	group := newGroup(template, 2, mixed(template, nil, heavy))
	group.VPCZoneIdentifier = aws.String(subnetA)
	call(f, f.asg.CreateAutoScalingGroup, group)
	f.until(10*time.Minute, "one instance is enough", func() bool { return len(f.in(types.LifecycleStateInService)) == 1 })
	call(f, f.asg.UpdateAutoScalingGroup, &autoscaling.UpdateAutoScalingGroupInput{
		AutoScalingGroupName: aws.String("nodes"), VPCZoneIdentifier: aws.String(subnetB),
		MixedInstancesPolicy: &types.MixedInstancesPolicy{LaunchTemplate: &types.LaunchTemplate{Overrides: []types.LaunchTemplateOverrides{light, heavy}}},
	})
	f.until(20*time.Minute, "two light ones are in its place", func() bool {
		g := f.group()
		return len(g.Instances) == 2 && !slices.ContainsFunc(g.Instances, func(i types.Instance) bool { return *i.AvailabilityZone != "us-east-1b" })
	})
	moved := ids(f.group())
	f.step(2 * time.Hour)
	if now := ids(f.group()); !slices.Equal(now, moved) {
		t.Errorf("instances are %q, and were %q", now, moved)
	}
}

func TestDeletedTemplateVersionFailsLaunches(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template()
	f.version(template, ec2types.InstanceTypeM5Large)
	f.running(newGroup(template, 1, func(in *autoscaling.CreateAutoScalingGroupInput) { in.LaunchTemplate = spec(template, "2") }))
	call(f, f.ec2.DeleteLaunchTemplate, &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: aws.String(template)})
	f.step(time.Hour)
	f.setDesired(2)
	f.step(5 * time.Second)
	failures := f.failed()
	if len(failures) == 0 || !strings.Contains(*failures[0].StatusMessage, "The specified launch template, with template ID "+template+", does not exist") {
		t.Fatalf("failures %+v", failures)
	}
	if len(f.in(types.LifecycleStateInService)) != 1 {
		t.Errorf("the instance that runs is gone: %v", f.summary())
	}
	fails(f, f.asg.UpdateAutoScalingGroup, &autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: aws.String("nodes"), LaunchTemplate: spec(template, "2")},
		"ValidationError", "You must use a valid fully-formed launch template.")
}

func TestLatestIsResolvedAtEachLaunch(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template()
	f.running(newGroup(template, 1, func(in *autoscaling.CreateAutoScalingGroupInput) { in.LaunchTemplate = spec(template, "$Latest") }))
	f.version(template, ec2types.InstanceTypeM5Large)
	f.setDesired(2)
	f.settled(2)
	if diff := cmp.Diff([]string{"1", "2"}, f.versions()); diff != "" {
		t.Errorf("versions are shown as numbers (-want +got):\n%s", diff)
	}
	if got := *f.group().LaunchTemplate.Version; got != "$Latest" {
		t.Errorf("the group shows version %s", got)
	}
}

func TestSuspendedProcesses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		process string
		act     func(*fixture, []string)
		holds   func(*fixture, []string) bool // while suspended
		after   func(*fixture, []string) bool // once resumed
	}{
		{"Launch", func(f *fixture, _ []string) { f.setDesired(3) },
			func(f *fixture, _ []string) bool { return len(f.group().Instances) == 2 },
			func(f *fixture, _ []string) bool { return len(f.in(types.LifecycleStateInService)) == 3 }},
		{"Terminate", func(f *fixture, _ []string) { f.setDesired(1) },
			func(f *fixture, _ []string) bool { return len(f.in(types.LifecycleStateInService)) == 2 },
			func(f *fixture, _ []string) bool { return len(f.group().Instances) == 1 }},
		{"HealthCheck", func(f *fixture, all []string) { f.kill(all[0]) },
			func(f *fixture, _ []string) bool { return *f.group().Instances[0].HealthStatus == "Healthy" },
			func(f *fixture, all []string) bool { return !slices.Contains(ids(f.group()), all[0]) }},
		{"ReplaceUnhealthy", func(f *fixture, all []string) { f.kill(all[0]) },
			func(f *fixture, all []string) bool {
				return *f.group().Instances[0].HealthStatus == "Unhealthy" && slices.Equal(all, ids(f.group()))
			},
			func(f *fixture, all []string) bool { return !slices.Contains(ids(f.group()), all[0]) }},
	}
	for _, tt := range tests {
		t.Run(tt.process, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			all := ids(f.running(newGroup(f.template(), 2)))
			call(f, f.asg.SuspendProcesses, &autoscaling.SuspendProcessesInput{AutoScalingGroupName: aws.String("nodes"), ScalingProcesses: []string{tt.process}})
			suspended := f.group().SuspendedProcesses
			if len(suspended) != 1 || *suspended[0].ProcessName != tt.process || *suspended[0].SuspensionReason == "" {
				t.Errorf("suspended %+v", suspended)
			}
			tt.act(f, all)
			f.step(10 * time.Minute)
			if !tt.holds(f, all) {
				t.Fatalf("not suspended: %v", f.summary())
			}
			call(f, f.asg.ResumeProcesses, &autoscaling.ResumeProcessesInput{AutoScalingGroupName: aws.String("nodes")})
			f.until(2*time.Minute, "resumed", func() bool { return tt.after(f, all) })
		})
	}
}

func TestHonoredCooldownDelaysScaling(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.running(newGroup(f.template(), 1, func(in *autoscaling.CreateAutoScalingGroupInput) { in.DefaultCooldown = aws.Int32(120) }))
	call(f, f.asg.SetDesiredCapacity, &autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("nodes"), DesiredCapacity: aws.Int32(2), HonorCooldown: aws.Bool(true)})
	f.step(110 * time.Second)
	if n := len(f.group().Instances); n != 1 {
		t.Fatalf("%d instances during the cooldown", n)
	}
	f.step(30 * time.Second)
	f.settled(2)
	fails(f, f.asg.SetDesiredCapacity, &autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("nodes"), DesiredCapacity: aws.Int32(21)},
		"ValidationError", "New SetDesiredCapacity value 21 is above max value 20 for the AutoScalingGroup.")
}

func TestScaleInSparesProtectedInstances(t *testing.T) {
	t.Parallel()
	f := start(t)
	all := ids(f.running(newGroup(f.template(), 3, func(in *autoscaling.CreateAutoScalingGroupInput) {
		in.NewInstancesProtectedFromScaleIn = aws.Bool(true)
	})))
	call(f, f.asg.SetInstanceProtection, &autoscaling.SetInstanceProtectionInput{AutoScalingGroupName: aws.String("nodes"), InstanceIds: all[1:2], ProtectedFromScaleIn: aws.Bool(false)})
	f.setDesired(0)
	f.step(5 * time.Minute)
	if diff := cmp.Diff([]string{all[0], all[2]}, ids(f.group())); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// TestGroupsConverge draws a story of sizes and deaths: once it has been quiet for a while, the
// group has exactly its desired capacity in service, and its zones differ by one instance at most.
func TestGroupsConverge(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.running(newGroup(f.template(), 3))
	rapid.Check(t, func(rt *rapid.T) {
		for range rapid.IntRange(1, 4).Draw(rt, "acts") {
			switch rapid.IntRange(0, 2).Draw(rt, "act") {
			case 0:
				f.setDesired(rapid.Int32Range(0, 9).Draw(rt, "desired"))
			case 1:
				if all := f.in(types.LifecycleStateInService); len(all) > 0 {
					f.kill(all[rapid.IntRange(0, len(all)-1).Draw(rt, "victim")])
				}
			case 2:
				f.step(time.Duration(rapid.IntRange(0, 30).Draw(rt, "seconds")) * time.Second)
			}
		}
		f.step(30 * time.Minute)
		g := f.group()
		zones := map[string]int{"us-east-1a": 0, "us-east-1b": 0, "us-east-1c": 0}
		for _, i := range g.Instances {
			zones[*i.AvailabilityZone]++
		}
		fewest, most := len(g.Instances), 0
		for _, n := range zones {
			fewest, most = min(fewest, n), max(most, n)
		}
		if len(f.in(types.LifecycleStateInService)) != int(*g.DesiredCapacity) || len(g.Instances) != int(*g.DesiredCapacity) || most-fewest > 1 {
			rt.Fatalf("did not converge: %v", f.summary())
		}
	})
}
