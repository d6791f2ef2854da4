package aws

import (
	"cmp"
	"slices"
	"time"

	"github.com/slipway-project/slipway/internal/aws/requestbudget"
)

// Budgets returns the state of every budget that a request was counted in, the one with the smallest share
// left first.
func (s *Sessions) Budgets() []requestbudget.State {
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
	var states []requestbudget.State
	for one, key := range seen {
		states = append(states, one.states(key)...)
	}
	share := func(b requestbudget.State) float64 { return b.Left / float64(b.Burst) }
	slices.SortFunc(states, func(a, b requestbudget.State) int {
		return cmp.Or(cmp.Compare(share(a), share(b)), cmp.Compare(a.Account, b.Account), cmp.Compare(a.Region, b.Region), cmp.Compare(a.Name, b.Name))
	})
	return states
}

// states returns the state of each bucket of a budget.
func (b *budget) states(key budgetKey) []requestbudget.State {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	var states []requestbudget.State
	for name, held := range b.buckets {
		held.refill(now)
		states = append(states, requestbudget.State{
			Account: key.account, Region: key.region, Name: name,
			Left: held.tokens, Burst: held.limit.Burst, PerSecond: held.limit.PerSecond, Waiting: held.waiting(now),
		})
	}
	return states
}

// waiting returns the callers that have a promise, and have not used all of it.
func (b *bucket) waiting(now time.Time) []requestbudget.Waiter {
	var callers []requestbudget.Waiter
	for name, promised := range b.promised {
		if left := promised.left(); left > 0 && now.Sub(promised.at) <= kept {
			callers = append(callers, requestbudget.Waiter{Name: name, At: promised.at, Requests: left})
		}
	}
	slices.SortFunc(callers, func(a, b requestbudget.Waiter) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Name, b.Name)) })
	return callers
}
