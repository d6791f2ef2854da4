package manager

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/internal/metrics"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/steadyclock"
)

// provisioned are the kinds of a cluster whose pods get just-in-time nodes.
func provisioned() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{provisioningv1.GroupVersion.WithKind("Provisioner"), provisioningv1.GroupVersion.WithKind("ProvisionedNode")}
}

// provisionerFor returns the options of a provisioner in a cluster, with a simulated AWS.
func provisionerFor(t *testing.T, w *world) (ProvisionerOptions, *awssim.Simulator) {
	t.Helper()
	sim, _, url := awssimtest.Start(t, time.Date(2026, time.November, 22, 10, 0, 0, 0, time.UTC), awssim.Options{})
	options := ProvisionerOptions{Options: optionsFor(w)}
	options.AWS = awssimtest.Config(url, "us-east-1", "123456789012")
	return options, sim
}

// TestProvisionerWatches holds that a provisioner of a cluster without Provisioners reads pods,
// nodes and its own kinds, launches nothing, and writes nothing.
func TestProvisionerWatches(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ reason, namespace, pods string }{
		{reason: "all namespaces", pods: "/api/v1/pods"},
		{reason: "one namespace", namespace: "team", pods: "/api/v1/namespaces/team/pods"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := serve(t, provisioned()...)
			options, sim := provisionerFor(t, w)
			options.Namespace = row.namespace
			want := []string{row.pods, "/api/v1/nodes"}
			stop := running(t, func(ctx context.Context) error { return RunProvisioner(ctx, options) })
			read := func() []string {
				return slices.DeleteFunc(w.seen("WATCH"), func(path string) bool { return strings.Contains(path, "provision") })
			}
			eventually(t, "all is watched", func() bool { return len(w.seen("WATCH")) >= len(want)+2 })
			stop()
			if difference := cmp.Diff(slices.Sorted(slices.Values(want)), read()); difference != "" {
				t.Errorf("wanted (-) and watched (+):\n%s", difference)
			}
			if writes := slices.Concat(w.seen(http.MethodPost), w.seen(http.MethodPut), w.seen(http.MethodPatch), w.seen(http.MethodDelete)); len(writes) > 0 {
				t.Errorf("it writes %v", writes)
			}
			for _, call := range sim.Calls() {
				if !strings.HasPrefix(call.Action, "Describe") && !strings.HasPrefix(call.Action, "Get") {
					t.Errorf("it calls %s", call.Action)
				}
			}
		})
	}
}

// TestProvisionerSaysWhatIsMissing holds that a provisioner that cannot do its work returns the
// reason before it does anything.
func TestProvisionerSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		kinds  []schema.GroupVersionKind
		change func(w *world, o *ProvisionerOptions)
		want   string
	}{
		{"no definitions", nil, nil, "kind Provisioner (provisioning.karpenter.sh/v1alpha2) is not installed in this cluster: install Slipway's definitions, config/provisioner/crd"},
		{"one of two definitions", provisioned()[:1], nil, "kind ProvisionedNode"},
		{"an API server that does not say", provisioned(), func(w *world, _ *ProvisionerOptions) {
			w.refused["/apis/provisioning.karpenter.sh/v1alpha2"] = http.StatusInternalServerError
		}, "for kind Provisioner"},
		{"a cluster that cannot be told from others", provisioned(), func(w *world, _ *ProvisionerOptions) {
			w.refused["/api/v1/namespaces/kube-system"] = http.StatusForbidden
		}, "reading namespace kube-system, whose UID marks what belongs to this cluster in AWS"},
		{"no credentials", provisioned(), func(_ *world, o *ProvisionerOptions) {
			o.AWS.Credentials = credentials(errors.New("the token file is gone")).Credentials
		}, "the token file is gone"},
		{"no region", provisioned(), func(_ *world, o *ProvisionerOptions) { o.AWS.Region = "" }, "AWS_REGION is not set"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := serve(t, row.kinds...)
			options, sim := provisionerFor(t, w)
			if row.change != nil {
				row.change(w, &options)
			}
			err := RunProvisioner(t.Context(), options)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("the error is %v, want %q", err, row.want)
			}
			if calls := sim.Calls(); len(calls) > 0 {
				t.Errorf("it called AWS: %v", calls)
			}
		})
	}
}

