package plan

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/aws"
)

// TestPlanWaits holds that a plan that AWS throttles, or would throttle, waits and is the same.
func TestPlanWaits(t *testing.T) {
	r := newRig(t)
	edited := r.runMany(5)
	r.do(r.cluster.Get(t.Context(), client.ObjectKeyFromObject(edited), edited))
	edited.Spec.Template.Spec.InstanceType = "m5.xlarge"
	plan := func() string {
		made, err := r.planner.Plan(t.Context(), edited)
		r.do(err)
		encoded, err := json.Marshal(made)
		r.do(err)
		return string(encoded)
	}
	want := plan()
	r.planner.AtOnce = 3
	for name, tc := range map[string]struct {
		reason string
		limits aws.Limits
		fault  *awssim.Fault
	}{
		"Budget": {
			reason: "Reads beyond the request budget wait for it.",
			limits: aws.Limits{"ec2:": {Burst: 1, PerSecond: 1}, "autoscaling:": {Burst: 1, PerSecond: 1}},
		},
		"Throttled": {
			reason: "A read that AWS throttles is sent again.",
			limits: aws.DefaultLimits(),
			fault:  &awssim.Fault{Service: "autoscaling", Action: "DescribeAutoScalingGroups", Nth: 1, Count: 12, Code: "Throttling"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.fault != nil {
				_, err := r.sim.AddFault(*tc.fault)
				r.do(err)
			}
			r.clock.SetRate(1000)
			defer r.clock.SetRate(0)
			r.planner.Limits = tc.limits
			if diff := cmp.Diff(want, plan()); diff != "" {
				t.Errorf("%s Plan: -without limits +got:\n%s", tc.reason, diff)
			}
		})
	}
}
