// Package aws owns everything between Slipway and the AWS SDK that is not about one resource: it is
// the only place that creates SDK clients. It holds the sessions (one set of clients per identity
// and region), the middleware that every call passes (request budget, metrics, trace span, error
// detail), and the classification of AWS's errors into what the product can do about them.
//
// Nothing here waits: a call that would exceed the request budget fails at once with a
// *ThrottledError that says when to come back, and the SDK's retries are few and short, because a
// reconcile must not be held up by one slow call.
package aws
