package manager

import (
	"context"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace/noop"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/metrics"
)

// managed are the kinds of a management cluster with CAPA, but without those with the given names.
func managed(without ...string) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for group, names := range map[schema.GroupVersion][]string{
		clusterv1.GroupVersion: {"Cluster", "MachinePool", "Machine"},
		infrav1.GroupVersion: {
			"AWSMachinePool", "AWSManagedMachinePool", "AWSMachinePoolMachine", "AWSLaunchConfig", "AWSLaunchConfigTemplate",
			"AWSCluster", "AWSClusterControllerIdentity", "AWSClusterRoleIdentity", "AWSClusterStaticIdentity",
		},
		eksv1.GroupVersion: {"AWSManagedControlPlane"},
	} {
		for _, name := range names {
			if !slices.Contains(without, name) {
				kinds = append(kinds, group.WithKind(name))
			}
		}
	}
	return kinds
}

// optionsFor returns the options of a manager of a cluster.
func optionsFor(w *world) Options {
	return Options{
		RESTConfig: &rest.Config{Host: w.server.URL, Transport: w.server.Client().Transport, QPS: -1}, AWS: credentials(nil), Log: logr.Discard(), Traces: noop.NewTracerProvider(),
		Progress: metrics.NewProgress(),
	}
}

// eventually waits for something that goroutines do.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if t.Failed() || time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// running runs a function until stop is called. The test fails if the function returns an error.
func running(t *testing.T, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := run(ctx); err != nil {
			t.Errorf("it ends with %v", err)
		}
	}()
	stop = func() {
		cancel()
		<-ended
	}
	t.Cleanup(stop) // also if the test stops early
	return stop
}

const infra, core = "/apis/infrastructure.cluster.x-k8s.io/v1beta2/", "/apis/cluster.x-k8s.io/v1beta2/"

// watched returns the paths that a manager watches in all namespaces of a cluster with CAPA.
func watched() []string {
	return []string{
		"/api/v1/namespaces", // identities choose namespaces by their labels
		core + "clusters", core + "machinepools", core + "machines",
		"/apis/controlplane.cluster.x-k8s.io/v1beta2/awsmanagedcontrolplanes",
		infra + "awsclustercontrolleridentities", infra + "awsclusterroleidentities", infra + "awsclusters", infra + "awsclusterstaticidentities",
		infra + "awslaunchconfigs", infra + "awslaunchconfigtemplates", infra + "awsmachinepoolmachines", infra + "awsmachinepools", infra + "awsmanagedmachinepools",
	}
}

// TestManagerWatches holds what a manager reads: every kind that it needs once, the kinds of CAPA
// only where they are installed, and never all Secrets.
func TestManagerWatches(t *testing.T) {
	t.Parallel()
	inNamespace := func(paths []string) []string {
		var in []string
		for _, path := range paths {
			if slash := strings.LastIndex(path, "/"); !strings.HasSuffix(path, "identities") && path != "/api/v1/namespaces" {
				path = path[:slash] + "/namespaces/team" + path[slash:]
			}
			in = append(in, path)
		}
		return in
	}
	without := func(names ...string) []string {
		return slices.DeleteFunc(watched(), func(path string) bool {
			return slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(path, "/"+name) })
		})
	}
	for _, row := range []struct {
		reason string
		kinds  []schema.GroupVersionKind
		change func(*Options)
		want   []string
	}{
		{reason: "CAPA with EKS", kinds: managed(), want: watched()},
		{reason: "CAPA without EKS", kinds: managed("AWSManagedControlPlane"), want: without("awsmanagedcontrolplanes")},
		{reason: "no CAPA", kinds: managed("AWSManagedControlPlane", "AWSCluster", "AWSClusterControllerIdentity", "AWSClusterRoleIdentity", "AWSClusterStaticIdentity"),
			want: without("awsmanagedcontrolplanes", "awsclusters", "awsclustercontrolleridentities", "awsclusterroleidentities", "awsclusterstaticidentities")},
		{reason: "one namespace", kinds: managed(), change: func(o *Options) { o.Namespace = "team" }, want: inNamespace(watched())},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := serve(t, row.kinds...)
			options := optionsFor(w)
			if row.change != nil {
				row.change(&options)
			}
			want := slices.Sorted(slices.Values(row.want))
			stop := running(t, func(ctx context.Context) error { return Run(ctx, options) })
			eventually(t, "all is watched", func() bool { return len(w.seen("WATCH")) >= len(want) })
			stop()
			if difference := cmp.Diff(want, w.seen("WATCH")); difference != "" {
				t.Errorf("wanted (-) and watched (+):\n%s", difference)
			}
			for _, path := range append(w.seen(http.MethodGet), w.seen("WATCH")...) {
				if strings.Contains(path, "secrets") {
					t.Errorf("Secrets are listed: %s", path)
				}
			}
			for _, verb := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
				if writes := w.seen(verb); len(writes) > 0 {
					t.Errorf("a manager of an empty cluster writes: %s %v", verb, writes)
				}
			}
		})
	}
}

