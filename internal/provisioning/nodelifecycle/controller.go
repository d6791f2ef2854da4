// Package nodelifecycle manages ProvisionedNodes from launch to deletion: it has EC2 launch the
// instance, gives its Node labels and taints, deletes the node when no pod needs it, and removes
// the object's finalizer when the instance has terminated. It decides everything from the object,
// the Node, and the current answers of EC2.
package nodelifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws/observe"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/report"

	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/metrics"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/clustername"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/defaults"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/region"
	"github.com/slipway-project/slipway/internal/provisioning/templates"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// Name is the controller's, in logs, metrics and as the reporter of events.
const Name = "provisionednode"

// DefaultRegistrationTimeout is the time that an instance has to become an initialized Node (as
// Karpenter's).
const DefaultRegistrationTimeout = 15 * time.Minute

// Reconciler reconciles ProvisionedNodes.
type Reconciler struct {
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
	// repairs is held while it is decided whether a failed node is replaced.
	repairs sync.Mutex
	drains  report.Stopwatches
	// over holds nodes whose instance AWS reported as terminated.
	over    reconciling.Memory[bool]
	written reconciling.Written
}

// instanceGone is the reason for deleting a node whose instance terminated, and not by Slipway.
const instanceGone = "InstanceGone"

// Instances holds EC2's descriptions of instances, by ID.
type Instances = observe.Sweep[fleet.Instance]

// pass is one reconcile of one node.
type pass struct {
	node *provisioningv1.ProvisionedNode
	// provisioner is nil if it is gone.
	provisioner *provisioningv1.Provisioner
	// instance is nil if EC2 does not know it, or no longer does. Its tags prove that it was
	// launched for the node. Set by observe.
	instance *fleet.Instance
	// foreign is true if the instance in status was launched for something else: neither it nor its
	// Node is touched. Set by observe.
	foreign bool
	// member is the Node, nil if there is none. Set by findMember.
	member *corev1.Node
}

// Reconcile brings a node to the state that its object describes:
//
//  1. have EC2 launch the instance, together with the other instances of the same launch
//  2. see that it is still there
//  3. find its Node, and give it labels and taints
//  4. wait until it is initialized: ready, without startup taints, and with the devices that its
//     pods request; or give up, and record that it failed to start
//  5. replace it if it has failed since
//  6. delete it when no pod has needed it for long enough, and replace it when it is too old or a
//     user requests it
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (_ ctrl.Result, err error) {
	node := &provisioningv1.ProvisionedNode{}
	if err := r.Client.Get(ctx, request.NamespacedName, node); err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.Instances.Forget(request.NamespacedName)
			r.drains.Reset(request.NamespacedName)
			r.over.Forget(request.NamespacedName)
			r.written.Forget(request.NamespacedName)
			r.Report.Progress.NodeGone(request.Name)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.written.Unseen(node, r.Clock) {
		return ctrl.Result{}, nil
	}
	before := node.DeepCopy()
	defer func() {
		reconciling.Stamp(node, r.Clock.Now())
		err = errors.Join(err, reconciling.PatchStatus(ctx, r.Client, node, before))
		r.written.Note(node, before, r.Clock)
	}()
	p := &pass{node: node}
	if p.provisioner, err = r.provisionerOf(ctx, node); err != nil {
		return ctrl.Result{}, err
	}
	if node.DeletionTimestamp != nil {
		reconciling.False(node, provisioningv1.ReadyCondition, provisioningv1.DeletingReason, "")
		return reconciling.RunDeletion(ctx, r.Live, node, p, []reconciling.Step[*pass]{
			{Name: "observing the instance", Run: r.observe},
			{Name: "finding the Node", Run: r.findMember},
			{Name: "draining the Node", Run: r.drain},
			{Name: "terminating the instance", Run: r.terminate},
			{Name: "letting the object go", Run: r.release},
		})
	}
	defer ready.Summarize(node)
	return reconciling.Run(ctx, p, []reconciling.Step[*pass]{
		{Name: "launching the instance", Run: r.launch},
		{Name: "observing the instance", Run: r.observe},
		{Name: "finding the Node", Run: r.findMember},
		{Name: "registering the Node", Run: r.register},
		{Name: "awaiting that it is initialized", Run: r.awaitInitialized},
		{Name: "replacing it if it has failed", Run: r.repair},
		{Name: "ending it in time", Run: r.live},
	})
}

// ready derives the Ready condition from the others.
var ready = reconciling.Summary{
	Target: provisioningv1.ReadyCondition,
	Of:     []string{provisioningv1.LaunchedCondition, provisioningv1.RegisteredCondition, provisioningv1.NodeReadyCondition, provisioningv1.InitializedCondition},
	Reason: provisioningv1.ReadyReason,
}

func (r *Reconciler) provisionerOf(ctx context.Context, node *provisioningv1.ProvisionedNode) (*provisioningv1.Provisioner, error) {
	provisioner := &provisioningv1.Provisioner{}
	err := r.Client.Get(ctx, client.ObjectKey{Name: node.Spec.Provisioner}, provisioner)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading Provisioner %q: %w", node.Spec.Provisioner, err)
	}
	if err != nil {
		return nil, nil //nolint:nilnil // a provisioner that is gone is no error
	}
	return provisioner, nil
}

