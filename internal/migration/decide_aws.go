package migration

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// AwaitsTakeover reports whether Slipway has yet to take a pool over, and nothing that the objects show
// prevents it. Where Slipway reconciles the pool already, its conditions show what AWS holds.
func (o Observed) AwaitsTakeover(p Pool) bool {
	cluster := o.clusterOf(p)
	reconciles := o.slipwayRuns() && !o.capaRuns() && cluster != nil && !cluster.paused() && !p.Release
	return !p.Owned && !reconciles && decideCheck(o, p).State == Done
}

// decideAWS reports whether AWS shows that Slipway can take a pool over. Check is the step about its objects.
func decideAWS(o Observed, p Pool, check Step) Step {
	step := Step{Name: CheckAWS, Target: poolTarget(p), State: Blocked}
	switch {
	case p.Owned:
		return done(step, Done, "Slipway manages the pool already.")
	case check.State != Done:
		return done(step, Skipped, "AWS was not checked, because step %s is %s.", CheckPool, check.State)
	case !o.AwaitsTakeover(p):
		return done(step, Skipped, "AWS was not checked, because Slipway is taking the pool over.")
	case p.Takeover == nil && o.AWSUnchecked != "":
		return done(step, Skipped, "AWS was not checked. %s Slipway checks AWS when the cluster is resumed, and does not take over what it cannot prove to be the pool's.", sentence(o.AWSUnchecked))
	case p.Takeover == nil:
		return done(step, Skipped, "AWS was not checked.")
	}
	found, remedy := p.takeoverProblem()
	if found == "" {
		found = fmt.Sprintf("AWS shows that Slipway can take over %s.", p.resources())
		if p.Takeover.Adopted.Reason == infrav1.AdoptedWithDifferencesReason {
			found += " " + sentence(p.Takeover.Adopted.Message)
		}
		return done(step, Done, "%s", found)
	}
	step.Found, step.Remedy = found, remedy+again+leaveOut
	step.Nodes = "Slipway would not take the pool over. Its nodes would keep running, and no controller would manage them."
	switch {
	case p.Takeover.Busy != "":
		step.Nodes = "AWS may be replacing nodes. Meanwhile, no controller would manage them."
	case p.Takeover.Replaced > 0 && len(p.Takeover.Problems) == 0:
		step.Nodes = fmt.Sprintf("Slipway would replace %d nodes.", p.Takeover.Replaced)
	}
	return step
}

// identityAdvice is about a check that has fewer rights than Slipway, or other ones.
const identityAdvice = " If your AWS credentials may do less than Slipway's identity, use others, or leave this check out with --skip-aws."

// takeoverProblem returns what keeps Slipway from taking a pool over by what AWS holds, and what to do about
// it. Both are empty if nothing does.
func (p Pool) takeoverProblem() (found, remedy string) {
	takeover := p.Takeover
	switch {
	case takeover.Failed != "":
		return "The check of AWS failed. " + sentence(takeover.Failed), "Act on the message." + identityAdvice
	case len(takeover.Problems) > 0:
		problem := takeover.Problems[0]
		return sentence(problem.Message), "Act on the message; docs/how-to/migration.md lists the reasons (" + problem.Reason + ")." + identityAdvice
	case takeover.Creates:
		return p.missing()
	case takeover.Replaced > 0:
		return fmt.Sprintf("Slipway would replace %d instances of %s.", takeover.Replaced, p.group()),
			"Run `slipway plan` for the pool, which shows the reason, and edit the spec to match the configuration that runs."
	case takeover.Busy != "":
		return sentence(takeover.Busy), "Wait until AWS has finished. It continues during a migration."
	case takeover.Adopted.Status != metav1.ConditionTrue:
		found = "Slipway would not complete the takeover of " + p.group() + "."
		if takeover.Adopted.Message != "" {
			found += " " + sentence(takeover.Adopted.Message)
		}
		return found, "Wait until AWS shows no change of the group or of its instances in progress." + identityAdvice
	}
	return "", ""
}

// missing returns that AWS has no group of a pool where Slipway looks for it, and what to do about it.
func (p Pool) missing() (found, remedy string) {
	where := "the account and region of the cluster"
	if p.Takeover.Account != "" {
		where = fmt.Sprintf("account %s, region %s", p.Takeover.Account, p.Takeover.Region)
	}
	found = fmt.Sprintf("There is no %s in %s, so Slipway would create it.", p.group(), where)
	remedy = "Check the identity and the region of the cluster. If the group was deleted, delete the pool."
	account, region := placeOf(p.namedARN())
	if account == "" || p.Takeover.Account == "" || account == p.Takeover.Account && region == p.Takeover.Region {
		return found, remedy
	}
	found += fmt.Sprintf(" The pool names a group in account %s, region %s.", account, region)
	if account == p.Takeover.Account {
		remedy = "Check spec.region of the cluster's infrastructure."
	} else {
		remedy = "Set spec.identityRef of the cluster's infrastructure to the identity that CAPA used. Without one, run this command, and Slipway, with " +
			"AWS credentials of account " + account + "."
	}
	return found, remedy
}

// group returns the name of the pool's group.
func (p Pool) group() string {
	if p.Kind == managed {
		return "node group " + p.Resource
	}
	return "Auto Scaling group " + p.Resource
}
