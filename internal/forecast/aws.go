// Package forecast shows what AWS would hold if calls that change it were sent. It is part of the
// SDK's clients of a plan: reads reach AWS, writes do not. A write is answered as AWS answers it, and
// later reads show AWS as the write would leave it at once.
//
// A forecast knows the launch templates, Auto Scaling groups, EKS managed node groups, their IAM roles,
// and bootstrap data that it was asked to change. It does not launch, replace, or terminate instances, and it does not validate
// requests. A write that it
// cannot answer fails with an UnknownWriteError.
package forecast

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	"k8s.io/utils/clock"

	"github.com/slipway-project/slipway/internal/aws/action"
)

// Call is a write that was answered and not sent.
type Call struct {
	// Service is the service's name in IAM policies, such as autoscaling, and Action the name of the
	// API action.
	Service, Action string
	// Input is the request, of the SDK's type for the action.
	Input any
}

// String returns the call as IAM names its action, such as ec2:CreateLaunchTemplate.
func (c Call) String() string { return c.Service + ":" + c.Action }

// UnknownWriteError reports a write that the forecast cannot answer.
type UnknownWriteError struct{ Call Call }

// Error implements error.
func (e *UnknownWriteError) Error() string {
	return fmt.Sprintf("the effect of %s is not known before it is sent", e.Call)
}

// AWS answers the writes of the clients that it is installed in. One AWS is for one account and
// region. Its methods may be called from any goroutine.
type AWS struct {
	mu         sync.Mutex
	templates  templates
	groups     groups
	nodegroups nodegroups
	roles      roles
	storage    storage
	calls      []Call
}

// New returns a forecast in which nothing has changed. The clock gives the time of creations.
func New(clk clock.PassiveClock) *AWS {
	return &AWS{
		templates:  templates{clock: clk, byID: map[string]*template{}},
		groups:     groups{clock: clk, byName: map[string]*group{}},
		nodegroups: nodegroups{clock: clk, byName: map[nodegroupName]*nodegroup{}},
		roles:      roles{clock: clk, byName: map[string]*role{}},
		storage:    storage{objects: map[object]map[string]string{}, parameters: map[string]string{}},
	}
}

// Calls returns the writes that were answered, in order.
func (a *AWS) Calls() []Call {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.calls)
}

// Install puts the forecast between a client and AWS. It is an API option of the SDK's configuration.
func (a *AWS) Install(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("SlipwayForecast", a.handle), middleware.After)
}

// ask sends a read to AWS, and returns the answer.
type ask func(input any) (any, error)

type inContext struct{}

// With returns a context whose calls a forecast handles, if Install is in the clients.
func With(ctx context.Context, forecast *AWS) context.Context {
	return context.WithValue(ctx, inContext{}, forecast)
}

// Install puts the forecast of each call's context between a client and AWS, so that several forecasts
// share the client. A call whose context has no forecast is sent. It is an API option of the SDK's
// configuration.
func Install(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("SlipwayForecasts",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			if forecast, is := ctx.Value(inContext{}).(*AWS); is {
				return forecast.handle(ctx, in, next)
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.After)
}

// handle answers a write, and shows a read as the writes before it would have left AWS.
func (a *AWS) handle(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (out middleware.InitializeOutput, metadata middleware.Metadata, err error) {
	service := strings.ToLower(strings.ReplaceAll(awsmiddleware.GetServiceID(ctx), " ", ""))
	call := Call{Service: service, Action: awsmiddleware.GetOperationName(ctx), Input: in.Parameters}
	if action.Changes(call.Action) {
		out.Result, err = a.write(call)
		return out, metadata, err
	}
	read, shown := reads[call.String()]
	if !shown {
		return next.HandleInitialize(ctx, in)
	}
	out.Result, err = read(a, in.Parameters, func(input any) (any, error) {
		in.Parameters = input
		asked, answered, err := next.HandleInitialize(ctx, in)
		metadata = answered
		return asked.Result, err
	})
	return out, metadata, err
}

// write answers a write, and notes it.
func (a *AWS) write(call Call) (any, error) {
	answer, known := writes[call.String()]
	if !known {
		return nil, &UnknownWriteError{Call: call}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	result, err := answer(a, call.Input)
	if err == nil {
		a.calls = append(a.calls, call)
	}
	return result, err
}

// writer answers a write. The forecast is locked.
type writer func(a *AWS, input any) (any, error)

// reader answers a read. It asks AWS without the lock.
type reader func(a *AWS, input any, ask ask) (any, error)

// writing returns a writer for requests of a type, which a part of the forecast answers.
func writing[P, I, O any](part func(*AWS) *P, answer func(*P, *I) (*O, error)) writer {
	return func(a *AWS, input any) (any, error) {
		result, err := answer(part(a), input.(*I))
		if err != nil {
			return nil, err
		}
		return result, nil
	}
}

// changing returns a writer for requests whose answer holds nothing.
func changing[P, I, O any](part func(*AWS) *P, _ *O, change func(*P, *I)) writer {
	return func(a *AWS, input any) (any, error) {
		change(part(a), input.(*I))
		return new(O), nil
	}
}

// reading returns a reader for requests of a type. Before returns the answer if AWS would not know
// what is asked for. Otherwise it returns nil, and may remove from the request what AWS would not
// know. After changes what AWS answered. Either may be nil.
func reading[P, I, O any](part func(*AWS) *P, before func(*P, *I) *O, after func(*P, *I, *O)) reader {
	return func(a *AWS, input any, ask ask) (any, error) {
		original := input.(*I)
		request := *original
		if before != nil {
			a.mu.Lock()
			own := before(part(a), &request)
			a.mu.Unlock()
			if own != nil {
				return own, nil
			}
		}
		asked, err := ask(&request)
		if err != nil || after == nil {
			return asked, err
		}
		answer := asked.(*O)
		a.mu.Lock()
		defer a.mu.Unlock()
		after(part(a), original, answer)
		return answer, nil
	}
}

// writes and reads hold what the forecast knows, by service and action.
var (
	writes = joined(templateWrites, groupWrites, detailWrites, attachmentWrites, nodegroupWrites, roleWrites, storageWrites)
	reads  = joined(templateReads, groupReads, detailReads, nodegroupReads, roleReads, storageReads)
)

// joined returns one map with what is in several.
func joined[V any](parts ...map[string]V) map[string]V {
	all := map[string]V{}
	for _, part := range parts {
		maps.Copy(all, part)
	}
	return all
}
