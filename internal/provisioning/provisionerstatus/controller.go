// Package provisionerstatus reports for every Provisioner what it can launch from and what it has
// launched, and deletes its nodes before it goes. It launches nothing.
//
// Observe reads Kubernetes and AWS. Decide, in the files decide*.go, is a pure function with one
// file for each concern. The actions are values, in actions.go, and act.go performs them.
//
// The status records what every launch template came to. A process that starts while EC2 does not
// describe launch templates launches from these records. Shortages count for the Ready condition
// until something is launched, or until a minute after they may be tried again, so that the
// condition does not alternate.
package provisionerstatus

import (
	"context"
	"fmt"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	ctrlreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/metrics"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/clustername"
	"github.com/slipway-project/slipway/internal/provisioning/defaults"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/region"
	"github.com/slipway-project/slipway/internal/provisioning/templates"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/report"
	"github.com/slipway-project/slipway/internal/watches"
)

// Name is the controller's, in logs, metrics and as the reporter of events.
const Name = "provisioner"

// Kind observes, decides and acts for Provisioners.
type Kind struct {
	Client client.Client
	// Live reads past the cache.
	Live client.Reader
	// ClusterUID is the UID of the kube-system namespace: the mark of this cluster's instances.
	ClusterUID string
	Region     *region.Region
	Defaults   *defaults.Templates
	Templates  *templates.Reader
	Names      *clustername.Names
	Refusals   *launcher.Refusals
	Shortages  *catalog.Shortages
	Asked      *templates.Asked
	// AWS knows whether AWS answers.
	AWS Reachable
	// Progress counts; nil for not.
	Progress *metrics.Progress
	Clock    clock.PassiveClock

	learned atomic.Bool // what the region sells
}

// Observe implements reconcile.Kind.
func (k *Kind) Observe(ctx context.Context, pass pass, needs ...reconcile.Need) error {
	o := observer{Kind: k, pass: pass}
	defer o.observeOutage()
	if len(needs) == 0 {
		return o.observe(ctx)
	}
	for _, need := range needs {
		if err := o.observeNeed(ctx, need); err != nil {
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
		return nil, fmt.Errorf("%T is no action on a Provisioner", action)
	}
	defer observer{Kind: k, pass: pass}.observeOutage()
	return todo.do(ctx, actor{Kind: k, pass: pass})
}

// Controller reconciles Provisioners.
type Controller struct {
	*reconcile.Controller[*provisioningv1.Provisioner, Observed, Memory]
	kind *Kind
}

// New returns a controller of a kind.
func New(kind *Kind, report report.Reporter) *Controller {
	return &Controller{kind: kind, Controller: &reconcile.Controller[*provisioningv1.Provisioner, Observed, Memory]{
		Kind: kind, Client: kind.Client, Live: kind.Live, Clock: kind.Clock, Report: report,
		Empty: &provisioningv1.Provisioner{}, Finalizer: provisioningv1.ProvisionerFinalizer, Summaries: summaries,
		Forget: func(name types.NamespacedName) { report.Progress.Forget(&provisioningv1.Provisioner{}, name) },
	}}
}

// ready derives the Ready condition from the others.
var ready = reconciling.Summary{
	Target: provisioningv1.ReadyCondition,
	Of: []string{
		provisioningv1.NodesLaunchCondition, provisioningv1.ClusterNameUniqueCondition, provisioningv1.SubnetsReadyCondition, provisioningv1.LaunchTemplatesReadyCondition,
		provisioningv1.NodesStartCondition,
	},
	Reason: provisioningv1.ReadyReason,
	// without an answer of AWS nothing is launched
	Unless: provisioningv1.AWSReachableCondition, UnlessStatus: metav1.ConditionFalse,
}

// summaries returns what follows from the other conditions of a Provisioner.
func summaries(provisioner *provisioningv1.Provisioner) []reconcile.Summarizer {
	if provisioner.DeletionTimestamp != nil {
		return nil
	}
	return []reconcile.Summarizer{ready}
}

// Register adds the controller to a manager. Woken are provisioners with changes that the API
// server does not report.
func (c *Controller) Register(manager ctrl.Manager, settings watches.Settings, woken source.Source) error {
	controller := ctrl.NewControllerManagedBy(manager).
		Named(Name).
		// changes of the status too: a pass that begins before it sees its own write waits for that
		// write's event
		For(&provisioningv1.Provisioner{}).
		Watches(&provisioningv1.ProvisionedNode{}, handler.EnqueueRequestsFromMapFunc(ofNode)).
		Watches(&provisioningv1.Provisioner{}, handler.EnqueueRequestsFromMapFunc(c.others), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(woken).
		WithOptions(settings.Options())
	if err := controller.Complete(settings.Reconciler("Provisioner", c.kind.Client, &provisioningv1.Provisioner{}, c)); err != nil {
		return fmt.Errorf("registering controller %s: %w", Name, err)
	}
	return nil
}

// ofNode returns the provisioner that launched a node.
func ofNode(_ context.Context, node client.Object) []ctrlreconcile.Request {
	name := node.GetLabels()[provisioningv1.LabelProvisionerName]
	if name == "" {
		return nil
	}
	return []ctrlreconcile.Request{{NamespacedName: client.ObjectKey{Name: name}}}
}

// others returns the provisioners besides one that has changed: its weight may have put it before
// or after any of them.
func (c *Controller) others(ctx context.Context, changed client.Object) []ctrlreconcile.Request {
	var all provisioningv1.ProvisionerList
	if err := c.kind.Client.List(ctx, &all); err != nil {
		log.FromContext(ctx).Error(err, "Listing Provisioners, to compare them")
		return nil
	}
	var requests []ctrlreconcile.Request
	for i := range all.Items {
		if all.Items[i].Name != changed.GetName() {
			requests = append(requests, ctrlreconcile.Request{NamespacedName: client.ObjectKey{Name: all.Items[i].Name}})
		}
	}
	return requests
}
