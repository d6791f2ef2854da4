package launchconfig

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
)

// TestRetiredTagIsRemovedThoughUnseen holds that a tag that a config gave its template is taken from
// it when the spec no longer asks for it, though EC2 does not show yet that the template has it.
func TestRetiredTagIsRemovedThoughUnseen(t *testing.T) {
	t.Parallel()
	for _, forgetful := range []bool{false, true} {
		r := newRig(t, launchConfig(nil))
		r.reconcile()
		r.clock.Step(time.Minute)
		tagged := func() bool {
			out, err := r.ec2.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{})
			if err != nil || len(out.LaunchTemplates) != 1 {
				t.Fatalf("%d templates, error %v", len(out.LaunchTemplates), err)
			}
			return slices.ContainsFunc(out.LaunchTemplates[0].Tags, func(tag ec2types.Tag) bool { return *tag.Key == "team" })
		}
		pass := func() {
			if forgetful {
				r.restart()
			}
			r.reconcile()
		}
		lagging := awssim.Behavior{ReadLag: 10 * time.Second}
		r.sim.SetBehavior(lagging)
		r.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.AdditionalTags = infrav1.Tags{"team": "blue"} })
		pass()
		r.sim.SetBehavior(awssim.Behavior{})
		if !tagged() {
			t.Fatal("the template was not tagged")
		}
		r.sim.SetBehavior(lagging)
		if tagged() {
			t.Fatal("EC2 shows the tag at once")
		}
		r.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.AdditionalTags = nil })
		pass()
		r.sim.SetBehavior(awssim.Behavior{})
		for range 5 {
			r.clock.Step(time.Minute)
			pass()
		}
		if tagged() {
			t.Errorf("restarted before each pass: %t: the template still has the tag", forgetful)
		}
	}
}
