package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// startTracing sends spans to where OpenTelemetry's own variables say: OTEL_EXPORTER_OTLP_ENDPOINT
// or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT names a collector, OTEL_EXPORTER_OTLP_PROTOCOL how to speak
// to it; the rest (headers, certificates, sampler, resource attributes) is read by the SDK. Without
// a collector nothing is traced. The returned function stops tracing and sends the remaining spans,
// within a time limit.
//
// OpenTelemetry's autoexport is not used: without an endpoint it sends spans to this machine, and it
// links exporters of metrics and logs too. Neither is otelaws: the middleware of package aws that
// measures a call starts its span, with the number of attempts and the class of the error.
func startTracing(ctx context.Context, version string, log logr.Logger) (func(time.Duration), error) {
	exporter, err := newExporter(ctx)
	if err != nil {
		return nil, fmt.Errorf("starting the trace exporter: %w", err)
	}
	if exporter == nil {
		return func(time.Duration) {}, nil
	}
	// The environment is read last, and wins: OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
	described, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "slipway"), attribute.String("service.version", version),
	), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("describing this process to the trace collector: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(described))
	otel.SetTracerProvider(provider)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Error(err, "Tracing failed") }))
	return func(limit time.Duration) {
		// The command's context is already done.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			log.Error(err, "Sending the last spans failed")
		}
	}, nil
}

// newExporter returns an exporter of spans, or nil if tracing is disabled.
func newExporter(ctx context.Context) (sdktrace.SpanExporter, error) {
	switch exporter := os.Getenv("OTEL_TRACES_EXPORTER"); exporter {
	case "", "otlp":
	case "none":
		return nil, nil
	default:
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER is %q, but must be otlp or none", exporter)
	}
	endpoint := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"))
	if endpoint == "" || strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	switch protocol := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), "http/protobuf"); protocol {
	case "grpc":
		return otlptracegrpc.New(ctx)
	case "http/protobuf":
		return otlptracehttp.New(ctx)
	default:
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q, but must be http/protobuf or grpc", protocol)
	}
}
