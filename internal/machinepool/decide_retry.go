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

// retry acts on a request to retry: refreshes that there are count as no attempts. A pool that was
// rolled back first gets its launch config without the roll-back.
func retry(in input) {
	request, due := pool.Retry(in.Object, retried(in))
	if !due || rolledBack(launchable(in)) {
		return
	}
	status := rolloutStatus(in.Object)
	status.Retried = request
	if newest := latest(in.Seen.Refreshes.List); newest != nil && !newest.Active() {
		status.AttemptsAfter = newest.ID
	}
}
