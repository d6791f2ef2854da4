package discovery

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"
)

// cache keeps answers by question for a time. Several who ask the same at once cause one call. Errors are not kept: who
// asks again after one has been told when to.
type cache[V any] struct {
	clock clock.PassiveClock
	ttl   time.Duration
	calls singleflight.Group
	// patient has an answer that is older be asked for anew while the old one serves on, so that nobody waits: for what is large and seldom differs.
	patient bool

	mu      sync.Mutex
	answers map[string]answer[V]
}

type answer[V any] struct {
	value   V
	expires time.Time
}

func newCache[V any](clk clock.PassiveClock, ttl time.Duration) *cache[V] {
	return &cache[V]{clock: clk, ttl: ttl, answers: map[string]answer[V]{}}
}

// get returns the kept answer, or asks. The asking outlives a caller that gives up, because others may be waiting for it
// too; the HTTP client's time-out ends it.
func (c *cache[V]) get(ctx context.Context, key string, ask func(context.Context) (V, error)) (V, error) {
	value, known, fresh := c.lookup(key)
	if fresh {
		return value, nil
	}
	result := c.calls.DoChan(key, func() (any, error) {
		if value, _, fresh := c.lookup(key); fresh {
			return value, nil
		}
		value, err := ask(context.WithoutCancel(ctx))
		if err == nil {
			c.put(key, value)
		}
		return value, err
	})
	if known && c.patient {
		return value, nil
	}
	var none V
	select {
	case <-ctx.Done():
		return none, ctx.Err()
	case r := <-result:
		if r.Err != nil {
			return none, r.Err
		}
		return r.Val.(V), nil
	}
}

// lookup returns the answer that is kept, whether there is one, and whether it is not too old.
func (c *cache[V]) lookup(key string) (value V, known, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, known := c.answers[key]
	return kept.value, known, known && c.clock.Now().Before(kept.expires)
}

// put keeps an answer and drops those that have expired, so that the cache is never larger than what was asked lately.
func (c *cache[V]) put(key string, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	for key, kept := range c.answers {
		if !now.Before(kept.expires) {
			delete(c.answers, key)
		}
	}
	c.answers[key] = answer[V]{value: value, expires: now.Add(c.ttl)}
}
