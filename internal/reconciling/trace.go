package reconciling

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// tracerName is the instrumentation scope of the spans of passes.
const tracerName = "github.com/slipway-project/slipway/internal/reconciling"

// Attributes of the span of a pass. Kind, namespace and name have OpenTelemetry's spelling for
// Kubernetes where it has one.
const (
	KindAttribute      = attribute.Key("slipway.kind")
	NamespaceAttribute = attribute.Key("k8s.namespace.name")
	NameAttribute      = attribute.Key("slipway.name")
	// OutcomeAttribute is "done", "requeued" or "failed".
	OutcomeAttribute = attribute.Key("slipway.outcome")
	// RequeueAttribute is the number of seconds until the object is reconciled again, on a pass
	// that asked for it.
	RequeueAttribute = attribute.Key("slipway.requeue_after_seconds")
)

// traced is a reconciler whose passes are spans.
type traced struct {
	kind   string
	tracer trace.Tracer
	reconcile.Reconciler
}

// Traced gives each pass of a reconciler of objects of a kind a span, the parent of the spans of
// its calls, and its log lines the ids to find it by. A pass that is not recorded costs next to
// nothing.
func Traced(kind string, provider trace.TracerProvider, reconciler reconcile.Reconciler) reconcile.Reconciler {
	return &traced{kind: kind, tracer: provider.Tracer(tracerName), Reconciler: reconciler}
}

// Reconcile implements reconcile.Reconciler.
func (t *traced) Reconcile(ctx context.Context, request reconcile.Request) (ctrl.Result, error) {
	ctx, span := t.tracer.Start(ctx, "Reconcile "+t.kind, trace.WithAttributes(
		KindAttribute.String(t.kind), NamespaceAttribute.String(request.Namespace), NameAttribute.String(request.Name),
	))
	defer span.End()
	if span.IsRecording() {
		ids := span.SpanContext()
		ctx = log.IntoContext(ctx, log.FromContext(ctx).WithValues("traceID", ids.TraceID().String(), "spanID", ids.SpanID().String()))
	}

	result, err := t.Reconciler.Reconcile(ctx, request)
	switch {
	case err != nil:
		span.SetAttributes(OutcomeAttribute.String("failed"))
		span.SetStatus(codes.Error, err.Error())
	case result.RequeueAfter > 0:
		span.SetAttributes(OutcomeAttribute.String("requeued"), RequeueAttribute.Float64(result.RequeueAfter.Seconds()))
	default:
		span.SetAttributes(OutcomeAttribute.String("done"))
	}
	return result, err
}
