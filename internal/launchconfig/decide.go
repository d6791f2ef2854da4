package launchconfig

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// Decide returns what to do for an AWSLaunchConfig. It is a pure function.
func Decide(in Input) reconcile.Plan {
	config := in.Object
	reconciling.False(config, infrav1.PausedCondition, infrav1.NotPausedReason, "")
	switch {
	case config.DeletionTimestamp != nil && config.Spec.Existing != nil:
		return reconcile.Plan{} // others hold the object: there is nothing in AWS to clean up
	case config.DeletionTimestamp != nil:
		return decideDeletion(in)
	case config.Spec.Existing != nil:
		return decideFollowing(in)
	}
	return decideTemplate(in)
}

// decideTemplate keeps the launch template as the spec says. Each step says in a condition what is
// in the way, and whether later steps make sense:
//
//  1. hold the object by a finalizer that knows where AWS is reached
//  2. know the template and its versions
//  3. read the bootstrap data, and put it where user data points to, if that is outside of the template
//  4. resolve what the spec names, and make the request
//  5. go back to an earlier config, if the pool or the user asks for it, or hold back what waits
//     for approval or what EC2 would not launch
//  6. make the wanted version exist and the default, and the one that is held back exist
//  7. say what is launched, and have EC2 try it
//  8. prune versions that are not in use
//  9. check again after a while what was looked up: an image can be deregistered, and security
//     groups tagged, without an event
func decideTemplate(in Input) (plan reconcile.Plan) {
	if !in.Seen.Access.Show(in.Object, &plan) {
		return plan
	}
	holdObject(in, &plan)
	if !decideMissing(in, &plan) {
		return plan
	}
	delivered, known := decideBootstrap(in, &plan)
	if !known || !decideStorage(in, delivered, &plan) {
		return plan
	}
	asked, known := decideResolved(in, delivered, &plan)
	if !known {
		return plan
	}
	steered, known := decideSteering(in, asked, &plan)
	if !known || !decideRelease(in, steered, &plan) {
		return plan
	}
	version, known := decideVersion(in, asked, steered, &plan)
	if !known {
		return plan
	}
	if decideLaunched(in, asked, steered, version, &plan) && decidePruning(in, version, delivered, &plan) {
		plan.LookAgain(in.Seen.Interval)
	}
	return plan
}

// holdObject has the finalizer put on the object, with what deletion has to know, before anything
// is made in AWS.
func holdObject(in Input, plan *reconcile.Plan) {
	plan.Hold = true
	location := &infrav1.AWSLaunchConfig{}
	location.Annotations = maps.Clone(in.Object.Annotations)
	ownership.SetLocation(location, in.Seen.Access.Location)
	for key, value := range location.Annotations {
		if in.Object.Annotations[key] != value {
			plan.Annotate(key, value)
		}
	}
}

// The lengths of a template's name (AWS: API_CreateLaunchTemplate).
const (
	shortestName = 3
	longestName  = 128
)

// owner is the value of the ownership tag of a config's template, and of the groups that use it.
func owner(config *infrav1.AWSLaunchConfig) string {
	return ownership.Owner(config, config.Spec.ClusterName)
}

// fail says in the LaunchTemplateReady condition what a failure means.
func fail(in Input, plan *reconcile.Plan, reason string, err error) {
	pool.ShowFailure(in.Object, plan, infrav1.LaunchTemplateReadyCondition, reason, err)
}

// profileAllowed reports whether the cluster's identity may launch instances with an instance
// profile, given the error of asking that.
func profileAllowed(in Input, plan *reconcile.Plan, err error) bool {
	if err == nil {
		return true
	}
	if unusable, is := identity.IsUnusable(err); is {
		reconciling.False(in.Object, infrav1.ResolvedCondition, unusable.Reason, unusable.Message)
		return false
	}
	plan.Fail(err)
	return false
}

// versionData returns the data of a version, false if it has to be read first.
func versionData(in Input, plan *reconcile.Plan, number int64) (launchtemplate.Data, error, bool) {
	data, known := in.Seen.Data[number]
	if !known {
		plan.Need(reconcile.Need(dataNeed + strconv.FormatInt(number, 10)))
	}
	return data.Value, data.Err, known
}

// ceiling returns a time as status holds it, in whole seconds. It is rounded up, so that what is
// measured from it is never shorter than it says.
func ceiling(now time.Time) time.Time {
	if cut := now.Truncate(time.Second); cut.Before(now) {
		return cut.Add(time.Second)
	}
	return now
}

// wasDone reports whether an action was done in this pass.
func wasDone[A reconcile.Action](in Input, is func(A) bool) bool {
	for _, done := range in.Done {
		if action, of := done.Action.(A); of && done.Err == nil && is(action) {
			return true
		}
	}
	return false
}

// failure returns the error of an action that was tried in this pass and is due again, nil if it
// was not tried or did not fail.
func failure[A reconcile.Action](in Input, is func(A) bool) error {
	for _, done := range in.Done {
		if action, of := done.Action.(A); of && done.Err != nil && is(action) {
			return done.Err
		}
	}
	return nil
}

func missingFacts(what string) error { return fmt.Errorf("deciding without %s", what) }