// observe describes the instance. If it no longer exists, its object is deleted.
func (r *Reconciler) observe(ctx context.Context, p *pass) reconciling.Outcome {
	id := p.node.Status.InstanceID
	if id == "" {
		return reconciling.Continue()
	}
	key := client.ObjectKeyFromObject(p.node)
	found, err := r.Instances.Get(ctx, key, []string{id}, false)
	if err != nil {
		return pool.RetryOutcome(err)
	}
	instance, is := found[id]
	if is {
		if err := r.claim(p.node).Check(instance); err != nil {
			return r.refuse(ctx, p, err)
		}
	}
	if _, over := r.over.Get(key); over {
		instance, is = instance.Ended(), true
	}
	if is {
		p.instance = &instance
	}
	if p.node.Status.ImageID == "" {
		p.node.Status.ImageID = instance.ImageID
	}
	r.Instances.InMotion(key, p.node.DeletionTimestamp != nil || !clusterstate.IsTrue(p.node, provisioningv1.ReadyCondition))
	switch {
	case p.node.DeletionTimestamp != nil:
	case p.instance == nil && !r.longLaunched(p.node):
		// Reads in EC2 lag behind writes. Until the tags are seen, the Node of the instance is not touched.
		return reconciling.ComeBack(lookAtLaunch, "EC2 does not show the instance yet")
	case p.instance == nil || p.instance.Ends():
		r.tell(ctx, p, instanceGone, "Instance %s of ProvisionedNode %s has ended, and not by Slipway.", id, p.node.Name)
		return r.end(ctx, p, instanceGone, "its instance has ended")
	}
	return reconciling.Continue()
}

// claim returns what the tags of the node's instance have to prove. Status is no proof: other
// writers may have changed it.
func (r *Reconciler) claim(node *provisioningv1.ProvisionedNode) fleet.Claim {
	return fleet.Claim{ClusterUID: r.ClusterUID, Cluster: node.Spec.Cluster, Launch: node.Spec.Launch.Name}
}

// refuse leaves an instance alone that was not launched for the node. If the node is being deleted,
// its object goes without it.
func (r *Reconciler) refuse(ctx context.Context, p *pass, why error) reconciling.Outcome {
	p.foreign = true
	message := fmt.Sprintf("%v; Slipway neither drains nor terminates it, and the ProvisionedNode counts against limits until it is deleted", why)
	shown := meta.FindStatusCondition(p.node.Status.Conditions, provisioningv1.LaunchedCondition)
	if shown == nil || shown.Reason != provisioningv1.InstanceNotOwnedReason {
		r.tell(ctx, p, provisioningv1.InstanceNotOwnedReason, "ProvisionedNode %s: %s.", p.node.Name, message)
	}
	reconciling.False(p.node, provisioningv1.LaunchedCondition, provisioningv1.InstanceNotOwnedReason, message)
	if p.node.DeletionTimestamp != nil {
		return reconciling.Continue()
	}
	return reconciling.Stop(message)
}

// lookAtLaunch is the interval at which a new instance that EC2 does not show yet is described.
const lookAtLaunch = 5 * time.Second

// visibility is the time that EC2 may take to show an instance that it has launched.
const visibility = 2 * time.Minute

func (r *Reconciler) sinceLaunch(node *provisioningv1.ProvisionedNode) time.Duration {
	if node.Status.LaunchTime == nil {
		return 0
	}
	return r.Clock.Since(node.Status.LaunchTime.Time)
}

// longLaunched reports whether EC2 would already show the instance, if it existed.
func (r *Reconciler) longLaunched(node *provisioningv1.ProvisionedNode) bool {
	return node.Status.LaunchTime == nil || r.sinceLaunch(node) >= visibility
}

// end deletes the object, for a reason that slipway_node_disruptions_total shows. The deletion
// drains the node and terminates the instance first.
func (r *Reconciler) end(ctx context.Context, p *pass, reason, why string) reconciling.Outcome {
	if err := r.delete(ctx, p.node, reason); err != nil {
		return reconciling.Fail(err)
	}
	return reconciling.Stop(why)
}

func (r *Reconciler) delete(ctx context.Context, node *provisioningv1.ProvisionedNode, reason string) error {
	precondition := client.Preconditions{UID: &node.UID}
	if err := r.Client.Delete(ctx, node, precondition); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting ProvisionedNode %q: %w", node.Name, err)
	}
	r.Report.Progress.NodeDisrupted(node, reason)
	r.Report.Progress.NodesDecided(node.Spec.Provisioner, metrics.DecisionTerminate, 1)
	return nil
}

// tell reports an event on the provisioner, which outlives its nodes.
func (r *Reconciler) tell(ctx context.Context, p *pass, reason, format string, values ...any) {
	if p.provisioner != nil {
		r.Report.Warn(ctx, p.provisioner, reason, format, values...)
	}
}
