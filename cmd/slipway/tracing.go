package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// startTracing sends spans to the collector that OpenTelemetry's own variables name (OTEL_EXPORTER_OTLP_ENDPOINT and its kin). Without one
// nothing is traced. What it returns ends tracing and sends what is left, within a time limit.
func startTracing(ctx context.Context, version string, log logr.Logger) (func(time.Duration), error) {
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		return func(time.Duration) {}, nil
	}
	exporter, err := otlptracegrpc.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("starting the trace exporter: %w", err)
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "slipway"), attribute.String("service.version", version),
		)),
	)
	otel.SetTracerProvider(provider)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Error(err, "Tracing failed") }))
	return func(limit time.Duration) {
		// The command's context has ended by now.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			log.Error(err, "Sending the last spans failed")
		}
	}, nil
}
