package aws

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	smithymiddleware "github.com/aws/smithy-go/middleware"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/utils/clock"

	"github.com/slipway-project/slipway/internal/boundedhttp"
)

const (
	// maxAttempts and maxBackoff bound what one call costs a reconcile: three attempts, at most two
	// seconds asleep. Whatever takes longer is for the work queue, which knows how to wait without
	// holding a worker.
	maxAttempts = 3
	maxBackoff  = time.Second

	// callTimeout bounds one attempt, answer included. A poll of a queue waits 20 s for its answer.
	// The slowest answers are full pages of DescribeLaunchTemplateVersions and DescribeImages, a
	// few seconds.
	callTimeout = 30 * time.Second
	dialTimeout = 5 * time.Second
	// longestAnswer bounds an answer after decompression: the longest are pages of launch template
	// versions with user data, a few megabytes.
	longestAnswer = 16 << 20
	// idleConnections are kept per endpoint, so that a worker pool does not dial and shake hands per call.
	idleConnections = 64
)

// LoadBase reads the controller's own credentials and settings from the environment, as every AWS
// tool does: variables (AWS_ENDPOINT_URL among them), shared files, web identity, instance
// metadata.
func LoadBase(ctx context.Context) (awssdk.Config, error) {
	base, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(newHTTPClient()))
	if err != nil {
		return awssdk.Config{}, fmt.Errorf("loading AWS configuration from the environment: %w", err)
	}
	return base, nil
}

func newHTTPClient() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().
		WithTimeout(callTimeout).
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = dialTimeout }).
		WithTransportOptions(func(t *http.Transport) {
			t.TLSHandshakeTimeout = dialTimeout
			t.MaxIdleConnsPerHost = idleConnections
			t.MaxIdleConns = 4 * idleConnections
		})
}

// Clients is one identity's access to one region. All fields are safe for concurrent use. Packages
// that use them declare the calls that they need in interfaces of their own.
type Clients struct {
	EC2         *EC2
	AutoScaling *AutoScaling
	EKS         *EKS
	IAM         *IAM
	SSM         *SSM
	S3          *S3
	SQS         *SQS
	// Pricing is the price list of all regions, which is served in a few of them.
	Pricing *Pricing
	// Region is where the clients act, such as eu-central-1.
	Region string
	// Principal is as whom.
	Principal Principal
	// AccountID is the twelve-digit account that the principal acts in. AWS is asked once, and not
	// at all if the principal says it.
	AccountID func(ctx context.Context) (string, error)
	// CallerARN returns the ARN of the user, role session, or account that the principal acts as. Each
	// call asks AWS.
	CallerARN func(ctx context.Context) (string, error)
	// KnownAccount is the account if it is known already.
	KnownAccount func() string

	credentials awssdk.CredentialsProvider
	outages     *outages
	budget      *atomic.Pointer[budget]
}

// Authenticate makes sure that there are credentials, usually without a call. The error is a
// *CredentialsError if they cannot be had or are refused.
func (c *Clients) Authenticate(ctx context.Context) error {
	if c.Principal.Keys == nil && len(c.Principal.Roles) == 0 {
		// the controller's own were tried when it started, and may not be allowed to ask who they are
		return nil
	}
	if _, err := c.credentials.Retrieve(ctx); err != nil {
		return err
	}
	// The account of a role is known, and the account of keys is known after the first call, which
	// also shows that they are good.
	if _, err := c.AccountID(ctx); err != nil {
		return &CredentialsError{Err: err}
	}
	return nil
}

// Sessions hands out Clients, one set per identity and region, so that connections, caches and
// request budgets are shared. Identities of one account share its budget, as far as it is known
// which account they are of: AWS counts by account and region.
type Sessions struct {
	base    awssdk.Config
	options options

	mu      sync.Mutex
	clients map[sessionKey]*Clients
	budgets map[budgetKey]*budget
}

type sessionKey struct {
	identity Identity
	region   string
}

type budgetKey struct{ account, region string }

type options struct {
	clock          clock.PassiveClock
	limits         Limits
	metrics        *Metrics
	tracerProvider trace.TracerProvider
	version        string
	backoff        time.Duration
	mayWrite       func() error
	middleware     func() func(*smithymiddleware.Stack) error
	outageAfter    time.Duration
}

// Option changes how Sessions creates clients.
type Option func(*options)

// WithClock gives the clock that request budgets are counted by. The default is real time.
func WithClock(c clock.PassiveClock) Option { return func(o *options) { o.clock = c } }

