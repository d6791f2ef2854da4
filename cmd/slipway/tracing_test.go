package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace/noop"
)

func TestTracingGoesByTheStandardVariables(t *testing.T) {
	paths := make(chan string, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { paths <- r.URL.Path }))
	t.Cleanup(collector.Close)
	for _, row := range []struct {
		reason      string
		environment map[string]string
		sent        string
		err         string
	}{
		{"nothing is configured", nil, "", ""},
		{"a collector", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL}, "/v1/traces", ""},
		{"a collector of traces alone", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": collector.URL + "/mine"}, "/mine", ""},
		{"said twice", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL, "OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, "/v1/traces", ""},
		{"no traces", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL, "OTEL_TRACES_EXPORTER": "none"}, "", ""},
		{"all off", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL, "OTEL_SDK_DISABLED": "true"}, "", ""},
		{"an exporter that is not there", map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, "", "OTEL_TRACES_EXPORTER"},
		{"a protocol that is not there", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, "", "OTEL_EXPORTER_OTLP_PROTOCOL"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			otel.SetTracerProvider(noop.NewTracerProvider())
			for name, value := range row.environment {
				t.Setenv(name, value)
			}
			stop, err := startTracing(t.Context(), "v1", logr.Discard())
			if (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) {
				t.Fatalf("the error is %v, want %q", err, row.err)
			}
			if err != nil {
				return
			}
			_, span := otel.Tracer("test").Start(t.Context(), "span")
			span.End()
			stop(10 * time.Second)
			sent := ""
			select {
			case sent = <-paths:
			default:
			}
			if sent != row.sent {
				t.Errorf("spans went to %q, want %q", sent, row.sent)
			}
		})
	}
	otel.SetTracerProvider(noop.NewTracerProvider())
}
