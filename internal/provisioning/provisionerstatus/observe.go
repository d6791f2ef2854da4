package provisionerstatus

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/nodelifecycle"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// pass is one reconcile of one Provisioner.
type pass = reconcile.Pass[*provisioningv1.Provisioner, Observed, Memory]

// Memory holds facts about a Provisioner that save the process calls.
type Memory struct {
	// refreshed is when the launch templates of the spec were last dropped from the caches.
	refreshed time.Time
	// accepted are the launch templates that EC2 accepted, with what they were tried with, and
	// acceptedBefore are the ones of the pass before.
	accepted, acceptedBefore map[string]bool
	// countedDrifted is how many drifted nodes the metrics show; nil for none.
	countedDrifted *int
}

// observer observes for one pass.
type observer struct {
	*Kind
	pass
}

// input returns what could be decided from now. Observing goes by it only to save calls.
func (o observer) input() input {
	return input{Object: o.Object, Seen: *o.Seen, Now: o.Clock.Now()}
}

// observe observes what every decision needs.
func (o observer) observe(ctx context.Context) error {
	o.Seen.Region, o.Seen.RegionRead, o.Seen.CountedDrifted = o.Region.Name, o.learned.Load(), o.Memory.countedDrifted
	var nodes provisioningv1.ProvisionedNodeList
	// Every change of a node brings a pass, and copying all nodes each time would account for most
	// allocations of the process.
	if err := o.Client.List(ctx, &nodes, o.ownNodes(), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing ProvisionedNodes: %w", err)
	}
	o.Seen.Nodes = nodes.Items
	return nil
}

// ownNodes selects the nodes of the Provisioner.
func (o observer) ownNodes() client.MatchingLabels {
	return client.MatchingLabels{provisioningv1.LabelProvisionerName: o.Object.Name}
}

// observeOutage observes whether AWS answers. That is known without a call.
func (o observer) observeOutage() {
	var outage pool.Outage
	outage.Outage, outage.Answered = o.AWS.Outage(clouds.TemplateServices...)
	o.Seen.Outage = outage
}

// observeNeed observes what a decision asked for.
func (o observer) observeNeed(ctx context.Context, need reconcile.Need) error {
	seen := o.Seen
	switch need {
	case needAllowing:
		seen.Allowing = o.listNodes(ctx)
	case needMarking:
		seen.Marking = o.listNodes(ctx)
	case needName:
		seen.Name.Read = true
		seen.Name.Taken, seen.Name.Err = o.Names.Taken(ctx, o.Object.Spec.Cluster.Name)
	case needSubnets:
		o.findSubnets(ctx)
	case needFixed:
		o.readFixed(ctx)
	case needOthers:
		var all provisioningv1.ProvisionerList
		err := o.Client.List(ctx, &all)
		seen.Others = Others{Read: true, Items: all.Items, Err: err}
	case needTypes:
		o.readTypes(ctx)
	case needMembers:
		seen.Members = Members{Read: true}
		seen.Members.Err = o.readMembers(ctx, &seen.Members)
	case needRegion:
		o.learnRegion(ctx)
	default:
		return o.observeTemplates(ctx, need)
	}
	return nil
}

// listNodes lists the nodes of the Provisioner past the cache.
func (o observer) listNodes(ctx context.Context) NodeList {
	var nodes provisioningv1.ProvisionedNodeList
	if err := o.Live.List(ctx, &nodes, o.ownNodes()); err != nil {
		return NodeList{Read: true, Err: fmt.Errorf("listing ProvisionedNodes: %w", err)}
	}
	return NodeList{Read: true, Items: nodes.Items}
}

// findSubnets finds where nodes can be. While nodes can be nowhere, or nothing can be launched
// from, subnets that a user adds are noticed within seconds.
func (o observer) findSubnets(ctx context.Context) {
	now, notBefore := o.Clock.Now(), time.Time{}
	for _, condition := range []string{provisioningv1.SubnetsReadyCondition, provisioningv1.LaunchTemplatesReadyCondition} {
		if meta.IsStatusConditionFalse(o.Object.Status.Conditions, condition) {
			notBefore = now.Add(-launcher.RetryInterval).Add(time.Nanosecond) // of that age, or older
		}
	}
	places, found, err := o.Region.Places(ctx, o.Object, o.Shortages, o.Seen.Nodes, now, notBefore)
	o.Seen.Subnets = Subnets{Read: true, Found: found, Places: places, Err: err}
}

// readFixed reads whether the launch template that the spec names has the subnet.
func (o observer) readFixed(ctx context.Context) {
	o.Templates.Recall(o.Object.Status.LaunchTemplates)
	known, err := o.Templates.Read(ctx, layerOf(o.input()).Template)
	o.Seen.Fixed = FixedSubnet{Read: true, Fixed: err == nil && known.FixesSubnet}
}

// readTypes reads the labels of the nodes' instance types.
func (o observer) readTypes(ctx context.Context) {
	types := TypeLabels{Read: true, Labels: map[string]map[string]string{}}
	for i := range o.Seen.Nodes {
		name := o.Seen.Nodes[i].Status.InstanceType
		if _, done := types.Labels[name]; name == "" || done {
			continue
		}
		if types.Labels[name], types.Err = o.Region.Labels(ctx, name); types.Err != nil {
			break
		}
	}
	o.Seen.Types = types
}

// readMembers reads the Nodes of drifted ProvisionedNodes and their pods, and the
// PodDisruptionBudgets of the cluster.
func (o observer) readMembers(ctx context.Context, members *Members) (err error) {
	if members.Budgets, err = nodelifecycle.PodDisruptionBudgets(ctx, o.Client); err != nil {
		return err
	}
	members.Nodes = map[string]Member{}
	found, _ := findDrifted(o.input(), &reconcile.Plan{})
	for _, one := range found {
		name := one.node.Status.NodeName
		if name == "" {
			continue
		}
		node := &corev1.Node{}
		if err := o.Client.Get(ctx, client.ObjectKey{Name: name}, node); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading Node %q: %w", name, err)
		}
		var pods corev1.PodList
		if err := o.Client.List(ctx, &pods, client.MatchingFields{nodelifecycle.PodsByNode: name}, client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("listing the pods of Node %q: %w", name, err)
		}
		members.Nodes[name] = Member{Node: node, Pods: pods.Items}
	}
	return nil
}

// observeShortages observes what AWS does not launch now. That is known without a call.
func (o observer) observeShortages() {
	in, refused := o.input(), constraints.Refused{}
	for _, version := range versionsOf(in) {
		for offering, why := range o.Refusals.Parts(version.ID, version.Version) {
			refused[offering] = why
		}
	}
	shortages := Shortages{Read: true, Last: o.Shortages.LastKnown(), Refused: refused}
	shortages.Next, shortages.Some = o.Shortages.Next()
	o.Seen.Shortages = shortages
}

// learnRegion reads what the region sells: 20 calls that the launching controller would otherwise
// send one after the other. The passes that launch report failures.
func (o observer) learnRegion(ctx context.Context) {
	o.Seen.RegionRead = true
	facts, err := o.Region.Facts(ctx, nil)
	var spotErr error
	facts.Spot, spotErr = o.Region.Discovery.SpotPrices(ctx)
	if err := errors.Join(err, spotErr); err != nil {
		log.FromContext(ctx).Info("The instance types and prices of the region are not known yet", "error", err.Error())
		return
	}
	o.Progress.Priced(catalog.Prices(facts))
	o.learned.Store(true)
}
