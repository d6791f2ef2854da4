package aws

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/slipway-project/slipway/internal/aws/action"
	"github.com/slipway-project/slipway/internal/aws/cause"
)

// callMiddleware processes every call of one identity in one region.
//
// There are two places: around the whole call (one span, one error) and around each attempt (budget
// and metrics, which count what AWS sees).
type callMiddleware struct {
	// budget becomes the account's when it is known which account that is.
	budget  atomic.Pointer[budget]
	metrics *Metrics
	tracer  trace.Tracer
	outages *outages
	// roles are the roles that the calls are made with, the last one being the one that signs.
	roles []*assumedRole
	// mayWrite is asked before each attempt of a call that changes something; nil for always.
	mayWrite func() error
}

func (c *callMiddleware) install(stack *middleware.Stack) error {
	// Before: the step after which the service and the operation are known to the context is the SDK's first.
	if err := stack.Initialize.Add(middleware.InitializeMiddlewareFunc("SlipwayCall", c.call), middleware.After); err != nil {
		return err
	}
	// The step named "UserAgent" writes the SDK's part of the header.
	if err := stack.Build.Insert(middleware.BuildMiddlewareFunc("SlipwayCause", explain), "UserAgent", middleware.After); err != nil {
		return err
	}
	// Last of all, so that no time passes between the question and the request.
	if err := stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("SlipwayMayWrite", c.hold), middleware.After); err != nil {
		return err
	}
	// The SDK's retry loop is named "Retry"; what is inserted after it runs once per attempt.
	return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("SlipwayAttempt", c.attempt), "Retry", middleware.After)
}

func (c *callMiddleware) call(
	ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
) (middleware.InitializeOutput, middleware.Metadata, error) {
	service, action := called(ctx)
	ctx, span := c.tracer.Start(ctx, service+":"+action,
		trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(
			attribute.String("rpc.system", "aws-api"),
			attribute.String("rpc.service", service),
			attribute.String("rpc.method", action),
			attribute.String("cloud.region", awsmiddleware.GetRegion(ctx)),
		))
	defer span.End()

	out, metadata, err := next.HandleInitialize(ctx, in)
	requestID, _ := awsmiddleware.GetRequestIDMetadata(metadata)
	if results, ok := retry.GetAttemptResults(metadata); ok {
		span.SetAttributes(attribute.Int("aws.attempts", len(results.Results)))
	}
	if requestID != "" {
		span.SetAttributes(attribute.String("aws.request_id", requestID))
	}
	if err != nil {
		err = &CallError{Service: service, Action: action, RequestID: requestID, Err: err}
		span.SetStatus(codes.Error, UserMessage(err))
		span.SetAttributes(attribute.String("error.type", Code(err)))
	}
	return out, metadata, err
}

func (c *callMiddleware) attempt(
	ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler,
) (middleware.FinalizeOutput, middleware.Metadata, error) {
	service, action := called(ctx)
	budget := c.budget.Load()
	if err := budget.take(service, action, callerOf(ctx)); err != nil {
		c.metrics.heldBack(service, action)
		return middleware.FinalizeOutput{}, middleware.Metadata{}, err
	}
	start := time.Now() //nolint:forbidigo // how long the wire takes is real time, whatever the budget counts by
	out, metadata, err := next.HandleFinalize(ctx, in)
	c.metrics.sent(service, action, metricCode(err), time.Since(start))
	c.outages.record(service, action, err)
	if isSessionOver(err) {
		for _, role := range c.roles {
			role.forget()
		}
	}
	if IsThrottled(err) {
		budget.empty(service, action)
	}
	return out, metadata, err
}

// explain appends the cause of a call that changes something to its user agent, so that CloudTrail
// records which object the call was made for, and why.
func explain(
	ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler,
) (middleware.BuildOutput, middleware.Metadata, error) {
	_, name := called(ctx)
	request, is := in.Request.(*smithyhttp.Request)
	if why, known := cause.Of(ctx); is && known && action.Changes(name) {
		request.Header.Set("User-Agent", strings.TrimSpace(request.Header.Get("User-Agent")+" "+why.Comment()))
	}
	return next.HandleBuild(ctx, in)
}

// NotSentError reports a call that was not sent because this process may not write now.
type NotSentError struct{ Err error }

// Error implements error.
func (e *NotSentError) Error() string { return e.Err.Error() }

// Unwrap returns why.
func (e *NotSentError) Unwrap() error { return e.Err }

// hold keeps back a call that changes something while this process may not write.
func (c *callMiddleware) hold(
	ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
) (middleware.DeserializeOutput, middleware.Metadata, error) {
	if _, name := called(ctx); c.mayWrite != nil && action.Changes(name) {
		if err := c.mayWrite(); err != nil {
			return middleware.DeserializeOutput{}, middleware.Metadata{}, &NotSentError{Err: err}
		}
	}
	return next.HandleDeserialize(ctx, in)
}

// called returns the service in the spelling of IAM policies, and the action.
func called(ctx context.Context) (service, action string) {
	service = strings.ToLower(strings.ReplaceAll(awsmiddleware.GetServiceID(ctx), " ", ""))
	return service, awsmiddleware.GetOperationName(ctx)
}

// metricCode returns a label with a bounded number of values: AWS's error code, or a fixed word for
// an error without a code.
func metricCode(err error) string {
	if err == nil {
		return "OK"
	}
	if code := Code(err); code != "" {
		return code
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return "Canceled"
	}
	return "ConnectionError"
}

// CallError adds to an SDK error which call it was, so that logs can be compared with CloudTrail.
type CallError struct {
	// Service as IAM spells it, such as autoscaling.
	Service, Action string
	// RequestID is empty if AWS gave no answer.
	RequestID string
	Err       error
}

// Error implements error.
func (e *CallError) Error() string {
	text := describe(e.Err)
	if e.RequestID != "" {
		text += " (request " + e.RequestID + ")"
	}
	return text
}

// Unwrap returns the SDK's error.
func (e *CallError) Unwrap() error { return e.Err }

// describe returns the code and message that AWS answered with, or the text of the error if there
// was no answer.
func describe(err error) string {
	var answer smithy.APIError
	if errors.As(err, &answer) {
		return answer.ErrorCode() + ": " + answer.ErrorMessage()
	}
	return err.Error()
}
