// Package nodelifecycle manages ProvisionedNodes from launch to deletion: it has EC2 launch the
// instance, gives its Node labels and taints, deletes the node when no pod needs it, and removes
// the object's finalizer when the instance has terminated. It decides everything from the object,
// the Node, and the current answers of EC2.
//
// Observe asks Kubernetes and EC2 what there is. Decide, in the files decide*.go, is a pure function
// with a stage of a node's life to a file. The actions are values, in actions.go, and know how they
// are done, in the files act*.go. The files notices.go, statuschecks.go and collect.go have what
// happens outside the reconciles of one node.
//
// A Node has a finalizer, so that deleting the Node drains it and terminates its instance, also
// while no controller runs. A Node that disappears in spite of the finalizer may come from a
// restored backup, so its instance stays until the registration timeout.
//
// Many nodes that fail together often share a cause that their replacement does not remove, such as
// a network partition. So at most a fifth of a zone's nodes are replaced at once, and nodes of the
// zone that are still starting count.
package nodelifecycle

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws/observe"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/clustername"
	"github.com/slipway-project/slipway/internal/provisioning/defaults"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/region"
	"github.com/slipway-project/slipway/internal/provisioning/templates"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/report"
)

// Name is the controller's, in logs, metrics and as the reporter of events.
const Name = "provisionednode"

// DefaultRegistrationTimeout is the time that an instance has to become an initialized Node (as
// Karpenter's).
const DefaultRegistrationTimeout = 15 * time.Minute

// Instances holds EC2's descriptions of instances, by ID.
type Instances = observe.Sweep[fleet.Instance]

// Kind observes, decides and acts for ProvisionedNodes.
type Kind struct {
	Client client.Client
	// Live reads past the cache.
	Live client.Reader
	// ClusterUID is the UID of the kube-system namespace: the mark of this cluster's instances.
	ClusterUID string
	// Names knows cluster names that another cluster uses.
	Names *clustername.Names
	// Defaults are the default launch templates.
	Defaults *defaults.Templates
	// Templates reads the launch templates that provisioners and pods name.
	Templates *templates.Reader
	// Cluster evicts pods.
	Cluster   kubernetes.Interface
	Fleets    *fleet.Fleets
	Region    *region.Region
	Instances *Instances
	// Checks are EC2's status checks.
	Checks    *StatusChecks
	Shortages *catalog.Shortages
	Refusals  *launcher.Refusals
	Promises  *launcher.Promises
	Report    report.Reporter
	Clock     clock.PassiveClock
	// Wake enqueues a node. It does not block.
	Wake func(types.NamespacedName)
	// RegistrationTimeout is how long an instance has to become an initialized Node.
	RegistrationTimeout time.Duration

	launches launches
	// repairs is held while it is checked whether a failed node may be replaced, and it is deleted.
	repairs sync.Mutex
	// over holds nodes whose instance AWS reported as terminated.
	over reconciling.Memory[bool]
}

// Observe implements reconcile.Kind.
func (k *Kind) Observe(ctx context.Context, pass pass, needs ...reconcile.Need) error {
	o := observer{Kind: k, pass: pass}
	if len(needs) == 0 {
		return o.observe(ctx)
	}
	for _, need := range needs {
		if err := o.needs()[need](ctx); err != nil {
			return err
		}
	}
	return nil
}

// Decide implements reconcile.Kind.
func (*Kind) Decide(in input) reconcile.Plan { return Decide(in) }

// Act implements reconcile.Kind.
func (k *Kind) Act(ctx context.Context, pass pass, action reconcile.Action) ([]reconcile.Event, error) {
	todo, is := action.(doer)
	if !is {
		return nil, fmt.Errorf("%T is no action on a ProvisionedNode", action)
	}
	return todo.do(ctx, actor{Kind: k, pass: pass})
}

// provisionerOf returns the Provisioner of a node, nil if it is gone.
func (k *Kind) provisionerOf(ctx context.Context, node *provisioningv1.ProvisionedNode) (*provisioningv1.Provisioner, error) {
	provisioner := &provisioningv1.Provisioner{}
	err := k.Client.Get(ctx, client.ObjectKey{Name: node.Spec.Provisioner}, provisioner)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading Provisioner %q: %w", node.Spec.Provisioner, err)
	}
	if err != nil {
		return nil, nil //nolint:nilnil // a provisioner that is gone is no error
	}
	return provisioner, nil
}

// claim returns what the tags of the node's instance have to prove. Status is no proof: other
// writers may have changed it.
func (k *Kind) claim(node *provisioningv1.ProvisionedNode) fleet.Claim {
	return fleet.Claim{ClusterUID: k.ClusterUID, Cluster: node.Spec.Cluster, Launch: node.Spec.Launch.Name}
}

// forget drops what is remembered of a node that is gone.
func (k *Kind) forget(node types.NamespacedName) {
	k.Instances.Forget(node)
	k.over.Forget(node)
	k.Report.Progress.NodeGone(node.Name)
}

// Controller reconciles ProvisionedNodes.
type Controller struct {
	*Kind
	frame *reconcile.Controller[*provisioningv1.ProvisionedNode, Observed, memory]
}

// New returns a controller of a kind. The frame adds no finalizer: the writer of a ProvisionedNode
// puts it on the object.
func New(kind *Kind) *Controller {
	return &Controller{Kind: kind, frame: &reconcile.Controller[*provisioningv1.ProvisionedNode, Observed, memory]{
		Kind: kind, Client: kind.Client, Live: kind.Live, Clock: kind.Clock, Report: reporter{kind.Report, kind.Clock},
		Empty: &provisioningv1.ProvisionedNode{}, Summaries: summaries, Forget: kind.forget,
	}}
}

// Reconcile implements reconcile.Reconciler.
func (c *Controller) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return c.frame.Reconcile(ctx, request)
}

// ready derives the Ready condition from the others.
var ready = reconciling.Summary{
	Target: provisioningv1.ReadyCondition,
	Of:     []string{provisioningv1.LaunchedCondition, provisioningv1.RegisteredCondition, provisioningv1.NodeReadyCondition, provisioningv1.InitializedCondition},
	Reason: provisioningv1.ReadyReason,
}

// summaries returns what follows from the other conditions of a node. A node that is being deleted
// is not ready for that reason.
func summaries(node *provisioningv1.ProvisionedNode) []reconcile.Summarizer {
	if node.DeletionTimestamp != nil {
		return nil
	}
	return []reconcile.Summarizer{ready}
}
