package aws

import (
	"cmp"
	"slices"
	"time"
)

// BudgetState is the state of one request budget: a token bucket that some API actions share.
type BudgetState struct {
	// Account is the account that the budget belongs to, empty while it is not known: each identity then
	// has budgets of its own.
	Account string
	Region  string
	// Name is the service and the action, such as ec2:CreateTags, or a service and a colon if all of its
	// actions share the budget.
	Name string
	// Left is how many requests can be sent at once, of at most Burst. PerSecond come back each second.
	Left      float64
	Burst     int
	PerSecond float64
	// Waiting are the callers that were refused and have not returned yet, the next one first.
	Waiting []WaitingCaller
}

// WaitingCaller is an object for which a request was not sent.
type WaitingCaller struct {
	// Name is <kind>/<namespace>/<name>, empty for callers that share a request.
	Name string
	// At is when a request will be left for it, and Requests is how many are reserved for it.
	At       time.Time
	Requests int
}

// Budgets returns the state of every budget that a request was counted in, the one with the smallest share
// left first.
func (s *Sessions) Budgets() []BudgetState {
	s.mu.Lock()
	seen := map[*budget]budgetKey{}
	for key, shared := range s.budgets {
		seen[shared] = key
	}
	for _, clients := range s.clients {
		own := clients.budget.Load()
		if _, known := seen[own]; !known {
			seen[own] = budgetKey{account: clients.KnownAccount(), region: clients.Region}
		}
	}
	s.mu.Unlock()
	var states []BudgetState
	for one, key := range seen {
		states = append(states, one.states(key)...)
	}
	share := func(b BudgetState) float64 { return b.Left / float64(b.Burst) }
	slices.SortFunc(states, func(a, b BudgetState) int {
		return cmp.Or(cmp.Compare(share(a), share(b)), cmp.Compare(a.Account, b.Account), cmp.Compare(a.Region, b.Region), cmp.Compare(a.Name, b.Name))
	})
	return states
}

// states returns the state of each bucket of a budget.
func (b *budget) states(key budgetKey) []BudgetState {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	var states []BudgetState
	for name, held := range b.buckets {
		held.refill(now)
		states = append(states, BudgetState{
			Account: key.account, Region: key.region, Name: name,
			Left: held.tokens, Burst: held.limit.Burst, PerSecond: held.limit.PerSecond, Waiting: held.waiting(now),
		})
	}
	return states
}

// waiting returns the callers that have a promise, and have not used all of it.
func (b *bucket) waiting(now time.Time) []WaitingCaller {
	var callers []WaitingCaller
	for name, promised := range b.promised {
		if left := promised.left(); left > 0 && now.Sub(promised.at) <= kept {
			callers = append(callers, WaitingCaller{Name: name, At: promised.at, Requests: left})
		}
	}
	slices.SortFunc(callers, func(a, b WaitingCaller) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Name, b.Name)) })
	return callers
}
