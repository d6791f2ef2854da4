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
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/internal/metrics"
)

// commonFlags are the flags of every command that runs controllers.
type commonFlags struct {
	verbosity  int
	kubeconfig string
	qps        float32
	burst      int
}

// bind adds the flags, and has what belongs into options put there. Lease is the name of the lease
// of the command.
func (f *commonFlags) bind(set *pflag.FlagSet, options *manager.Options, lease string) {
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "path of the cluster's kubeconfig")
	set.IntVar(&options.Concurrency, "concurrency", manager.DefaultConcurrency, "how many objects of each kind are reconciled at once")
	set.DurationVar(&options.SyncPeriod, "sync-period", 10*time.Hour, "how often every object is reconciled though nothing happened")
	set.DurationVar(&options.Intervals.Rest, "observe-interval", observe.DefaultIntervals.Rest, "how often AWS is looked at for what is at rest")
	set.DurationVar(&options.Intervals.Motion, "observe-interval-in-motion", observe.DefaultIntervals.Motion, "how often it is looked at for what is in motion")
	set.StringVar(&options.EventQueue, "event-queue", "", "name of the SQS queue, in each account and region in use, that gets EventBridge's events for this process alone; none if empty")
	set.DurationVar(&options.Intervals.RestWithEvents, "observe-interval-with-events", observe.DefaultIntervals.RestWithEvents, "how often AWS is looked at for what is at rest while --event-queue is read")
	options.RequestRates = set.Float64("aws-request-rates", 1, "how many times the request rates that AWS documents may be used: more for accounts that AWS gave more, less to leave some to others, 0 for no bound")
	set.Float32Var(&f.qps, "kube-api-qps", 0, "most requests per second to the API server; 0 for no bound but --concurrency and the server's own fairness")
	set.IntVar(&f.burst, "kube-api-burst", 200, "most requests to the API server in one burst, with --kube-api-qps")

	election := &options.LeaderElection
	set.BoolVar(&election.Enabled, "leader-elect", false, "work only while holding the lease "+lease)
	set.StringVar(&election.Namespace, "leader-elect-namespace", "", "the namespace of the lease; that of the pod if empty")
	set.DurationVar(&election.LeaseDuration, "leader-elect-lease-duration", manager.DefaultLeaderElection.LeaseDuration, "how long others wait before they take over from a leader that gives no sign")
	set.DurationVar(&election.RenewDeadline, "leader-elect-renew-deadline", manager.DefaultLeaderElection.RenewDeadline, "after how long without success the leader gives up")
	set.DurationVar(&election.RetryPeriod, "leader-elect-retry-period", manager.DefaultLeaderElection.RetryPeriod, "how often the lease is tried for or renewed")

	set.StringVar(&options.HealthAddress, "health-addr", ":9440", "where /healthz and /readyz are served; nowhere if empty")
	set.StringVar(&options.MetricsAddress, "diagnostics-address", ":8443", "where /metrics is served over HTTPS, to those whom the API server lets; nowhere if empty")
	set.BoolVar(&options.InsecureMetrics, "insecure-diagnostics", false, "serve metrics over HTTP to everybody")
	set.StringVar(&options.ProfilerAddress, "profiler-address", "", "where Go's profiles are served, to everybody, such as localhost:6060; nowhere if empty")
	set.IntVarP(&f.verbosity, "v", "v", 0, "log level: 0 what changed, 1 why a pass ended, 4 more")
}

// garbage bounds the garbage that a manager's heap may hold, in percent of the live heap. With Go's
// default of 100, the heap of a manager that watches a thousand pools grows to 52 MB before it is
// collected. With this value, it grows to 35 MB.
const garbage = 50

// prepare finds the cluster and AWS, and starts logs, metrics and traces. The returned function
// stops them.
func (f *commonFlags) prepare(command *cobra.Command, options *manager.Options) (func(), error) {
	ctx := command.Context()
	if os.Getenv("GOGC") == "" { // an operator who sets Go's own variable knows better
		debug.SetGCPercent(garbage)
	}
	options.Log = newLog(command.ErrOrStderr(), f.verbosity)
	options.Version = version()
	ctrl.SetLogger(options.Log)
	klog.SetLogger(options.Log)

	var err error
	if options.RESTConfig, err = f.cluster(options.Version); err != nil {
		return nil, err
	}
	if options.AWS, err = aws.LoadBase(ctx); err != nil {
		return nil, err
	}
	options.Metrics, options.EventMetrics, options.Progress = aws.NewMetrics(), events.NewMetrics(), metrics.NewProgress()
	for _, collector := range []prometheus.Collector{options.Metrics, options.EventMetrics, options.Progress, metrics.NewBuildInfo(options.Version, revision())} {
		if err := ctrlmetrics.Registry.Register(collector); err != nil {
			return nil, fmt.Errorf("registering metrics: %w", err)
		}
	}
	stopTracing, err := startTracing(ctx, options.Version, options.Log)
	if err != nil {
		return nil, err
	}
	options.Log.Info("Starting", "command", command.Name(), "version", options.Version, "namespace", options.Namespace, "watchFilter", options.WatchFilter,
		"region", options.AWS.Region, "leaderElection", options.LeaderElection.Enabled)
	return func() { stopTracing(time.Second) }, nil
}

// cluster finds the API server by the flag, or as kubectl and pods do.
func (f *commonFlags) cluster(version string) (*rest.Config, error) {
	var config *rest.Config
	var err error
	if f.kubeconfig != "" {
		config, err = clientcmd.BuildConfigFromFlags("", f.kubeconfig)
	} else {
		config, err = ctrl.GetConfig()
	}
	if err != nil {
		return nil, fmt.Errorf("finding the cluster (by --kubeconfig, KUBECONFIG, the pod's service account or ~/.kube/config): %w", err)
	}
	config.QPS, config.Burst = f.qps, f.burst
	if f.qps == 0 {
		config.QPS = -1 // client-go takes 0 for 5
	}
	config.UserAgent = "slipway/" + version
	return config, nil
}
