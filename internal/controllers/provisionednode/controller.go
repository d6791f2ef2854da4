// Package provisionednode makes ProvisionedNodes real, keeps them and ends them: it has EC2 launch the instance, gives its Node labels and taints, ends the
// node when nobody needs it, and lets the object go when the instance has ended. Everything is decided from the object, the Node and what EC2 says now.
package provisionednode

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws/observe"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/launching"
	"github.com/slipway-project/slipway/internal/provisioning/region"
	"github.com/slipway-project/slipway/internal/provisioning/state"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// Name is the controller's, in logs, metrics and as the reporter of events.
const Name = "provisionednode"

// DefaultRegistrationTimeout is how long an instance has to become a Node that takes pods (as Karpenter's).
const DefaultRegistrationTimeout = 15 * time.Minute

// Reconciler reconciles ProvisionedNodes.
type Reconciler struct {
	Client client.Client
	// Cluster evicts pods.
	Cluster   kubernetes.Interface
	Fleets    *fleet.Fleets
	Region    *region.Region
	Instances *Instances
	Shortages *catalog.Shortages
	Promises  *launching.Promises
	Report    common.Reporter
	Clock     clock.PassiveClock
	// Wake has a node looked at. It does not block.
	Wake func(types.NamespacedName)
	// RegistrationTimeout is how long an instance has to become a Node that takes pods.
	RegistrationTimeout time.Duration

	launches launches
	drains   common.Stopwatches
	// over are nodes whose instance AWS said has ended.
	over    common.Memory[bool]
	written common.Written
}

// Instances are what EC2 says of instances, by id.
type Instances = observe.Sweep[fleet.Instance]

// pass is one reconcile of one node.
type pass struct {
	node *provisioningv1.ProvisionedNode
	// provisioner is nil if it is gone.
	provisioner *provisioningv1.Provisioner
	// instance is nil if EC2 does not know it (any more). Set by observe.
	instance *fleet.Instance
	// member is the Node, nil if there is none. Set by findMember.
	member *corev1.Node
}

// Reconcile makes a node what its object says:
//
//  1. have EC2 launch the instance, together with those of the same launch
//  2. see that it is still there
//  3. find its Node, and give it labels and taints
//  4. say whether it takes pods, or give up
//  5. end it when nobody has needed it for long enough, and replace it when it is too old or somebody says so
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (_ ctrl.Result, err error) {
	node := &provisioningv1.ProvisionedNode{}
	if err := r.Client.Get(ctx, request.NamespacedName, node); err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.Instances.Forget(request.NamespacedName)
			r.drains.Reset(request.NamespacedName)
			r.over.Forget(request.NamespacedName)
			r.written.Forget(request.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.written.Unseen(node, r.Clock) {
		return ctrl.Result{}, nil
	}
	before := node.DeepCopy()
	defer func() {
		err = errors.Join(err, reconciling.PatchStatus(ctx, r.Client, node, before))
		r.written.Note(node, before, r.Clock)
	}()
	p := &pass{node: node}
	if p.provisioner, err = r.provisionerOf(ctx, node); err != nil {
		return ctrl.Result{}, err
	}
	if node.DeletionTimestamp != nil {
		reconciling.False(node, provisioningv1.ReadyCondition, provisioningv1.DeletingReason, "")
		return reconciling.Run(ctx, p, []reconciling.Step[*pass]{
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
		{Name: "awaiting that it takes pods", Run: r.awaitReady},
		{Name: "ending it in time", Run: r.live},
	})
}

// ready is how the Ready condition follows from the others.
var ready = reconciling.Summary{
	Target: provisioningv1.ReadyCondition,
	Of:     []string{provisioningv1.LaunchedCondition, provisioningv1.RegisteredCondition, provisioningv1.NodeReadyCondition},
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

// observe sees the instance in EC2. One that is not there any more takes its object along.
func (r *Reconciler) observe(ctx context.Context, p *pass) reconciling.Outcome {
	id := p.node.Status.InstanceID
	if id == "" {
		return reconciling.Continue()
	}
	key := client.ObjectKeyFromObject(p.node)
	found, err := r.Instances.Get(ctx, key, []string{id}, false)
	if err != nil {
		return outcome.Again(err)
	}
	instance, is := found[id]
	if _, over := r.over.Get(key); over {
		instance, is = instance.Ended(), true
	}
	if is {
		p.instance = &instance
	}
	if p.node.Status.ImageID == "" {
		p.node.Status.ImageID = instance.ImageID
	}
	r.Instances.InMotion(key, p.node.DeletionTimestamp != nil || !state.IsTrue(p.node, provisioningv1.ReadyCondition))
	switch {
	case p.node.DeletionTimestamp != nil:
	case p.instance == nil && r.sinceLaunch(p.node) < visibility:
		// Reads in EC2 lag behind writes.
	case p.instance == nil || p.instance.Ends():
		r.tell(ctx, p, "InstanceGone", "Instance %s of ProvisionedNode %s has ended, and not by Slipway.", id, p.node.Name)
		return r.end(ctx, p, "its instance has ended")
	}
	return reconciling.Continue()
}

// visibility is how long EC2 may take to show an instance that it has launched.
const visibility = 2 * time.Minute

func (r *Reconciler) sinceLaunch(node *provisioningv1.ProvisionedNode) time.Duration {
	if node.Status.LaunchTime == nil {
		return 0
	}
	return r.Clock.Since(node.Status.LaunchTime.Time)
}

// end deletes the object. What has to happen first, the deletion does.
func (r *Reconciler) end(ctx context.Context, p *pass, why string) reconciling.Outcome {
	if err := r.delete(ctx, p.node); err != nil {
		return reconciling.Fail(err)
	}
	return reconciling.Stop(why)
}

func (r *Reconciler) delete(ctx context.Context, node *provisioningv1.ProvisionedNode) error {
	precondition := client.Preconditions{UID: &node.UID}
	if err := r.Client.Delete(ctx, node, precondition); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting ProvisionedNode %q: %w", node.Name, err)
	}
	return nil
}

// tell reports on the provisioner, which outlives its nodes.
func (r *Reconciler) tell(ctx context.Context, p *pass, reason, format string, values ...any) {
	if p.provisioner != nil {
		r.Report.Warn(ctx, p.provisioner, reason, format, values...)
	}
}
