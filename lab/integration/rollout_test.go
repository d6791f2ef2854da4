package integration

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
)

// slow is a rate at which a busy machine does not miss what a refresh goes through.
const slow = rate / 10

// inService are the instances in service of a type.
func (w *world) inService(instanceType string) []string {
	w.Helper()
	var ids []string
	for _, instance := range w.group().Instances {
		if instance.LifecycleState == asgtypes.LifecycleStateInService && aws.ToString(instance.InstanceType) == instanceType {
			ids = append(ids, *instance.InstanceId)
		}
	}
	slices.Sort(ids)
	return ids
}

// patiently has the pool's refreshes wait ten minutes after each instance, so that tests can act in between.
func (w *world) patiently(preferences infrav1.RefreshPreferences) {
	w.Helper()
	preferences.InstanceWarmup = ptr.To[int64](600)
	w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.RefreshPreferences = &preferences })
}

// awaitHalf waits until a refresh has brought the first of two instances of a type into service.
func (w *world) awaitHalf(instanceType string) string {
	w.Helper()
	var first string
	w.Eventually("the first instance is replaced", func() error {
		ids := w.inService(instanceType)
		if len(ids) != 1 {
			return fmt.Errorf("of type %s are %q", instanceType, ids)
		}
		first = ids[0]
		return nil
	})
	return first
}

func (w *world) awaitVersions(count int) {
	w.Helper()
	w.Eventually(fmt.Sprintf("there are %d versions", count), func() error {
		if numbers := w.numbers(); len(numbers) != count {
			return fmt.Errorf("versions are %d", numbers)
		}
		return nil
	})
}

func (w *world) statuses() []asgtypes.InstanceRefreshStatus {
	w.Helper()
	var statuses []asgtypes.InstanceRefreshStatus
	for _, refresh := range w.refreshes() {
		statuses = append(statuses, refresh.Status)
	}
	return statuses
}

func (w *world) setAlarm(name string, state awssim.AlarmState) {
	w.Helper()
	if err := w.Cloud.AWS.Region(w.Account, w.Cloud.Region()).SetAlarm(name, state); err != nil {
		w.Fatal(err)
	}
}

// TestBatchOfEditsIsOneRollout holds that versions are created at once, that group and refresh wait
// until edits have settled, and that the roll-out reports its reason and its cost.
func TestBatchOfEditsIsOneRollout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	instances := w.running()
	w.clock.SetRate(0)
	w.editType("m6i.large")
	w.awaitVersions(2)
	w.editPool(func(pool *infrav1.AWSMachinePool) {
		pool.Spec.AWSLaunchTemplate.RootVolume = &infrav1.Volume{Size: 30, Type: "gp3"}
	})
	w.awaitVersions(3)
	condition := w.awaitCondition(infrav1.RolledOutCondition, "False", infrav1.SettlingReason)
	for _, part := range []string{"instance type t3.large → m6i.large", "volume /dev/sda1 added", "10s"} {
		if !strings.Contains(condition.Message, part) {
			t.Errorf("while edits settle the condition says %q, without %q", condition.Message, part)
		}
	}
	if version := *w.group().LaunchTemplate.Version; version != "1" {
		t.Errorf("the group is at version %s before the edits have settled", version)
	}
	// Sizes do not wait.
	w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.MaxSize = 7 })
	w.Eventually("the size is changed", func() error {
		if size := *w.group().MaxSize; size != 7 {
			return fmt.Errorf("it is %d", size)
		}
		return nil
	})
	begin := w.clock.Now()
	w.clock.SetRate(rate)
	w.Eventually("the instances are replaced", func() error { return w.replaced(instances, 2) })
	w.rest()
	w.expectCounts(map[string]int{"CreateLaunchTemplateVersion": 2, "StartInstanceRefresh": 1, "CancelInstanceRefresh": 0})
	if polls, most := w.count("DescribeInstanceRefreshes"), int(w.clock.Since(begin)/(15*time.Second))+4; polls > most {
		t.Errorf("the refresh was looked at %d times in %s", polls, w.clock.Since(begin))
	}
	pool := w.mustPool()
	rollout := pool.Status.Rollout
	if rollout.Cause != "volume /dev/sda1 added; instance type t3.large → m6i.large" || rollout.Status != "Successful" || rollout.Attempts != 0 {
		t.Errorf("the roll-out is %+v", rollout)
	}
	if running := pool.Status.RunningVersions; len(running) != 1 || running[0].Version != 3 || running[0].Instances != 2 || !running[0].UpToDate || pool.Status.WantedVersion != 3 {
		t.Errorf("running are %+v, wanted is %d", running, pool.Status.WantedVersion)
	}
	if good := pool.Status.LastGood; good == nil || good.Version != 3 {
		t.Errorf("the last good configuration is %+v", good)
	}
}

