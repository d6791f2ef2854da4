package manager

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	listers "k8s.io/client-go/listers/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/aws/events"
	"github.com/slipway-project/slipway/internal/aws/observe"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/drain"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/inspection"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/metrics"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/clustername"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/defaults"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/nodelifecycle"
	"github.com/slipway-project/slipway/internal/provisioning/provisionerstatus"
	"github.com/slipway-project/slipway/internal/provisioning/region"
	"github.com/slipway-project/slipway/internal/provisioning/scheduler"
	"github.com/slipway-project/slipway/internal/provisioning/templates"
	"github.com/slipway-project/slipway/internal/report"
	"github.com/slipway-project/slipway/internal/watches"
)

// ProvisionerLeaderElectionID is the default name of the lease that the leading provisioner holds.
const ProvisionerLeaderElectionID = "slipway-provisioner-leader-election"

// DefaultLaunchesPerMinute lets a burst of some thousand pods have its nodes, and what a mistake
// launches be seen before it is thousands.
const DefaultLaunchesPerMinute = 300

// DefaultInstanceProfile is the instance profile of CAPA's nodes (CAPA: clusterawsadm bootstrap
// iam).
const DefaultInstanceProfile = "nodes.cluster-api-provider-aws.sigs.k8s.io"

// ProvisionerOptions configures the controllers of just-in-time nodes, which run in the cluster
// whose pods wait. They use only the fields of Options that define what is reached, how often, and
// what is served.
type ProvisionerOptions struct {
	Options
	// InstanceProfile of nodes from default launch templates; DefaultInstanceProfile if empty.
	InstanceProfile string
	// LaunchesPerMinute bounds how many nodes are launched; DefaultLaunchesPerMinute if zero.
	LaunchesPerMinute int
	// BatchMax is how long pods wait for others at most while they keep coming;
	// launcher.DefaultLongest if zero.
	BatchMax time.Duration
	// PodsPerPass limits the number of pending pods that are considered together;
	// scheduler.DefaultPodsPerPass if zero.
	PodsPerPass int
	// RegistrationTimeout is how long an instance has to become a Node that takes pods;
	// nodelifecycle.DefaultRegistrationTimeout if zero.
	RegistrationTimeout time.Duration
}

func (o ProvisionerOptions) withDefaults() ProvisionerOptions {
	if o.LeaderElection.ID == "" {
		o.LeaderElection.ID = ProvisionerLeaderElectionID
	}
	o.Options = o.Options.withDefaults()
	if o.InstanceProfile == "" {
		o.InstanceProfile = DefaultInstanceProfile
	}
	if o.LaunchesPerMinute == 0 {
		o.LaunchesPerMinute = DefaultLaunchesPerMinute
	}
	if o.BatchMax == 0 {
		o.BatchMax = launcher.DefaultLongest
	}
	if o.PodsPerPass == 0 {
		o.PodsPerPass = scheduler.DefaultPodsPerPass
	}
	if o.RegistrationTimeout == 0 {
		o.RegistrationTimeout = nodelifecycle.DefaultRegistrationTimeout
	}
	return o
}

// validate returns an error that describes invalid options by their command-line flags.
func (o ProvisionerOptions) validate() error {
	err := o.Options.validate()
	if o.LaunchesPerMinute < 0 {
		err = errors.Join(err, fmt.Errorf("--launches-per-minute is %d, and must be positive", o.LaunchesPerMinute))
	}
	if o.BatchMax < 0 {
		err = errors.Join(err, fmt.Errorf("--batch-max is %v, and must be positive", o.BatchMax))
	}
	if o.PodsPerPass < 0 {
		err = errors.Join(err, fmt.Errorf("--pods-per-pass is %d, and must be positive", o.PodsPerPass))
	}
	if o.RegistrationTimeout < 0 {
		err = errors.Join(err, fmt.Errorf("--registration-timeout is %v, and must be positive", o.RegistrationTimeout))
	}
	if o.AWS.Region == "" {
		err = errors.Join(err, errors.New("AWS_REGION is not set: nodes are launched there"))
	}
	return err
}

// NewProvisionerScheme returns a scheme with the kinds that the provisioner reads and writes.
// AWSLaunchConfig and CAPA's identities are among them, though the cluster need not have them.
func NewProvisionerScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, provisioningv1.AddToScheme, infrav1.AddToScheme, capav1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	return scheme, nil
}

