package integration

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/ptr"

	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
)

// editType applies an edit that rolls.
func (w *world) editType(instanceType string) {
	w.Helper()
	w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = instanceType })
}

// TestRefreshPreferences holds that the refresh that AWS runs has the preferences.
func TestRefreshPreferences(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	instances := w.running()
	w.editPool(func(pool *infrav1.AWSMachinePool) {
		pool.Spec.RefreshPreferences = &infrav1.RefreshPreferences{
			Strategy: ptr.To("Rolling"), InstanceWarmup: ptr.To[int64](0), MinHealthyPercentage: ptr.To[int64](100), MaxHealthyPercentage: ptr.To[int64](150),
		}
	})
	w.rest()
	w.expectCounts(map[string]int{"CreateLaunchTemplateVersion": 0, "StartInstanceRefresh": 0})
	w.editType("m6i.large")
	w.Eventually("the instances are replaced", func() error { return w.replaced(instances, 2) })
	refreshes := w.refreshes()
	if len(refreshes) != 1 || refreshes[0].DesiredConfiguration != nil {
		t.Fatalf("refreshes are %+v", refreshes)
	}
	want := &asgtypes.RefreshPreferences{InstanceWarmup: aws.Int32(0), MinHealthyPercentage: aws.Int32(100), MaxHealthyPercentage: aws.Int32(150)}
	got := *refreshes[0].Preferences
	got = asgtypes.RefreshPreferences{InstanceWarmup: got.InstanceWarmup, MinHealthyPercentage: got.MinHealthyPercentage, MaxHealthyPercentage: got.MaxHealthyPercentage}
	if diff := cmp.Diff(want, &got, cmpopts.IgnoreUnexported(asgtypes.RefreshPreferences{})); diff != "" {
		t.Errorf("preferences (-want +got):\n%s", diff)
	}
	w.awaitEvents("InstanceRefreshStarted", "InstanceRefreshSucceeded")
}

// TestRefreshDisabled holds that replacing is left to a user who disables refreshes, and is done
// when they are enabled again.
func TestRefreshDisabled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	instances := w.running()
	w.editPool(func(pool *infrav1.AWSMachinePool) {
		pool.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Disable: true}
		pool.Spec.AWSLaunchTemplate.InstanceType = "m6i.large"
	})
	w.awaitCondition(infrav1.RolledOutCondition, "False", infrav1.RefreshDisabledReason)
	w.awaitCondition(infrav1.ReadyCondition, "True", infrav1.ReadyReason)
	w.pass(10 * time.Minute)
	asked := w.count("DescribeInstanceRefreshes")
	w.pass(3 * time.Hour) // the hooks are described meanwhile, in a pass like any other
	if again := w.count("DescribeInstanceRefreshes") - asked; again != 0 {
		t.Errorf("waiting for the user cost %d looks for refreshes in three hours", again)
	}
	w.expectCounts(map[string]int{"CreateLaunchTemplateVersion": 1, "StartInstanceRefresh": 0})
	if !slices.Equal(w.running(), instances) {
		t.Errorf("instances are %q, were %q", w.running(), instances)
	}
	if version := *w.group().LaunchTemplate.Version; version != "2" {
		t.Errorf("the group is at version %s", version)
	}
	w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.RefreshPreferences = nil })
	w.Eventually("the instances are replaced", func() error { return w.replaced(instances, 2) })
	w.expectCounts(map[string]int{"StartInstanceRefresh": 1})
}

