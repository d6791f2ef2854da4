package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/aws/events"
	"github.com/slipway-project/slipway/internal/aws/observe"
	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/internal/metrics"
)

// managerFlags are the command line of `slipway manager`. Cluster API's providers share their names, meanings and defaults.
type managerFlags struct {
	options    manager.Options
	verbosity  int
	kubeconfig string
	qps        float32
	burst      int
}

func newManagerCommand() *cobra.Command {
	flags := managerFlags{}
	command := &cobra.Command{
		Use:   "manager",
		Short: "Run the controllers",
		Long: "Run the controllers. The management cluster is found by --kubeconfig, KUBECONFIG or the pod's service account; AWS credentials and\n" +
			"region as by every AWS tool, AWS_ENDPOINT_URL included. Traces go to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names, if any.\n" +
			"SIGTERM and SIGINT end it in good order, with status 0; a second one ends it at once.",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return flags.run(command) },
	}
	flags.bind(command.Flags())
	return command
}

func (f *managerFlags) bind(set *pflag.FlagSet) {
	set.SortFlags = false
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "path of the management cluster's kubeconfig")
	set.StringVar(&f.options.Namespace, "namespace", "", "the only namespace to look at; all if empty")
	set.StringVar(&f.options.WatchFilter, "watch-filter", "", "look only at objects whose label cluster.x-k8s.io/watch-filter has this value")
	set.StringVar(&f.options.IdentitySecretNamespace, "identity-secret-namespace", identity.DefaultSecretNamespace, "where the Secrets of AWSClusterStaticIdentities are: the namespace that CAPA runs in")
	set.IntVar(&f.options.Concurrency, "concurrency", manager.DefaultConcurrency, "how many objects of each kind are reconciled at once")
	set.DurationVar(&f.options.SyncPeriod, "sync-period", 10*time.Hour, "how often every object is reconciled though nothing happened")
	set.DurationVar(&f.options.SettleWindow, "rollout-settle-window", manager.DefaultSettleWindow, "how long a pool's spec must not have changed before the change is rolled out; 0 for no wait")
	set.BoolVar(&f.options.MachinePoolMachines, "machine-pool-machines", false, "give every instance a Machine, in pools whose spec.machinePoolMachines does not say")
	set.DurationVar(&f.options.Intervals.Rest, "observe-interval", observe.DefaultIntervals.Rest, "how often AWS is looked at for groups and templates at rest")
	set.DurationVar(&f.options.Intervals.Motion, "observe-interval-in-motion", observe.DefaultIntervals.Motion, "how often it is looked at for groups in motion")
	set.StringVar(&f.options.EventQueue, "event-queue", "", "name of the SQS queue, in each account and region, that gets EventBridge's events; none if empty")
	set.DurationVar(&f.options.Intervals.RestWithEvents, "observe-interval-with-events", observe.DefaultIntervals.RestWithEvents, "how often AWS is looked at for groups at rest while --event-queue is read")
	f.options.RequestRates = set.Float64("aws-request-rates", 1, "how many times the request rates that AWS documents may be used: more for accounts that AWS gave more, less to leave some to others, 0 for no bound")
	set.Float32Var(&f.qps, "kube-api-qps", 0, "most requests per second to the API server; 0 for no bound but --concurrency and the server's own fairness")
	set.IntVar(&f.burst, "kube-api-burst", 200, "most requests to the API server in one burst, with --kube-api-qps")

	election := &f.options.LeaderElection
	set.BoolVar(&election.Enabled, "leader-elect", false, "work only while holding the lease "+manager.LeaderElectionID)
	set.StringVar(&election.Namespace, "leader-elect-namespace", "", "the namespace of the lease; that of the pod if empty")
	set.DurationVar(&election.LeaseDuration, "leader-elect-lease-duration", manager.DefaultLeaderElection.LeaseDuration, "how long others wait before they take over from a leader that gives no sign")
	set.DurationVar(&election.RenewDeadline, "leader-elect-renew-deadline", manager.DefaultLeaderElection.RenewDeadline, "after how long without success the leader gives up")
	set.DurationVar(&election.RetryPeriod, "leader-elect-retry-period", manager.DefaultLeaderElection.RetryPeriod, "how often the lease is tried for or renewed")

	set.StringVar(&f.options.HealthAddress, "health-addr", ":9440", "where /healthz and /readyz are served; nowhere if empty")
	set.StringVar(&f.options.MetricsAddress, "diagnostics-address", ":8443", "where /metrics is served over HTTPS, to those whom the API server lets; nowhere if empty")
	set.BoolVar(&f.options.InsecureMetrics, "insecure-diagnostics", false, "serve metrics over HTTP to everybody")
	set.StringVar(&f.options.ProfilerAddress, "profiler-address", "", "where Go's profiles are served, to everybody, such as localhost:6060; nowhere if empty")
	set.IntVar(&f.options.Webhooks.Port, "webhook-port", manager.DefaultWebhookPort, "where webhooks are served, which warn people at kubectl apply; nowhere if 0")
	set.StringVar(&f.options.Webhooks.CertificateDirectory, "webhook-cert-dir", "", "directory with the webhooks' certificate, tls.crt and tls.key, as a mounted Secret; no webhooks if empty")
	set.IntVarP(&f.verbosity, "v", "v", 0, "log level: 0 what changed, 1 why a pass ended, 4 more")
}

