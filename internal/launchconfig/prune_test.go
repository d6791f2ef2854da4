package launchconfig

import (
	"slices"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// A group that was created from a version right before another came to be wanted keeps its version,
// though AWS does not describe the group yet.
func TestPruneWaitsForWhatWasCreatedRecently(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason  string
		restart bool
		grouped bool
		want    []int64
	}{
		{reason: "a group uses the version", grouped: true, want: []int64{1, 2}},
		{reason: "a group uses the version, and the controller restarts", grouped: true, restart: true, want: []int64{1, 2}},
		{reason: "nothing uses the version", want: []int64{2}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, launchConfig(func(config *infrav1.AWSLaunchConfig) { config.Spec.VersionsToKeep = ptr.To[int32](1) }))
			config := r.reconcile()
			r.clock.Step(time.Hour)
			r.sim.SetBehavior(awssim.Behavior{ReadLag: 4 * time.Second})
			if row.grouped {
				r.groupOfVersion1(config)
			}
			r.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.InstanceType = "c5.large" })
			r.reconcile()
			if row.restart {
				r.restart()
				r.reconcile()
			}
			if got := r.versions(config); !slices.Equal(got, []int64{1, 2}) {
				t.Errorf("right after the edit there are versions %v", got)
			}
			r.clock.Step(usersVisibleAfter)
			r.reconcile()
			r.clock.Step(time.Minute)
			if got := r.versions(config); !slices.Equal(got, row.want) {
				t.Errorf("later there are versions %v, want %v", got, row.want)
			}
		})
	}
}

// addVersion creates a version from the first one, past the controller.
func (r *rig) addVersion(config *infrav1.AWSLaunchConfig) {
	r.Helper()
	_, err := r.ec2.CreateLaunchTemplateVersion(r.Context(), &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: &config.Status.LaunchTemplateID, SourceVersion: awssdk.String("1"),
		LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: "m5.xlarge"},
	})
	if err != nil {
		r.Fatal(err)
	}
}

// A version that the controller could not see when it created the next one is pruned with the others.
func TestPruneFindsVersionsThatWereNotVisible(t *testing.T) {
	t.Parallel()
	r := newRig(t, launchConfig(func(config *infrav1.AWSLaunchConfig) { config.Spec.VersionsToKeep = ptr.To[int32](1) }))
	config := r.reconcile()
	r.clock.Step(time.Hour)
	r.sim.SetBehavior(awssim.Behavior{ReadLag: 4 * time.Second})
	r.addVersion(config)
	r.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.InstanceType = "c5.large" })
	r.reconcile()
	if got := r.versions(config); !slices.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("after the edit there are versions %v", got)
	}
	r.clock.Step(usersVisibleAfter)
	r.reconcile()
	if got := r.versions(config); !slices.Equal(got, []int64{3}) {
		t.Errorf("later there are versions %v, want the newest alone", got)
	}
}

// A version that was created right before the next one, and that reads did not show, counts among
// the versions that are kept: it is found though the versions that are known are not too many.
func TestPruneFindsVersionsThatAreMissingInBetween(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason  string
		restart bool
		// deleted is true if another client deletes the version before the controller reads it.
		deleted bool
	}{
		{reason: "the controller goes on"},
		{reason: "the controller restarts before the version is visible", restart: true},
		{reason: "another client deletes the version", deleted: true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, launchConfig(func(config *infrav1.AWSLaunchConfig) { config.Spec.VersionsToKeep = ptr.To[int32](2) }))
			config := r.reconcile()
			r.clock.Step(time.Hour)
			r.sim.SetBehavior(awssim.Behavior{ReadLag: 4 * time.Second})
			r.addVersion(config)
			r.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.InstanceType = "c5.large" })
			config = r.reconcile()
			if condition := meta.FindStatusCondition(config.Status.Conditions, infrav1.VersionsPrunedCondition); condition.Reason != infrav1.VersionsNotVisibleReason {
				t.Errorf("right after the edit the condition is %+v", condition)
			}
			if row.restart {
				r.restart()
			}
			r.reconcile()
			if row.deleted {
				r.deleteVersion(config, "2")
			}
			r.clock.Step(usersVisibleAfter)
			config = r.reconcile()
			if got := r.versions(config); len(got) != 2 || got[1] != 3 {
				t.Errorf("half a minute later there are versions %v, want the newest and one other", got)
			}
			if condition := meta.FindStatusCondition(config.Status.Conditions, infrav1.VersionsPrunedCondition); condition.Status != metav1.ConditionTrue {
				t.Errorf("half a minute later the condition is %+v", condition)
			}
		})
	}
}

