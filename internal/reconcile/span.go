package reconcile

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-project/slipway/internal/aws/cause"
)

// ReasonAttribute is the reason of an action, on its span.
const ReasonAttribute = attribute.Key("slipway.reason")

// Observing runs an observation of some needs in a span of its own.
func Observing(ctx context.Context, needs []Need, observe func(context.Context) error) error {
	name := "observe"
	for _, need := range needs {
		name += " " + string(need)
	}
	return inSpan(ctx, name, "", observe)
}

// Deciding runs a decision that takes time in a span of its own.
func Deciding(ctx context.Context, name string, decide func()) {
	_ = inSpan(ctx, name, "", func(context.Context) error { decide(); return nil })
}

// Acting runs an action in a span of its own, logs it with its reason, and gives the reason to its
// calls to AWS.
func Acting(ctx context.Context, step Step, act func(context.Context) error) error {
	ctx = cause.Because(ctx, step.Reason)
	return inSpan(ctx, step.Action.String(), step.Reason, func(ctx context.Context) error {
		err := act(ctx)
		log.FromContext(ctx).V(1).Info("Acted", "action", step.Action.String(), "reason", step.Reason, "error", err)
		return err
	})
}

// inSpan runs a part of a pass in a span of its own, if the pass has one. The calls of that part
// create child spans of it.
func inSpan(ctx context.Context, name, reason string, run func(context.Context) error) error {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return run(ctx)
	}
	ctx, span := parent.TracerProvider().Tracer("github.com/slipway-project/slipway/internal/reconcile").Start(ctx, name)
	defer span.End()
	if reason != "" {
		span.SetAttributes(ReasonAttribute.String(reason))
	}
	err := run(ctx)
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	return err
}