// RunProvisioner runs the controllers of just-in-time nodes until the context is done, and returns
// nil then. It fails as Run does.
func RunProvisioner(ctx context.Context, options ProvisionerOptions) error {
	options = options.withDefaults()
	if err := options.validate(); err != nil {
		return err
	}
	if err := checkAWS(ctx, options.Options); err != nil {
		return err
	}
	scheme, err := NewProvisionerScheme()
	if err != nil {
		return err
	}
	options.lease = options.LeaderElection.lease()
	settings := controllerManagerOptions(options.Options, scheme)
	settings.Cache.ByObject = map[client.Object]cache.ByObject{
		&corev1.Pod{}: {Transform: (&clusterstate.Trimmer{}).Pod}, &corev1.Node{}: {Transform: clusterstate.TrimNode},
	}
	manager, err := newManager(options.Options, settings)
	if err != nil {
		return err
	}
	for _, object := range []client.Object{&provisioningv1.Provisioner{}, &provisioningv1.ProvisionedNode{}} {
		name, err := find(manager, object)
		if meta.IsNoMatchError(err) {
			return fmt.Errorf("kind %s is not installed in this cluster: install Slipway's definitions, config/provisioner/crd", name)
		}
		if err != nil {
			return err
		}
	}
	if err := checkLeaseNamespace(ctx, manager, options.LeaderElection); err != nil {
		return err
	}
	kinds := []client.Object{&provisioningv1.Provisioner{}, &provisioningv1.ProvisionedNode{}, &corev1.Pod{}, &corev1.Node{}}
	if err := errors.Join(addProvisioner(ctx, manager, options), addHealthChecks(manager, kinds)); err != nil {
		return err
	}
	if err := manager.Start(ctx); err != nil {
		return fmt.Errorf("running the provisioner: %w", err)
	}
	return nil
}

// parts holds what the three controllers of just-in-time nodes share.
type parts struct {
	manager ctrl.Manager
	options ProvisionerOptions
	clients *aws.Clients
	drains  kubernetes.Interface
	uid     string

	region    *region.Region
	fleets    *fleet.Fleets
	names     *clustername.Names
	defaults  *defaults.Templates
	templates *templates.Reader
	shortages *catalog.Shortages
	refusals  *launcher.Refusals
	promises  *launcher.Promises
	instances *observe.Sweep[fleet.Instance]

	// woken and changed wake ProvisionedNodes and Provisioners, and asked wakes the Provisioners whose
	// pods ask for a launch template.
	woken, changed *clouds.Queue
	asked          *templates.Asked
}

// partsOf returns what the controllers share.
func partsOf(ctx context.Context, manager ctrl.Manager, options ProvisionerOptions) (*parts, error) {
	clients, err := aws.NewSessions(options.AWS, append(sessionOptions(options.Options), aws.WithOutageAfter(provisionerstatus.OutageAfter))...).For(ctx, aws.Principal{}, options.AWS.Region)
	if err != nil {
		return nil, fmt.Errorf("preparing AWS clients: %w", err)
	}
	clientset, err := kubernetes.NewForConfig(drain.WithoutRetries(manager.GetConfig()))
	if err != nil {
		return nil, fmt.Errorf("making the client that drains nodes: %w", err)
	}
	uid, err := clusterUID(ctx, manager.GetAPIReader())
	if err != nil {
		return nil, err
	}
	profiles, err := profilesOf(manager)
	if err != nil {
		return nil, err
	}
	found := discovery.New(clients, options.Clock)
	fleets, ownTemplates := fleet.New(clients.EC2), launchtemplate.NewTemplates(clients.EC2)
	fleets.Terminating = func(instances int) { options.Progress.Batched(metrics.BatchTerminate, instances) }
	woken, changed := &clouds.Queue{}, &clouds.Queue{}
	return &parts{
		manager: manager, options: options, clients: clients, drains: clientset, uid: uid,
		region: &region.Region{Name: clients.Region, Discovery: found}, fleets: fleets,
		names: &clustername.Names{Instances: fleets, Templates: ownTemplates, Clock: options.Clock, ClusterUID: uid},
		defaults: &defaults.Templates{
			Templates: ownTemplates, Discovery: found, Cluster: &cluster{clientset}, Clock: options.Clock, InstanceProfile: options.InstanceProfile, ClusterUID: uid,
		},
		templates: &templates.Reader{Inspection: inspection.NewReader(found), Configs: &configs{manager.GetAPIReader()}, Profiles: profiles},
		shortages: catalog.NewShortages(options.Clock), promises: &launcher.Promises{},
		refusals:  launcher.NewRefusals(options.Clock, fleet.DryRuns{Fleets: fleets, Versions: found}),
		instances: observe.NewSweep(options.Clock, observe.Source[fleet.Instance]{Describe: fleets.Describe, Batch: fleet.DescribeBatch}, options.Intervals, woken.Add),
		woken:     woken, changed: changed,
		asked: &templates.Asked{Wake: func(name string) { changed.Add(types.NamespacedName{Name: name}) }},
	}, nil
}

// report returns what a controller reports with.
func (p *parts) report(name string) report.Reporter {
	return report.Reporter{Recorder: p.manager.GetEventRecorder(name), Progress: p.options.Progress}
}