// TestReasonOutlivesAnEdit holds that the reason for a version is reported, although the launch
// config was edited before its status could be written.
func TestReasonOutlivesAnEdit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	w.clock.SetRate(0)
	w.must(w.Cloud.AWS.AddFault(awssim.Fault{Action: "ModifyLaunchTemplate", Nth: 1, Place: awssim.AfterEffect, Callback: func(*awssim.FaultContext) {
		edited(w, &infrav1.AWSLaunchConfig{}, poolName, func(config *infrav1.AWSLaunchConfig) { config.Annotations = map[string]string{"edited": "meanwhile"} })
	}}))
	w.editType("m6i.large")
	w.awaitVersions(2)
	condition := w.awaitCondition(infrav1.RolledOutCondition, "False", infrav1.SettlingReason)
	if !strings.Contains(condition.Message, "instance type t3.large → m6i.large") {
		t.Errorf("the condition says %q", condition.Message)
	}
}

// TestNewerEditSupersedes holds that our refresh gives way to a newer one, even where status was
// lost meanwhile.
func TestNewerEditSupersedes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	instances := w.running()
	w.patiently(infrav1.RefreshPreferences{})
	w.clock.SetRate(slow)
	w.editType("m6i.large")
	w.awaitHalf("m6i.large")
	w.clock.SetRate(0)
	w.stopManager()
	w.wipeStatus()
	w.startManager()
	w.clock.SetRate(slow)
	w.editType("m5.xlarge")
	w.awaitEvents("InstanceRefreshSuperseded")
	w.clock.SetRate(rate)
	w.Eventually("all run the newest type", func() error {
		if ids := w.inService("m5.xlarge"); len(ids) != 2 {
			return fmt.Errorf("only %q do", ids)
		}
		return w.replaced(instances, 2)
	})
	w.rest()
	if got := w.statuses(); !slices.Equal(got, []asgtypes.InstanceRefreshStatus{"Successful", "Cancelled"}) {
		t.Errorf("refreshes ended as %q", got)
	}
	w.expectCounts(map[string]int{"CancelInstanceRefresh": 1, "StartInstanceRefresh": 2})
}

