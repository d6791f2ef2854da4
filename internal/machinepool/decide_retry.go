package machinepool

import "github.com/slipway-project/slipway/internal/pool"

// retries reports whether the user asks for a failed roll-out to be retried.
func retries(in input) bool {
	_, due := pool.Retry(in.Object, retried(in))
	return due
}

// retried returns the request to retry that was acted on last.
func retried(in input) string {
	if record := in.Object.Status.Rollout; record != nil {
		return record.Retried
	}
	return ""
}

// forgetAttempts stops counting refreshes as attempts: the refreshes that exist when a user asks to
// retry, and a refresh that a pause stopped. A pool that was rolled back is retried once its launch
// config is without the roll-back.
func forgetAttempts(in input) {
	status, newest := rolloutStatus(in.Object), latest(in.Seen.Refreshes.List)
	request, due := pool.Retry(in.Object, status.Retried)
	due = due && !rolledBack(launchable(in))
	if due {
		status.Retried = request
		waitAnew(in)
	}
	over := newest != nil && (!newest.Active() || newest.Status == "Cancelling")
	if over && (due || pausing(in)) {
		status.AttemptsAfter = newest.ID
	}
}