// TestKindsThatCannotBeFound holds that a manager does not take an API server that does not answer
// for one without CAPA: it would leave the clusters without their network for as long as it runs.
func TestKindsThatCannotBeFound(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, missing, fails, want string
	}{
		{"Slipway's own definitions are missing", "AWSLaunchConfigTemplate", "", "kind AWSLaunchConfigTemplate (infrastructure.cluster.x-k8s.io/v1beta2) is not installed in the management cluster: install Slipway's definitions"},
		{"the group of control planes cannot be read", "", "/apis/controlplane.cluster.x-k8s.io/v1beta2", "for kind AWSManagedControlPlane"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := serve(t, managed(row.missing)...)
			if row.fails != "" {
				w.refused[row.fails] = http.StatusInternalServerError
			}
			err := Run(t.Context(), optionsFor(w))
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("the error is %v, want %q", err, row.want)
			}
		})
	}
}

// TestStartsInVain holds that a manager ends with an error that says what to correct if a namespace does
// not exist, or if another program listens at an address.
func TestStartsInVain(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it ends with the test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	for _, row := range []struct {
		reason  string
		refused map[string]int
		change  func(*Options)
		want    string
	}{
		{"a namespace for the lease that cannot be read", map[string]int{"/api/v1/namespaces/system": http.StatusInternalServerError}, func(o *Options) {
			o.LeaderElection = LeaderElection{Enabled: true, Namespace: "system"}
		}, "reading namespace system of --leader-elect-namespace"},
		{"no namespace for the lease", map[string]int{"/api/v1/namespaces/system": http.StatusNotFound}, func(o *Options) {
			o.LeaderElection = LeaderElection{Enabled: true, Namespace: "system"}
		}, "--leader-elect-namespace is system, and there is no such namespace"},
		{"health checks at an address in use", nil, func(o *Options) { o.HealthAddress = taken.Addr().String() }, taken.Addr().String() + ": bind: address already in use"},
		{"metrics at an address in use", nil, func(o *Options) { o.MetricsAddress, o.InsecureMetrics = taken.Addr().String(), true }, taken.Addr().String() + ": bind: address already in use"},
		{"the dashboard at an address in use", nil, func(o *Options) { o.DashboardAddress = taken.Addr().String() }, taken.Addr().String() + ": bind: address already in use"},
		{"profiles at an address in use", nil, func(o *Options) { o.ProfilerAddress = taken.Addr().String() }, taken.Addr().String() + ": bind: address already in use"},
		{"a certificate that cannot be read", nil, func(o *Options) { o.Webhooks = Webhooks{Port: 9443, CertificateDirectory: t.TempDir()} }, "reading the webhooks' certificate in --webhook-cert-dir: open "},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := serve(t, managed()...)
			maps.Copy(w.refused, row.refused)
			options := optionsFor(w)
			row.change(&options)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			err := Run(ctx, options)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Fatalf("the error is %v, want %q", err, row.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has several lines: %q", err)
			}
		})
	}
}

// TestNamespaceThatMayNotBeRead holds that a manager works whose role does not let it read its namespace.
func TestNamespaceThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	w := serve(t, managed()...)
	w.refused["/api/v1/namespaces/team"] = http.StatusForbidden
	options := optionsFor(w)
	options.Namespace = "team"
	stop := running(t, func(ctx context.Context) error { return Run(ctx, options) })
	eventually(t, "all is watched", func() bool { return len(w.seen("WATCH")) >= len(watched()) })
	stop()
}

