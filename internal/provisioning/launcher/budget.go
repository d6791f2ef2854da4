package launcher

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/utils/clock"
)

// Budget bounds how many nodes are launched in a minute, so that a mistake costs a minute's worth
// of nodes at a time. It is for one goroutine.
type Budget struct {
	clock clock.PassiveClock
	limit int
	spent []spending
}

type spending struct {
	at    time.Time
	nodes int
}

// NewBudget allows some nodes in any minute.
func NewBudget(clk clock.PassiveClock, perMinute int) *Budget {
	return &Budget{clock: clk, limit: perMinute}
}

// PerMinute returns how many nodes may be launched per minute.
func (b *Budget) PerMinute() int { return b.limit }

// Left returns how many nodes may be launched now.
func (b *Budget) Left() int {
	left := b.limit
	for _, spent := range b.recent() {
		left -= spent.nodes
	}
	return max(left, 0)
}

// Spend counts nodes that are launched now.
func (b *Budget) Spend(nodes int) {
	b.spent = append(b.recent(), spending{b.clock.Now(), nodes})
}

// Recover counts nodes that an earlier process launched, by their ages. The budget must be unspent.
func (b *Budget) Recover(ages []time.Duration) {
	now := b.clock.Now()
	ages = slices.Clone(ages)
	slices.SortFunc(ages, func(x, y time.Duration) int { return cmp.Compare(y, x) })
	for _, age := range ages {
		b.spent = append(b.spent, spending{now.Add(-max(age, 0)), 1})
	}
}

// Allowance holds how many nodes may be launched, as it is known at one time.
type Allowance struct {
	// PerMinute is how many may be launched in a minute, and Left how many may be launched now.
	PerMinute, Left int
	// Next is the time until more may be launched than now, zero if none was launched lately.
	Next time.Duration
}

// Allowance returns what may be launched now.
func (b *Budget) Allowance() Allowance {
	return Allowance{PerMinute: b.limit, Left: b.Left(), Next: b.Next()}
}

// Take counts nodes that a decision launches.
func (a *Allowance) Take(nodes int) {
	if nodes == 0 {
		return
	}
	a.Left = max(a.Left-nodes, 0)
	if a.Next == 0 {
		a.Next = time.Minute
	}
}

// Next returns how long it takes until more may be launched: until the oldest spending is a minute
// old.
func (b *Budget) Next() time.Duration {
	recent := b.recent()
	if len(recent) == 0 {
		return 0
	}
	return recent[0].at.Add(time.Minute).Sub(b.clock.Now())
}

// recent forgets what is older than a minute.
func (b *Budget) recent() []spending {
	now := b.clock.Now()
	for len(b.spent) > 0 && now.Sub(b.spent[0].at) >= time.Minute {
		b.spent = b.spent[1:]
	}
	return b.spent
}