// passes returns the controller that chooses nodes for pending pods.
func (p *parts) passes(pods func(context.Context) ([]*corev1.Pod, error), startups *scheduler.Startups) *scheduler.Reconciler {
	return &scheduler.Reconciler{
		Client: p.manager.GetClient(), Pods: pods, Live: p.manager.GetAPIReader(), ClusterUID: p.uid, Names: p.names, Region: p.region, Defaults: p.defaults, Templates: p.templates,
		Asked: p.asked, Shortages: p.shortages, Refusals: p.refusals,
		Budget: launcher.NewBudget(p.options.Clock, p.options.LaunchesPerMinute), Promises: p.promises, Report: p.report(scheduler.Name), Startups: startups, Clock: p.options.Clock,
		BatchMax: p.options.BatchMax, PodsPerPass: p.options.PodsPerPass,
	}
}

// nodes returns the controller of ProvisionedNodes.
func (p *parts) nodes(checks *nodelifecycle.StatusChecks) *nodelifecycle.Controller {
	return nodelifecycle.New(&nodelifecycle.Kind{
		Client: p.manager.GetClient(), Live: p.manager.GetAPIReader(), ClusterUID: p.uid, Names: p.names, Defaults: p.defaults, Templates: p.templates, Cluster: p.drains,
		Fleets: p.fleets, Region: p.region, Instances: p.instances, Checks: checks, Shortages: p.shortages, Refusals: p.refusals, Promises: p.promises,
		Report: p.report(nodelifecycle.Name), Clock: p.options.Clock, RegistrationTimeout: p.options.RegistrationTimeout, Wake: p.woken.Add,
	})
}

// provisioners returns the controller of Provisioners.
func (p *parts) provisioners() *provisionerstatus.Controller {
	return provisionerstatus.New(&provisionerstatus.Kind{
		Client: p.manager.GetClient(), Live: p.manager.GetAPIReader(), ClusterUID: p.uid, Region: p.region, Defaults: p.defaults, Templates: p.templates, Names: p.names,
		Refusals: p.refusals, Shortages: p.shortages, Asked: p.asked, AWS: p.clients, Progress: p.options.Progress, Clock: p.options.Clock,
	}, p.report(provisionerstatus.Name))
}

// addProvisioner adds the controllers, and what they share.
func addProvisioner(ctx context.Context, manager ctrl.Manager, options ProvisionerOptions) error {
	p, err := partsOf(ctx, manager, options)
	if err != nil {
		return err
	}
	pods, err := podsOf(ctx, manager)
	if err != nil {
		return err
	}
	startups := &scheduler.Startups{Progress: options.Progress, Clock: options.Clock}
	checks := &nodelifecycle.StatusChecks{
		Client: manager.GetClient(), Fleets: p.fleets, Clock: options.Clock, Report: p.report(nodelifecycle.Name), Interval: options.Intervals.Rest, Wake: p.woken.Add,
	}
	settings := watches.Settings{Clock: options.Clock, Concurrency: options.Concurrency, Traces: options.Traces}
	nodes := p.nodes(checks)
	return errors.Join(
		p.passes(pods, startups).Register(manager, settings),
		nodes.Register(ctx, manager, settings, p.woken),
		p.provisioners().Register(manager, settings, p.changed),
		manager.Add(p.describe(pods, startups)),
		manager.Add(&sweeper{p.instances}),
		manager.Add(checks),
		manager.Add(&provisionerstatus.Outages{Client: manager.GetClient(), AWS: p.clients, Clock: options.Clock, Probe: p.fleets.Probe, Wake: p.changed.Add}),
		addListener(manager, options.Options, p.clients, nodes),
		manager.Add(&nodelifecycle.Collector{
			Client: manager.GetClient(), Live: manager.GetAPIReader(), Fleets: p.fleets, Clock: options.Clock, ClusterUID: p.uid, Interval: options.Intervals.Rest,
		}),
	)
}

// describe returns what has the metrics of a leading provisioner describe nodes and pods at the time of
// a scrape. Prometheus collects metrics from all replicas, and a sum would count each node once per replica.
func (p *parts) describe(pods func(context.Context) ([]*corev1.Pod, error), startups *scheduler.Startups) ctrlmanager.RunnableFunc {
	return onceLeading(func() {
		p.options.Progress.ReadNodes(metrics.Held{
			Reader: p.manager.GetCache(), Clock: p.options.Clock, Short: shortOfferings(p.shortages), Pods: pods, Waiting: startups.Oldest,
		})
	})
}

// shortOfferings returns what AWS had none of, as metrics have it.
func shortOfferings(shortages *catalog.Shortages) func() []metrics.Offering {
	return func() []metrics.Offering {
		var short []metrics.Offering
		for _, one := range shortages.List() {
			short = append(short, metrics.Offering{InstanceType: one.InstanceType, Zone: one.Zone, CapacityType: one.CapacityType})
		}
		return short
	}
}

