package managertest

import (
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/lab/product"
)

// get requests an address with a token, or without one. Metrics have a self-signed certificate.
func get(t *testing.T, url, token string) (status int, body string, err error) {
	t.Helper()
	asked, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		asked.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	answer, err := (&http.Client{Transport: transport}).Do(asked)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(content), err
}

// token returns the token of a service account of the test's namespace.
func (w *world) token(name string) string {
	w.Helper()
	config, err := w.Lab.Management.ServiceAccountConfig(w.Context(), w.Namespace, name)
	if err != nil {
		w.Fatal(err)
	}
	return config.BearerToken
}

func TestMetricsAreForThoseWhoMay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	recorded, address := &requests{}, w.freeAddress()
	identify := w.asServiceAccount(recorded)
	w.StartManager(product.Manager(product.Settings{Change: func(options *manager.Options) {
		identify(options)
		options.MetricsAddress = address
	}}))
	reader, stranger := w.token("reader"), w.token("stranger")
	if err := w.Client.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "metrics-reader-" + w.Namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "slipway-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: w.Namespace, Name: "reader"}},
	}); err != nil {
		t.Fatal(err)
	}
	w.Eventually("who may read gets metrics", func() error {
		status, body, err := get(t, "https://"+address+"/metrics", reader)
		if err == nil && (status != http.StatusOK || !strings.Contains(body, "controller_runtime_active_workers")) {
			err = errNotYet
		}
		return err
	})
	for _, row := range []struct {
		reason, token string
		want          int
	}{
		{"no credentials", "", http.StatusUnauthorized},
		// Not 401: controller-runtime takes the API server's "no" to a token for a failure to ask.
		{"a token that is none", "nonsense", http.StatusInternalServerError},
		{"who has no right", stranger, http.StatusForbidden},
		{"who has it", reader, http.StatusOK},
	} {
		status, body, err := get(t, "https://"+address+"/metrics", row.token)
		if err != nil || status != row.want {
			t.Errorf("%s gets %d %v, want %d: %.200s", row.reason, status, err, row.want, body)
		}
	}
	used, forbidden := recorded.seen()
	if len(forbidden) > 0 || !used.HasAll("create tokenreviews.authentication.k8s.io", "create subjectaccessreviews.authorization.k8s.io") {
		t.Errorf("the manager was refused %q, and used %v", forbidden, used)
	}
}

func TestReconcilesAndStepsAreSpansAndCallsOfAWSAreTheirChildren(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spans := tracetest.NewInMemoryExporter()
	w.StartManager(product.Manager(product.Settings{Change: func(options *manager.Options) {
		options.Traces = sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	}}))
	w.ApplyFile(example)
	w.Eventually("the pool has its nodes", func() error { return w.settled(poolName) })

	byID := map[trace.SpanID]tracetest.SpanStub{}
	for _, span := range spans.GetSpans() {
		byID[span.SpanContext.SpanID()] = span
	}
	for child, parent := range map[string]string{"ec2:CreateLaunchTemplate": "AWSLaunchConfig", "autoscaling:CreateAutoScalingGroup": "AWSMachinePool"} {
		found := false
		for _, span := range byID {
			if span.Name != child {
				continue
			}
			found = true
			step := byID[span.Parent.SpanID()]
			if !strings.HasPrefix(step.Name, "create ") {
				t.Errorf("%s is under span %q, want the action that makes it", child, step.Name)
			}
			pass := byID[step.Parent.SpanID()]
			attributes := map[string]string{}
			for _, pair := range pass.Attributes {
				attributes[string(pair.Key)] = pair.Value.String()
			}
			if pass.Name != "Reconcile "+parent || attributes[string(reconciling.KindAttribute)] != parent ||
				attributes[string(reconciling.NamespaceAttribute)] != w.Namespace || attributes[string(reconciling.NameAttribute)] != poolName ||
				attributes[string(reconciling.OutcomeAttribute)] == "" {
				t.Errorf("%s is under span %q with %v, want the pass of the %s", child, pass.Name, attributes, parent)
			}
		}
		if !found {
			t.Errorf("there is no span of %s", child)
		}
	}
}
