package autoscaling_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// refresh starts an instance refresh of the group named nodes and returns its id.
func (f *fixture) refresh(change ...func(*autoscaling.StartInstanceRefreshInput)) string {
	f.t.Helper()
	in := &autoscaling.StartInstanceRefreshInput{AutoScalingGroupName: aws.String("nodes"), Preferences: &types.RefreshPreferences{}}
	for _, c := range change {
		c(in)
	}
	return *call(f, f.asg.StartInstanceRefresh, in).InstanceRefreshId
}

// last returns the newest refresh of the group named nodes.
func (f *fixture) last() types.InstanceRefresh {
	f.t.Helper()
	out := call(f, f.asg.DescribeInstanceRefreshes, &autoscaling.DescribeInstanceRefreshesInput{AutoScalingGroupName: aws.String("nodes")})
	if len(out.InstanceRefreshes) == 0 {
		f.t.Fatal("no refresh")
	}
	return out.InstanceRefreshes[0]
}

// ends waits for the status and returns the statuses that the refresh went through.
func (f *fixture) ends(limit time.Duration, status types.InstanceRefreshStatus) []types.InstanceRefreshStatus {
	f.t.Helper()
	seen := []types.InstanceRefreshStatus{f.last().Status}
	f.until(limit, "refresh "+string(status), func() bool {
		now := f.last().Status
		if now != seen[len(seen)-1] {
			seen = append(seen, now)
		}
		return now == status
	})
	return seen
}

func (f *fixture) point(template, version string) {
	f.t.Helper()
	call(f, f.asg.UpdateAutoScalingGroup, &autoscaling.UpdateAutoScalingGroupInput{
		AutoScalingGroupName: aws.String("nodes"), LaunchTemplate: spec(template, version),
	})
}

func desired(template, version string) func(*autoscaling.StartInstanceRefreshInput) {
	return func(in *autoscaling.StartInstanceRefreshInput) {
		in.DesiredConfiguration = &types.DesiredConfiguration{LaunchTemplate: spec(template, version)}
	}
}

func prefer(change func(*types.RefreshPreferences)) func(*autoscaling.StartInstanceRefreshInput) {
	return func(in *autoscaling.StartInstanceRefreshInput) { change(in.Preferences) }
}

func TestRefreshReplacesEveryInstanceByWhatTheGroupNames(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template()
	before := ids(f.running(newGroup(template, 3)))
	f.point(template, f.version(template, ec2types.InstanceTypeM5Large))
	f.step(time.Minute)
	if diff := cmp.Diff([]string{"1", "1", "1"}, f.versions()); diff != "" {
		t.Fatalf("an update alone replaced instances (-want +got):\n%s", diff)
	}
	id := f.refresh()
	if r := f.last(); r.Status != types.InstanceRefreshStatusPending || *r.InstanceRefreshId != id {
		t.Errorf("just started: %+v", r)
	}
	fails(f, f.asg.StartInstanceRefresh, &autoscaling.StartInstanceRefreshInput{AutoScalingGroupName: aws.String("nodes")},
		"InstanceRefreshInProgress", "already in progress")
	f.step(2 * time.Second)
	if r := f.last(); r.Status != types.InstanceRefreshStatusInProgress || *r.PercentageComplete != 0 {
		t.Errorf("under way: %+v", r)
	}
	// Without a desired configuration the group may be pointed elsewhere meanwhile, and what is
	// launched later follows.
	f.point(template, f.version(template, ec2types.InstanceTypeC5Large))
	f.ends(10*time.Minute, types.InstanceRefreshStatusSuccessful)
	f.settled(3)
	if diff := cmp.Diff([]string{"2", "3", "3"}, f.versions()); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	for _, i := range ids(f.group()) {
		if slices.Contains(before, i) {
			t.Errorf("%s was not replaced", i)
		}
	}
	r := f.last()
	if *r.PercentageComplete != 100 || *r.InstancesToUpdate != 0 || r.EndTime == nil {
		t.Errorf("at the end: %+v", r)
	}
	want := &types.RefreshPreferences{
		MinHealthyPercentage: aws.Int32(90), InstanceWarmup: aws.Int32(0), SkipMatching: aws.Bool(false), AutoRollback: aws.Bool(false),
	}
	if diff := cmp.Diff(want, r.Preferences, cmp.AllowUnexported(types.RefreshPreferences{}), ignoreDocument); diff != "" {
		t.Errorf("preferences with their defaults (-want +got):\n%s", diff)
	}
	fails(f, f.asg.CancelInstanceRefresh, &autoscaling.CancelInstanceRefreshInput{AutoScalingGroupName: aws.String("nodes")},
		"ActiveInstanceRefreshNotFound", "No in progress or pending")
	fails(f, f.asg.RollbackInstanceRefresh, &autoscaling.RollbackInstanceRefreshInput{AutoScalingGroupName: aws.String("nodes")},
		"ActiveInstanceRefreshNotFound", "")
}

