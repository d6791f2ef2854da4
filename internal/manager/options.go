package manager

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/aws/events"
	"github.com/slipway-project/slipway/internal/aws/observe"
	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/leadership"
	"github.com/slipway-project/slipway/internal/metrics"
	"github.com/slipway-project/slipway/internal/noderole"
	"github.com/slipway-project/slipway/internal/secretwatch"
	"github.com/slipway-project/slipway/internal/steadyclock"
)

// DefaultConcurrency is the number of objects of each kind that are reconciled at once. A reconcile
// waits only for answers, mostly from AWS, which take a tenth of a second each, and a waiting
// worker costs almost nothing. The request budgets limit the calls to AWS.
const DefaultConcurrency = 50

// DefaultSettleWindow is long enough for the edits of one user, or of one `kubectl apply`, to cause
// only one roll-out.
const DefaultSettleWindow = 10 * time.Second

// DefaultLeaderElection has the durations that Cluster API's providers use.
var DefaultLeaderElection = LeaderElection{LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}

// Options configures a manager.
type Options struct {
	// RESTConfig connects to the management cluster.
	RESTConfig *rest.Config
	// AWS contains the controller's own identity and the settings of connections to AWS.
	AWS awssdk.Config
	// WrapWorkloads wraps the transports to workload clusters, as RESTConfig may wrap the transport
	// to the management cluster. Optional.
	WrapWorkloads func(http.RoundTripper) http.RoundTripper
	// LoopbackWorkloads allows workload clusters whose API server is on this machine. It is for
	// development: a tenant could use it to reach other servers on this machine.
	LoopbackWorkloads bool
	// Clock is real time without jumps, except in tests and in the laboratory.
	Clock clock.WithTicker
	// Namespace is the only namespace whose objects are reconciled. Defaults to all namespaces.
	Namespace string
	// WatchFilter is the value of the watch filter label that objects must have. Defaults to all
	// objects.
	WatchFilter string
	// IdentitySecretNamespace is the namespace of the Secrets of AWSClusterStaticIdentities.
	// Defaults to identity.DefaultSecretNamespace.
	IdentitySecretNamespace string
	// Concurrency is how many objects of each kind are reconciled at once. Defaults to
	// DefaultConcurrency.
	Concurrency int
	// SyncPeriod is how often every object is reconciled without a change. Defaults to ten hours.
	SyncPeriod time.Duration
	// RequestRates is the factor that is applied to the request rates that AWS documents, to limit
	// the manager's calls. Defaults to 1. Zero disables the limit.
	RequestRates *float64
	// SecretInterval is how often Secrets with bootstrap data or with credentials of identities are
	// checked. Defaults to secretwatch.DefaultInterval.
	SecretInterval time.Duration
	// Intervals configures how often resources in AWS are described. Defaults to
	// observe.DefaultIntervals.
	Intervals observe.Intervals

	// CallBackoff is the maximum time, in real time, before a pass retries a failed call to AWS.
	// Defaults to one second.
	CallBackoff time.Duration

	// EventQueue is the name of the SQS queue that receives EventBridge's events in each account
	// and region. Disabled if empty.
	EventQueue string

	// SettleWindow is how long a pool's spec must be unchanged before the last change is rolled
	// out. Zero disables the wait.
	SettleWindow time.Duration
	// MachinePoolMachines creates Machines for the instances of pools that do not specify whether
	// to create them.
	MachinePoolMachines bool

	// NodeRolePath begins the IAM paths of the node roles that the manager creates, and is followed
	// by the cluster's name. Defaults to noderole.DefaultPath. NodeRoleBoundary is the ARN of the
	// permissions boundary of all node roles. Optional.
	NodeRolePath, NodeRoleBoundary string

	// LeaderElection delays all work until this manager is the leader.
	LeaderElection LeaderElection
	// HealthAddress serves /healthz and /readyz. Disabled if empty.
	HealthAddress string
	// MetricsAddress serves /metrics over HTTPS to clients that the API server authorizes. Disabled
	// if empty.
	MetricsAddress string
	// InsecureMetrics serves metrics over HTTP, without authentication.
	InsecureMetrics bool
	// DashboardAddress serves the dashboard over HTTPS to clients that the API server authorizes.
	// Disabled if empty.
	DashboardAddress string
	// ProfilerAddress serves Go's profiles under /debug/pprof/, without authentication. Disabled if
	// empty.
	ProfilerAddress string

	// Webhooks configures admission warnings. Disabled by default.
	Webhooks Webhooks

	// Metrics counts calls to AWS. Optional.
	Metrics *aws.Metrics
	// EventMetrics counts messages of event queues. Optional.
	EventMetrics *events.Metrics
	// Progress counts versions, roll-outs, and conditions. Optional.
	Progress *metrics.Progress
	// Traces receives a span for each reconcile, step, and call to AWS. Defaults to OpenTelemetry's
	// global provider.
	Traces trace.TracerProvider
	// Version is the release, for example in the user agent of calls to AWS.
	Version string
	Log     logr.Logger

	// lease is the leader election lease of this process, or nil without leader election. Run sets
	// it.
	lease *leadership.Lease
}

// rolePaths matches IAM paths except / (AWS: API_CreateRole, Path). policyARNs matches the ARNs of
// managed policies.
var (
	rolePaths  = regexp.MustCompile(`^/[!-~]+/$`)
	policyARNs = regexp.MustCompile(`^arn:[a-z-]+:iam::(aws|[0-9]{12}):policy/[!-~]+$`)
)

