package manager

import (
	"errors"
	"fmt"
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
)

// DefaultConcurrency is how many objects of each kind are reconciled at once. A reconcile waits for
// nothing but answers, of AWS's above all, which take a tenth of a second each; and workers that
// wait cost next to nothing. AWS's request budgets hold back what would be too much for it.
const DefaultConcurrency = 50

// DefaultSettleWindow is long enough for the edits of one person, or of one `kubectl apply`, to
// make one roll-out.
const DefaultSettleWindow = 10 * time.Second

// DefaultLeaderElection has the times that Cluster API's providers have.
var DefaultLeaderElection = LeaderElection{LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}

// Options are how a manager runs.
type Options struct {
	// RESTConfig reaches the management cluster.
	RESTConfig *rest.Config
	// AWS is the controller's own identity and how AWS is reached.
	AWS awssdk.Config
	// WrapWorkloads wraps the transports to workload clusters, as RESTConfig may wrap that to the
	// management cluster; nil for not.
	WrapWorkloads func(http.RoundTripper) http.RoundTripper
	// LoopbackWorkloads allows workload clusters whose API server is on this machine, for
	// development. A tenant could otherwise reach what listens here.
	LoopbackWorkloads bool
	// Clock is real time, except in tests and in the laboratory.
	Clock clock.WithTicker
	// Namespace is the only one that is looked at; all if empty.
	Namespace string
	// WatchFilter is the value of the watch filter label that objects must have; all objects if empty.
	WatchFilter string
	// IdentitySecretNamespace is where the Secrets of AWSClusterStaticIdentities are;
	// identity.DefaultSecretNamespace if empty.
	IdentitySecretNamespace string
	// Concurrency is how many objects of each kind are reconciled at once; DefaultConcurrency if zero.
	Concurrency int
	// SyncPeriod is how often every object is reconciled though nothing happened; every ten hours if zero.
	SyncPeriod time.Duration
	// RequestRates is how many times the request rates that AWS documents the manager may use of
	// its accounts; nil for one time, zero for no bound.
	RequestRates *float64
	// SecretInterval is how often the Secrets with bootstrap data, and with the credentials of
	// identities, are looked at; secretwatch.DefaultInterval if zero.
	SecretInterval time.Duration
	// Intervals are how often AWS is looked at; observe.DefaultIntervals if zero.
	Intervals observe.Intervals

	// CallBackoff bounds how long a failed call to AWS rests, in real time, before a pass tries it
	// again; a second if zero.
	CallBackoff time.Duration

	// EventQueue is the name of the SQS queue, in each account and region, that gets EventBridge's
	// events; none if empty.
	EventQueue string

	// SettleWindow is how long a pool's spec must not have changed before the change is rolled out;
	// zero for no wait.
	SettleWindow time.Duration
	// MachinePoolMachines gives instances Machines in pools that do not say whether theirs have any.
	MachinePoolMachines bool

	// NodeRolePath begins the IAM paths of the node roles that the manager creates, followed by the
	// cluster's name; noderole.DefaultPath if empty. NodeRoleBoundary is the ARN of the permissions
	// boundary of all of them; none if empty.
	NodeRolePath, NodeRoleBoundary string

	// LeaderElection holds work back until this manager leads.
	LeaderElection LeaderElection
	// HealthAddress serves /healthz and /readyz; nowhere if empty.
	HealthAddress string
	// MetricsAddress serves /metrics over HTTPS to those whom the API server lets; nowhere if empty.
	MetricsAddress string
	// InsecureMetrics serves them over HTTP to everybody.
	InsecureMetrics bool
	// ProfilerAddress serves Go's profiles under /debug/pprof/ to everybody who reaches it; nowhere if empty.
	ProfilerAddress string

	// Webhooks warn people at admission; off by default.
	Webhooks Webhooks

	// Metrics count calls to AWS; nil for not.
	Metrics *aws.Metrics
	// EventMetrics count messages of event queues; nil for not.
	EventMetrics *events.Metrics
	// Progress counts versions, roll-outs and conditions; nil for not.
	Progress *metrics.Progress
	// Traces take a span per reconcile, step and call to AWS; OpenTelemetry's global provider if nil.
	Traces trace.TracerProvider
	// Version names the release, to AWS among others.
	Version string
	Log     logr.Logger

	// lease is what this process leads by; nil without leader election. Set by Run.
	lease *leadership.Lease
}

// rolePaths matches IAM's paths, but not / alone (AWS: API_CreateRole, Path); policyARNs the ARNs
// of managed policies.
var (
	rolePaths  = regexp.MustCompile(`^/[!-~]+/$`)
	policyARNs = regexp.MustCompile(`^arn:[a-z-]+:iam::(aws|[0-9]{12}):policy/[!-~]+$`)
)

// LeaderElection is how one of several managers is chosen to work. The zero value chooses nobody:
// the manager works at once.
type LeaderElection struct {
	Enabled bool
	// Namespace is that of the lease. It may be empty inside a cluster, where it is the pod's.
	Namespace string
	// LeaseDuration is how long the others wait before they take over from a leader that gives no
	// sign; RenewDeadline is after how long without success the leader gives up; RetryPeriod is how
	// often all of them try. Each is shorter than the one before. Zero means the default.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// lease returns the lease to write by, which is nil without leader election. Its limit is the renew
// deadline: no other manager leads until the longer duration of the lease has passed.
func (e LeaderElection) lease() *leadership.Lease {
	if !e.Enabled {
		return nil
	}
	return leadership.NewLease(e.RenewDeadline)
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
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

// validate says what is wrong with the options, in the words of the command line.
func (o Options) validate() error {
	var found []error
	refuse := func(wrong bool, format string, values ...any) {
		if wrong {
			found = append(found, fmt.Errorf(format, values...))
		}
	}
	refuse(o.RESTConfig == nil, "no management cluster is given")
	refuse(o.Concurrency < 0, "--concurrency is %d, and must be positive", o.Concurrency)
	refuse(*o.RequestRates < 0, "--aws-request-rates is %v, and must not be negative", *o.RequestRates)
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
	return errors.Join(found...)
}