// ignoreDocument leaves out the SDK's unexported marker.
var ignoreDocument = cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".noSmithyDocumentSerde" }, cmp.Ignore())

func TestRefreshLaunchesFirst(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template()
	f.running(newGroup(template, 2))
	f.point(template, f.version(template, ec2types.InstanceTypeM5Large))
	f.refresh(prefer(func(p *types.RefreshPreferences) {
		p.MinHealthyPercentage, p.MaxHealthyPercentage, p.InstanceWarmup = aws.Int32(100), aws.Int32(100), aws.Int32(60)
	}))
	most, seen := 0, map[string]bool{}
	f.until(20*time.Minute, "success", func() bool {
		healthy := f.in(types.LifecycleStateInService)
		if len(healthy) < 2 {
			t.Fatalf("only %d instances in service: %v", len(healthy), f.summary())
		}
		most = max(most, len(healthy)+len(f.in(types.LifecycleStatePending)))
		r := f.last()
		if r.StatusReason != nil {
			seen[(*r.StatusReason)[:30]] = true
		}
		return r.Status == types.InstanceRefreshStatusSuccessful
	})
	if most != 3 {
		t.Errorf("at most %d instances at a time, want 3", most)
	}
	for _, reason := range []string{"Waiting for instances to warm up before continuing.", "Waiting for remaining instances to be available."} {
		if !seen[reason[:30]] {
			t.Errorf("never saw the reason %q", reason)
		}
	}
	if diff := cmp.Diff([]string{"2", "2"}, f.versions()); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
}

func TestRefreshWithDesiredConfiguration(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template()
	f.running(newGroup(template, 2))
	two := f.version(template, ec2types.InstanceTypeM5Large)
	f.refresh(desired(template, two), prefer(func(p *types.RefreshPreferences) { p.BakeTime = aws.Int32(120) }))
	f.step(2 * time.Second)
	fails(f, f.asg.UpdateAutoScalingGroup, &autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: aws.String("nodes"), LaunchTemplate: spec(template, "1")},
		"ValidationError", "An active instance refresh with a desired configuration exists.")
	call(f, f.asg.UpdateAutoScalingGroup, &autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: aws.String("nodes"), DesiredCapacity: aws.Int32(3)})
	f.until(10*time.Minute, "baking", func() bool { return f.last().Status == types.InstanceRefreshStatusBaking })
	if got := *f.group().LaunchTemplate.Version; got != "1" {
		t.Errorf("the group names version %s before the refresh succeeds", got)
	}
	if diff := cmp.Diff([]types.InstanceRefreshStatus{"Baking", "Successful"}, f.ends(3*time.Minute, types.InstanceRefreshStatusSuccessful)); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	if got := *f.group().LaunchTemplate.Version; got != two {
		t.Errorf("the group names version %s after the refresh", got)
	}
	if diff := cmp.Diff([]string{two, two, two}, f.versions()); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	f.refresh(desired(template, two), prefer(func(p *types.RefreshPreferences) { p.SkipMatching = aws.Bool(true) }))
	before := ids(f.group())
	f.ends(5*time.Second, types.InstanceRefreshStatusSuccessful)
	if diff := cmp.Diff(before, ids(f.group())); diff != "" {
		t.Errorf("skip matching replaced instances that match (-want +got):\n%s", diff)
	}
}

