package launchconfig

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// skewed is the clock of a machine that is ahead of EC2's.
type skewed struct {
	clock.PassiveClock
	ahead time.Duration
}

func (s skewed) Now() time.Time                      { return s.PassiveClock.Now().Add(s.ahead) }
func (s skewed) Since(since time.Time) time.Duration { return s.Now().Sub(since) }

// TestClocksOfEC2AndManager holds that a difference between EC2's clock and the manager's does not
// affect when a template counts as deleted, and when a change of it counts as made outside Slipway.
func TestClocksOfEC2AndManager(t *testing.T) {
	t.Parallel()
	for reason, ahead := range map[string]time.Duration{"EC2's clock is ahead": -time.Hour, "the same": 0, "EC2's clock is behind": time.Hour} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, launchConfig(nil))
			r.subject.options.Clock, r.subject.frame.Clock = skewed{r.clock, ahead}, skewed{r.clock, ahead}
			id := r.reconcile().Status.LaunchTemplateID
			changedByAnother := func() (warnings int) {
				r.foreignDefault(id)
				cloud := r.cloud()
				cloud.SeenTemplates.Invalidate(configName)
				if config := r.reconcile(); config.Status.DefaultVersion != 1 {
					t.Errorf("version %d is the default", config.Status.DefaultVersion)
				}
				return len(r.recorded("Warning LaunchTemplateChangedOutside"))
			}
			if got := changedByAnother(); got != 0 {
				t.Errorf("%d warnings of what may be how the template was before it was written", got)
			}
			r.clock.Step(2 * visibleAfter)
			if got := changedByAnother(); got != 1 {
				t.Errorf("%d warnings of a change by another", got)
			}
			r.clock.Step(2 * visibleAfter)
			if _, err := r.ec2.DeleteLaunchTemplate(t.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &id}); err != nil {
				t.Fatal(err)
			}
			r.cloud().SeenTemplates.Invalidate(configName)
			r.sim.ClearCalls()
			r.reconcile()
			r.expectWrites()
			r.clock.Step(describeAgain)
			config := r.reconcile()
			r.expect(config, infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason, "")
			if config.Status.LaunchTemplateID == id {
				t.Errorf("the template that was deleted is still %s", id)
			}
			r.expectWrites("CreateLaunchTemplate")
		})
	}
}