func TestValidateProvisioner(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		change func(*ProvisionerOptions)
		want   []string
	}{
		{"the defaults", func(*ProvisionerOptions) {}, nil},
		{"no launches at all", func(o *ProvisionerOptions) { o.LaunchesPerMinute = -1 }, []string{"--launches-per-minute is -1"}},
		{"a batch that ends before it begins", func(o *ProvisionerOptions) { o.BatchMax = -time.Second }, []string{"--batch-max is -1s"}},
		{"no pods", func(o *ProvisionerOptions) { o.PodsPerPass = -5 }, []string{"--pods-per-pass is -5"}},
		{"no time to register", func(o *ProvisionerOptions) { o.RegistrationTimeout = -time.Minute }, []string{"--registration-timeout is -1m0s"}},
		{"no region", func(o *ProvisionerOptions) { o.AWS = awssdk.Config{} }, []string{"AWS_REGION"}},
		{"several mistakes are reported together, also those of both programs", func(o *ProvisionerOptions) {
			o.LaunchesPerMinute, o.PodsPerPass, o.Concurrency = -1, -1, -1
		}, []string{"--launches-per-minute", "--pods-per-pass", "--concurrency"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			options := ProvisionerOptions{Options: Options{RESTConfig: &rest.Config{}, AWS: credentials(nil)}}.withDefaults()
			row.change(&options)
			err := options.validate()
			if (err == nil) != (len(row.want) == 0) {
				t.Fatalf("the error is %v, want %q", err, row.want)
			}
			for _, want := range row.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error %v lacks %q", err, want)
				}
			}
		})
	}
}

// TestDefaultsKeepWhatIsSet holds that defaults fill gaps and replace nothing.
func TestDefaultsKeepWhatIsSet(t *testing.T) {
	t.Parallel()
	set := ProvisionerOptions{Options: Options{LeaderElection: LeaderElection{ID: "mine"}}, InstanceProfile: "mine", LaunchesPerMinute: 1, BatchMax: 1, PodsPerPass: 1, RegistrationTimeout: 1}
	kept := set.withDefaults()
	if kept.LeaderElection.ID != "mine" || kept.InstanceProfile != "mine" || kept.LaunchesPerMinute != 1 || kept.BatchMax != 1 || kept.PodsPerPass != 1 || kept.RegistrationTimeout != 1 {
		t.Errorf("a default replaced what is set: %+v", kept)
	}
	var filled ProvisionerOptions
	filled = filled.withDefaults()
	if filled.InstanceProfile != DefaultInstanceProfile || filled.LaunchesPerMinute != DefaultLaunchesPerMinute {
		t.Errorf("profile %q and %d launches are no defaults", filled.InstanceProfile, filled.LaunchesPerMinute)
	}
	if filled.LeaderElection.ID != ProvisionerLeaderElectionID {
		t.Errorf("the lease is %q, which is not the provisioner's", filled.LeaderElection.ID)
	}
	if filled.BatchMax <= 0 || filled.PodsPerPass <= 0 || filled.RegistrationTimeout <= 0 {
		t.Errorf("a default is not positive: %+v", filled)
	}
}

// TestClusterAsItKnowsItself reads the facts about the cluster that nodes of default launch
// templates receive.
func TestClusterAsItKnowsItself(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, version, ranges string
		status                  int
		wantVersion, wantRange  string
		wrong                   string
	}{
		{reason: "kubeadm", version: "v1.36.3", ranges: `["10.96.0.0/12"]`, wantVersion: "v1.36.3", wantRange: "10.96.0.0/12"},
		{reason: "EKS", version: "v1.33.4-eks-1234567", ranges: `["172.20.0.0/16"]`, wantVersion: "v1.33.4", wantRange: "172.20.0.0/16"},
		{reason: "k3s", version: "v1.36.3+k3s1", ranges: `["10.43.0.0/16"]`, wantVersion: "v1.36.3", wantRange: "10.43.0.0/16"},
		{reason: "a build between releases", version: "v1.37.0-alpha.1+abcdef", ranges: `["10.0.0.0/8"]`, wantVersion: "v1.37.0", wantRange: "10.0.0.0/8"},
		{reason: "two families: the first is the one of the DNS service", version: "v1.36.3", ranges: `["10.96.0.0/12","fd00::/108"]`, wantVersion: "v1.36.3", wantRange: "10.96.0.0/12"},
		{reason: "no range", version: "v1.36.3", ranges: `[]`, wantVersion: "v1.36.3", wrong: "has no range"},
		{reason: "before Kubernetes 1.33", version: "v1.32.0", status: http.StatusNotFound, wantVersion: "v1.32.0", wrong: "from Kubernetes 1.33 on"},
		{reason: "not allowed", version: "v1.36.3", status: http.StatusForbidden, wantVersion: "v1.36.3", wrong: "reading ServiceCIDR kubernetes"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch {
				case r.URL.Path == "/version":
					_, _ = w.Write([]byte(`{"gitVersion":"` + row.version + `"}`))
				case row.status != 0:
					w.WriteHeader(row.status)
				default:
					_, _ = w.Write([]byte(`{"kind":"ServiceCIDR","apiVersion":"networking.k8s.io/v1","metadata":{"name":"kubernetes"},"spec":{"cidrs":` + row.ranges + `}}`))
				}
			}))
			t.Cleanup(server.Close)
			api, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, Transport: server.Client().Transport})
			if err != nil {
				t.Fatal(err)
			}
			asked := &cluster{api}
			if version, err := asked.Version(t.Context()); err != nil || version != row.wantVersion {
				t.Errorf("the version is %q, %v", version, err)
			}
			services, err := asked.ServiceCIDR(t.Context())
			if services != row.wantRange || (err != nil) != (row.wrong != "") || err != nil && !strings.Contains(err.Error(), row.wrong) {
				t.Errorf("the range is %q, %v; want %q, %q", services, err, row.wantRange, row.wrong)
			}
		})
	}
}

func TestClusterThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	api, err := kubernetes.NewForConfig(&rest.Config{Host: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	asked := &cluster{api}
	if version, err := asked.Version(t.Context()); err == nil {
		t.Errorf("the version is %q", version)
	}
	if services, err := asked.ServiceCIDR(t.Context()); err == nil {
		t.Errorf("the range is %q", services)
	}
}

func TestConfigsAreReadByName(t *testing.T) {
	t.Parallel()
	scheme, err := NewProvisionerScheme()
	if err != nil {
		t.Fatal(err)
	}
	config := &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "gpu"}}
	config.Spec.InstanceType = "g5.xlarge"
	read := &configs{fake.NewClientBuilder().WithScheme(scheme).WithObjects(config).Build()}
	if found, err := read.LaunchConfig(t.Context(), "team", "gpu"); err != nil || found.Spec.InstanceType != "g5.xlarge" {
		t.Errorf("found %+v, %v", found, err)
	}
	if found, err := read.LaunchConfig(t.Context(), "other", "gpu"); err == nil {
		t.Errorf("found %+v in another namespace", found)
	}
}

// TestShortagesAreMeasured holds that metrics describe what AWS had none of, until that is
// forgotten.
func TestShortagesAreMeasured(t *testing.T) {
	t.Parallel()
	_, clock, _ := awssimtest.Start(t, time.Date(2026, time.November, 22, 10, 0, 0, 0, time.UTC), awssim.Options{})
	shortages := catalog.NewShortages(clock)
	short := shortOfferings(shortages)
	if found := short(); len(found) > 0 {
		t.Errorf("short of %v from the beginning", found)
	}
	shortages.Mark(catalog.Offering{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: "spot"})
	want := []metrics.Offering{{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: "spot"}}
	if difference := cmp.Diff(want, short()); difference != "" {
		t.Errorf("short of:\n%s", difference)
	}
	clock.Step(24 * time.Hour)
	if found := short(); len(found) > 0 {
		t.Errorf("still short of %v a day later", found)
	}
}

// TestEventsBeforeThereIsAManager holds that the lock of leader election can report events before a
// manager can record them, and that those after it are recorded.
func TestEventsBeforeThereIsAManager(t *testing.T) {
	t.Parallel()
	later, recorder, lease := &laterRecorder{}, record.NewFakeRecorder(10), &corev1.ConfigMap{}
	report := func() {
		provider := later.GetEventRecorderFor("leader election")
		provider.Event(lease, "Normal", "LeaderElection", "a became leader")
		provider.Eventf(lease, "Normal", "LeaderElection", "%s became %s", "b", "leader")
		provider.AnnotatedEventf(lease, map[string]string{"a": "b"}, "Warning", "LeaderElection", "%d%%", 100)
	}
	report()
	later.begin(recorder)
	report()
	close(recorder.Events)
	var told []string
	for event := range recorder.Events {
		told = append(told, event)
	}
	want := []string{"Normal LeaderElection a became leader", "Normal LeaderElection b became leader", "Warning LeaderElection 100% map[a:b]"}
	if difference := cmp.Diff(want, told); difference != "" {
		t.Errorf("reported:\n%s", difference)
	}
}