func TestCancelWaitsForInstancesUnderWay(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template()
	f.running(newGroup(template, 3))
	f.point(template, f.version(template, ec2types.InstanceTypeM5Large))
	f.refresh()
	f.step(3 * time.Second)
	call(f, f.asg.CancelInstanceRefresh, &autoscaling.CancelInstanceRefreshInput{AutoScalingGroupName: aws.String("nodes")})
	if got := f.last().Status; got != types.InstanceRefreshStatusCancelling {
		t.Errorf("status %s while an instance is under way", got)
	}
	f.ends(time.Minute, types.InstanceRefreshStatusCancelled)
	f.settled(3)
	if diff := cmp.Diff([]string{"1", "1", "2"}, f.versions()); diff != "" {
		t.Errorf("versions after cancelling (-want +got):\n%s", diff)
	}
	f.refresh()
	f.step(3 * time.Second)
	call(f, f.asg.CancelInstanceRefresh, &autoscaling.CancelInstanceRefreshInput{
		AutoScalingGroupName: aws.String("nodes"), WaitForTransitioningInstances: aws.Bool(false),
	})
	if got := f.last().Status; got != types.InstanceRefreshStatusCancelled {
		t.Errorf("status %s after cancelling without waiting", got)
	}
}

func TestCheckpoints(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template()
	f.running(newGroup(template, 4))
	f.point(template, f.version(template, ec2types.InstanceTypeM5Large))
	f.refresh(prefer(func(p *types.RefreshPreferences) {
		p.MinHealthyPercentage, p.CheckpointPercentages, p.CheckpointDelay = aws.Int32(0), []int32{25, 75}, aws.Int32(600)
	}))
	f.until(2*time.Minute, "the first checkpoint", func() bool { return *f.last().PercentageComplete == 25 })
	f.step(9 * time.Minute)
	if diff := cmp.Diff([]string{"1", "1", "1", "2"}, f.versions()); diff != "" {
		t.Errorf("versions during the pause (-want +got):\n%s", diff)
	}
	f.step(time.Minute)
	f.ends(5*time.Minute, types.InstanceRefreshStatusSuccessful)
	if diff := cmp.Diff([]string{"1", "2", "2", "2"}, f.versions()); diff != "" {
		t.Errorf("a last checkpoint below 100 ends the refresh there (-want +got):\n%s", diff)
	}
}

func TestGrowingGroupReachesACheckpointAgain(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template()
	f.running(newGroup(template, 4))
	f.point(template, f.version(template, ec2types.InstanceTypeM5Large))
	f.refresh(prefer(func(p *types.RefreshPreferences) {
		p.MinHealthyPercentage, p.CheckpointPercentages, p.CheckpointDelay = aws.Int32(0), []int32{25, 100}, aws.Int32(600)
	}))
	f.until(2*time.Minute, "the checkpoint", func() bool { return *f.last().PercentageComplete == 25 })
	f.step(9 * time.Minute)
	call(f, f.asg.SetDesiredCapacity, &autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("nodes"), DesiredCapacity: aws.Int32(8)})
	f.step(9 * time.Minute)
	if diff := cmp.Diff([]string{"1", "1", "1", "2", "2", "2", "2", "2"}, f.versions()); diff != "" {
		t.Errorf("versions while it waits once more (-want +got):\n%s", diff)
	}
	f.step(2 * time.Minute)
	f.ends(5*time.Minute, types.InstanceRefreshStatusSuccessful)
}

func TestProtectedAndStandbyInstances(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason    string
		protected types.ScaleInProtectedInstances
		standby   types.StandbyInstances
		status    types.InstanceRefreshStatus
		within    time.Duration
		versions  []string
	}{
		{"refresh and terminate treat them like any other", "Refresh", "Terminate", types.InstanceRefreshStatusSuccessful, 10 * time.Minute, []string{"2", "2", "2"}},
		{"ignored ones stay", "Ignore", "Ignore", types.InstanceRefreshStatusSuccessful, 10 * time.Minute, []string{"1", "1", "2", "2"}},
		{"waiting for a protected one fails after an hour", "Wait", "Ignore", types.InstanceRefreshStatusFailed, 70 * time.Minute, []string{"1", "1", "2", "2"}},
		{"waiting for one in standby fails after an hour", "Refresh", "Wait", types.InstanceRefreshStatusFailed, 70 * time.Minute, []string{"1", "2", "2", "2"}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			template := f.template()
			all := ids(f.running(newGroup(template, 3)))
			call(f, f.asg.SetInstanceProtection, &autoscaling.SetInstanceProtectionInput{
				AutoScalingGroupName: aws.String("nodes"), InstanceIds: all[:1], ProtectedFromScaleIn: aws.Bool(true),
			})
			// Standby without decrement: a replacement is launched, so that the group has three in
			// service and one in standby.
			call(f, f.asg.EnterStandby, &autoscaling.EnterStandbyInput{
				AutoScalingGroupName: aws.String("nodes"), InstanceIds: all[1:2], ShouldDecrementDesiredCapacity: aws.Bool(false),
			})
			f.until(time.Minute, "three in service beside the one in standby", func() bool {
				return len(f.in(types.LifecycleStateInService)) == 3 && len(f.in(types.LifecycleStateStandby)) == 1
			})
			f.point(template, f.version(template, ec2types.InstanceTypeM5Large))
			f.refresh(prefer(func(p *types.RefreshPreferences) {
				p.ScaleInProtectedInstances, p.StandbyInstances = tt.protected, tt.standby
			}))
			f.ends(tt.within, tt.status)
			f.step(2 * time.Minute)
			if diff := cmp.Diff(tt.versions, f.versions()); diff != "" {
				t.Errorf("versions (-want +got):\n%s\n%v", diff, f.summary())
			}
		})
	}
}

