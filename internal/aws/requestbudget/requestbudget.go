// Package requestbudget describes how much is left of the rates at which AWS accepts requests, for programs
// that show it.
package requestbudget

import "time"

// State is the state of one request budget: a token bucket that some API actions share.
type State struct {
	// Account is the account that the budget belongs to, empty while it is not known: each identity then
	// has budgets of its own.
	Account string
	Region  string
	// Name is the service and the action, such as ec2:CreateTags, or a service and a colon if all of its
	// actions share the budget.
	Name string
	// Left is the number of requests that can be sent at once, at most Burst. It grows by PerSecond each
	// second.
	Left      float64
	Burst     int
	PerSecond float64
	// Waiting are the callers that were refused and have not returned yet, the next one first.
	Waiting []Waiter
}

// Waiter is an object for which a request was not sent.
type Waiter struct {
	// Name is <kind>/<namespace>/<name>, empty for callers that share a request.
	Name string
	// At is the time from which Requests requests are reserved for it.
	At       time.Time
	Requests int
}
