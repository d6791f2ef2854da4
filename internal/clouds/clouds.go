// Package clouds holds what controllers use of AWS: one set of templates, groups, look-ups and
// observers per identity and region, so that connections, caches, request budgets and sweeps are
// shared by all objects there.
package clouds

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/autoscalinggroup/refreshhistory"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/aws/events"
	"github.com/slipway-project/slipway/internal/aws/observe"
	"github.com/slipway-project/slipway/internal/bootstrapstorage"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/nodegroup/updatehistory"
	"github.com/slipway-project/slipway/internal/noderole"
	"github.com/slipway-project/slipway/internal/permissions/simulator"
)

// Cloud is one identity's AWS in one region.
type Cloud struct {
	Region    string
	Discovery *discovery.Discovery
	Templates *launchtemplate.Templates
	Groups    *autoscalinggroup.Groups
	// Refreshes measures the refreshes that groups had, and Updates the updates that node groups had.
	Refreshes *refreshhistory.Reader
	Updates   *updatehistory.Reader
	// Policies simulates IAM policies.
	Policies *simulator.Simulator
	// Nodegroups and Roles are EKS's managed node groups, and the IAM roles of their nodes.
	Nodegroups *nodegroup.Nodegroups
	Roles      *noderole.Roles
	// Storage keeps bootstrap data outside of launch templates.
	Storage *bootstrapstorage.Store
	// SeenTemplates and SeenGroups hold what the sweeps know; they wake the AWSLaunchConfigs and
	// the pools that watch them. SeenManagedGroups holds the groups that EKS created for node
	// groups, which AWSManagedMachinePools watch.
	SeenTemplates     *observe.Sweep[launchtemplate.Template]
	SeenGroups        *observe.Sweep[autoscalinggroup.Group]
	SeenManagedGroups *observe.Sweep[autoscalinggroup.Group]
	// RefreshPace and HookPace pace how often pools describe instance refreshes under way, and
	// lifecycle hooks at rest, which have no batch form.
	RefreshPace, HookPace *observe.Pace

	clients *aws.Clients
	ended   *ended
	// queue is the URL of the queue that is listened to, empty for none. The registry's lock guards it.
	queue string
	// end stops the sweeps; nil while they do not run.
	end context.CancelFunc
}

const (
	// refreshLeast and refreshApart let 75 refreshes be described every 15 s, and a thousand every
	// 200 s: five calls a second, a quarter of the budget that all of Auto Scaling has here
	// (package aws, DefaultLimits).
	refreshLeast = 15 * time.Second
	refreshApart = 200 * time.Millisecond
	// hookLeast and hookApart let the hooks of ten pools at rest be described every hour, and the
	// hooks of a thousand every four days: ten calls an hour.
	hookLeast = time.Hour
	hookApart = 6 * time.Minute
)

// Authenticate makes sure that AWS can be called as the identity, usually without a call. The error
// is an *aws.CredentialsError if it cannot.
func (c *Cloud) Authenticate(ctx context.Context) error { return c.clients.Authenticate(ctx) }

// AccountID returns the account that the identity acts in. AWS is asked once, and for a role not at
// all.
func (c *Cloud) AccountID(ctx context.Context) (string, error) { return c.clients.AccountID(ctx) }

// KnownAccount returns the account if it is known already, or "".
func (c *Cloud) KnownAccount() string { return c.clients.KnownAccount() }

// Principals say as whom AWS is called for clusters in a namespace that name an identity: an
// identity.Resolver in use.
type Principals interface {
	Resolve(ctx context.Context, identity aws.Identity, namespace string) (aws.Principal, error)
	// AllowsInstanceProfile is nil if the identity may be used to launch instances with an instance
	// profile, given by name or ARN.
	AllowsInstanceProfile(ctx context.Context, identity aws.Identity, profile string) error
}

// Registry creates clouds on first use and runs their sweeps from the moment that the manager
// leads.
type Registry struct {
	sessions   *aws.Sessions
	principals Principals
	clock      clock.WithTicker
	intervals  observe.Intervals

	templates, groups, managed Queue

	eventQueue   string
	eventMetrics *events.Metrics

	mu     sync.Mutex
	clouds map[place]*Cloud
	// used is when each namespace last asked for a cloud.
	used map[place]map[string]time.Time
	// expired is when unused clouds were last removed.
	expired time.Time
	leading context.Context //nolint:containedctx // the lifetime of sweeps that start later; never used for a call of a reconcile
	sweeps  sync.WaitGroup
}

type place struct {
	identity aws.Identity
	region   string
}

// NewRegistry returns a registry without clouds.
func NewRegistry(sessions *aws.Sessions, principals Principals, clk clock.WithTicker, intervals observe.Intervals) *Registry {
	return &Registry{
		sessions: sessions, principals: principals, clock: clk, intervals: intervals,
		clouds: map[place]*Cloud{}, used: map[place]map[string]time.Time{},
	}
}

