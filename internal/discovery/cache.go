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
	if value, ok := c.lookup(key); ok {
		return value, nil
	}
	result := c.calls.DoChan(key, func() (any, error) {
		if value, ok := c.lookup(key); ok {
			return value, nil
		}
		value, err := ask(context.WithoutCancel(ctx))
		if err == nil {
			c.put(key, value)
		}
		return value, err
	})
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

func (c *cache[V]) lookup(key string) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, ok := c.answers[key]
	if !ok || !c.clock.Now().Before(kept.expires) {
		var none V
		return none, false
	}
	return kept.value, true
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