// WithLimits replaces the request budgets, DefaultLimits otherwise. Nil limits nothing.
func WithLimits(l Limits) Option { return func(o *options) { o.limits = l } }

// WithMetrics counts calls in the given metrics. Without it they are not counted.
func WithMetrics(m *Metrics) Option { return func(o *options) { o.metrics = m } }

// WithTracerProvider gives the provider of the tracer that spans are started with, otherwise
// OpenTelemetry's global one.
func WithTracerProvider(p trace.TracerProvider) Option {
	return func(o *options) { o.tracerProvider = p }
}

// WithVersion names the release in the user agent that AWS logs.
func WithVersion(v string) Option { return func(o *options) { o.version = v } }

// WithBackoff bounds how long a call rests before it is tried again within a pass, in real time: a
// second otherwise. It is for simulated clocks, which do not wait for the SDK.
func WithBackoff(longest time.Duration) Option { return func(o *options) { o.backoff = longest } }

// WithMayWrite gives the function that is asked before each attempt of a call that may change
// something, right before it is sent. A call for which it returns an error is not sent, and fails
// with a *NotSentError.
func WithMayWrite(mayWrite func() error) Option { return func(o *options) { o.mayWrite = mayWrite } }

// WithMiddleware gives the function that returns what the clients of an identity in a region add to the
// stack of each call.
func WithMiddleware(install func() func(*smithymiddleware.Stack) error) Option {
	return func(o *options) { o.middleware = install }
}

// WithOutageAfter sets for how long calls to a service must have failed before Clients.Outage
// reports it: a minute otherwise.
func WithOutageAfter(after time.Duration) Option {
	return func(o *options) { o.outageAfter = after }
}

// NewSessions creates clients from a base configuration, which holds the controller's own
// credentials.
func NewSessions(base awssdk.Config, opts ...Option) *Sessions {
	o := options{
		clock:          clock.RealClock{},
		limits:         DefaultLimits(),
		tracerProvider: otel.GetTracerProvider(),
		outageAfter:    defaultOutageAfter,
		version:        "dev",
		backoff:        maxBackoff,
	}
	for _, apply := range opts {
		apply(&o)
	}
	if o.metrics == nil {
		o.metrics = NewMetrics()
	}
	return &Sessions{base: base, options: o, clients: map[sessionKey]*Clients{}, budgets: map[budgetKey]*budget{}}
}

// For returns the clients of a principal in a region. An empty region is the one of the base
// configuration. An identity that comes to another principal than before gets new clients, and the
// earlier ones are no longer handed out. It calls nothing. The error is a *NoRegionError or an
// *InvalidRegionError.
func (s *Sessions) For(_ context.Context, principal Principal, region string) (*Clients, error) {
	if region == "" {
		region = s.base.Region
	}
	if region == "" {
		return nil, &NoRegionError{}
	}
	if region != s.base.Region && !regionName.MatchString(region) {
		return nil, &InvalidRegionError{Region: region}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	principal.Identity = principal.Identity.Canonical()
	key := sessionKey{identity: principal.Identity, region: region}
	if clients, ok := s.clients[key]; ok && clients.Principal.Equal(principal) {
		return clients, nil
	}
	clients := s.newClients(principal, region)
	s.clients[key] = clients
	return clients, nil
}

// Forget drops the clients of an identity in a region, if they are the given ones, and the budgets
// of a region that no clients are left for.
func (s *Sessions) Forget(clients *Clients) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sessionKey{identity: clients.Principal.Identity, region: clients.Region}
	if s.clients[key] == clients {
		delete(s.clients, key)
	}
	for other := range s.clients {
		if other.region == clients.Region {
			return
		}
	}
	maps.DeleteFunc(s.budgets, func(key budgetKey, _ *budget) bool { return key.region == clients.Region })
}