// LeaderElection configures how one of several managers is elected. The zero value disables leader
// election, and the manager works at once.
type LeaderElection struct {
	Enabled bool
	// ID is the name of the lease. Managers with the same ID in the same namespace elect one leader
	// among them. Defaults to LeaderElectionID, and for a provisioner to ProvisionerLeaderElectionID.
	ID string
	// Namespace is the namespace of the lease. Inside a cluster, it defaults to the namespace of
	// the pod.
	Namespace string
	// LeaseDuration is how long other managers wait before they replace an unresponsive leader.
	// RenewDeadline is how long the leader tries to renew the lease before it gives up. RetryPeriod
	// is the interval between attempts of all managers. Each must be shorter than the one before.
	// Zero selects the default.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// lease returns the lease that permits writes, or nil without leader election. It expires at the
// renew deadline: no other manager becomes the leader until the lease duration, which is longer,
// has passed.
func (e LeaderElection) lease() *leadership.Lease {
	if !e.Enabled {
		return nil
	}
	return leadership.NewLease(e.RenewDeadline)
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = steadyclock.Real()
	}
	if o.Concurrency == 0 {
		o.Concurrency = DefaultConcurrency
	}
	if o.Intervals == (observe.Intervals{}) {
		o.Intervals = observe.DefaultIntervals
	}
	if o.Intervals.RestWithEvents == 0 {
		o.Intervals.RestWithEvents = observe.DefaultIntervals.RestWithEvents
	}
	if o.Intervals.Spacing == 0 {
		o.Intervals.Spacing = observe.DefaultIntervals.Spacing
	}
	if o.SecretInterval == 0 {
		o.SecretInterval = secretwatch.DefaultInterval
	}
	if o.RequestRates == nil {
		o.RequestRates = ptr.To(1.0)
	}
	if o.Traces == nil {
		o.Traces = otel.GetTracerProvider()
	}
	if o.IdentitySecretNamespace == "" {
		o.IdentitySecretNamespace = identity.DefaultSecretNamespace
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	election := &o.LeaderElection
	if election.ID == "" {
		election.ID = LeaderElectionID
	}
	for _, period := range []struct {
		value  *time.Duration
		normal time.Duration
	}{
		{&election.LeaseDuration, DefaultLeaderElection.LeaseDuration},
		{&election.RenewDeadline, DefaultLeaderElection.RenewDeadline},
		{&election.RetryPeriod, DefaultLeaderElection.RetryPeriod},
	} {
		if *period.value == 0 {
			*period.value = period.normal
		}
	}
	return o
}

// validate returns an error that describes invalid options by their command-line flags.
func (o Options) validate() error {
	var found []error
	refuse := func(wrong bool, format string, values ...any) {
		if wrong {
			found = append(found, fmt.Errorf(format, values...))
		}
	}
	refuse(o.RESTConfig == nil, "no management cluster is given")
	refuse(o.Concurrency < 0, "--concurrency is %d, and must be positive", o.Concurrency)
	refuse(!(*o.RequestRates >= 0) || math.IsInf(*o.RequestRates, 1), "--aws-request-rates is %v, and must be a number that is not negative", *o.RequestRates)
	refuse(o.SyncPeriod < 0, "--sync-period is %v, and must not be negative", o.SyncPeriod)
	refuse(o.SettleWindow < 0, "--rollout-settle-window is %v, and must not be negative", o.SettleWindow)
	refuse(o.SecretInterval < 0, "--secret-interval is %v, and must be positive", o.SecretInterval)
	refuse(o.Intervals.Rest <= 0, "--observe-interval is %v, and must be positive", o.Intervals.Rest)
	refuse(o.Intervals.Motion <= 0, "--observe-interval-in-motion is %v, and must be positive", o.Intervals.Motion)
	refuse(o.Intervals.RestWithEvents < o.Intervals.Rest && o.EventQueue != "", "--observe-interval-with-events is %v, and must not be shorter than --observe-interval, which is %v",
		o.Intervals.RestWithEvents, o.Intervals.Rest)
	refuse(o.NodeRolePath != "" && !rolePaths.MatchString(o.NodeRolePath), "--node-role-path is %q, and must begin and end with a slash, such as %s", o.NodeRolePath, noderole.DefaultPath)
	refuse(o.NodeRoleBoundary != "" && !policyARNs.MatchString(o.NodeRoleBoundary), "--node-role-permissions-boundary is %q, and must be the ARN of an IAM policy", o.NodeRoleBoundary)
	refuse(o.Webhooks.Port < 0 || o.Webhooks.Port > 65535, "--webhook-port is %d, and must be a port, or 0 for none", o.Webhooks.Port)
	refuse(o.Webhooks.CertificateDirectory != "" && o.Webhooks.CertificateSecret != "", "--webhook-cert-dir and --webhook-cert-secret are both set, and only one can be")
	if _, valid := o.Webhooks.secret(); o.Webhooks.CertificateSecret != "" {
		refuse(!valid, "--webhook-cert-secret is %q, and must be NAMESPACE/NAME", o.Webhooks.CertificateSecret)
	}
	election := o.LeaderElection
	refuse(election.RetryPeriod <= 0, "--leader-elect-retry-period is %v, and must be positive", election.RetryPeriod)
	refuse(election.RenewDeadline <= election.RetryPeriod*6/5, "--leader-elect-renew-deadline is %v, and must be longer than 1.2 times --leader-elect-retry-period, which is %v",
		election.RenewDeadline, election.RetryPeriod)
	refuse(election.LeaseDuration <= election.RenewDeadline, "--leader-elect-lease-duration is %v, and must be longer than --leader-elect-renew-deadline, which is %v",
		election.LeaseDuration, election.RenewDeadline)
	return errors.Join(append(found, o.validateNames(), o.validateAddresses())...)
}
