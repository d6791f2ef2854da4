package prices

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/discovery"
)

const (
	// rereadAfter is the time after which a price is read again while it is still asked for.
	rereadAfter = time.Hour
	// retryAfter is the time after which a price is read again that could not be read. It is rereadAfter if
	// the permission is missing.
	retryAfter = 5 * time.Minute
	// soonest is the shortest time until a price is read again that was held back by a request budget.
	soonest = 5 * time.Second
	// forgottenAfter is the time after which a price is forgotten that nothing asks for any longer.
	forgottenAfter = 3 * rereadAfter
	// mostPrices bounds the prices of one place, and of all places: the users of namespaces choose places and
	// instance types. AWS has about 1,000 types.
	mostPrices     = 500
	mostPricesEver = 20_000
	// mostProblems bounds the problems that are reported.
	mostProblems = 3
)

// Place names where instances run, as far as prices depend on it: by the Cluster of a pool, or only by a region.
type Place struct {
	Namespace, Cluster string
	Region             string
}

// Sources finds the source of the prices in a place. Places of one identity and region have the same source,
// so that they share what was read.
type Sources interface {
	Source(ctx context.Context, place Place) (Source, error)
}

// Table keeps the prices of what runs. Whoever asks it for a cost never waits for AWS: prices that are missing
// are noted, and Refresh reads them.
type Table struct {
	sources Sources
	clock   clock.PassiveClock
	// wanted is signaled when a price is asked for that has not been read.
	wanted chan struct{}

	mu      sync.Mutex
	entries map[Place]map[wantedPrice]*tableEntry
	count   int
}

// wantedPrice identifies a price in a place.
type wantedPrice struct {
	product
	spot bool
}

// tableEntry holds a price, or why it is missing.
type tableEntry struct {
	onDemand discovery.Price
	spot     map[string]discovery.Price
	known    bool
	// missing is why the price could not be read, nil if it was. It is a problem if a user can change it.
	missing error
	problem bool
	// due is when it is read again, and asked when it was last asked for.
	due, asked time.Time
}

// NewTable returns an empty table.
func NewTable(sources Sources, clk clock.PassiveClock) *Table {
	return &Table{sources: sources, clock: clk, wanted: make(chan struct{}, 1), entries: map[Place]map[wantedPrice]*tableEntry{}}
}

// Wanted returns a channel that is signaled when Refresh has something to read that was not asked for before.
func (t *Table) Wanted() <-chan struct{} { return t.wanted }

// Cost returns what running instances cost, by the prices that were read. The error is an *UnknownError.
func (t *Table) Cost(place Place, of Running) (Cost, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	book := Book{onDemand: map[product]discovery.Price{}, spot: map[product]map[string]discovery.Price{}}
	var missing error
	onDemand, spot := of.Needs()
	for _, need := range []struct {
		types []string
		spot  bool
	}{{onDemand, false}, {spot, true}} {
		for _, name := range need.types {
			key := wantedPrice{product{name, of.System}, need.spot}
			entry, err := t.ask(place, key)
			switch {
			case err != nil:
				missing = err
			case !entry.known && entry.missing != nil:
				missing = entry.missing
			case !entry.known:
				missing = cmp.Or[error](missing, &UnknownError{"the prices are being read"})
			case key.spot:
				book.spot[key.product] = entry.spot
			default:
				book.onDemand[key.product] = entry.onDemand
			}
		}
	}
	if missing != nil {
		return Cost{}, &UnknownError{missing.Error()}
	}
	return book.Running(of)
}

// ask returns the entry of a price, and has it read if there is none. The table is locked.
func (t *Table) ask(place Place, key wantedPrice) (*tableEntry, error) {
	now := t.clock.Now()
	if entry := t.entries[place][key]; entry != nil {
		entry.asked = now
		return entry, nil
	}
	if len(t.entries[place]) >= mostPrices || t.count >= mostPricesEver {
		return nil, &UnknownError{"too many different instance types run"}
	}
	if t.entries[place] == nil {
		t.entries[place] = map[wantedPrice]*tableEntry{}
	}
	entry := &tableEntry{asked: now, due: now}
	t.entries[place][key] = entry
	t.count++
	t.Wake()
	return entry, nil
}

// Wake signals the channel of Wanted.
func (t *Table) Wake() {
	select {
	case t.wanted <- struct{}{}:
	default: // it is signaled already
	}
}

