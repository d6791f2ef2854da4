// Package manager wires everything together: a controller manager with the controllers of all
// kinds, what they use of AWS, and the endpoints that operators query. It is the only place that
// constructs things; `slipway manager` and the laboratory call it.
package manager

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/clusteridentity"
	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/launchconfig"
	"github.com/slipway-project/slipway/internal/launchconfigtemplate"
	"github.com/slipway-project/slipway/internal/machinepool"
	"github.com/slipway-project/slipway/internal/managedmachinepool"
	"github.com/slipway-project/slipway/internal/report"
	"github.com/slipway-project/slipway/internal/secretwatch"
	"github.com/slipway-project/slipway/internal/watches"
	"github.com/slipway-project/slipway/internal/webhookcertificate"
	"github.com/slipway-project/slipway/internal/workload"
)

// LeaderElectionID is the default name of the lease that the leading manager holds.
const LeaderElectionID = "slipway-leader-election"

// shutdown limits the time that running reconciles may take to finish. Reconciles never wait, so it
// limits one call to AWS.
const shutdown = 10 * time.Second

// NewScheme returns a scheme with the kinds that the manager reads and writes.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, clusterv1.AddToScheme, capav1.AddToScheme, eksv1.AddToScheme, infrav1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	return scheme, nil
}

// Run runs a manager until the context is done, and returns nil then. It fails at once if the
// options make no sense, and if the API server, a kind or AWS credentials are missing; and later if
// it loses the lease that it worked under.
func Run(ctx context.Context, options Options) error {
	options = options.withDefaults()
	if err := options.validate(); err != nil {
		return err
	}
	if err := errors.Join(checkAWS(ctx, options), options.Webhooks.check()); err != nil {
		return err
	}
	scheme, err := NewScheme()
	if err != nil {
		return err
	}
	options.lease, options.Webhooks.served = options.LeaderElection.lease(), &webhookcertificate.Served{}
	manager, err := newManager(options, controllerManagerOptions(options, scheme))
	if err != nil {
		return err
	}
	kinds, err := watchedKinds(manager)
	if err != nil {
		return err
	}
	if err := checkLeaseNamespace(ctx, manager, options.LeaderElection); err != nil {
		return err
	}
	workloads := workload.New(manager.GetAPIReader(), options.Clock)
	workloads.Wrap, workloads.Loopback = options.wrapWorkloads(), options.LoopbackWorkloads
	defer workloads.Close()
	sessions := aws.NewSessions(options.AWS, sessionOptions(options)...)
	principals := &identity.Resolver{Reader: manager.GetClient(), Secrets: manager.GetAPIReader(), SecretNamespace: options.IdentitySecretNamespace}
	registry := clouds.NewRegistry(sessions, principals, options.Clock, options.Intervals)
	if err := errors.Join(
		addControllers(manager, options, kinds, workloads, registry), addHealthChecks(manager, kinds.all), addWebhooks(ctx, manager, options.Webhooks),
		addDashboard(manager, options, sessions, registry),
	); err != nil {
		return err
	}
	if err := manager.Start(ctx); err != nil {
		return fmt.Errorf("running the manager: %w", err)
	}
	return nil
}

