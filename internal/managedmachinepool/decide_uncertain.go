package managedmachinepool

import (
	"slices"
	"time"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// A change of the configuration that failed inside AWS may have been made, so it is repeated before anything else.
// Once that has failed so often, for so long, EKS's descriptions count: they show what EKS does within a minute.
const (
	mostUncertain = 3
	uncertainFor  = 5 * time.Minute
)

// uncertainUpdate is the type of attempts at a change of the configuration that failed inside AWS: EKS may
// have begun it.
const uncertainUpdate = "UncertainConfigUpdate"

// followUncertain records the changes of the configuration of which it is not known whether EKS began them. If another
// update waits for one, and EKS shows for long enough that it did not, the change has failed: the other update
// goes on, and the change is tried again after a delay. EKS itself refuses a second update at a time. So the worst
// that a change which begins late does is to delay the other update.
func followUncertain(in input, plan *reconcile.Plan) {
	concludeUncertain(in, plan)
	for _, done := range in.Done {
		update, is := done.Action.(updateNodegroup)
		if is && update.Config != nil {
			noteAttempt(in, uncertainUpdate, uncertainAfter(attemptsOf(in)[uncertainUpdate], update.Config.For, done.Err, in.Now))
		}
	}
}

// uncertainAfter returns the record of uncertain attempts after an attempt at a change. It names the newest change, and
// the time of the first failure since AWS last answered an attempt.
func uncertainAfter(last nodegroup.Attempt, change string, err error, now time.Time) nodegroup.Attempt {
	switch {
	case aws.IsUncertain(err):
	case aws.FateOf(err).Kind == aws.RetrySoon: // nothing was sent, or AWS throttles
		return last
	default:
		return nodegroup.Attempt{} // EKS began the change, or refused it
	}
	if !last.Failed {
		last = nodegroup.Attempt{Failed: true, Ended: now}
	}
	last.For, last.Answer, last.Attempts = change, aws.UserMessage(err), min(last.Attempts+1, mostUncertain)
	return last
}

// concludeUncertain records that a change failed whose attempts were uncertain, if EKS shows that it did not begin it.
func concludeUncertain(in input, plan *reconcile.Plan) {
	group, uncertain := in.Seen.Group, attemptsOf(in)[uncertainUpdate]
	if group == nil || !in.Seen.Fresh || group.Busy() || uncertain.Attempts < mostUncertain || in.Now.Sub(uncertain.Ended) < uncertainFor {
		return
	}
	change := nextStep(in).Config
	if change == nil || change.For != uncertain.For {
		return
	}
	kind := nodegroup.AttemptType(nodegroup.ConfigUpdate, change.For)
	before := slices.Clone(in.Object.Status.FailedUpdates)
	noteAttempt(in, kind, attemptsOf(in)[kind].Refused(change.For, uncertain.Answer, in.Now))
	uncertain.For = ""
	noteAttempt(in, uncertainUpdate, uncertain)
	if waits := nextStep(in); (waits.Config != nil || waits.Version != nil) && knownIdle(in, plan) {
		return
	}
	in.Object.Status.FailedUpdates = before
}

// knownIdle reports whether EKS's list of updates shows none that is under way, and has it read if it was not.
func knownIdle(in input, plan *reconcile.Plan) bool {
	switch running := in.Seen.Running; {
	case running.Err != nil:
		pool.ShowFailure(in.Object, plan, infrav1.NodegroupReadyCondition, infrav1.NodegroupReconcileFailedReason, running.Err)
		return false
	case !running.Read:
		plan.Need(needRunning)
		return false
	default:
		return running.Update == nil
	}
}

// forgetUncertain forgets uncertain attempts once no change of the configuration is wanted.
func forgetUncertain(in input, step nodegroup.Step) {
	if step.Config == nil && len(step.Refusals) == 0 {
		noteAttempt(in, uncertainUpdate, nodegroup.Attempt{})
	}
}