// TestLeadership holds that a manager takes the lease before it works, releases it when it stops,
// and does not touch one that another manager holds.
func TestLeadership(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ id, want string }{{"", LeaderElectionID}, {"blue", "blue"}} {
		w := serve(t, managed()...)
		options := optionsFor(w)
		options.LeaderElection = LeaderElection{Enabled: true, ID: row.id, Namespace: "slipway-system"}
		stop := running(t, func(ctx context.Context) error { return Run(ctx, options) })
		eventually(t, "the manager leads", func() bool { return len(w.holders()) == 1 })
		eventually(t, "it works", func() bool { return len(w.seen("WATCH")) == len(watched()) })
		w.mu.Lock()
		if name := w.lease.Name; name != row.want {
			t.Errorf("with the ID %q, the lease is called %s, want %s", row.id, name, row.want)
		}
		w.mu.Unlock()
		stop()
		if holders := w.holders(); len(holders) != 2 || holders[1] != "" {
			t.Errorf("the holders of the lease are %q, want it given back", holders)
		}
	}
}

// TestAnotherLeads holds that a program neither takes the lease of another replica nor writes anything
// while it waits, and reads nothing because its metrics are collected. Its metrics describe no objects: Prometheus
// collects from all replicas, and a sum would count each object once per replica.
func TestAnotherLeads(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		program string
		kinds   []schema.GroupVersionKind
		run     func(context.Context, Options) error
		reads   []string // kinds that are indexed
	}{
		{"manager", managed(), Run, nil},
		{"provisioner", provisioned(), func(ctx context.Context, options Options) error {
			return RunProvisioner(ctx, ProvisionerOptions{Options: options})
		}, []string{"/api/v1/nodes", "/api/v1/pods", "/apis/provisioning.karpenter.sh/v1alpha2/provisionednodes"}},
	} {
		t.Run(row.program, func(t *testing.T) {
			t.Parallel()
			w := serve(t, row.kinds...)
			w.lease = &coordinationv1.Lease{TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}}
			w.lease.Spec = coordinationv1.LeaseSpec{
				HolderIdentity: ptr.To("another"), LeaseDurationSeconds: ptr.To[int32](3600),
				AcquireTime: ptr.To(metav1.NowMicro()), RenewTime: ptr.To(metav1.NowMicro()),
			}
			options := optionsFor(w)
			options.LeaderElection = LeaderElection{Enabled: true, Namespace: "slipway-system", RetryPeriod: time.Millisecond}
			stop := running(t, func(ctx context.Context) error { return row.run(ctx, options) })
			asked := func() (times int) {
				w.mu.Lock()
				defer w.mu.Unlock()
				for _, request := range w.requests {
					if strings.HasPrefix(request, "GET ") && strings.Contains(request, "/leases/") {
						times++
					}
				}
				return times
			}
			eventually(t, "it has asked several times", func() bool { return asked() > 3 })
			eventually(t, "kinds that are indexed are read", func() bool { return len(w.seen("WATCH")) >= len(row.reads) })
			before := w.seen("WATCH")
			registry := prometheus.NewPedanticRegistry()
			registry.MustRegister(options.Progress)
			if _, err := registry.Gather(); err != nil {
				t.Error(err)
			}
			stop()
			if holders := w.holders(); len(holders) > 0 {
				t.Errorf("the lease was written by %q", holders)
			}
			if !slices.Equal(before, row.reads) {
				t.Errorf("it reads %v already, want %v", before, row.reads)
			}
			if after := w.seen("WATCH"); !slices.Equal(after, before) {
				t.Errorf("it reads %v for its metrics", after)
			}
		})
	}
}

// TestProfilesOfTheProvisioner holds that instance profiles are limited only where an identity of
// CAPA can say so, and that an API server that does not answer is no permission.
func TestProfilesOfTheProvisioner(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason         string
		kinds          []schema.GroupVersionKind
		fails          bool
		limited, wrong bool
	}{
		{reason: "CAPA is installed", kinds: managed(), limited: true},
		{reason: "CAPA is not installed", kinds: managed("AWSClusterControllerIdentity")},
		{reason: "the API server does not say", kinds: managed(), fails: true, wrong: true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := serve(t, row.kinds...)
			if row.fails {
				w.refused["/apis/"+capav1.GroupVersion.String()] = http.StatusInternalServerError
			}
			scheme, err := NewProvisionerScheme()
			if err != nil {
				t.Fatal(err)
			}
			options := optionsFor(w).withDefaults()
			manager, err := newManager(options, controllerManagerOptions(options, scheme))
			if err != nil {
				t.Fatal(err)
			}
			profiles, err := profilesOf(manager)
			if (profiles != nil) != row.limited || (err != nil) != row.wrong {
				t.Errorf("limited by %v, error %v", profiles, err)
			}
		})
	}
}
