package launchconfig

import (
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
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

// TestDecideFullTemplate holds that no version is deleted from a full template before AWS has said which are in use.
func TestDecideFullTemplate(t *testing.T) {
	t.Parallel()
	full := &smithy.GenericAPIError{Code: "MaxTemplateVersionLimitExceeded", Message: "no more versions"}
	for _, row := range []struct {
		reason string
		given  func(w *world)
		// deletes is the number of calls that delete versions.
		deletes int
	}{
		{reason: "nothing uses the oldest version", given: func(*world) {}, deletes: 1},
		{reason: "AWS does not say who uses them", given: func(w *world) { w.answers[needUse] = func(seen *Observed) { seen.Use = &use{Err: errRefused} } }},
		{reason: "AWS was asked recently", given: func(w *world) { w.seen.LastAsked = w.now.Add(-time.Minute) }},
		{reason: "another version was wanted right before", given: func(w *world) { w.config.Status.LaunchTemplateChanged = &metav1.Time{Time: w.now} }},
		{reason: "EC2 refuses the call", given: func(w *world) { w.fails["delete versions"] = errRefused }, deletes: 1},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := readyWorld(t)
			w.config.Spec.VersionsToKeep, w.config.Spec.InstanceType = ptr.To[int32](5), "m5.xlarge"
			w.pass()
			w.now = w.now.Add(time.Hour)
			w.config.Spec.VersionsToKeep, w.config.Spec.InstanceType = ptr.To[int32](1), "m5.2xlarge"
			w.fails["create a version"] = full
			row.given(w)
			log := w.pass()
			if deletes := len(slices.DeleteFunc(log, func(done string) bool { return !strings.HasPrefix(done, "delete versions") })); deletes != row.deletes {
				t.Errorf("versions were deleted %d times, want %d", deletes, row.deletes)
			}
			w.says(infrav1.LaunchTemplateReadyCondition, "False "+infrav1.QuotaExceededReason)
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