// TestManagerOptions holds what the options of the command line come to in controller-runtime.
func TestManagerOptions(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		change func(*Options)
		holds  func(o Options) bool
	}{
		{"addresses that are not set are off, not controller-runtime's defaults", nil, func(o Options) bool {
			set := controllerManagerOptions(o, runtime.NewScheme())
			return set.HealthProbeBindAddress == "0" && set.Metrics.BindAddress == "0" && set.PprofBindAddress == ""
		}},
		{"metrics are for those whom the API server lets", func(o *Options) { o.MetricsAddress = ":8443" }, func(o Options) bool {
			set := controllerManagerOptions(o, runtime.NewScheme())
			return set.Metrics.BindAddress == ":8443" && set.Metrics.SecureServing && set.Metrics.FilterProvider != nil
		}},
		{"metrics without authentication", func(o *Options) { o.MetricsAddress, o.InsecureMetrics = ":8080", true }, func(o Options) bool {
			set := controllerManagerOptions(o, runtime.NewScheme())
			return !set.Metrics.SecureServing && set.Metrics.FilterProvider == nil
		}},
		{"every object is reconciled from time to time", func(o *Options) { o.SyncPeriod = time.Hour }, func(o Options) bool {
			set := controllerManagerOptions(o, runtime.NewScheme())
			return set.Cache.SyncPeriod != nil && *set.Cache.SyncPeriod == time.Hour
		}},
		{"how often is controller-runtime's to say", nil, func(o Options) bool {
			return controllerManagerOptions(o, runtime.NewScheme()).Cache.SyncPeriod == nil
		}},
		{"one namespace is cached", func(o *Options) { o.Namespace = "team" }, func(o Options) bool {
			cached := controllerManagerOptions(o, runtime.NewScheme()).Cache.DefaultNamespaces
			_, is := cached["team"]
			return is && len(cached) == 1
		}},
		{"Secrets are never cached", nil, func(o Options) bool {
			uncached := controllerManagerOptions(o, runtime.NewScheme()).Client.Cache.DisableFor
			_, is := uncached[0].(*corev1.Secret)
			return is && len(uncached) == 1
		}},
		{"without leader election everything may be written", nil, func(o Options) bool {
			return o.LeaderElection.lease() == nil && o.LeaderElection.lease().Check() == nil
		}},
		{"with it nothing may be written before the lease is held", func(o *Options) { o.LeaderElection.Enabled = true }, func(o Options) bool {
			return o.LeaderElection.lease().Check() != nil
		}},
		{"the clock follows real time", nil, func(o Options) bool { _, is := o.Clock.(*steadyclock.Clock); return is }},
		{"part of the intervals is set", func(o *Options) { o.Intervals.Rest, o.Intervals.Motion = time.Hour, time.Minute }, func(o Options) bool {
			return o.Intervals.Rest == time.Hour && o.Intervals.RestWithEvents > 0 && o.Intervals.Spacing > 0
		}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			var options Options
			if row.change != nil {
				row.change(&options)
			}
			if !row.holds(options.withDefaults()) {
				t.Errorf("it does not hold for %+v", options)
			}
		})
	}
}

// roundTrip answers requests.
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (r roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// TestEvictionsNeedTheLease holds that a manager that does not lead sends no writes to workload
// clusters, whatever wraps the transport, and that it may read them.
func TestEvictionsNeedTheLease(t *testing.T) {
	t.Parallel()
	var sent []string
	options := Options{LeaderElection: LeaderElection{Enabled: true, RenewDeadline: time.Second}}
	options.lease = options.LeaderElection.lease()
	wrapped := 0
	options.WrapWorkloads = func(next http.RoundTripper) http.RoundTripper { wrapped++; return next }
	transport := options.wrapWorkloads()(roundTrip(func(request *http.Request) (*http.Response, error) {
		sent = append(sent, request.Method)
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	}))
	for _, row := range []struct {
		method, path string
		allowed      bool
	}{
		{http.MethodGet, "/api/v1/nodes/a", true},
		{http.MethodPost, "/api/v1/namespaces/a/pods/b/eviction", false},
		{http.MethodPatch, "/api/v1/nodes/a", false},
	} {
		request := httptest.NewRequestWithContext(t.Context(), row.method, "https://workload"+row.path, http.NoBody)
		response, err := transport.RoundTrip(request)
		if (err == nil) != row.allowed {
			t.Errorf("%s %s: %v", row.method, row.path, err)
		}
		if response != nil {
			_ = response.Body.Close()
		}
	}
	if difference := cmp.Diff([]string{http.MethodGet}, sent); difference != "" || wrapped != 1 {
		t.Errorf("wrapped %d times, sent:\n%s", wrapped, difference)
	}
}
