package plan

import (
	"context"
	"errors"
	"time"

	"github.com/aws/smithy-go/middleware"

	"github.com/slipway-project/slipway/internal/aws"
)

// leastPatience bounds how soon a read that AWS throttled is sent again. The request budget, which is empty
// then, usually asks for a longer wait.
const leastPatience = 100 * time.Millisecond

// installPatience has reads wait for the request budgets, if the planner has any. A plan of a thousand pools
// reads more than AWS answers at once. A controller would return later, but a plan has no later pass.
func (p *Planner) installPatience(stack *middleware.Stack) error {
	if p.Limits == nil {
		return nil
	}
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("SlipwayPatience", p.patiently), middleware.After)
}

// patiently sends a read again that was throttled, as long as the plan has time.
func (p *Planner) patiently(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	for {
		out, metadata, err := next.HandleInitialize(ctx, in)
		if !aws.IsThrottled(err) {
			return out, metadata, err
		}
		wait := leastPatience
		if held := (*aws.ThrottledError)(nil); errors.As(err, &held) {
			wait = max(wait, held.RetryAfter)
		}
		select {
		case <-ctx.Done():
			return out, metadata, err
		case <-p.Clock.After(wait):
		}
	}
}