// clusterUID returns what identifies the cluster: the UID of its kube-system namespace, which is
// never deleted.
func clusterUID(ctx context.Context, reader client.Reader) (string, error) {
	namespace := &corev1.Namespace{}
	if err := reader.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, namespace); err != nil {
		return "", fmt.Errorf("reading namespace %s, whose UID marks what belongs to this cluster in AWS: %w", metav1.NamespaceSystem, err)
	}
	return string(namespace.UID), nil
}

// profilesOf returns what limits instance profiles: the annotation of the
// AWSClusterControllerIdentity, because the provisioner uses its own credentials. It is nil where
// the kind is not installed.
func profilesOf(manager ctrl.Manager) (templates.Profiles, error) {
	found, err := installed(manager, &capav1.AWSClusterControllerIdentity{})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return identity.OwnProfiles{Resolver: &identity.Resolver{Reader: manager.GetClient()}}, nil
}

// podsOf reads the pods that the manager's cache has. They are not copied, unless the cache is of
// one namespace alone: it does not give away what it has.
func podsOf(ctx context.Context, manager ctrl.Manager) (func(context.Context) ([]*corev1.Pod, error), error) {
	informer, err := manager.GetCache().GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watching pods: %w", err)
	}
	if shared, is := informer.(toolscache.SharedIndexInformer); is {
		pods := listers.NewPodLister(shared.GetIndexer())
		return func(context.Context) ([]*corev1.Pod, error) { return pods.List(labels.Everything()) }, nil
	}
	return func(ctx context.Context) ([]*corev1.Pod, error) {
		var list corev1.PodList
		if err := manager.GetClient().List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		pods := make([]*corev1.Pod, len(list.Items))
		for i := range list.Items {
			pods[i] = &list.Items[i]
		}
		return pods, nil
	}, nil
}

// addListener has nodes hear AWS's events, if there is a queue.
func addListener(manager ctrl.Manager, options Options, clients *aws.Clients, nodes *nodelifecycle.Controller) error {
	if options.EventQueue == "" {
		return nil
	}
	return manager.Add(&listener{&events.Listener{
		SQS: clients.SQS, Name: options.EventQueue, Identity: clients.Principal.Identity.String(), Region: clients.Region, Clock: options.Clock,
		Metrics: options.EventMetrics, Heard: nodes.Heard,
		Listening: func(url string) { nodes.Instances.Listening(url != "") },
	}})
}

// listener reads the queue while the manager leads: who reads a message deletes it.
type listener struct{ *events.Listener }

// Start implements manager.Runnable.
func (l *listener) Start(ctx context.Context) error {
	l.Run(ctx)
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*listener) NeedLeaderElection() bool { return true }

// sweeper runs the sweep of instances while the manager leads.
type sweeper struct{ instances *nodelifecycle.Instances }

// Start implements manager.Runnable.
func (s *sweeper) Start(ctx context.Context) error {
	s.instances.Run(ctx)
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*sweeper) NeedLeaderElection() bool { return true }

// configs reads AWSLaunchConfigs, where there are any.
type configs struct{ reader client.Reader }

// LaunchConfig implements templates.Configs.
func (c *configs) LaunchConfig(ctx context.Context, namespace, name string) (*infrav1.AWSLaunchConfig, error) {
	config := &infrav1.AWSLaunchConfig{}
	return config, c.reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, config)
}

// cluster is the one that nodes join, as it knows itself.
type cluster struct{ api kubernetes.Interface }

// Version implements defaults.Cluster.
func (c *cluster) Version(context.Context) (string, error) {
	version, err := c.api.Discovery().ServerVersion()
	if err != nil {
		return "", fmt.Errorf("asking the API server for its version: %w", err)
	}
	// EKS's has a suffix: v1.33.4-eks-1234567.
	plain, _, _ := strings.Cut(version.GitVersion, "-")
	plain, _, _ = strings.Cut(plain, "+")
	return plain, nil
}

// ServiceCIDR implements defaults.Cluster (Kubernetes: "ServiceCIDR", the default one is called kubernetes).
func (c *cluster) ServiceCIDR(ctx context.Context) (string, error) {
	found, err := c.api.NetworkingV1().ServiceCIDRs().Get(ctx, "kubernetes", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", errors.New("the cluster does not say which range its Services have, which it does from Kubernetes 1.33 on")
	}
	if err != nil {
		return "", fmt.Errorf("reading ServiceCIDR kubernetes: %w", err)
	}
	if len(found.Spec.CIDRs) == 0 {
		return "", errors.New("ServiceCIDR kubernetes has no range")
	}
	return found.Spec.CIDRs[0], nil
}