// For returns the cloud of an identity in a region, for a cluster in a namespace. It calls nothing
// in AWS. The error is an *identity.Error if the identity cannot be used from there, an
// *aws.NoRegionError without a region, an *aws.InvalidRegionError for what is none, and a
// *TooManyError if the namespace uses too many regions and identities already.
//
// An identity with other credentials than before (a new key in its Secret, another role) has a new
// cloud. The old one is removed, and the objects that watched it are woken to use the new one.
func (r *Registry) For(ctx context.Context, identity aws.Identity, namespace, region string) (*Cloud, error) {
	principal, err := r.principals.Resolve(ctx, identity, namespace)
	if err != nil {
		return nil, fmt.Errorf("finding out as whom to call AWS: %w", err)
	}
	clients, err := r.sessions.For(ctx, principal, region)
	if err != nil {
		return nil, fmt.Errorf("preparing AWS clients: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := place{identity: principal.Identity.Canonical(), region: clients.Region}
	old, known := r.clouds[key]
	if err := r.admit(key, namespace); err != nil {
		if !known {
			r.sessions.Forget(clients)
		}
		return nil, err
	}
	if known && old.clients == clients {
		return old, nil
	}
	cloud := r.build(clients)
	r.clouds[key] = cloud
	if r.leading != nil {
		r.sweep(cloud) //nolint:contextcheck // sweeps live as long as the manager leads
	}
	if known {
		r.retire(old)
	}
	return cloud, nil
}

// AllowsInstanceProfile checks whether an identity may be used to launch instances with an instance
// profile. The error is an *identity.Error if not.
func (r *Registry) AllowsInstanceProfile(ctx context.Context, identity aws.Identity, profile string) error {
	return r.principals.AllowsInstanceProfile(ctx, identity, profile)
}

// retire stops a cloud that has been replaced. The registry is locked.
func (r *Registry) retire(cloud *Cloud) {
	if cloud.end != nil {
		cloud.end()
	}
	for _, config := range cloud.SeenTemplates.Watchers() {
		r.templates.Add(config)
	}
	for _, pool := range cloud.SeenGroups.Watchers() {
		r.groups.Add(pool)
	}
	for _, pool := range cloud.SeenManagedGroups.Watchers() {
		r.managed.Add(pool)
	}
}

func (r *Registry) build(clients *aws.Clients) *Cloud {
	templates := launchtemplate.NewTemplates(clients.EC2)
	groups, refreshes := autoscalinggroup.NewGroups(clients.AutoScaling), refreshhistory.New(clients.AutoScaling)
	ended := &ended{clock: r.clock, at: map[string]time.Time{}}
	return &Cloud{
		clients: clients, ended: ended,
		Region: clients.Region, Discovery: discovery.New(clients, r.clock), Templates: templates, Groups: groups,
		Refreshes: refreshes, Updates: updatehistory.New(clients.EKS, refreshes.Activities),
		Policies:   simulator.New(clients),
		Nodegroups: nodegroup.NewNodegroups(clients.EKS), Roles: noderole.NewRoles(clients.IAM),
		Storage:     bootstrapstorage.New(clients.SSM, clients.S3),
		RefreshPace: observe.NewPace(refreshLeast, refreshApart), HookPace: observe.NewPace(hookLeast, hookApart),
		SeenTemplates: observe.NewSweep(r.clock, observe.Source[launchtemplate.Template]{
			Describe: templates.Describe, Batch: launchtemplate.DescribeBatch, List: templates.List,
		}, ofTemplates(r.intervals), r.templates.Add),
		SeenGroups: observe.NewSweep(r.clock, observe.Source[autoscalinggroup.Group]{
			Describe: ended.describing(groups.Describe), Batch: autoscalinggroup.DescribeBatch, List: ended.listing(groups.List),
		}, r.intervals, r.groups.Add),
		SeenManagedGroups: observe.NewSweep(r.clock, observe.Source[autoscalinggroup.Group]{
			Describe: ended.describing(groups.Describe), Batch: autoscalinggroup.DescribeBatch, List: ended.listing(groups.ListManaged),
		}, r.intervals, r.managed.Add),
	}
}

// ofTemplates returns the intervals for templates: at rest they are described half as often as
// groups. Instances come and go by themselves, whereas a template changes only when it is edited
// outside Slipway, and no event reports that.
func ofTemplates(intervals observe.Intervals) observe.Intervals {
	return observe.Intervals{Rest: 2 * intervals.Rest, Motion: intervals.Motion, Unlisted: intervals.Unlisted}
}

// TemplateInterval returns how often a launch template at rest is described, and with it what its
// launch config looked up.
func (r *Registry) TemplateInterval() time.Duration { return ofTemplates(r.intervals).Rest }

// Start runs the sweeps until the context is done. It is a manager's Runnable that needs
// leadership: two sweeping managers would cost twice.
func (r *Registry) Start(ctx context.Context) error {
	r.mu.Lock()
	r.leading = ctx
	for _, cloud := range r.clouds {
		r.sweep(cloud) //nolint:contextcheck // sweeps live as long as the manager leads
	}
	r.mu.Unlock()
	r.watchOutages(ctx)
	// A late pass may still ask for a new cloud. It is not swept.
	r.mu.Lock()
	r.leading = nil
	r.mu.Unlock()
	r.sweeps.Wait()
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (r *Registry) NeedLeaderElection() bool { return true }

// sweep starts a cloud's sweeps. The registry is locked.
func (r *Registry) sweep(cloud *Cloud) {
	ctx, end := context.WithCancel(r.leading)
	cloud.end = end
	r.sweeps.Go(func() { cloud.SeenTemplates.Run(ctx) })
	r.sweeps.Go(func() { cloud.SeenGroups.Run(ctx) })
	r.sweeps.Go(func() { cloud.SeenManagedGroups.Run(ctx) })
	if r.eventQueue != "" {
		r.sweeps.Go(func() { r.listener(cloud).Run(ctx) })
	}
}

// ForgetTemplate removes the watch of an AWSLaunchConfig that is gone, wherever it was.
func (r *Registry) ForgetTemplate(config types.NamespacedName) {
	r.each(func(cloud *Cloud) { cloud.SeenTemplates.Forget(config) })
}

// ForgetGroup removes the watch of an AWSMachinePool that is gone, wherever it was.
func (r *Registry) ForgetGroup(pool types.NamespacedName) {
	r.each(func(cloud *Cloud) {
		cloud.SeenGroups.Forget(pool)
		cloud.RefreshPace.Leave(pool)
		cloud.HookPace.Leave(pool)
	})
}

// ForgetManagedGroup removes the watch of an AWSManagedMachinePool that is gone, wherever it was.
func (r *Registry) ForgetManagedGroup(pool types.NamespacedName) {
	r.each(func(cloud *Cloud) { cloud.SeenManagedGroups.Forget(pool) })
}

// RestManaged does the same as Rest, for an AWSManagedMachinePool.
func (r *Registry) RestManaged(pool types.NamespacedName) {
	r.each(func(cloud *Cloud) { cloud.SeenManagedGroups.InMotion(pool, false) })
}

// Rest has the group of an AWSMachinePool described only as often as others at rest: nothing waits
// for it.
func (r *Registry) Rest(pool types.NamespacedName) {
	r.each(func(cloud *Cloud) {
		cloud.SeenGroups.InMotion(pool, false)
		cloud.RefreshPace.Leave(pool)
	})
}

func (r *Registry) each(do func(*Cloud)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, cloud := range r.clouds {
		do(cloud)
	}
}

// Sweep has every sweep describe once what is due, for a process without Start.
func (r *Registry) Sweep(ctx context.Context) {
	var clouds []*Cloud
	r.each(func(cloud *Cloud) { clouds = append(clouds, cloud) })
	for _, cloud := range clouds {
		cloud.SeenTemplates.Tick(ctx)
		cloud.SeenGroups.Tick(ctx)
		cloud.SeenManagedGroups.Tick(ctx)
	}
}

// WakeTemplate has an AWSLaunchConfig reconciled because of a change outside AWS: an identity that
// changed.
func (r *Registry) WakeTemplate(config types.NamespacedName) { r.templates.Add(config) }

// WakeGroup does the same as WakeTemplate, for an AWSMachinePool.
func (r *Registry) WakeGroup(pool types.NamespacedName) { r.groups.Add(pool) }

// WakeManagedGroup does the same as WakeTemplate, for an AWSManagedMachinePool.
func (r *Registry) WakeManagedGroup(pool types.NamespacedName) { r.managed.Add(pool) }

// TemplateEvents returns the source of AWSLaunchConfigs whose template changed in AWS.
func (r *Registry) TemplateEvents() source.Source { return &r.templates }

// GroupEvents returns the source of AWSMachinePools whose group changed in AWS.
func (r *Registry) GroupEvents() source.Source { return &r.groups }

// ManagedGroupEvents returns the source of AWSManagedMachinePools whose group changed in AWS.
func (r *Registry) ManagedGroupEvents() source.Source { return &r.managed }

// Queue is a controller's work queue, known from when the controller starts: the source of objects
// that something other than the API server wakes.
type Queue struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// Start implements source.Source.
func (q *Queue) Start(_ context.Context, work workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue = work
	return nil
}

// Add enqueues an object. It does not block.
func (q *Queue) Add(object types.NamespacedName) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queue != nil {
		q.queue.Add(reconcile.Request{NamespacedName: object})
	}
}
