package plan

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// TestPlanOfPin holds that a pin is no problem of the edit that sets it, unless the version does not exist, and
// that fields which a pin overrides have no effect.
func TestPlanOfPin(t *testing.T) {
	const pin, instanceType, maxSize = "spec.pinnedVersion", "spec.awsLaunchTemplate.instanceType", "spec.maxSize"
	r := newRig(t)
	r.running()
	larger := r.stored()
	larger.Spec.AWSLaunchTemplate.InstanceType = "m5.xlarge"
	r.do(r.cluster.Update(t.Context(), larger))
	for range 4 {
		r.settle()
	}
	r.sim.ClearCalls()
	rolledOut := r.stored()
	for name, tc := range map[string]struct {
		reason string
		edit   func(*infrav1.AWSMachinePoolSpec)
		want   map[string]Effect
		// problems are the reasons of the problems.
		problems []string
		text     string
	}{
		"Pin": {
			reason: "The user wants the pin.", edit: func(spec *infrav1.AWSMachinePoolSpec) { spec.PinnedVersion = ptr.To[int64](1) },
			want: map[string]Effect{pin: Replaces}, text: "Replaces 3 of 3 instances",
		},
		"Current": {
			reason: "A pin to what runs replaces nothing.", edit: func(spec *infrav1.AWSMachinePoolSpec) { spec.PinnedVersion = ptr.To[int64](2) },
			want: map[string]Effect{pin: Nothing}, text: "Nothing changes in AWS",
		},
		"Missing": {
			reason: "A version that does not exist is a problem.", edit: func(spec *infrav1.AWSMachinePoolSpec) { spec.PinnedVersion = ptr.To[int64](9) },
			want: map[string]Effect{pin: Fails}, problems: []string{infrav1.VersionNotFoundReason}, text: "version 9",
		},
		"Overridden": {
			reason: "A pin overrides another field of the launch template.",
			edit: func(spec *infrav1.AWSMachinePoolSpec) {
				spec.PinnedVersion, spec.AWSLaunchTemplate.InstanceType = ptr.To[int64](1), "m5.2xlarge"
			},
			want: map[string]Effect{pin: Replaces, instanceType: Nothing}, text: "Replaces 3 of 3 instances",
		},
		"Size": {
			reason: "A pin does not override sizes.",
			edit:   func(spec *infrav1.AWSMachinePoolSpec) { spec.PinnedVersion, spec.MaxSize = ptr.To[int64](1), 9 },
			want:   map[string]Effect{pin: Replaces, maxSize: InPlace}, text: "Replaces 3 of 3 instances",
		},
		"MissingAndSize": {
			reason: "What another field does is not known if the pin fails.",
			edit:   func(spec *infrav1.AWSMachinePoolSpec) { spec.PinnedVersion, spec.MaxSize = ptr.To[int64](9), 9 },
			want:   map[string]Effect{pin: Fails, maxSize: Unknown}, problems: []string{infrav1.VersionNotFoundReason},
		},
	} {
		edited := rolledOut.DeepCopy()
		tc.edit(&edited.Spec)
		r.expectPlan(r.plan(edited), name+": "+tc.reason, tc.want, tc.problems, tc.text)
	}
	changed := rolledOut.DeepCopy()
	changed.Spec.PinnedVersion = ptr.To[int64](1)
	if shown := r.printed(r.plan(changed)); !strings.Contains(shown, "The change of the price is not known: the pinned version") {
		t.Errorf("a pin to a version of another instance type: got\n%s\nwant that its price is not known", shown)
	}
	pinned := r.stored()
	pinned.Spec.PinnedVersion = ptr.To[int64](2)
	r.do(r.cluster.Update(t.Context(), pinned))
	r.settle()
	edited := r.stored()
	edited.Spec.AWSLaunchTemplate.InstanceType = "m5.2xlarge"
	r.expectPlan(r.plan(edited), "An edit that an earlier pin overrides does nothing, and the plan says why.",
		map[string]Effect{instanceType: Nothing}, []string{infrav1.PinnedReason}, "because pinnedVersion names it")
	edited.Spec.PinnedVersion = nil
	r.expectPlan(r.plan(edited), "An edit that removes the pin has the effect that it has without one.",
		map[string]Effect{pin: Nothing, instanceType: Replaces}, nil, "Replaces 3 of 3 instances")
}

// expectPlan expects the effect of each field, the reasons of problems, and a text in what is printed.
func (r *rig) expectPlan(made Plan, reason string, effects map[string]Effect, problems []string, text string) {
	r.Helper()
	got, found := map[string]Effect{}, []string(nil)
	for _, change := range made.Changes {
		got[change.Path] = change.Effect
	}
	for _, problem := range made.Pools[0].Problems {
		found = append(found, problem.Reason)
	}
	if diff := gocmp.Diff(effects, got); diff != "" {
		r.Errorf("%s effects: -want +got:\n%s", reason, diff)
	}
	if diff := gocmp.Diff(problems, found); diff != "" {
		r.Errorf("%s problems: -want +got:\n%s", reason, diff)
	}
	if printed := r.printed(made); !strings.Contains(printed, text) {
		r.Errorf("%s Print(plan): got\n%s\nwant text with %q", reason, printed, text)
	}
}