// TestRefreshOfAnotherOwner holds that a refresh that an operator started is waited for, and its
// result counted.
func TestRefreshOfAnotherOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	instances := w.running()
	if _, err := w.asg().StartInstanceRefresh(w.Context(), &autoscaling.StartInstanceRefreshInput{
		AutoScalingGroupName: aws.String(poolName), Preferences: &asgtypes.RefreshPreferences{InstanceWarmup: aws.Int32(600), SkipMatching: aws.Bool(false)},
	}); err != nil {
		t.Fatal(err)
	}
	w.editType("m6i.large")
	w.Eventually("all instances run the new type", func() error { return w.replaced(instances, 2) })
	w.rest()
	w.expectCounts(map[string]int{"CancelInstanceRefresh": 0, "RollbackInstanceRefresh": 0})
	for _, refresh := range w.refreshes() {
		if refresh.Status != asgtypes.InstanceRefreshStatusSuccessful {
			t.Errorf("refresh %s ended as %s", *refresh.InstanceRefreshId, refresh.Status)
		}
	}
	for _, instance := range w.Cloud.AWS.Region(w.Account, w.Cloud.Region()).Instances() {
		if slices.Contains(w.running(), *instance.InstanceId) && instance.InstanceType != "m6i.large" {
			t.Errorf("instance %s is a %s", *instance.InstanceId, instance.InstanceType)
		}
	}
}

// TestCancelledRefresh holds that a refresh that an operator cancels is shown, left alone for a
// while, and then done again.
func TestCancelledRefresh(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	instances := w.running()
	warmUp := func(seconds int64) {
		w.editPool(func(pool *infrav1.AWSMachinePool) {
			pool.Spec.RefreshPreferences = &infrav1.RefreshPreferences{
				InstanceWarmup: &seconds, MinHealthyPercentage: ptr.To[int64](100), MaxHealthyPercentage: ptr.To[int64](150),
			}
		})
	}
	warmUp(3600) // the refresh lasts, until the operator comes
	w.editType("m6i.large")
	w.awaitCondition(infrav1.RolledOutCondition, "False", infrav1.RollingOutReason)
	// the back-off is a second of real time otherwise, and a busy machine may miss it
	w.clock.SetRate(rate / 100)
	w.Eventually("the refresh is cancelled", func() error {
		_, err := w.asg().CancelInstanceRefresh(w.Context(), &autoscaling.CancelInstanceRefreshInput{AutoScalingGroupName: aws.String(poolName)})
		return err
	})
	w.awaitCondition(infrav1.RolledOutCondition, "False", infrav1.RefreshCancelledReason)
	warmUp(0)
	w.clock.SetRate(rate)
	w.Eventually("it is done again", func() error { return w.replaced(instances, 2) })
	refreshes := w.refreshes()
	if len(refreshes) != 2 || refreshes[1].Status != asgtypes.InstanceRefreshStatusCancelled {
		t.Fatalf("refreshes are %+v", refreshes)
	}
	if waited := refreshes[0].StartTime.Sub(*refreshes[1].EndTime); waited < 5*time.Minute {
		t.Errorf("the next refresh began %v after the end of the one that was cancelled", waited)
	}
	w.awaitEvents("InstanceRefreshEnded")
}

// TestEditDuringRefresh holds that an edit while a refresh is under way, which has replaced nothing
// yet, leads to every instance at the newest spec.
func TestEditDuringRefresh(t *testing.T) {
	t.Parallel()
	// so that none comes meanwhile
	w := newWorldWith(t, options{behavior: awssim.Behavior{Capacity: []awssim.CapacityRule{{InstanceType: "m6i.large"}}}})
	w.havePool()
	instances := w.running()
	w.clock.SetRate(slow)
	w.editType("m6i.large")
	w.awaitCondition(infrav1.RolledOutCondition, "False", infrav1.RollingOutReason)
	w.editType("m5.large")
	w.awaitVersions(3)
	w.clock.SetRate(rate)
	w.Eventually("all instances run the newest type", func() error {
		if err := w.replaced(instances, 2); err != nil {
			return err
		}
		for _, instance := range w.group().Instances {
			if *instance.InstanceType != "m5.large" {
				return fmt.Errorf("instance %s is a %s", *instance.InstanceId, *instance.InstanceType)
			}
		}
		return nil
	})
	w.rest()
	w.expectCounts(map[string]int{"CreateLaunchTemplateVersion": 2, "CancelInstanceRefresh": 0})
}
