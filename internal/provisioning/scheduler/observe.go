package scheduler

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// observer observes in one pass, for what the decisions of the pass came to so far.
type observer struct {
	*Reconciler
	seen  *Observed
	draft *Draft
}

// observe observes what decisions need, or the cluster without needs.
func (o observer) observe(ctx context.Context, needs ...reconcile.Need) error {
	if len(needs) == 0 {
		return o.observeCluster(ctx)
	}
	for _, need := range needs {
		switch need {
		case needRegion:
			o.observeRegion(ctx)
		case needTemplates:
			o.observeTemplates(ctx)
		case needRefusals:
			o.observeRefusals(ctx)
		case needTrials:
			o.observeTrials(ctx)
		case needRetry:
			o.observeRetry()
		default:
			return fmt.Errorf("observing: %q is no observation of the choice of nodes", need)
		}
	}
	return nil
}

// observeCluster lists what there is from the cache, and whether the cache shows what earlier passes
// wrote.
func (o observer) observeCluster(ctx context.Context) error {
	if err := o.begin(ctx); err != nil {
		return err
	}
	cluster, err := o.list(ctx)
	if err != nil {
		return err
	}
	if o.seen.Behind, err = o.created.unseen(ctx, o.Live, cluster.Provisioned); err != nil || o.seen.Behind {
		return err
	}
	cluster.Promised = o.Promises.All()
	o.seen.Cluster, o.seen.ClusterUID, o.seen.MostPods, o.seen.Seed = cluster, o.ClusterUID, o.PodsPerPass, o.random(seedLength)
	heeds, err := o.version.heedsNominations(ctx, o.Defaults.Cluster, o.Clock.Now())
	if err != nil {
		log.FromContext(ctx).Error(err, "Nominating no Nodes for pods")
	}
	o.seen.HeedsNominations = heeds
	return nil
}

// random returns random letters and digits.
func (o observer) random(length int) string {
	if o.Random == nil {
		return rand.String(length)
	}
	return o.Random(length)
}

// seedLength is the length of the seeds of names. They have more possibilities than the names.
const seedLength = 20

// list lists what there is.
func (o observer) list(ctx context.Context) (*clusterstate.Cluster, error) {
	var provisioners provisioningv1.ProvisionerList
	var provisioned provisioningv1.ProvisionedNodeList
	var nodes corev1.NodeList
	var sets appsv1.DaemonSetList
	var namespaces corev1.NamespaceList
	var claims corev1.PersistentVolumeClaimList
	var volumes corev1.PersistentVolumeList
	var classes storagev1.StorageClassList
	var attaching storagev1.CSINodeList
	var attachments storagev1.VolumeAttachmentList
	for _, list := range []client.ObjectList{&provisioned, &provisioners, &nodes, &sets, &namespaces, &claims, &volumes, &classes, &attaching, &attachments} {
		// The lists are read-only.
		if err := o.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing %T: %w", list, err)
		}
	}
	pods, err := o.Pods(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	slices.SortFunc(provisioned.Items, func(a, b provisioningv1.ProvisionedNode) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	return &clusterstate.Cluster{
		Provisioners: provisioners.Items, Provisioned: provisioned.Items, Nodes: nodes.Items, Pods: pods, DaemonSets: sets.Items,
		Namespaces: namespaces.Items, Claims: claims.Items, Volumes: volumes.Items, Classes: classes.Items, CSINodes: attaching.Items, Attachments: attachments.Items,
	}, nil
}

// begin learns what an earlier process launched, once. The cache may have begun with a list from
// before its last launches, so it asks the API server: passes go on when the cache shows everything
// that was there then. Launches of the last minute count against the budget.
func (o observer) begin(ctx context.Context) error {
	if o.begun {
		return nil
	}
	var nodes provisioningv1.ProvisionedNodeList
	if err := o.Live.List(ctx, &nodes); err != nil {
		return fmt.Errorf("listing ProvisionedNodes that were launched before: %w", err)
	}
	if len(nodes.Items) > 0 {
		now, err := serverTime(ctx, o.Client)
		if err != nil {
			return err
		}
		o.Budget.Recover(ages(nodes.Items, now))
	}
	for i := range nodes.Items {
		o.created.add(nodes.Items[i].Name)
	}
	o.begun = true
	return nil
}

// ages returns how old objects are at least, by the API server's clock, which counts seconds.
func ages(nodes []provisioningv1.ProvisionedNode, now metav1.Time) []time.Duration {
	old := make([]time.Duration, 0, len(nodes))
	for i := range nodes {
		old = append(old, max(now.Sub(nodes[i].CreationTimestamp.Time)-time.Second, 0))
	}
	return old
}

// serverTime returns the time of the API server's clock: the one that it gives to an object which
// it does not store. Creation times are compared with it alone, because the clock of this machine
// may go otherwise.
func serverTime(ctx context.Context, c client.Client) (metav1.Time, error) {
	probe := &provisioningv1.ProvisionedNode{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "time-"},
		Spec: provisioningv1.ProvisionedNodeSpec{
			Provisioner: "none", Cluster: "none", Launch: provisioningv1.NodeLaunch{Name: "none", Nodes: 1},
			LaunchTemplate: provisioningv1.LaunchTemplateVersion{ID: "none", Version: 1}, Architecture: provisioningv1.ArchitectureAMD64,
			CapacityType: provisioningv1.CapacityTypeOnDemand, Offerings: []provisioningv1.NodeOffering{{InstanceType: "none", Zone: "none"}},
		},
	}
	if err := c.Create(ctx, probe, client.DryRunAll); err != nil {
		return metav1.Time{}, fmt.Errorf("asking the API server for its time: %w", err)
	}
	return probe.CreationTimestamp, nil
}

