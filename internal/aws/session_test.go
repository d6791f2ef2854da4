package aws

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

var describe1 = &ec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{"pool"}}

func TestSessionsFor(t *testing.T) {
	t.Parallel()
	sessions := NewSessions(newWire(t).config())
	own, err := sessions.For(t.Context(), Principal{}, "")
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name, reason string
		identity     Identity
		region       string
		same         bool
	}{
		{name: "again", reason: "Clients are shared.", same: true},
		{name: "by region", reason: "An empty region is the environment's.", region: "us-east-1", same: true},
		{name: "by name", reason: "CAPA's webhook names the controller's own identity.", identity: Identity{Kind: IdentityController, Name: "default"}, same: true},
		{name: "elsewhere", reason: "Budgets and endpoints are a region's.", region: "eu-west-1"},
		{name: "role", reason: "Each identity has its own credentials.", identity: Identity{Kind: IdentityRole, Name: "r"}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := sessions.For(t.Context(), Principal{Identity: tc.identity}, tc.region)
			if err != nil || (got == own) != tc.same {
				t.Errorf("%s same clients: %v, error %v", tc.reason, got == own, err)
			}
		})
	}
}

func TestSessionsNeedARegion(t *testing.T) {
	t.Parallel()
	config := newWire(t).config()
	config.Region = ""
	_, err := NewSessions(config).For(t.Context(), Principal{}, "")
	var noRegion *NoRegionError
	if !errors.As(err, &noRegion) {
		t.Errorf("got %v", err)
	}
	if fate := FateOf(err); fate.Kind != WaitForUser {
		t.Errorf("fate %v", fate)
	}
}

func TestLoadBaseReadsTheEnvironment(t *testing.T) {
	w := newWire(t)
	t.Setenv("AWS_ENDPOINT_URL", w.url)
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	base, err := LoadBase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	clients, err := NewSessions(base).For(t.Context(), Principal{}, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clients.EC2.DescribeLaunchTemplates(t.Context(), describe1); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"DescribeLaunchTemplates"}, w.calls); diff != "" {
		t.Errorf("calls at the endpoint (-want +got):\n%s", diff)
	}
}

func TestAccountIDIsAskedOnce(t *testing.T) {
	t.Parallel()
	w := newWire(t, answer{status: 403, code: "InvalidClientTokenId", message: "no"})
	clients := w.clients(t)
	if _, err := clients.AccountID(t.Context()); !IsAccessDenied(err) {
		t.Fatalf("got %v", err)
	}
	for range 3 {
		id, err := clients.AccountID(t.Context())
		if err != nil || id != "123456789012" {
			t.Fatalf("account %q, %v", id, err)
		}
	}
	if w.called() != 2 {
		t.Errorf("%d calls: a failure is asked again, an answer is not", w.called())
	}
}

func TestRetriesAreFew(t *testing.T) {
	t.Parallel()
	failed := answer{status: 500, code: "InternalError", message: "An internal error has occurred"}
	cases := []struct {
		name, reason string
		answers      []answer
		calls        int
		uncertain    bool
		code         string
	}{
		{name: "once", reason: "A passing failure is not worth a reconcile.", answers: []answer{failed}, calls: 2},
		{name: "dropped once", reason: "The same on a broken connection.", answers: []answer{{drop: true}}, calls: 2},
		{name: "always", reason: "A lasting one is for the work queue.", answers: []answer{failed, failed, failed, failed}, calls: 3, uncertain: true, code: "InternalError"},
		{name: "dropped always", reason: "The call may have had its effect.", answers: []answer{{drop: true}, {drop: true}, {drop: true}, {drop: true}}, calls: 3, uncertain: true},
		{name: "refused", reason: "What AWS refuses it will refuse again.", answers: []answer{{status: 400, code: "InvalidParameterValue", message: "no"}}, calls: 1, code: "InvalidParameterValue"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t, tc.answers...)
			_, err := w.clients(t).EC2.DescribeLaunchTemplates(t.Context(), describe1)
			if w.called() != tc.calls || Code(err) != tc.code || IsUncertain(err) != tc.uncertain {
				t.Errorf("%s %d calls, code %q, uncertain %v: %v", tc.reason, w.called(), Code(err), IsUncertain(err), err)
			}
			if tc.uncertain && FateOf(err) != (Fate{Kind: RetrySoon}) {
				t.Errorf("%s fate %v", tc.reason, FateOf(err))
			}
		})
	}
}

func TestErrorsSayWhichCallItWas(t *testing.T) {
	t.Parallel()
	refused := answer{status: 400, code: "InvalidLaunchTemplateName.NotFoundException", message: "At least one of the launch templates specified in the request does not exist."}
	clients := newWire(t, refused, refused).clients(t)
	_, first := clients.EC2.DescribeLaunchTemplates(t.Context(), describe1)
	_, second := clients.EC2.DescribeLaunchTemplates(t.Context(), describe1)

	var call *CallError
	if !errors.As(first, &call) {
		t.Fatalf("got %v", first)
	}
	got := CallError{Service: call.Service, Action: call.Action, RequestID: call.RequestID}
	want := CallError{Service: "ec2", Action: "DescribeLaunchTemplates", RequestID: "00000000-0000-0000-0000-000000000001"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("call (-want +got):\n%s", diff)
	}
	if !strings.Contains(first.Error(), want.RequestID) || RequestID(first) == RequestID(second) {
		t.Errorf("the log needs each call's own request id: %v", first)
	}
	if UserMessage(first) != UserMessage(second) {
		t.Errorf("a condition would flap: %q, %q", UserMessage(first), UserMessage(second))
	}
	if !IsNotFound(first) || !IsLaunchTemplateNotFound(first) {
		t.Errorf("not recognized: %v", first)
	}
}

func TestCallsAreCountedAndTraced(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	metrics := NewMetrics()
	failed := answer{status: 500, code: "InternalError", message: "x"}
	w := newWire(t, failed, answer{}, answer{status: 400, code: "InvalidParameterValue", message: "bad"})
	clients := w.clients(t, WithMetrics(metrics), WithTracerProvider(provider))
	for range 2 {
		_, _ = clients.EC2.DescribeLaunchTemplates(t.Context(), describe1)
	}

	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metrics)
	want := map[string]float64{"InternalError": 1, "OK": 1, "InvalidParameterValue": 1}
	if diff := cmp.Diff(want, counted(t, registry, "slipway_aws_calls_total", "code")); diff != "" {
		t.Errorf("calls by code, every attempt counted (-want +got):\n%s", diff)
	}

	var seen []string
	for _, span := range spans.GetSpans() {
		attempts := ""
		for _, a := range span.Attributes {
			if a.Key == attribute.Key("aws.attempts") {
				attempts = a.Value.String()
			}
		}
		seen = append(seen, span.Name+" attempts="+attempts+" error="+map[bool]string{true: "yes", false: "no"}[span.Status.Code == codes.Error])
	}
	wantSpans := []string{"ec2:DescribeLaunchTemplates attempts=2 error=no", "ec2:DescribeLaunchTemplates attempts=1 error=yes"}
	if diff := cmp.Diff(wantSpans, seen); diff != "" {
		t.Errorf("one span a call, retries inside (-want +got):\n%s", diff)
	}
}

// counted reads a counter's values by one of its labels.
func counted(t *testing.T, gatherer prometheus.Gatherer, name, label string) map[string]float64 {
	t.Helper()
	families, err := gatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, pair := range metric.GetLabel() {
				if pair.GetName() == label {
					values[pair.GetValue()] += metric.GetCounter().GetValue()
				}
			}
		}
	}
	return values
}
