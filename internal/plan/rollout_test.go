package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// TestPlanOfAside holds that a plan knows which instances a refresh leaves alone, and for which it waits.
func TestPlanOfAside(t *testing.T) {
	const waits, ignores = "they are protected from scale in. Remove the protection, or set refreshPreferences.scaleInProtectedInstances",
		"they are protected from scale in, and the refresh ignores such instances"
	for name, tc := range map[string]struct {
		reason      string
		preferences infrav1.RefreshPreferences
		// replaced, stay, and held are the numbers of instances, of which the first is protected.
		replaced, stay, held int
		why                  string
	}{
		"Default": {reason: "AWS waits for protected instances.", replaced: 3, held: 1, why: waits},
		"Wait":    {reason: "AWS waits if it is asked to.", preferences: infrav1.RefreshPreferences{ScaleInProtectedInstances: "Wait"}, replaced: 3, held: 1, why: waits},
		"Ignore":  {reason: "An ignored instance is not replaced.", preferences: infrav1.RefreshPreferences{ScaleInProtectedInstances: "Ignore"}, replaced: 2, stay: 1, why: ignores},
		"Refresh": {reason: "Protection does not matter.", preferences: infrav1.RefreshPreferences{ScaleInProtectedInstances: "Refresh"}, replaced: 3},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.running()
			protected := r.instances()[:1]
			groups := autoscaling.NewFromConfig(r.planner.AWS)
			_, err := groups.SetInstanceProtection(t.Context(), &autoscaling.SetInstanceProtectionInput{
				AutoScalingGroupName: ptr.To(key.Name), InstanceIds: protected, ProtectedFromScaleIn: ptr.To(true),
			})
			r.do(err)
			r.sim.ClearCalls()
			edited := r.stored()
			edited.Spec.AWSLaunchTemplate.InstanceType = "m5.xlarge"
			edited.Spec.RefreshPreferences = &tc.preferences
			made := r.plan(edited).Pools[0]
			if made.Rollout == nil {
				t.Fatalf("%s The plan has no roll-out: %+v", tc.reason, made)
			}
			if len(made.Replaced()) != tc.replaced || made.Rollout.Replaced != tc.replaced {
				t.Errorf("%s replaced: got %v and %d, want %d", tc.reason, made.Replaced(), made.Rollout.Replaced, tc.replaced)
			}
			for what, got := range map[string][]Aside{"stay": made.Rollout.Stay, "held": made.Rollout.Held} {
				var want []Aside
				if what == "stay" && tc.stay > 0 || what == "held" && tc.held > 0 {
					want = []Aside{{Instances: protected, Reason: tc.why}}
				}
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Errorf("%s %s: -want +got:\n%s", tc.reason, what, diff)
				}
			}
		})
	}
}

// TestPlanOfHalf holds that instances which run the edited spec already stay, unless the user wants all of
// them replaced.
func TestPlanOfHalf(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		skip   *bool
		stay   int
	}{
		"Skip": {reason: "Instances that match stay.", stay: 2},
		"All":  {reason: "A user may want all instances replaced.", skip: ptr.To(false)},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			object := pool()
			object.Spec.RefreshPreferences.Disable = true
			r.run(object)
			before := r.instances()
			larger := r.stored()
			larger.Spec.AWSLaunchTemplate.InstanceType = "m5.xlarge"
			r.do(r.cluster.Update(t.Context(), larger))
			r.settle()
			// The group replaces two of the instances, and nothing else does.
			groups := autoscaling.NewFromConfig(r.planner.AWS)
			for _, instance := range before[:2] {
				_, err := groups.TerminateInstanceInAutoScalingGroup(t.Context(), &autoscaling.TerminateInstanceInAutoScalingGroupInput{
					InstanceId: &instance, ShouldDecrementDesiredCapacity: ptr.To(false),
				})
				r.do(err)
			}
			r.settle()
			edited := r.stored()
			edited.Spec.RefreshPreferences.Disable, edited.Spec.RefreshPreferences.SkipMatching = false, tc.skip
			r.sim.ClearCalls()
			made := r.plan(edited).Pools[0]
			if made.Rollout == nil {
				t.Fatalf("%s The plan has no roll-out: %+v", tc.reason, made)
			}
			var stay []string
			for _, aside := range made.Rollout.Stay {
				stay = append(stay, aside.Instances...)
			}
			if len(stay) != tc.stay || len(made.Replaced()) != 3-tc.stay || !slices.Contains(made.Replaced(), before[2]) {
				t.Errorf("%s got %v replaced, and %+v stays; want %d to stay, and %s replaced", tc.reason, made.Replaced(), made.Rollout.Stay, tc.stay, before[2])
			}
		})
	}
}

// TestPlanDuringRollout holds that the plan of an edit which supersedes a roll-out has the roll-out that
// follows: the instance refresh in progress is canceled, and another one replaces the nodes.
func TestPlanDuringRollout(t *testing.T) {
	for name, behind := range map[string]time.Duration{"SameTime": 0, "BehindAWS": time.Hour} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.running()
			before := r.stored()
			before.Spec.AWSLaunchTemplate.InstanceType = "m5.xlarge"
			r.do(r.cluster.Update(t.Context(), before))
			r.settle()
			r.sim.ClearCalls()
			own := &aheadClock{WithTicker: r.clock}
			own.advance(-behind)
			r.planner.Clock = own
			edited := r.stored()
			edited.Spec.AWSLaunchTemplate.InstanceType = "m5.2xlarge"
			text := r.printed(r.plan(edited))
			for _, want := range []string{
				"spec.awsLaunchTemplate.instanceType  m5.xlarge → m5.2xlarge  replaces nodes", "start an instance refresh", "Replaces 3 of 3 instances",
			} {
				if !strings.Contains(text, want) {
					t.Errorf("Print(plan): no %q in\n%s", want, text)
				}
			}
			if got := strings.Count(text, "cancel instance refresh"); got != 1 {
				t.Errorf("Print(plan): the refresh is canceled %d times in\n%s", got, text)
			}
		})
	}
}
