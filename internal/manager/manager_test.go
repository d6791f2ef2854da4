package manager

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/aws/observe"
)

// credentials are a configuration of AWS that has some, or fails to get them.
func credentials(err error) awssdk.Config {
	return awssdk.Config{Region: "us-east-1", Credentials: awssdk.CredentialsProviderFunc(func(context.Context) (awssdk.Credentials, error) {
		return awssdk.Credentials{AccessKeyID: "key", SecretAccessKey: "secret"}, err
	})}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		change func(*Options)
		want   string
	}{
		{"the defaults", func(*Options) {}, ""},
		{"no cluster", func(o *Options) { o.RESTConfig = nil }, "management cluster"},
		{"negative concurrency", func(o *Options) { o.Concurrency = -1 }, "--concurrency is -1"},
		{"a negative rate", func(o *Options) { *o.RequestRates = -1 }, "--aws-request-rates is -1"},
		{"a rate that is no number", func(o *Options) { *o.RequestRates = math.NaN() }, "--aws-request-rates is NaN"},
		{"a rate without end", func(o *Options) { *o.RequestRates = math.Inf(1) }, "--aws-request-rates is +Inf"},
		{"several namespaces", func(o *Options) { o.Namespace = "team-a,team-b" }, "--namespace is \"team-a,team-b\", and must be the name of one namespace"},
		{"a lease in no namespace", func(o *Options) { o.LeaderElection.Namespace = "Slipway" }, "--leader-elect-namespace is \"Slipway\""},
		{"a lease whose name is a path", func(o *Options) { o.LeaderElection.ID = "slipway-system/blue" }, "--leader-election-id is \"slipway-system/blue\", and must be the name of a lease: a DNS subdomain"},
		{"a lease whose name has capitals", func(o *Options) { o.LeaderElection.ID = "Blue" }, "--leader-election-id is \"Blue\""},
		{"a lease whose name is too long", func(o *Options) { o.LeaderElection.ID = strings.Repeat("a", 254) }, "--leader-election-id is \"aaa"},
		{"a lease whose name is a DNS subdomain", func(o *Options) { o.LeaderElection.ID = "blue.slipway.example.com" }, ""},
		{"Secrets in no namespace", func(o *Options) { o.IdentitySecretNamespace = "capa/system" }, "--identity-secret-namespace is \"capa/system\""},
		{"a label that no object has", func(o *Options) { o.WatchFilter = "blue green" }, "--watch-filter is \"blue green\""},
		{"a zone", func(o *Options) { o.AWS.Region = "us-east-1a" }, "is \"us-east-1a\", and must be a region"},
		{"a region by its title", func(o *Options) { o.AWS.Region = "Ireland" }, "is \"Ireland\", and must be a region"},
		{"a region of the European Sovereign Cloud", func(o *Options) { o.AWS.Region = "eusc-de-east-1" }, ""},
		{"a region for a government", func(o *Options) { o.AWS.Region = "us-gov-west-1" }, ""},
		{"a queue by its URL", func(o *Options) { o.EventQueue = "https://sqs.us-east-1.amazonaws.com/123456789012/events" }, "--event-queue is"},
		{"a queue by its name", func(o *Options) { o.EventQueue = "slipway_events-1" }, ""},
		{"an address without a port", func(o *Options) { o.HealthAddress = "9440" }, "--health-addr is \"9440\", and must be an address with a port"},
		{"a port that is too great", func(o *Options) { o.MetricsAddress = ":84430" }, "--diagnostics-address is \":84430\""},
		{"a port by its name", func(o *Options) { o.ProfilerAddress = "localhost:http" }, "--profiler-address is \"localhost:http\""},
		{"an address of IPv6 without brackets", func(o *Options) { o.DashboardAddress = "::1:9442" }, "--dashboard-address is \"::1:9442\""},
		{"addresses of IPv6", func(o *Options) { o.HealthAddress, o.DashboardAddress = "[::]:9440", "[::1]:9442" }, ""},
		{"off, as in other programs", func(o *Options) { o.HealthAddress, o.MetricsAddress, o.ProfilerAddress = "0", "0", "0" }, ""},
		{"any free port, twice", func(o *Options) { o.HealthAddress, o.MetricsAddress = "127.0.0.1:0", "127.0.0.1:0" }, ""},
		{"one address for two", func(o *Options) { o.HealthAddress, o.MetricsAddress = ":8443", ":8443" }, "--diagnostics-address is :8443, and --health-addr is the same"},
		{"the webhook's port", func(o *Options) {
			o.MetricsAddress, o.Webhooks = ":9443", Webhooks{Port: 9443, CertificateDirectory: "/x"}
		}, "--diagnostics-address is :9443, and --webhook-port is the same"},
		{"a negative period", func(o *Options) { o.SyncPeriod = -time.Second }, "--sync-period is -1s"},
		{"a negative window", func(o *Options) { o.SettleWindow = -time.Second }, "--rollout-settle-window is -1s"},
		{"no time between sweeps", func(o *Options) { o.Intervals.Rest = 0 }, "--observe-interval is 0s"},
		{"no time between sweeps in motion", func(o *Options) { o.Intervals.Motion = 0 }, "--observe-interval-in-motion is 0s"},
		{"a lease that ends before the leader gives up", func(o *Options) { o.LeaderElection.LeaseDuration = 10 * time.Second }, "--leader-elect-lease-duration is 10s"},
		{"a leader that gives up before it has tried again, jitter included", func(o *Options) { o.LeaderElection.RetryPeriod = 9 * time.Second }, "--leader-elect-renew-deadline is 10s"},
		{"a port that there is not", func(o *Options) { o.Webhooks.Port = 65536 }, "--webhook-port is 65536"},
		{"two certificates", func(o *Options) { o.Webhooks.CertificateDirectory, o.Webhooks.CertificateSecret = "/x", "a/b" }, "--webhook-cert-dir and --webhook-cert-secret"},
		{"a Secret without its namespace", func(o *Options) { o.Webhooks.CertificateSecret = "certificate" }, "--webhook-cert-secret is \"certificate\""},
		{"a Secret by its full name", func(o *Options) { o.Webhooks.CertificateSecret = "slipway-system/certificate" }, ""},
		{"a path of roles that is none", func(o *Options) { o.NodeRolePath = "slipway" }, "--node-role-path"},
		{"all roles of the account", func(o *Options) { o.NodeRolePath = "/" }, "--node-role-path"},
		{"a boundary by its name", func(o *Options) { o.NodeRoleBoundary = "bound" }, "--node-role-permissions-boundary"},
		{"a path and a boundary", func(o *Options) {
			o.NodeRolePath, o.NodeRoleBoundary = "/nodes/", "arn:aws:iam::111122223333:policy/bound"
		}, ""},
		{"a negative retry period", func(o *Options) { o.LeaderElection.RetryPeriod = -1 }, "--leader-elect-retry-period"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			options := Options{RESTConfig: &rest.Config{}, Intervals: observe.DefaultIntervals}.withDefaults()
			row.change(&options)
			err := options.validate()
			if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("the error is %v, want %q", err, row.want)
			}
		})
	}
}

func TestRunSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	// An API server without any groups: nothing is installed.
	empty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/api":
			_, _ = w.Write([]byte(`{"kind":"APIVersions","versions":["v1"]}`))
		case "/apis":
			_, _ = w.Write([]byte(`{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(empty.Close)
	for _, row := range []struct {
		reason, host string
		aws          awssdk.Config
		want         string
	}{
		{"no definitions", empty.URL, credentials(nil), "kind Cluster (cluster.x-k8s.io/v1beta2) is not installed in the management cluster: install Cluster API"},
		{"no API server", "http://127.0.0.1:1", credentials(nil), "asking the API server at http://127.0.0.1:1 for kind Cluster"},
		{"no provider of credentials", empty.URL, awssdk.Config{}, "no AWS credentials"},
		{"no credentials", empty.URL, credentials(errors.New("the token file is gone")), "the token file is gone"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			err := Run(t.Context(), Options{RESTConfig: &rest.Config{Host: row.host, Transport: empty.Client().Transport}, AWS: row.aws, Log: logr.Discard()})
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("the error is %v, want %q", err, row.want)
			}
		})
	}
}

// fakeInformers are a cache in which everything is as one informer is.
type fakeInformers struct {
	cache.Informer
	synced bool
	err    error
}

func (f *fakeInformers) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return f, f.err
}

func (f *fakeInformers) HasSynced() bool { return f.synced }

func TestReadiness(t *testing.T) {
	t.Parallel()
	leads, waits := make(chan struct{}), make(chan struct{})
	close(leads)
	for _, row := range []struct {
		reason  string
		elected chan struct{}
		cache   fakeInformers
		want    string
	}{
		{"one that waits for its turn is ready, and reads nothing", waits, fakeInformers{err: errors.New("asked")}, ""},
		{"one that leads is ready when everything is read", leads, fakeInformers{synced: true}, ""},
		{"one that leads is not ready before", leads, fakeInformers{}, "Cluster has not been read yet"},
		{"nor when a kind cannot be watched", leads, fakeInformers{err: errors.New("no such kind")}, "no such kind"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			kinds := []client.Object{requiredKinds()[0].object}
			check := &readiness{elected: row.elected, cache: &row.cache, kinds: kinds}
			err := check.check(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", http.NoBody))
			if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("the error is %v, want %q", err, row.want)
			}
		})
	}
}
