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
	adopting := falseBecause(infrav1.AdoptingReason, "Slipway is adopting it")
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
		{reason: "the group is in another account", change: with(Takeover{Creates: true, Account: "210987654321", Region: "us-east-1"}), name: CheckAWS, state: Blocked,
			found:  "There is no Auto Scaling group pool in account 210987654321, region us-east-1, so Slipway would create it. The pool names a group in account 123456789012, region us-east-1.",
			remedy: "Set spec.identityRef of the cluster's infrastructure to the identity that CAPA used. Without one, run this command, and Slipway, with AWS credentials of account 123456789012."},
		{reason: "the group is in another region", change: with(Takeover{Creates: true, Account: "123456789012", Region: "eu-west-1"}), name: CheckAWS, state: Blocked,
			found: "The pool names a group in account 123456789012, region us-east-1.", remedy: "Check spec.region of the cluster's infrastructure."},
		{reason: "the group was deleted", change: with(Takeover{Creates: true, Account: "123456789012", Region: "us-east-1"}), name: CheckAWS, state: Blocked,
			found: "in account 123456789012, region us-east-1, so Slipway would create it.", remedy: "If the group was deleted, delete the pool."},
		{reason: "the identity's role cannot be assumed", change: with(Takeover{Problems: []Problem{{infrav1.CredentialsInvalidReason, "assuming role arn:aws:iam::210987654321:role/capa: AccessDenied: " +
			"allow the caller in the trust policy of the role"}}}), name: CheckAWS, state: Blocked,
			found: "allow the caller in the trust policy of the role.", remedy: "lists the reasons (CredentialsInvalid). If your AWS credentials may do less than Slipway's identity, use others"},
		{reason: "a roll-out is in progress", change: with(Takeover{Adopted: adopting, Busy: "instance refresh r-1 is in progress"}), name: CheckAWS, state: Blocked,
			found: "Instance refresh r-1 is in progress.", remedy: "Wait until AWS has finished."},
		{reason: "the node group is being updated", change: onPool(func(p *Pool) {
			p.Kind, p.Takeover = managed, &Takeover{Adopted: adopting, Busy: "EKS is updating node group pool"}
		}), name: CheckAWS, state: Blocked,
			found: "EKS is updating node group pool.", remedy: "Wait until AWS has finished."},
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