func TestRefreshIsPausedWhileSuspended(t *testing.T) {
	t.Parallel()
	for _, process := range []string{"InstanceRefresh", "Launch", "Terminate"} {
		t.Run(process, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			template := f.template()
			before := ids(f.running(newGroup(template, 2)))
			call(f, f.asg.SuspendProcesses, &autoscaling.SuspendProcessesInput{AutoScalingGroupName: aws.String("nodes"), ScalingProcesses: []string{process}})
			f.refresh()
			f.step(3 * time.Hour)
			if r := f.last(); r.Status != types.InstanceRefreshStatusInProgress || !slices.Equal(before, ids(f.group())) {
				t.Fatalf("not paused: %v", f.summary())
			}
			call(f, f.asg.ResumeProcesses, &autoscaling.ResumeProcessesInput{AutoScalingGroupName: aws.String("nodes"), ScalingProcesses: []string{process}})
			f.ends(10*time.Minute, types.InstanceRefreshStatusSuccessful)
		})
	}
}

func TestRefreshLastsAtMostTwoWeeks(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template()
	f.running(newGroup(template, 10))
	f.point(template, f.version(template, ec2types.InstanceTypeM5Large))
	f.refresh(prefer(func(p *types.RefreshPreferences) {
		p.CheckpointPercentages, p.CheckpointDelay = []int32{10, 20, 30, 40, 50, 60, 70, 80, 90, 100}, aws.Int32(172_800)
	}))
	f.step(13*24*time.Hour + 23*time.Hour)
	if got := f.last().Status; got != types.InstanceRefreshStatusInProgress {
		t.Fatalf("status %s before the two weeks are over", got)
	}
	f.step(2 * time.Hour)
	if r := f.last(); r.Status != types.InstanceRefreshStatusFailed || *r.PercentageComplete != 70 {
		t.Errorf("after two weeks: %v", f.summary())
	}
}

func TestRefreshOfAnEmptyGroupSucceeds(t *testing.T) {
	t.Parallel()
	f := start(t)
	call(f, f.asg.CreateAutoScalingGroup, newGroup(f.template(), 0))
	f.refresh()
	f.ends(5*time.Second, types.InstanceRefreshStatusSuccessful)
	if r := f.last(); *r.PercentageComplete != 100 {
		t.Errorf("refresh %+v", r)
	}
}

func TestRefreshIsRefused(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template()
	f.running(newGroup(template, 1))
	tests := []struct {
		reason string
		change func(*autoscaling.StartInstanceRefreshInput)
		words  string
	}{
		{"the minimum is a percentage", prefer(func(p *types.RefreshPreferences) { p.MinHealthyPercentage = aws.Int32(101) }), "less than or equal to 100"},
		{"a maximum needs a minimum", prefer(func(p *types.RefreshPreferences) { p.MaxHealthyPercentage = aws.Int32(110) }), "must be specified"},
		{"maximum and minimum are at most 100 apart", prefer(func(p *types.RefreshPreferences) {
			p.MinHealthyPercentage, p.MaxHealthyPercentage = aws.Int32(50), aws.Int32(151)
		}), "difference"},
		{"checkpoints ascend", prefer(func(p *types.RefreshPreferences) { p.CheckpointPercentages = []int32{50, 50} }), "ascending"},
		{"a delay needs checkpoints", prefer(func(p *types.RefreshPreferences) { p.CheckpointDelay = aws.Int32(10) }), "CheckpointPercentages"},
		{"rollback needs a desired configuration", prefer(func(p *types.RefreshPreferences) { p.AutoRollback = aws.Bool(true) }), "desired configuration"},
		{"the version must exist", desired(template, "7"), "You must use a valid fully-formed launch template."},
		{"alarms must exist", prefer(func(p *types.RefreshPreferences) {
			p.AlarmSpecification = &types.AlarmSpecification{Alarms: []string{"high"}}
		}), "does not exist"},
		{"root volumes need a mixed instances policy", func(in *autoscaling.StartInstanceRefreshInput) {
			in.Strategy = types.RefreshStrategyReplaceRootVolume
		}, "mixed instances policy"},
		{"the strategy is one of two", func(in *autoscaling.StartInstanceRefreshInput) { in.Strategy = "Sideways" }, "enum value set"},
	}
	for _, tt := range tests {
		in := &autoscaling.StartInstanceRefreshInput{AutoScalingGroupName: aws.String("nodes"), Preferences: &types.RefreshPreferences{}}
		tt.change(in)
		t.Log(tt.reason)
		fails(f, f.asg.StartInstanceRefresh, in, "ValidationError", tt.words)
	}
}