// TestUnseenVersionsAreCurrent holds that a version which reads skip counts as one with the wanted
// configuration until EC2 returns it, so that no instance that runs it is replaced before.
func TestUnseenVersionsAreCurrent(t *testing.T) {
	t.Parallel()
	r := newRig(t, launchConfig(nil))
	config := r.reconcile()
	r.clock.Step(time.Hour)
	r.sim.SetBehavior(awssim.Behavior{ReadLag: 4 * time.Second})
	r.addVersion(config)
	r.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.InstanceType = "c5.large" })
	for pass := range 3 {
		if config = r.reconcile(); !slices.Equal(config.Status.CurrentVersions, []int64{2, 3}) {
			t.Errorf("after pass %d, before EC2 returns version 2, versions %v are current", pass+1, config.Status.CurrentVersions)
		}
	}
	r.restart()
	r.clock.Step(usersVisibleAfter)
	if config = r.reconcile(); !slices.Equal(config.Status.CurrentVersions, []int64{3}) {
		t.Errorf("once EC2 returns version 2, versions %v are current", config.Status.CurrentVersions)
	}
}

// TestUnseenVersions holds which versions may have a configuration while reads skip some.
func TestUnseenVersions(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		change func(*Input)
		want   []int64
	}{
		{reason: "status does not record version 2", change: func(*Input) {}, want: []int64{2}},
		{reason: "status knows that it has the configuration", change: func(in *Input) {
			in.Object.Status.Versions = []infrav1.LaunchTemplateVersionStatus{{Number: 2, ConfigFingerprint: "wanted"}}
		}, want: []int64{2}},
		{reason: "status knows that it has another", change: func(in *Input) {
			in.Object.Status.Versions = []infrav1.LaunchTemplateVersionStatus{{Number: 2, ConfigFingerprint: "other"}}
		}},
		{reason: "EC2 has returned all since", change: func(in *Input) { in.Seen.VersionsRead = in.Now.Add(usersVisibleAfter) }},
		{reason: "reads skipped none", change: func(in *Input) {
			reconciling.True(in.Object, infrav1.VersionsPrunedCondition, infrav1.ReadyReason, "")
		}},
	} {
		in := Input{Now: time.Date(2026, time.November, 23, 10, 0, 0, 0, time.UTC), Object: &infrav1.AWSLaunchConfig{}}
		in.Seen.Template.Template = &launchtemplate.Template{LatestVersion: 3}
		in.Seen.Template.Versions = []launchtemplate.Version{{Number: 1}, {Number: 3, Created: in.Now}}
		reconciling.Unknown(in.Object, infrav1.VersionsPrunedCondition, infrav1.VersionsNotVisibleReason, "")
		row.change(&in)
		if got := unseenVersions(in, "wanted"); !slices.Equal(got, row.want) {
			t.Errorf("%s: versions %v, want %v", row.reason, got, row.want)
		}
	}
}

func (r *rig) deleteVersion(config *infrav1.AWSLaunchConfig, number string) {
	r.Helper()
	_, err := r.ec2.DeleteLaunchTemplateVersions(r.Context(), &ec2.DeleteLaunchTemplateVersionsInput{
		LaunchTemplateId: &config.Status.LaunchTemplateID, Versions: []string{number},
	})
	if err != nil {
		r.Fatal(err)
	}
}

// TestPinToVersionThatIsGone holds that a pin to a version which was deleted is shown, and that no pass
// fails for long, even if the controller remembers the version.
func TestPinToVersionThatIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t, launchConfig(nil))
	config := r.reconcile()
	for _, instanceType := range []string{"c5.large", "m5.xlarge", "r5.large"} {
		r.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.InstanceType = instanceType })
		r.reconcile()
	}
	r.deleteVersion(config, "2")
	r.clock.Step(time.Minute) // by then, EC2 shows every version that exists
	r.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.PinnedVersion = ptr.To[int64](2) })
	r.expect(r.reconcile(), infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, infrav1.VersionNotFoundReason, "versions 4, 3, 1")
}

// groupOfVersion1 creates a group that launches version 1 of the config's template.
func (r *rig) groupOfVersion1(config *infrav1.AWSLaunchConfig) {
	r.Helper()
	_, err := r.groups.CreateAutoScalingGroup(r.Context(), &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: awssdk.String("workers"), MinSize: ptr.To[int32](0), MaxSize: ptr.To[int32](1), VPCZoneIdentifier: awssdk.String("subnet-0b2000000000000aa"),
		LaunchTemplate: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: &config.Status.LaunchTemplateID, Version: awssdk.String("1")},
		Tags:           []asgtypes.Tag{{Key: awssdk.String(infrav1.TagLaunchConfig), Value: awssdk.String(owner(config))}},
	})
	if err != nil {
		r.Fatal(err)
	}
}

// versions are the numbers of the template's versions.
func (r *rig) versions(config *infrav1.AWSLaunchConfig) []int64 {
	r.Helper()
	r.clock.Step(5 * time.Second) // reads lag behind
	found, err := r.ec2.DescribeLaunchTemplateVersions(r.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &config.Status.LaunchTemplateID})
	if err != nil {
		r.Fatal(err)
	}
	var numbers []int64
	for _, version := range found.LaunchTemplateVersions {
		numbers = append(numbers, *version.VersionNumber)
	}
	slices.Sort(numbers)
	return numbers
}
