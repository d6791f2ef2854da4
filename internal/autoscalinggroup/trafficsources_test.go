package autoscalinggroup

import (
	"fmt"
	"slices"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
)

// TestTrafficSourceChanges holds that traffic sources come and go with the spec, and that traffic
// sources that others attached stay.
func TestTrafficSourceChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	desired := r.here(plain())
	desired.TrafficSources = trafficSources
	r.create(desired)
	theirs := TrafficSource{Identifier: "arn:aws:vpc-lattice:us-east-1:111122223333:targetgroup/tg-0123456789abcdefa", Type: "vpc-lattice"}
	if _, err := r.asg.AttachTrafficSources(t.Context(), attachInput("pool", []TrafficSource{theirs}, Settings{})); err != nil {
		t.Fatal(err)
	}
	var many []TrafficSource
	for i := range 11 {
		many = append(many, TrafficSource{Identifier: fmt.Sprintf("classic%02d", i), Type: "elb"})
	}
	for _, row := range []struct {
		reason  string
		wanted  []TrafficSource
		retired []string
		calls   []string
	}{
		{"made with the group", trafficSources, Identifiers(trafficSources), nil},
		{"one that another client attached is not ours to detach", trafficSources, nil, nil},
		{"one that is not seen, and not attached", trafficSources, []string{"absent"}, []string{"DetachTrafficSources"}},
		{"ten at once are attached", many, Identifiers(trafficSources), []string{"AttachTrafficSources", "AttachTrafficSources", "DetachTrafficSources"}},
		{"ten at once are detached", nil, Identifiers(many), []string{"DetachTrafficSources", "DetachTrafficSources"}},
	} {
		r.sim.ClearCalls()
		group := r.see("pool")
		r.change(Desired{TrafficSources: row.wanted}, Given{TrafficSources: row.retired}, &group, trafficSourceChanges)
		r.expectCalls(row.reason, row.calls...)
		want := sortSources(append(slices.Clone(row.wanted), theirs))
		if difference := cmp.Diff(want, r.see("pool").TrafficSources); difference != "" {
			t.Errorf("%s: in AWS (-want +got):\n%s", row.reason, difference)
		}
		if difference := cmp.Diff(want, group.TrafficSources); difference != "" {
			t.Errorf("%s: shown on the group (-want +got):\n%s", row.reason, difference)
		}
	}
}

// TestZonalShiftValidation holds that AWS's validation of load balancers is skipped if, and only
// if, the pool says so: when zonal shift is enabled, and when a traffic source comes to a group
// with zonal shift.
func TestZonalShiftValidation(t *testing.T) {
	t.Parallel()
	for _, skip := range []bool{false, true} {
		r := newRig(t)
		for _, name := range []string{targetGroups[0], trafficSources[0].Identifier} {
			if err := r.sim.Region(awssim.DefaultAccount, "us-east-1").SetCrossZone(name, false); err != nil {
				t.Fatal(err)
			}
		}
		desired := r.here(plain())
		desired.TargetGroupARNs = targetGroups[:1]
		group := r.create(desired)
		shifted := desired
		shifted.Settings.ImpairedZone, shifted.Settings.SkipZonalShiftValidation = "IgnoreUnhealthy", skip
		shifted.TrafficSources = trafficSources[:1]
		if err := r.groups.Update(t.Context(), shifted, group); (err == nil) != skip {
			t.Fatalf("validation skipped %t: the update ended with %v", skip, err)
		}
		if !skip {
			continue
		}
		updated := r.see("pool")
		if reasons := updateReasons(shifted, updated); len(reasons) > 0 {
			t.Errorf("AWS does not keep what was skipped, and the group is to be updated again: %q", reasons)
		}
		r.change(shifted, Given{}, &updated, trafficSourceChanges)
		_, err := r.asg.AttachTrafficSources(t.Context(), &autoscaling.AttachTrafficSourcesInput{
			AutoScalingGroupName: awssdk.String("pool"), TrafficSources: sourceIdentifiers(trafficSources[:1]),
		})
		if err == nil {
			t.Error("the simulated AWS takes a traffic source that it should refuse")
		}
	}
}