// TestRefreshKeepsItsPromises runs whole refreshes of real groups with drawn sizes, percentages and
// warmups: as long as one runs, the instances in service never fall below the minimum (or, where
// the percentages leave no room, by more than the one instance that AWS then takes out) and the
// instances in service and pending never exceed the maximum; afterwards every instance is on the
// group's template.
func TestRefreshKeepsItsPromises(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template()
	two := f.version(template, ec2types.InstanceTypeM5Large)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		name := fmt.Sprintf("nodes-%d", run)
		size := rapid.Int32Range(1, 8).Draw(rt, "size")
		low := rapid.Int32Range(0, 100).Draw(rt, "min")
		high := rapid.Int32Range(100, 100+low).Draw(rt, "max")
		warmup := rapid.Int32Range(0, 60).Draw(rt, "warmup")
		call(f, f.asg.CreateAutoScalingGroup, newGroup(template, size, func(in *autoscaling.CreateAutoScalingGroupInput) {
			in.AutoScalingGroupName, in.DefaultInstanceWarmup = aws.String(name), aws.Int32(warmup)
		}))
		f.step(3 * time.Minute)
		call(f, f.asg.UpdateAutoScalingGroup, &autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: aws.String(name), LaunchTemplate: spec(template, two)})
		call(f, f.asg.StartInstanceRefresh, &autoscaling.StartInstanceRefreshInput{AutoScalingGroupName: aws.String(name), Preferences: &types.RefreshPreferences{
			MinHealthyPercentage: aws.Int32(low), MaxHealthyPercentage: aws.Int32(high),
		}})
		floor, ceiling := int((size*low+99)/100), int(size*high/100)
		if floor == int(size) && ceiling == int(size) {
			ceiling++ // launches one before it terminates one
		}
		for waited := time.Duration(0); ; waited += 5 * time.Second {
			if waited > 2*time.Hour {
				rt.Fatalf("no end: %v", f.summary())
			}
			g := call(f, f.asg.DescribeAutoScalingGroups, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{name}}).AutoScalingGroups[0]
			inService, starting, old := 0, 0, 0
			for _, i := range g.Instances {
				switch i.LifecycleState {
				case types.LifecycleStateInService:
					inService++
				case types.LifecycleStatePending:
					starting++
				default:
				}
				if *i.LaunchTemplate.Version != two {
					old++
				}
			}
			if inService < floor || inService+starting > ceiling {
				rt.Fatalf("%d in service (floor %d), %d with those pending (ceiling %d): %v", inService, floor, inService+starting, ceiling, f.summary())
			}
			r := call(f, f.asg.DescribeInstanceRefreshes, &autoscaling.DescribeInstanceRefreshesInput{AutoScalingGroupName: aws.String(name)}).InstanceRefreshes[0]
			if r.Status == types.InstanceRefreshStatusSuccessful {
				if old > 0 || len(g.Instances) != int(size) {
					rt.Fatalf("succeeded with %d instances, %d of them old", len(g.Instances), old)
				}
				break
			}
			f.step(5 * time.Second)
		}
		call(f, f.asg.DeleteAutoScalingGroup, &autoscaling.DeleteAutoScalingGroupInput{AutoScalingGroupName: aws.String(name), ForceDelete: aws.Bool(true)})
		f.step(time.Minute)
	})
}
