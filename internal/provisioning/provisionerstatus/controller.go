// Package provisionerstatus reports for every Provisioner what it can launch from and what it has
// launched, and deletes its nodes before it goes. It launches nothing.
package provisionerstatus

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/clustername"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/defaults"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/region"
	"github.com/slipway-project/slipway/internal/provisioning/templates"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// Name is the controller's, in logs, metrics and as the reporter of events.
const Name = "provisioner"

// lookAgain is the interval at which the AWS resources that the spec names are read although
// nothing happened here.
const lookAgain = 5 * time.Minute

// Reconciler reconciles Provisioners.
type Reconciler struct {
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
	AWS    Reachable
	Report common.Reporter
	Clock  clock.PassiveClock

	written common.Written
	// refreshed is when the launch templates of a Provisioner were last dropped from the caches.
	refreshed common.Memory[time.Time]
	// tried are the launch templates that EC2 accepted for a Provisioner, with what they were tried
	// with.
	tried   common.Memory[map[string]bool]
	learned atomic.Bool // what the region sells
}

// pass is one reconcile of one provisioner.
type pass struct {
	provisioner *provisioningv1.Provisioner
	// nodes are its own. Set by count.
	nodes []provisioningv1.ProvisionedNode
	// failing is true if the launch of one of them fails. Set by reportLaunches.
	failing bool
	// layer is what the spec says to pods, and places are where nodes can be. Set by findSubnets.
	layer  constraints.Provisioner
	places launcher.Places
	// offers are the offerings by which pods that ask for nothing can have nodes; nil if there are
	// none. Set by findOffers.
	offers iter.Seq[catalog.Offer]
	// tried are the launch templates that EC2 accepts. Set by refused.
	tried map[string]bool
	// known and made hold the launch templates that were read, by reference and by variant. Set by
	// lookAtTemplates.
	known map[constraints.Reference]templates.Known
	made  map[string]defaults.Template // by variant
	// refused is true if EC2 launches nothing from one of them. Set by lookAtTemplates.
	refused bool
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

// Reconcile reports the state of a provisioner:
//
//  1. count its nodes
//  2. hold the object while it may have any
//  3. report launches that fail, and allow nodes that ask for it to be disrupted, within the
//     disruption budgets: neither calls AWS
//  4. refuse the name of its cluster if another cluster uses it
//  5. find its subnets
//  6. read the launch templates that it and its pods name, and the ones that were created for it,
//     and prune the latter
//  7. report that AWS has none of the instances that it may launch
//  8. have nodes that have drifted replaced, if the spec asks for it
//  9. warn of old spellings, and of another provisioner that takes its pods
//  10. learn what the region sells, once, so that the first pod that waits need not wait for that
//     too
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (_ ctrl.Result, err error) {
	provisioner := &provisioningv1.Provisioner{}
	if err := r.Client.Get(ctx, request.NamespacedName, provisioner); err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.written.Forget(request.NamespacedName)
			r.refreshed.Forget(request.NamespacedName)
			r.tried.Forget(request.NamespacedName)
			r.Report.Progress.Forget(provisioner, request.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.written.Unseen(provisioner, r.Clock) {
		return ctrl.Result{}, nil
	}
	before := provisioner.DeepCopy()
	defer func() {
		reconciling.Stamp(provisioner, r.Clock.Now())
		err = errors.Join(err, r.Report.PatchStatus(ctx, r.Client, provisioner, before))
		r.written.Note(provisioner, before, r.Clock)
	}()
	p := &pass{provisioner: provisioner}
	if provisioner.DeletionTimestamp != nil {
		reconciling.False(provisioner, provisioningv1.ReadyCondition, provisioningv1.DeletingReason, "")
		return reconciling.RunDeletion(ctx, r.Live, provisioner, p, []reconciling.Step[*pass]{
			{Name: "counting nodes", Run: r.count},
			{Name: "ending nodes", Run: r.endNodes},
			{Name: "deleting default launch templates", Run: r.deleteTemplates},
			{Name: "letting the object go", Run: r.release},
		})
	}
	defer func() {
		var outage pool.Outage
		outage.Outage, outage.Answered = r.AWS.Outage(clouds.TemplateServices...)
		pool.ShowOutage(provisioner, outage, r.Region.Name)
		ready.Summarize(provisioner)
	}()
	return reconciling.Run(ctx, p, []reconciling.Step[*pass]{
		{Name: "counting nodes", Run: r.count},
		{Name: "holding the object", Run: r.hold},
		{Name: "reporting launches that fail", Run: reportLaunches},
		{Name: "allowing disruptions", Run: r.allowDisruptions},
		{Name: "warning of old spellings", Run: warn},
		{Name: "checking the name of the cluster", Run: r.checkName},
		{Name: "finding subnets", Run: r.findSubnets},
		{Name: "looking at launch templates", Run: r.lookAtTemplates},
		{Name: "reporting shortages", Run: r.reportShortages},
		{Name: "reporting nodes that failed to start", Run: r.reportStarts},
		{Name: "comparing with other provisioners", Run: r.compare},
		{Name: "pruning versions of default launch templates", Run: r.prune},
		{Name: "replacing nodes that have drifted", Run: r.replaceDrifted},
		{Name: "learning what the region sells", Run: r.learnRegion},
	})
}

func (r *Reconciler) count(ctx context.Context, p *pass) reconciling.Outcome {
	var nodes provisioningv1.ProvisionedNodeList
	// Every change of a node brings a pass, and copying all nodes each time would be most of what
	// the process allocates.
	if err := r.Client.List(ctx, &nodes, client.MatchingLabels{provisioningv1.LabelProvisionerName: p.provisioner.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return reconciling.Fail(fmt.Errorf("listing ProvisionedNodes: %w", err))
	}
	p.nodes = nodes.Items
	used := (&clusterstate.Cluster{Provisioned: nodes.Items}).Used(p.provisioner.Name)
	p.provisioner.Status.Nodes = int32(len(p.nodes)) //nolint:gosec // limits.nodes ends at 100,000
	p.provisioner.Status.Resources = &provisioningv1.ProvisionedResources{CPU: *used.CPU, Memory: *used.Memory}
	return reconciling.Continue()
}

func (r *Reconciler) hold(ctx context.Context, p *pass) reconciling.Outcome {
	err := reconciling.EnsureFinalizer(ctx, r.Client, p.provisioner, provisioningv1.ProvisionerFinalizer, func(*provisioningv1.Provisioner) {})
	if err != nil {
		return reconciling.Fail(fmt.Errorf("adding the finalizer: %w", err))
	}
	return reconciling.Continue()
}

// warn names the labels of before March 2021 that the spec has.
func warn(_ context.Context, p *pass) reconciling.Outcome {
	var old []string
	for label, current := range map[string]string{
		provisioningv1.LegacyLabelLaunchTemplateID:      "spec.launchTemplateRef.id",
		provisioningv1.LegacyLabelLaunchTemplateVersion: provisioningv1.LabelLaunchTemplateVersion,
		provisioningv1.LegacyLabelCapacityType:          provisioningv1.LabelCapacityType,
	} {
		if _, has := p.provisioner.Spec.Labels[label]; has {
			old = append(old, label+" is now "+current)
		}
	}
	if len(old) == 0 {
		reconciling.Remove(p.provisioner, provisioningv1.SpellingsCurrentCondition)
		return reconciling.Continue()
	}
	slices.Sort(old)
	reconciling.False(p.provisioner, provisioningv1.SpellingsCurrentCondition, provisioningv1.OldSpellingReason, strings.Join(old, "; "))
	return reconciling.Continue()
}

// reportLaunches reports the launches of the provisioner's nodes that fail, and are repeated.
// LaunchTemplatesReady covers what EC2 refuses to launch from. A shortage is left to
// reportShortages, because a condition changes once in a pass.
func reportLaunches(_ context.Context, p *pass) reconciling.Outcome {
	if why := failingLaunch(p.nodes); why != "" {
		p.failing = true
		reconciling.False(p.provisioner, provisioningv1.NodesLaunchCondition, provisioningv1.LaunchFailedReason, bounded(why))
	} else if shown := meta.FindStatusCondition(p.provisioner.Status.Conditions, provisioningv1.NodesLaunchCondition); shown == nil || shown.Reason == provisioningv1.LaunchFailedReason {
		reconciling.True(p.provisioner, provisioningv1.NodesLaunchCondition, provisioningv1.ReadyReason, "")
	}
	return reconciling.Continue()
}

// failingLaunch returns why the first of the nodes whose launch fails, by name, is not launched; ""
// if there is none.
func failingLaunch(nodes []provisioningv1.ProvisionedNode) string {
	first, why := "", ""
	for i := range nodes {
		node := &nodes[i]
		launched := meta.FindStatusCondition(node.Status.Conditions, provisioningv1.LaunchedCondition)
		failing := launched != nil && launched.Status == metav1.ConditionFalse && launched.Reason == provisioningv1.LaunchFailedReason
		if failing && node.Status.InstanceID == "" && node.DeletionTimestamp == nil && (first == "" || node.Name < first) {
			first, why = node.Name, launched.Message
		}
	}
	return why
}

// failed finishes the pass because AWS failed or refused to answer, as outcome.Of does. A
// correction by a user in AWS is noticed within seconds, because until then nothing is launched.
func failed(p *pass, condition, reason string, err error) reconciling.Outcome {
	result := outcome.Of(p.provisioner, condition, reason, err)
	if aws.FateOf(err).Kind == aws.WaitForUser {
		return reconciling.ComeBack(launcher.RetryInterval, err.Error())
	}
	return result
}

// checkName refuses a cluster name that another Kubernetes cluster uses: what is launched under it
// would be taken for that cluster's.
func (r *Reconciler) checkName(ctx context.Context, p *pass) reconciling.Outcome {
	taken, err := r.Names.Taken(ctx, p.provisioner.Spec.Cluster.Name)
	if err != nil {
		return failed(p, provisioningv1.ClusterNameUniqueCondition, provisioningv1.ClusterNameTakenReason, err)
	}
	if taken == "" {
		reconciling.True(p.provisioner, provisioningv1.ClusterNameUniqueCondition, provisioningv1.ReadyReason, "")
		return reconciling.Continue()
	}
	reconciling.False(p.provisioner, provisioningv1.ClusterNameUniqueCondition, provisioningv1.ClusterNameTakenReason, taken)
	return reconciling.ComeBack(lookAgain, "another cluster uses the name")
}

// findSubnets finds where nodes can be. While nodes can be nowhere, or nothing can be launched
// from, subnets that a user adds are noticed within seconds.
func (r *Reconciler) findSubnets(ctx context.Context, p *pass) reconciling.Outcome {
	now, notBefore := r.Clock.Now(), time.Time{}
	for _, condition := range []string{provisioningv1.SubnetsReadyCondition, provisioningv1.LaunchTemplatesReadyCondition} {
		if meta.IsStatusConditionFalse(p.provisioner.Status.Conditions, condition) {
			notBefore = now.Add(-launcher.RetryInterval).Add(time.Nanosecond) // of that age, or older
		}
	}
	places, found, err := r.Region.Places(ctx, p.provisioner, r.Shortages, p.nodes, now, notBefore)
	if err != nil {
		return failed(p, provisioningv1.SubnetsReadyCondition, provisioningv1.SubnetsUnusableReason, err)
	}
	p.layer, p.places = constraints.FromSpec(p.provisioner.Name, &p.provisioner.Spec), places
	p.layer.SubnetZones, p.layer.SubnetProblem = places.Zones(), places.Problem(found, &p.layer)
	if p.layer.SubnetProblem != "" && !r.fixesSubnet(ctx, p) {
		reconciling.False(p.provisioner, provisioningv1.SubnetsReadyCondition, provisioningv1.SubnetsUnusableReason, bounded(p.layer.SubnetProblem))
		return reconciling.ContinueAndComeBack(launcher.RetryInterval, "subnets may have free addresses again, or be added")
	}
	reconciling.True(p.provisioner, provisioningv1.SubnetsReadyCondition, provisioningv1.ReadyReason, "")
	return reconciling.ContinueAndComeBack(lookAgain, "what is in AWS may change")
}

// fixesSubnet reports whether the launch template that the spec names has the subnet.
func (r *Reconciler) fixesSubnet(ctx context.Context, p *pass) bool {
	if p.layer.Template.IsDefault() {
		return false
	}
	r.Templates.Recall(p.provisioner.Status.LaunchTemplates)
	known, err := r.Templates.Read(ctx, p.layer.Template)
	return err == nil && known.FixesSubnet
}

// learnRegion reads what the region sells: 20 calls that the launching controller would otherwise
// send one after the other. The passes that launch report failures.
func (r *Reconciler) learnRegion(ctx context.Context, _ *pass) reconciling.Outcome {
	if r.learned.Load() {
		return reconciling.Continue()
	}
	facts, err := r.Region.Facts(ctx, nil)
	var spotErr error
	facts.Spot, spotErr = r.Region.Discovery.SpotPrices(ctx)
	if err := errors.Join(err, spotErr); err != nil {
		log.FromContext(ctx).Info("What the region sells is not known yet", "error", err.Error())
		return reconciling.Continue()
	}
	r.Report.Progress.Priced(catalog.Prices(facts))
	r.learned.Store(true)
	return reconciling.Continue()
}

// endNodes deletes all nodes, and waits until they are gone.
func (r *Reconciler) endNodes(ctx context.Context, p *pass) reconciling.Outcome {
	for i := range p.nodes {
		if p.nodes[i].DeletionTimestamp != nil {
			continue
		}
		if err := r.Client.Delete(ctx, &p.nodes[i]); client.IgnoreNotFound(err) != nil {
			return reconciling.Fail(fmt.Errorf("deleting ProvisionedNode %q: %w", p.nodes[i].Name, err))
		}
	}
	if len(p.nodes) > 0 {
		reconciling.False(p.provisioner, provisioningv1.ReadyCondition, provisioningv1.DeletingReason, fmt.Sprintf("%d nodes are ending", len(p.nodes)))
		return reconciling.Stop("its nodes are ending")
	}
	return reconciling.Continue()
}

func (r *Reconciler) deleteTemplates(ctx context.Context, p *pass) reconciling.Outcome {
	if err := r.Defaults.Delete(ctx, p.provisioner); err != nil {
		return reconciling.Fail(err)
	}
	return reconciling.Continue()
}

func (r *Reconciler) release(ctx context.Context, p *pass) reconciling.Outcome {
	if err := reconciling.RemoveFinalizer(ctx, r.Client, p.provisioner, provisioningv1.ProvisionerFinalizer); err != nil {
		return reconciling.Fail(fmt.Errorf("removing the finalizer: %w", err))
	}
	return reconciling.Stop("the provisioner is gone")
}

// Register adds the controller to a manager. Woken are provisioners with changes that the API
// server does not report.
func (r *Reconciler) Register(manager ctrl.Manager, settings common.Settings, woken source.Source) error {
	ofNode := func(_ context.Context, object client.Object) []reconcile.Request {
		name := object.GetLabels()[provisioningv1.LabelProvisionerName]
		if name == "" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: name}}}
	}
	controller := ctrl.NewControllerManagedBy(manager).
		Named(Name).
		// changes of the status too: a pass that begins before it sees its own write waits for that
		// write's event
		For(&provisioningv1.Provisioner{}).
		Watches(&provisioningv1.ProvisionedNode{}, handler.EnqueueRequestsFromMapFunc(ofNode)).
		Watches(&provisioningv1.Provisioner{}, handler.EnqueueRequestsFromMapFunc(r.others), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(woken).
		WithOptions(settings.Options())
	if err := controller.Complete(settings.Reconciler("Provisioner", r.Client, &provisioningv1.Provisioner{}, r)); err != nil {
		return fmt.Errorf("registering controller %s: %w", Name, err)
	}
	return nil
}