// newClients creates clients. The sessions are locked.
func (s *Sessions) newClients(principal Principal, region string) *Clients {
	cfg := s.base.Copy()
	cfg.Region = region
	if cfg.HTTPClient == nil {
		cfg.HTTPClient = newHTTPClient()
	}
	cfg.HTTPClient = &boundedhttp.Client{Next: cfg.HTTPClient, Limits: boundedhttp.Limits{Body: longestAnswer}}
	cfg.RetryMaxAttempts = 0
	cfg.Retryer = func() awssdk.Retryer {
		return retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts = maxAttempts
			o.MaxBackoff = s.options.backoff
		})
	}
	calls := &callMiddleware{
		metrics: s.options.metrics, mayWrite: s.options.mayWrite, outages: newOutages(s.options.clock, s.options.outageAfter),
		tracer: s.options.tracerProvider.Tracer("github.com/slipway-project/slipway/internal/aws"),
	}
	calls.budget.Store(newBudget(s.options.clock, s.options.limits))
	if s.options.middleware != nil {
		cfg.APIOptions = append(cfg.APIOptions, s.options.middleware())
	}
	cfg.APIOptions = append(cfg.APIOptions, calls.install, SendBodies, middleware.AddUserAgentKeyValue("slipway", s.options.version))
	if principal.Keys != nil {
		cfg.Credentials = credentials.NewStaticCredentialsProvider(principal.Keys.AccessKeyID, principal.Keys.SecretAccessKey, principal.Keys.SessionToken)
	}
	for _, role := range principal.Roles {
		// The client of each role signs with the credentials of the one before.
		assumed := &assumedRole{sts: sts.NewFromConfig(cfg), role: role, clock: s.options.clock}
		calls.roles, cfg.Credentials = append(calls.roles, assumed), assumed
	}
	account := &accountID{sts: sts.NewFromConfig(cfg), learned: func(id string) { s.shareBudget(calls, id, region) }}
	if id := principal.Account(); id != "" {
		account.id = id
		calls.budget.Store(s.budgetOf(id, region, calls.budget.Load()))
	}
	return &Clients{
		EC2:         newEC2(ec2.NewFromConfig(cfg)),
		AutoScaling: newAutoScaling(autoscaling.NewFromConfig(cfg)),
		EKS:         newEKS(eks.NewFromConfig(cfg)),
		IAM:         newIAM(iam.NewFromConfig(cfg)),
		SSM:         newSSM(ssm.NewFromConfig(cfg)),
		S3:          newS3(s3.NewFromConfig(cfg)),
		SQS:         newSQS(sqs.NewFromConfig(cfg)),
		Pricing:     newPricing(pricing.NewFromConfig(cfg, func(o *pricing.Options) { o.Region = priceListRegion(region) })),
		Region:      region,
		Principal:   principal,
		AccountID:   account.get, CallerARN: account.caller, KnownAccount: account.known,
		credentials: cfg.Credentials, outages: calls.outages, budget: &calls.budget,
	}
}

// priceListRegion returns the region whose endpoint of the price list serves a region: the nearest one of
// the same partition (AWS: Billing endpoints and quotas, "AWS Price List Query API").
func priceListRegion(region string) string {
	area, _, _ := strings.Cut(region, "-")
	switch area {
	case "cn":
		return "cn-northwest-1"
	case "eu", "af", "me", "il":
		return "eu-central-1"
	case "ap":
		return "ap-south-1"
	}
	return "us-east-1"
}

// shareBudget counts calls in their account's budget from now on.
func (s *Sessions) shareBudget(calls *callMiddleware, account, region string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls.budget.Store(s.budgetOf(account, region, calls.budget.Load()))
}

// budgetOf returns the budget of an account in a region. If there is none yet, the given budget
// becomes it. The caller holds the lock of the sessions.
func (s *Sessions) budgetOf(account, region string, own *budget) *budget {
	key := budgetKey{account: account, region: region}
	if shared, ok := s.budgets[key]; ok {
		return shared
	}
	s.budgets[key] = own
	return own
}

// identifier contains the STS call that returns the account.
type identifier interface {
	GetCallerIdentity(context.Context, *sts.GetCallerIdentityInput, ...func(*sts.Options)) (*sts.GetCallerIdentityOutput, error)
}

// accountID asks who the caller is, once.
type accountID struct {
	sts identifier
	// learned is called with the answer.
	learned func(id string)

	mu sync.Mutex
	id string
}

func (a *accountID) known() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.id
}

func (a *accountID) get(ctx context.Context) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.id != "" {
		return a.id, nil
	}
	output, err := a.sts.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return "", fmt.Errorf("asking AWS for the account of the credentials: %w", err)
	}
	a.id = awssdk.ToString(output.Account)
	a.learned(a.id)
	return a.id, nil
}

// caller asks who the caller is.
func (a *accountID) caller(ctx context.Context) (string, error) {
	output, err := a.sts.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return "", fmt.Errorf("asking AWS for the identity of the credentials: %w", err)
	}
	return awssdk.ToString(output.Arn), nil
}