// created holds ProvisionedNodes that were created and not seen in the cache since.
type created struct {
	mu    sync.Mutex
	names map[string]bool
}

func (c *created) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.names == nil {
		c.names = map[string]bool{}
	}
	c.names[name] = true
}

// unseen reports whether there is one that exists and that the cache does not show. Its event
// brings the next pass.
func (c *created) unseen(ctx context.Context, live client.Reader, seen []provisioningv1.ProvisionedNode) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range seen {
		delete(c.names, seen[i].Name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.names)) {
		err := live.Get(ctx, client.ObjectKey{Name: name}, &provisioningv1.ProvisionedNode{})
		switch {
		case err == nil:
			return true, nil
		case !apierrors.IsNotFound(err):
			return false, fmt.Errorf("reading ProvisionedNode %q: %w", name, err)
		}
		delete(c.names, name)
	}
	return false, nil
}

// versionKept is the time for which the version of the API server is remembered.
const versionKept = 10 * time.Minute

// heeded is the first version of Kubernetes whose scheduler keeps the room of a Node for the pods
// that another component nominated it for (Kubernetes: feature gate
// NominatedNodeNameForExpectation, on by default from 1.35).
var heeded = version.MustParseGeneric("1.35")

// schedulerVersion remembers whether the scheduler takes account of nominations by others.
type schedulerVersion struct {
	heeds bool
	asked time.Time
}

// versioned is a cluster that has a version.
type versioned interface {
	Version(ctx context.Context) (string, error)
}

// heedsNominations reports whether the scheduler of a cluster takes account of nominations by others.
func (s *schedulerVersion) heedsNominations(ctx context.Context, cluster versioned, now time.Time) (bool, error) {
	if !s.asked.IsZero() && now.Sub(s.asked) < versionKept {
		return s.heeds, nil
	}
	text, err := cluster.Version(ctx)
	if err != nil {
		return s.heeds, fmt.Errorf("asking for the version of Kubernetes: %w", err)
	}
	parsed, err := version.ParseGeneric(text)
	if err != nil {
		return s.heeds, fmt.Errorf("reading the version of Kubernetes: %w", err)
	}
	s.heeds, s.asked = parsed.AtLeast(heeded), now
	return s.heeds, nil
}
