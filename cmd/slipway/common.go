package main

import (
	"errors"
	"fmt"
	"math"
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
	"github.com/slipway-project/slipway/internal/buildinfo"
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

// bind adds the flags, and has what belongs into options put there. Lease is the default name of the
// lease of the command.
func (f *commonFlags) bind(set *pflag.FlagSet, options *manager.Options, lease string) {
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "path of the cluster's kubeconfig")
	set.IntVar(&options.Concurrency, "concurrency", manager.DefaultConcurrency, "how many objects of each kind are reconciled at once")
	set.DurationVar(&options.SyncPeriod, "sync-period", 10*time.Hour, "how often every object is reconciled although nothing changed")
	set.DurationVar(&options.Intervals.Rest, "observe-interval", observe.DefaultIntervals.Rest, "how often resources that are not "+
		"expected to change are described in AWS")
	set.DurationVar(&options.Intervals.Motion, "observe-interval-in-motion", observe.DefaultIntervals.Motion, "how often changing resources are described in AWS")
	set.StringVar(&options.EventQueue, "event-queue", "", "name of the SQS queue, in each account and region in "+
		"use, that receives EventBridge's events for this process only; disabled if empty")
	set.DurationVar(&options.Intervals.RestWithEvents, "observe-interval-with-events", observe.DefaultIntervals.RestWithEvents, "how often resources that are not "+
		"expected to change are described in AWS while --event-queue is read")
	options.RequestRates = set.Float64("aws-request-rates", 1, "factor for the documented request rates of AWS: "+
		"above 1 for accounts with raised rates, below 1 to leave requests to other programs, 0 for no limit")
	set.Float32Var(&f.qps, "kube-api-qps", 0, "maximum requests per second to the API server; 0 for no limit "+
		"except --concurrency and the fairness of the server")
	set.IntVar(&f.burst, "kube-api-burst", 200, "maximum burst of requests to the API server, with --kube-api-qps")

	election := &options.LeaderElection
	set.BoolVar(&election.Enabled, "leader-elect", false, "work only while holding the lease of --leader-election-id")
	set.StringVar(&election.ID, "leader-election-id", lease, "the name of the lease; processes with the same name and namespace elect one leader, so give each installation in a namespace another name")
	set.StringVar(&election.Namespace, "leader-elect-namespace", "", "the namespace of the lease; the namespace of the pod if empty")
	set.DurationVar(&election.LeaseDuration, "leader-elect-lease-duration", manager.DefaultLeaderElection.LeaseDuration, "how long other processes wait before they take over from an unresponsive leader")
	set.DurationVar(&election.RenewDeadline, "leader-elect-renew-deadline", manager.DefaultLeaderElection.RenewDeadline, "how long the leader tries to renew the lease before it stops")
	set.DurationVar(&election.RetryPeriod, "leader-elect-retry-period", manager.DefaultLeaderElection.RetryPeriod, "how often a process tries to acquire or renew the lease")

	set.StringVar(&options.HealthAddress, "health-addr", ":9440", "address of /healthz and /readyz; disabled if empty")
	set.StringVar(&options.MetricsAddress, "diagnostics-address", ":8443", "address of /metrics over HTTPS, for clients that the API server authorizes; disabled if empty")
	set.BoolVar(&options.InsecureMetrics, "insecure-diagnostics", false, "serve metrics over HTTP, without authorization")
	set.StringVar(&options.ProfilerAddress, "profiler-address", "", "address of Go's profiles, without authorization, such as localhost:6060; disabled if empty")
	set.IntVarP(&f.verbosity, "v", "v", 0, "log level: 0 for changes, 1 for why each reconcile finished, 4 for more")
}

// garbage bounds the garbage that a manager's heap may hold, in percent of the live heap. With Go's
// default of 100, the heap of a manager that watches a thousand pools grows to 52 MB before it is
// collected. With this value, it grows to 35 MB.
const garbage = 50

// prepare finds the cluster and AWS, and starts logs, metrics and traces. The returned function
// stops them.
func (f *commonFlags) prepare(command *cobra.Command, options *manager.Options) (func(), error) {
	ctx := command.Context()
	if err := f.validate(); err != nil {
		return nil, err
	}
	if os.Getenv("GOGC") == "" { // an operator who sets Go's own variable knows better
		debug.SetGCPercent(garbage)
	}
	options.Log = newLog(command.ErrOrStderr(), f.verbosity)
	options.Version = buildinfo.Version()
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
	for _, collector := range []prometheus.Collector{options.Metrics, options.EventMetrics, options.Progress, metrics.NewBuildInfo(options.Version, buildinfo.Revision())} {
		if err := ctrlmetrics.Registry.Register(collector); err != nil {
			return nil, fmt.Errorf("registering metrics: %w", err)
		}
	}
	stopTracing, err := startTracing(ctx, options.Version, options.Log)
	if err != nil {
		return nil, err
	}
	options.Log.Info("Starting", "command", command.Name(), "version", options.Version, "namespace", options.Namespace, "watchFilter", options.WatchFilter,
		"region", options.AWS.Region, "leaderElection", options.LeaderElection.Enabled, "lease", options.LeaderElection.ID)
	return func() { stopTracing(time.Second) }, nil
}

// validate returns an error for flags that client-go and logs would take for something else.
func (f *commonFlags) validate() error {
	var found []error
	if !(f.qps >= 0) || math.IsInf(float64(f.qps), 1) {
		found = append(found, fmt.Errorf("--kube-api-qps is %v, and must be a number that is not negative", f.qps))
	}
	if f.qps > 0 && f.burst < 1 {
		found = append(found, fmt.Errorf("--kube-api-burst is %d, and must be positive", f.burst))
	}
	if f.verbosity < 0 {
		found = append(found, fmt.Errorf("--v is %d, and must not be negative", f.verbosity))
	}
	return errors.Join(found...)
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