// garbage is how much garbage a manager's heap may hold, in percent of what is in use. With Go's default of 100 the heap of one that watches a thousand pools
// grows to 52 MB before it is collected, with this to 35.
const garbage = 50

func (f *managerFlags) run(command *cobra.Command) error {
	ctx := command.Context()
	if os.Getenv("GOGC") == "" { // whoever sets Go's own variable knows better
		debug.SetGCPercent(garbage)
	}
	f.options.Log = newLog(command.ErrOrStderr(), f.verbosity)
	f.options.Version = version()
	ctrl.SetLogger(f.options.Log)
	klog.SetLogger(f.options.Log)

	var err error
	if f.options.RESTConfig, err = f.managementCluster(); err != nil {
		return err
	}
	if f.options.AWS, err = aws.LoadBase(ctx); err != nil {
		return err
	}
	f.options.Metrics, f.options.EventMetrics, f.options.Progress = aws.NewMetrics(), events.NewMetrics(), metrics.NewProgress()
	for _, collector := range []prometheus.Collector{f.options.Metrics, f.options.EventMetrics, f.options.Progress} {
		if err := ctrlmetrics.Registry.Register(collector); err != nil {
			return fmt.Errorf("registering metrics: %w", err)
		}
	}
	stopTracing, err := startTracing(ctx, f.options.Version, f.options.Log)
	if err != nil {
		return err
	}
	defer stopTracing(time.Second)
	f.options.Log.Info("Starting", "version", f.options.Version, "namespace", f.options.Namespace, "watchFilter", f.options.WatchFilter,
		"region", f.options.AWS.Region, "leaderElection", f.options.LeaderElection.Enabled)
	return manager.Run(ctx, f.options)
}

// managementCluster finds the API server by the flag, or as kubectl and pods do.
func (f *managerFlags) managementCluster() (*rest.Config, error) {
	var config *rest.Config
	var err error
	if f.kubeconfig != "" {
		config, err = clientcmd.BuildConfigFromFlags("", f.kubeconfig)
	} else {
		config, err = ctrl.GetConfig()
	}
	if err != nil {
		return nil, fmt.Errorf("finding the management cluster (by --kubeconfig, KUBECONFIG, the pod's service account or ~/.kube/config): %w", err)
	}
	config.QPS, config.Burst = f.qps, f.burst
	if f.qps == 0 {
		config.QPS = -1 // client-go takes 0 for 5
	}
	config.UserAgent = "slipway/" + f.options.Version
	return config, nil
}
