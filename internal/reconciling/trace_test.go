package reconciling_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slipway-project/slipway/internal/reconciling"
)

var request = reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "team", Name: "pool"}}

// passOf is a reconciler with one result.
func passOf(after time.Duration, err error) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, _ reconcile.Request) (ctrl.Result, error) {
		log.FromContext(ctx).Info("a line")
		return ctrl.Result{RequeueAfter: after}, err
	})
}

func TestTraced(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		after  time.Duration
		err    error
		status codes.Code
		want   map[attribute.Key]any
	}{
		{"a pass that went through", 0, nil, codes.Unset, map[attribute.Key]any{"slipway.outcome": "done"}},
		{"a pass that asks to be called again", 90 * time.Second, nil, codes.Unset,
			map[attribute.Key]any{"slipway.outcome": "requeued", "slipway.requeue_after_seconds": 90.0}},
		{"a pass that failed", 0, errors.New("no luck"), codes.Error, map[attribute.Key]any{"slipway.outcome": "failed"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			spans := tracetest.NewInMemoryExporter()
			provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
			_, _ = reconciling.Traced("Pool", provider, passOf(row.after, row.err)).Reconcile(t.Context(), request)
			got := spans.GetSpans()
			if len(got) != 1 {
				t.Fatalf("spans are %+v, want the pass's", got)
			}
			row.want["slipway.kind"], row.want["k8s.namespace.name"], row.want["slipway.name"] = "Pool", "team", "pool"
			attributes := map[attribute.Key]any{}
			for _, pair := range got[0].Attributes {
				attributes[pair.Key] = pair.Value.AsInterface()
			}
			if difference := cmp.Diff(row.want, attributes); difference != "" {
				t.Errorf("attributes (-want +got):\n%s", difference)
			}
			if got[0].Name != "Reconcile Pool" || got[0].Status.Code != row.status {
				t.Errorf("span %q has status %v, want %v", got[0].Name, got[0].Status.Code, row.status)
			}
		})
	}
}

func TestTracedLogLinesNameTheTrace(t *testing.T) {
	t.Parallel()
	logged := func(traced reconcile.Reconciler) string {
		var lines bytes.Buffer
		ctx := log.IntoContext(t.Context(), logr.FromSlogHandler(slog.NewTextHandler(&lines, nil)))
		if _, err := traced.Reconcile(ctx, request); err != nil {
			t.Fatal(err)
		}
		return lines.String()
	}
	spans := tracetest.NewInMemoryExporter()
	lines := logged(reconciling.Traced("Pool", sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)), passOf(0, nil)))
	if id := spans.GetSpans()[0].SpanContext.TraceID().String(); !bytes.Contains([]byte(lines), []byte("traceID="+id)) {
		t.Errorf("trace %s is not in the log:\n%s", id, lines)
	}
	if lines := logged(reconciling.Traced("Pool", noop.NewTracerProvider(), passOf(0, nil))); bytes.Contains([]byte(lines), []byte("traceID")) {
		t.Errorf("a pass that is not traced names a trace:\n%s", lines)
	}
}