// TestFailedRefreshResumes holds that a refresh that AWS gave up is tried again after a while, and
// that preferences reach AWS.
func TestFailedRefreshResumes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.setAlarm("errors", awssim.AlarmOK)
	w.havePool()
	instances := w.running()
	w.patiently(infrav1.RefreshPreferences{Alarms: []string{"errors"}, ScaleInProtectedInstances: "Ignore", StandbyInstances: "Ignore"})
	w.clock.SetRate(slow)
	w.editType("m6i.large")
	w.awaitHalf("m6i.large")
	w.setAlarm("errors", awssim.AlarmFiring)
	condition := w.awaitCondition(infrav1.RolledOutCondition, "False", infrav1.RefreshFailedReason)
	if !strings.Contains(condition.Message, "alarm errors is in ALARM state") || !strings.Contains(condition.Message, "instance type t3.large → m6i.large") {
		t.Errorf("the condition says %q", condition.Message)
	}
	w.clock.SetRate(rate)
	condition = w.awaitCondition(infrav1.RolledOutCondition, "False", infrav1.RefreshStartFailedReason)
	if !strings.Contains(condition.Message, "correct spec.refreshPreferences") {
		t.Errorf("of an alarm in the way the condition says %q", condition.Message)
	}
	w.setAlarm("errors", awssim.AlarmOK)
	w.Eventually("the instances are replaced", func() error { return w.replaced(instances, 2) })
	if got := w.statuses(); !slices.Equal(got, []asgtypes.InstanceRefreshStatus{"Successful", "Failed"}) {
		t.Errorf("refreshes ended as %q", got)
	}
	w.awaitEvents("InstanceRefreshEnded", "InstanceRefreshSucceeded")
}

// TestRollback holds that a pool goes back to what it ran before, with the current join token, that
// it stays there, and that an edit takes it forward again.
func TestRollback(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.setAlarm("errors", awssim.AlarmOK)
	w.havePool("  minSize: 1\n", "  minSize: 1\n  versionsToKeep: 1\n")
	w.patiently(infrav1.RefreshPreferences{Alarms: []string{"errors"}, Rollback: true})
	w.clock.SetRate(slow)
	w.editType("m6i.large")
	w.awaitHalf("m6i.large")
	if err := w.Lab.SwapBootstrapToken(w.Context(), w.key()); err != nil {
		t.Fatal(err)
	}
	w.awaitVersions(3)
	w.setAlarm("errors", awssim.AlarmFiring)
	w.awaitCondition(infrav1.RolledOutCondition, "False", infrav1.RolledBackReason)
	w.setAlarm("errors", awssim.AlarmOK)
	w.clock.SetRate(rate)
	w.Eventually("all run what they ran before", func() error {
		if ids := w.inService("t3.large"); len(ids) != 2 {
			return fmt.Errorf("only %q do", ids)
		}
		return w.nodes(2)
	})
	w.rest()
	if data := w.latest(); !bytes.Equal(userData(w, data), w.BootstrapData(poolName)) || data.InstanceType != "t3.large" {
		t.Errorf("the newest version is of type %s, with %q", data.InstanceType, userData(w, data))
	}
	if version, newest := *w.group().LaunchTemplate.Version, slices.Max(w.numbers()); version != fmt.Sprint(newest) {
		t.Errorf("the group is at version %s of %d", version, newest)
	}
	condition := w.awaitCondition(infrav1.RolledOutCondition, "False", infrav1.RolledBackReason)
	for _, part := range []string{"alarm errors is in ALARM state", "instance type t3.large → m6i.large", "Edit the spec"} {
		if !strings.Contains(condition.Message, part) {
			t.Errorf("after going back the condition says %q, without %q", condition.Message, part)
		}
	}
	if rollout := w.mustPool().Status.Rollout; rollout.RolledBackFrom == "" {
		t.Errorf("the roll-out is %+v", rollout)
	}
	w.awaitEvents("RolledBack")
	// It stays, also through a lost status and a rotation, and is not tried again.
	w.Cloud.AWS.ClearCalls()
	w.stopManager()
	w.wipeStatus()
	w.startManager()
	versions := w.numbers()
	if err := w.Lab.SwapBootstrapToken(w.Context(), w.key()); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the new token has a version", func() error { return differs(w.numbers(), versions) })
	w.pass(3 * time.Hour)
	w.expectCounts(map[string]int{"StartInstanceRefresh": 0, "CreateLaunchTemplateVersion": 1})
	if data := w.latest(); data.InstanceType != "t3.large" {
		t.Errorf("the newest version is of type %s", data.InstanceType)
	}
	before := w.running()
	w.editType("m5.xlarge")
	w.Eventually("an edit is rolled out", func() error { return w.replaced(before, 2) })
	if rollback := w.mustConfig().Spec.Rollback; rollback != nil {
		t.Errorf("the launch config still goes back: %+v", rollback)
	}
}

