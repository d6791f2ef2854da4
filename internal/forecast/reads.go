package forecast

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"

	"github.com/slipway-project/slipway/internal/aws/action"
	"github.com/slipway-project/slipway/internal/once"
	"github.com/slipway-project/slipway/internal/sdkcopy"
)

// Reads keep what AWS answered to reads. All forecasts that share them see the same AWS, and each read is
// sent once. Reads are for the clients of one identity in one region.
type Reads struct {
	// Ahead holds what will be described; nil for nothing.
	Ahead *Ahead

	answers once.Answers[any]
	batches once.Answers[outcome]
}

// kept are the services whose answers are kept. S3 answers with streams, and what STS
// answers expires.
var kept = []string{"EC2", "Auto Scaling", "EKS", "IAM", "SSM", "Pricing"}

// Install puts the reads between the forecast and AWS. It must be installed after the forecast.
func (r *Reads) Install(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("SlipwayReads", r.handle), middleware.After)
}

// handle answers a read that was answered before. The answer is a copy, because forecasts change it.
func (r *Reads) handle(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (out middleware.InitializeOutput, metadata middleware.Metadata, err error) {
	service, operation := awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx)
	if action.Changes(operation) || !slices.Contains(kept, service) {
		return next.HandleInitialize(ctx, in)
	}
	parameters, err := json.Marshal(in.Parameters)
	if err != nil {
		return out, metadata, fmt.Errorf("encoding the parameters of %s: %w", operation, err)
	}
	answer, err := r.answers.Get(service+":"+operation+string(parameters), func() (any, error) {
		return r.read(in.Parameters, func(input any) (any, error) {
			asked := in
			asked.Parameters = input
			sent, answered, err := next.HandleInitialize(ctx, asked)
			metadata = answered
			return sent.Result, err
		})
	})
	if err == nil {
		out.Result = sdkcopy.Deep(answer)
	}
	return out, metadata, err
}
