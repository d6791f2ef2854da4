package discovery

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"

	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/bounded"
)

// mostAnswers limits how many answers a cache keeps, because the users of namespaces choose the
// questions. A thousand pools ask a few hundred.
const mostAnswers = 1000

// cache keeps answers by question for a time, and no more than mostAnswers. Concurrent callers that
// ask the same cause one call. It does not keep errors: they say when to ask again.
type cache[V any] struct {
	calls singleflight.Group
	// patient has an expired answer asked for anew while callers still get the old one, so that
	// they need not wait: for answers that are large and seldom change.
	patient bool
	answers *bounded.Map[string, V]
}

func newCache[V any](clk clock.PassiveClock, ttl time.Duration) *cache[V] {
	return &cache[V]{answers: bounded.NewMap[string, V](clk, mostAnswers, ttl, nil)}
}

// longestKey is the length up to which a question is its own key. A longer question is stored under
// its hash.
const longestKey = 256

// shortened returns the text by which a question is kept.
func shortened(key string) string {
	if len(key) <= longestKey {
		return key
	}
	digest := sha256.Sum256([]byte(key))
	return "sha256:" + hex.EncodeToString(digest[:])
}

// put keeps an answer for the namespace that asks.
func (c *cache[V]) put(ctx context.Context, key string, value V) {
	c.answers.Put(aws.CallerNamespace(ctx), shortened(key), value)
}

// forget drops the answers for which drop is true.
func (c *cache[V]) forget(drop func(V) bool) {
	c.answers.DeleteFunc(func(_ string, answer V) bool { return drop(answer) })
}

// get returns the kept answer, or asks. The call outlives a caller that gives up, because others
// may be waiting for it too; the HTTP client's time-out bounds it.
func (c *cache[V]) get(ctx context.Context, key string, ask func(context.Context) (V, error)) (V, error) {
	key = shortened(key)
	value, known, fresh := c.answers.Get(key)
	if fresh {
		return value, nil
	}
	result := c.calls.DoChan(key, func() (any, error) {
		if value, _, fresh := c.answers.Get(key); fresh {
			return value, nil
		}
		value, err := ask(context.WithoutCancel(ctx))
		if err == nil {
			c.put(ctx, key, value)
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