// TestNothingIsReplacedTwice holds that a refresh that begins again after a token rotated spares
// the instances that run the wanted config already.
func TestNothingIsReplacedTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	instances := w.running()
	w.patiently(infrav1.RefreshPreferences{})
	w.clock.SetRate(slow)
	w.editType("m6i.large")
	first := w.awaitHalf("m6i.large")
	if err := w.Lab.SwapBootstrapToken(w.Context(), w.key()); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the token has reached the group", func() error {
		if version := *w.group().LaunchTemplate.Version; version != "3" {
			return fmt.Errorf("it is at version %s", version)
		}
		return nil
	})
	if _, err := w.asg().CancelInstanceRefresh(w.Context(), &autoscaling.CancelInstanceRefreshInput{AutoScalingGroupName: aws.String(poolName)}); err != nil {
		t.Fatal(err)
	}
	w.awaitCondition(infrav1.RolledOutCondition, "False", infrav1.RefreshCancelledReason)
	w.clock.SetRate(rate)
	w.Eventually("the rest is replaced", func() error { return w.replaced(instances, 2) })
	w.rest()
	if !slices.Contains(w.running(), first) {
		t.Errorf("instance %s ran the wanted config and was replaced; there are %q", first, w.running())
	}
	for _, instance := range w.group().Instances {
		if *instance.ProtectedFromScaleIn {
			t.Errorf("instance %s is still protected", *instance.InstanceId)
		}
	}
	for key := range w.mustPool().Annotations {
		if strings.Contains(key, "shield") {
			t.Errorf("annotation %s is still there", key)
		}
	}
	w.expectCounts(map[string]int{"SetInstanceProtection": 2, "StartInstanceRefresh": 2})
}

// TestImageOfAnOverrideRolls holds that an override's own image counts for what an instance runs.
func TestImageOfAnOverrideRolls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	images, err := w.ec2().DescribeImages(w.Context(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{
		{Name: aws.String("name"), Values: []string{"capa-ami-ubuntu-22.04-*"}}, {Name: aws.String("architecture"), Values: []string{"x86_64"}},
	}})
	if err != nil || len(images.Images) == 0 {
		t.Fatalf("finding another image: %v", err)
	}
	image := *images.Images[0].ImageId
	instances := w.running()
	override := infrav1.Overrides{InstanceType: "t3.large"}
	w.editPool(func(pool *infrav1.AWSMachinePool) {
		pool.Spec.MixedInstancesPolicy = &infrav1.MixedInstancesPolicy{Overrides: []infrav1.Overrides{override}}
	})
	w.Eventually("the group has the override", func() error {
		if w.group().MixedInstancesPolicy == nil {
			return fmt.Errorf("it has none")
		}
		return w.settled(2)
	})
	w.expectCounts(map[string]int{"StartInstanceRefresh": 0})
	override.ImageID = image
	w.editPool(func(pool *infrav1.AWSMachinePool) {
		pool.Spec.MixedInstancesPolicy.Overrides = []infrav1.Overrides{override}
	})
	w.Eventually("the instances are replaced", func() error { return w.replaced(instances, 2) })
	w.rest()
	w.expectCounts(map[string]int{"StartInstanceRefresh": 1, "CreateLaunchTemplateVersion": 0})
	for _, instance := range w.group().Instances {
		if aws.ToString(instance.ImageId) != image {
			t.Errorf("instance %s has image %s", *instance.InstanceId, aws.ToString(instance.ImageId))
		}
	}
	pool := w.mustPool()
	if running := pool.Status.RunningVersions; len(running) != 1 || running[0].ImageID != image || !meta.IsStatusConditionTrue(pool.Status.Conditions, infrav1.RolledOutCondition) {
		t.Errorf("running are %+v", running)
	}
}
