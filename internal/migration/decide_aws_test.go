package migration

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/preflight"
)

// TestAWSIsChecked holds what stops a migration before anything is paused.
func TestAWSIsChecked(t *testing.T) {
	t.Parallel()
	adopted := metav1.Condition{Status: metav1.ConditionTrue, Reason: infrav1.AdoptedReason}
	with := func(takeover Takeover) func(*Observed) {
		return onPool(func(p *Pool) { p.Takeover = &takeover })
	}
	for _, row := range []row{
		{reason: "Slipway takes the pool over", change: with(Takeover{Adopted: adopted}), name: PauseCluster, state: Due},
		{reason: "a condition refuses it", change: with(Takeover{Problems: []Problem{{infrav1.NameTakenReason, "nothing shows that it belongs to this pool"}}}), name: CheckAWS, state: Blocked,
			found: "Nothing shows that it belongs to this pool.", remedy: "lists the reasons (NameTaken)"},
		{reason: "there is no group", change: with(Takeover{Creates: true}), name: CheckAWS, state: Blocked, found: "There is no Auto Scaling group pool", remedy: "Check the identity and the region"},
		{reason: "there is no node group", change: onPool(func(p *Pool) { p.Kind, p.Takeover = managed, &Takeover{Creates: true} }), name: CheckAWS, state: Blocked, found: "There is no node group pool"},
		{reason: "nodes would be replaced", change: with(Takeover{Adopted: adopted, Replaced: 2}), name: CheckAWS, state: Blocked, found: "would replace 2 instances", remedy: "slipway plan"},
		{reason: "a roll-out is in progress", change: with(Takeover{Adopted: adopted, Busy: "instance refresh r-1 is InProgress"}), name: CheckAWS, state: Blocked,
			found: "Instance refresh r-1 is InProgress.", remedy: "Wait until it is complete."},
		{reason: "the takeover is not complete", change: with(Takeover{Adopted: falseBecause(infrav1.AdoptingReason, "Slipway is adopting it")}), name: CheckAWS, state: Blocked, found: "would not complete the takeover of Auto Scaling group pool. Slipway is adopting it."},
		{reason: "nothing is adopted", change: with(Takeover{}), name: CheckAWS, state: Blocked, found: "would not complete the takeover"},
		{reason: "the check failed", change: with(Takeover{Failed: "secrets is forbidden"}), name: CheckAWS, state: Blocked, found: "Secrets is forbidden.", remedy: "--skip-aws"},
		{reason: "AWS was not checked", change: func(o *Observed) { o.AWSUnchecked = "there are no credentials" }, name: PauseCluster, state: Due},
	} {
		row.check(t, ToSlipway, before())
	}
}

// TestUncheckedAWS holds that a step always says that AWS was not checked, and why.
func TestUncheckedAWS(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		change func(*Observed)
		state  State
		found  string
	}{
		{"there are no credentials", func(o *Observed) { o.AWSUnchecked = "there are no credentials" }, Skipped, "AWS was not checked. There are no credentials. Slipway checks AWS"},
		{"nobody tried", func(*Observed) {}, Skipped, "AWS was not checked."},
		{"the objects refuse it", onPool(func(p *Pool) { p.SharedConfig = true }), Skipped, "because step check-pool is blocked"},
		{"the pool is left out", onPool(func(p *Pool) { p.LeftOut = true }), Skipped, "because step check-pool is skipped"},
		{"Slipway manages it", onPool(func(p *Pool) { p.Owned = true }), Done, "manages the pool already"},
		{"Slipway reconciles it", func(o *Observed) {
			*o = after()
			o.Pools[0].Owned, o.Management.Manager = false, &preflight.Deployment{Replicas: 1}
		}, Skipped, "Slipway is taking the pool over"},
		{"the spec differs", onPool(func(p *Pool) {
			p.Takeover = &Takeover{Adopted: metav1.Condition{Status: metav1.ConditionTrue, Reason: infrav1.AdoptedWithDifferencesReason, Message: "volume added"}}
		}), Done, "AWS shows that Slipway can take over Auto Scaling group pool and its launch template. Volume added."},
	} {
		observed := before()
		row.change(&observed)
		for _, step := range Decide(ToSlipway, observed).Steps {
			if step.Name == CheckAWS && (step.State != row.state || !strings.Contains(step.Found, row.found)) {
				t.Errorf("%s: the step is %+v", row.reason, step)
			}
		}
	}
}