func controllerManagerOptions(options Options, scheme *runtime.Scheme) ctrl.Options {
	grace := shutdown
	set := ctrl.Options{
		Scheme:         scheme,
		Logger:         options.Log,
		LeaderElection: options.LeaderElection.Enabled,
		LeaseDuration:  &options.LeaderElection.LeaseDuration,
		RenewDeadline:  &options.LeaderElection.RenewDeadline,
		RetryPeriod:    &options.LeaderElection.RetryPeriod,
		// Safe because the process exits with the manager: the next one need not wait for the lease
		// to expire.
		LeaderElectionReleaseOnCancel: true,
		HealthProbeBindAddress:        orOff(options.HealthAddress),
		PprofBindAddress:              options.ProfilerAddress,
		WebhookServer:                 options.Webhooks.server(),
		GracefulShutdownTimeout:       &grace,
		Metrics: metricsserver.Options{
			BindAddress:   orOff(options.MetricsAddress),
			SecureServing: !options.InsecureMetrics,
			// HTTP/2 off: its rapid reset attacks are not worth what metrics gain from it.
			TLSOpts: []func(*tls.Config){func(config *tls.Config) { config.NextProtos = []string{"http/1.1"} }},
		},
		Cache: cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		// Secrets are read by name, past the cache: a cached read would list and hold all of them.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	}
	if !options.InsecureMetrics {
		set.Metrics.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	if options.SyncPeriod > 0 {
		set.Cache.SyncPeriod = &options.SyncPeriod
	}
	if options.Namespace != "" {
		set.Cache.DefaultNamespaces = map[string]cache.Config{options.Namespace: {}}
	}
	return set
}

// orOff is the address, or what controller-runtime takes for none.
func orOff(address string) string {
	if address == "" {
		return "0"
	}
	return address
}

// addControllers adds the controllers of all kinds, and what they share.
func addControllers(manager ctrl.Manager, options Options, kinds kinds, workloads *workload.Clusters, registry *clouds.Registry) error {
	registry.ListenTo(options.EventQueue, options.EventMetrics)
	// Prometheus collects metrics from all replicas. A sum would count each object once per replica.
	described := onceLeading(func() { options.Progress.Read(manager.GetCache()) })
	if err := errors.Join(manager.Add(registry), manager.Add(described)); err != nil {
		return fmt.Errorf("adding the observers of AWS: %w", err)
	}
	secrets := secretwatch.New(manager.GetAPIReader(), options.Clock, options.SecretInterval)
	settings := watches.Settings{
		Clock: options.Clock, Concurrency: options.Concurrency, WatchFilter: options.WatchFilter, Traces: options.Traces,
	}
	configs := launchconfig.New(launchconfig.Options{
		Client: manager.GetClient(), Live: manager.GetAPIReader(), Watches: secrets, Clouds: registry,
		Report: report.Reporter{Recorder: manager.GetEventRecorder(launchconfig.Name), Progress: options.Progress}, Clock: options.Clock,
	})
	pools := machinepool.New(&machinepool.Kind{
		Client: manager.GetClient(), Live: manager.GetAPIReader(), Clouds: registry, Workloads: workloads, Clock: options.Clock,
		Settings: machinepool.Settings{SettleWindow: options.SettleWindow, MachinePoolMachines: options.MachinePoolMachines},
	}, report.Reporter{Recorder: manager.GetEventRecorder(machinepool.Name), Progress: options.Progress})
	managed := managedmachinepool.New(&managedmachinepool.Kind{
		Client: manager.GetClient(), Live: manager.GetAPIReader(), Clouds: registry, Clock: options.Clock,
		Settings: managedmachinepool.Settings{
			SettleWindow: options.SettleWindow, NodeRolePath: options.NodeRolePath, NodeRoleBoundary: options.NodeRoleBoundary,
		},
	}, report.Reporter{Recorder: manager.GetEventRecorder(managedmachinepool.Name), Progress: options.Progress})
	identities := &clusteridentity.Reconciler{
		Client: manager.GetClient(), Secrets: manager.GetAPIReader(), SecretNamespace: options.IdentitySecretNamespace,
		Watches: secretwatch.New(manager.GetAPIReader(), options.Clock, options.SecretInterval), Clouds: registry,
	}
	templates := launchconfigtemplate.New(&launchconfigtemplate.Kind{Client: manager.GetClient()}, options.Clock,
		report.Reporter{Recorder: manager.GetEventRecorder(launchconfigtemplate.Name), Progress: options.Progress})
	return errors.Join(
		configs.Register(manager, settings, secrets, kinds.networks),
		pools.Register(manager, settings, kinds.networks),
		managed.Register(manager, settings, kinds.networks),
		templates.Register(manager, settings),
		identities.Register(manager, settings, kinds.identities),
	)
}

// sessionOptions returns the options of the sessions in which AWS is called.
func sessionOptions(options Options) []aws.Option {
	settings := []aws.Option{
		aws.WithClock(options.Clock), aws.WithTracerProvider(options.Traces), aws.WithVersion(options.Version),
		aws.WithLimits(aws.DefaultLimits().Times(*options.RequestRates)), aws.WithMayWrite(options.lease.Check),
	}
	if options.Metrics != nil {
		settings = append(settings, aws.WithMetrics(options.Metrics))
	}
	if options.CallBackoff > 0 {
		settings = append(settings, aws.WithBackoff(options.CallBackoff))
	}
	return settings
}
