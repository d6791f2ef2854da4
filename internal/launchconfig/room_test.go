package launchconfig

import (
	"slices"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	awsworld "github.com/slipway-project/slipway/awssim/world"
)

// TestFullTemplate holds that a template that has as many versions as EC2 allows loses the versions
// that nothing uses, so that an edit has its effect, and that what keeps it full is shown.
func TestFullTemplate(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		change func(*infrav1.AWSLaunchConfig)
		// grouped has a group use version 1.
		grouped bool
		want    []int64
		shows   string
	}{
		{reason: "nothing uses its versions", want: []int64{1, 3, 4}},
		{reason: "a group uses a version", grouped: true, want: []int64{1, 3, 4}},
		{reason: "the edit waits for approval", change: func(config *infrav1.AWSLaunchConfig) {
			config.Spec.Rollout = infrav1.LaunchConfigRolloutManual
		}, want: []int64{1, 3, 4}},
		{reason: "all of its versions are to be kept", change: func(config *infrav1.AWSLaunchConfig) { config.Spec.VersionsToKeep = ptr.To[int32](3) },
			want: []int64{1, 2, 3}, shows: "Lower versionsToKeep"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			account := *awsworld.Default()
			account.Quotas = map[string]int{awsworld.QuotaLaunchTemplateVersions: 3}
			r := newRigWith(t, awssim.Options{World: &account}, launchConfig(func(config *infrav1.AWSLaunchConfig) {
				config.Spec.VersionsToKeep = ptr.To[int32](1)
				if row.change != nil {
					row.change(config)
				}
			}))
			config := r.reconcile()
			if row.grouped {
				r.groupOfVersion1(config)
			}
			r.addVersion(config)
			r.otherVersion(config)
			r.clock.Step(time.Hour)
			r.restart()
			r.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.InstanceType = "c5.large" })
			config = r.reconcile()
			if got := r.versions(config); !slices.Equal(got, row.want) {
				t.Errorf("there are versions %v, want %v: %+v", got, row.want, config.Status.Conditions)
			}
			if row.shows != "" {
				r.expect(config, infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, infrav1.QuotaExceededReason, row.shows)
				return
			}
			r.expect(config, infrav1.LaunchTemplateReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason, "")
			if said := r.recorded("Normal LaunchTemplateVersionsPruned"); len(said) != 1 {
				t.Errorf("events: %q", said)
			}
		})
	}
}

// otherVersion creates a version that is like no other, past the controller.
func (r *rig) otherVersion(config *infrav1.AWSLaunchConfig) {
	r.Helper()
	_, err := r.ec2.CreateLaunchTemplateVersion(r.Context(), &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: &config.Status.LaunchTemplateID, SourceVersion: awssdk.String("1"),
		LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: "m5.2xlarge"},
	})
	if err != nil {
		r.Fatal(err)
	}
}