// Refresh reads the prices that are due, one after another, and reports whether it read any. It calls AWS, and
// stops when the context is done.
func (t *Table) Refresh(ctx context.Context) bool {
	round := round{table: t, sources: map[Place]Source{}, failed: map[failing]error{}}
	due := t.due()
	for _, one := range due {
		if ctx.Err() != nil {
			return true
		}
		round.read(ctx, one.place, one.key)
	}
	return len(due) > 0
}

// Problems returns why prices are missing, where a user can change it: the first of them, each once.
func (t *Table) Problems() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var problems []string
	for _, entries := range t.entries {
		for _, entry := range entries {
			if entry.problem && !slices.Contains(problems, entry.missing.Error()) {
				problems = append(problems, entry.missing.Error())
			}
		}
	}
	slices.Sort(problems)
	if len(problems) > mostProblems {
		problems = append(problems[:mostProblems:mostProblems], fmt.Sprintf("%d more reasons", len(problems)-mostProblems))
	}
	return problems
}

// Knows reports whether the table has any price.
func (t *Table) Knows() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, entries := range t.entries {
		for _, entry := range entries {
			if entry.known {
				return true
			}
		}
	}
	return false
}

// duePrice is a price that must be read.
type duePrice struct {
	place Place
	key   wantedPrice
}

// due returns the prices to read now, in a fixed order, and forgets prices that nothing asks for.
func (t *Table) due() []duePrice {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	var due []duePrice
	for place, entries := range t.entries {
		for key, entry := range entries {
			switch {
			case now.Sub(entry.asked) >= forgottenAfter:
				delete(entries, key)
				t.count--
			case !now.Before(entry.due):
				due = append(due, duePrice{place, key})
			}
		}
		if len(entries) == 0 {
			delete(t.entries, place)
		}
	}
	slices.SortFunc(due, func(a, b duePrice) int {
		return cmp.Or(cmp.Compare(a.place.Namespace, b.place.Namespace), cmp.Compare(a.place.Cluster, b.place.Cluster), cmp.Compare(a.place.Region, b.place.Region),
			cmp.Compare(a.key.instanceType, b.key.instanceType), cmp.Compare(a.key.system, b.key.system))
	})
	return due
}

// round reads the prices that are due at one time.
type round struct {
	table   *Table
	sources map[Place]Source
	// failed are the calls that failed in this round, which are not repeated in it.
	failed map[failing]error
}

// failing is a call that a source does not answer.
type failing struct {
	source Source
	spot   bool
}

// read reads one price.
func (r *round) read(ctx context.Context, place Place, key wantedPrice) {
	book := Book{onDemand: map[product]discovery.Price{}, spot: map[product]map[string]discovery.Price{}}
	source, known := r.sources[place]
	var err error
	if !known {
		if source, err = r.table.sources.Source(ctx, place); err == nil {
			r.sources[place] = source
		}
	}
	if err == nil {
		call := failing{source, key.spot}
		if err = r.failed[call]; err == nil {
			if err = book.add(ctx, source, key.product, key.spot); err != nil {
				r.failed[call] = err
			}
		}
	}
	if ctx.Err() == nil {
		r.table.keep(place, key, book, err)
	}
}

// keep stores the result of reading a price. A price that is known stays so while it cannot be read again.
func (t *Table) keep(place Place, key wantedPrice, book Book, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	entry, now := t.entries[place][key], t.clock.Now()
	if entry == nil {
		return
	}
	var notReady *cluster.NotReadyError
	entry.missing, entry.problem, entry.due = err, err != nil && !errors.As(err, &notReady), now.Add(rereadAfter)
	price, listed := book.onDemand[key.product]
	zones, sold := book.spot[key.product]
	switch {
	case err == nil && key.spot && sold:
		entry.spot, entry.known = zones, true
	case err == nil && listed:
		entry.onDemand, entry.known = price, true
	case err == nil:
		entry.known, entry.missing = false, &UnknownError{"no price of " + key.instanceType + " is known"}
	case aws.IsAccessDenied(err):
	case aws.IsThrottled(err), aws.IsHeldBack(err):
		entry.missing, entry.problem, entry.due = nil, false, now.Add(max(soonest, aws.FateOf(err).After))
	default:
		entry.due = now.Add(retryAfter)
	}
}
