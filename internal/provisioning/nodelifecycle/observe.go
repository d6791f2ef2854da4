package nodelifecycle

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// memory has no fields: a process remembers nothing of one node.
type memory struct{}

// pass is one reconcile of one node.
type pass = reconcile.Pass[*provisioningv1.ProvisionedNode, Observed, memory]

// observer observes for one pass.
type observer struct {
	*Kind
	pass
}

func (o observer) key() client.ObjectKey { return client.ObjectKeyFromObject(o.Object) }

// observe observes what every decision needs.
func (o observer) observe(ctx context.Context) (err error) {
	seen := o.Seen
	seen.Settings, seen.Began = Settings{ClusterUID: o.ClusterUID, RegistrationTimeout: o.RegistrationTimeout}, o.Clock.Now()
	if seen.Provisioner, err = o.provisionerOf(ctx, o.Object); err != nil {
		return err
	}
	seen.Impaired, seen.Promised = o.Checks.fails(o.Object), o.Promises.Has(o.Object.Name)
	if id := o.Object.Status.InstanceID; id != "" {
		return o.observeInstance(ctx, id)
	}
	return nil
}

// needs returns how each observation that a decision may ask for is made.
func (o observer) needs() map[reconcile.Need]func(context.Context) error {
	return map[reconcile.Need]func(context.Context) error{
		needInstance: func(ctx context.Context) error {
			return o.observeInstance(ctx, o.Seen.Answer.instances[o.Object.Name].ID)
		},
		needClusterName:   o.observeClusterName,
		needSiblings:      o.observeSiblings,
		needResources:     o.observeResources,
		needOfLaunch:      o.observeLaunch,
		needLabels:        o.observeLabels,
		needLiveMember:    o.observeLiveMember,
		needPods:          o.observePods,
		needOfProvisioner: o.observeProvisioner,
		needNodes:         o.observeNodes,
		needBudgets:       o.observeBudgets,
		needPlaces:        o.observePlaces,
	}
}

// observeInstance describes the instance of an ID, and finds its Node.
func (o observer) observeInstance(ctx context.Context, id string) error {
	o.Seen.Instance = Instance{ID: id}
	seen := &o.Seen.Instance
	found, err := o.Instances.Get(ctx, o.key(), []string{id}, false)
	if err != nil {
		seen.Err = err
		return nil
	}
	instance, is := found[id]
	_, over := o.over.Get(o.key())
	if over && is && !instance.Ends() && o.Object.DeletionTimestamp == nil {
		// The description is older than the event. A new one says why the instance ended.
		if found, err = o.Instances.Get(ctx, o.key(), []string{id}, true); err == nil {
			instance, is = found[id]
		}
	}
	if is {
		if seen.Foreign = o.claim(o.Object).Check(instance); seen.Foreign != nil {
			return nil
		}
	}
	if over {
		instance, is = instance.Ended(), true
	}
	if is {
		seen.Found, seen.ImageID = &instance, instance.ImageID
	}
	o.Instances.InMotion(o.key(), o.Object.DeletionTimestamp != nil || !clusterstate.IsTrue(o.Object, provisioningv1.ReadyCondition))
	return o.findMember(ctx, id)
}

// findMember finds the Node that runs on the instance.
func (o observer) findMember(ctx context.Context, id string) error {
	var nodes corev1.NodeList
	if err := o.Client.List(ctx, &nodes, client.MatchingFields{byInstance: id}); err != nil {
		return fmt.Errorf("finding the Node of instance %q: %w", id, err)
	}
	claiming := make([]*corev1.Node, len(nodes.Items))
	for i := range nodes.Items {
		claiming[i] = &nodes.Items[i]
	}
	name := ""
	if found := o.Seen.Instance.Found; found != nil {
		name = found.PrivateDNSName
	}
	o.Seen.Member = clusterstate.MemberOf(o.Object, claiming, name)
	return nil
}

// observeClusterName finds out whether resources of another cluster have this cluster's name.
func (o observer) observeClusterName(ctx context.Context) error {
	taken, err := o.Names.Taken(ctx, o.Object.Spec.Cluster)
	o.Seen.ClusterName = Fact[string]{Known: true, Value: taken, Err: err}
	return nil
}

func (o observer) observeSiblings(ctx context.Context) error {
	name := o.Object.Spec.Launch.Name
	siblings, err := o.list(ctx, client.MatchingFields{byLaunch: name})
	if err != nil {
		return fmt.Errorf("listing the nodes of launch %q: %w", name, err)
	}
	o.Seen.Siblings = Fact[[]provisioningv1.ProvisionedNode]{Known: true, Value: siblings}
	if answered, known := o.launches.answerTo(name); known {
		o.Seen.Answer = &answered
	}
	return nil
}

func (o observer) observeResources(ctx context.Context) error {
	resources, err := o.Region.Resources(ctx, o.Seen.Answer.instances[o.Object.Name].InstanceType)
	o.Seen.Resources = Fact[provisioningv1.ProvisionedResources]{Known: true, Value: resources, Err: err}
	return nil
}

// observeLaunch describes the instances of the node's launch, without instances of another cluster
// that has a launch of that name.
func (o observer) observeLaunch(ctx context.Context) error {
	instances, err := o.ofLaunch(ctx, o.Object)
	slices.SortFunc(instances, func(a, b fleet.Instance) int { return cmp.Compare(a.ID, b.ID) })
	o.Seen.OfLaunch = Fact[[]fleet.Instance]{Known: true, Value: instances, Err: err}
	return nil
}

func (o observer) observeLabels(ctx context.Context) error {
	instanceType := o.Object.Status.InstanceType
	if instanceType == "" { // it was launched in this pass
		instanceType = o.Seen.Answer.instances[o.Object.Name].InstanceType
	}
	labels, err := o.Region.Labels(ctx, instanceType)
	o.Seen.Labels = Fact[map[string]string]{Known: true, Value: labels, Err: err}
	return nil
}

func (o observer) observeLiveMember(ctx context.Context) error {
	name, member := o.Object.Status.NodeName, &corev1.Node{}
	err := o.Live.Get(ctx, client.ObjectKey{Name: name}, member)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading Node %q: %w", name, err)
	}
	o.Seen.LiveMember = Fact[*corev1.Node]{Known: true}
	if err == nil {
		o.Seen.LiveMember.Value = member
	}
	return nil
}

func (o observer) observePods(ctx context.Context) error {
	var pods corev1.PodList
	if err := o.Client.List(ctx, &pods, client.MatchingFields{byNode: o.Seen.Member.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the pods of Node %q: %w", o.Seen.Member.Name, err)
	}
	o.Seen.Pods = Fact[[]corev1.Pod]{Known: true, Value: pods.Items}
	return nil
}

func (o observer) observeProvisioner(ctx context.Context) error {
	nodes, err := o.list(ctx, client.MatchingFields{byProvisioner: o.Seen.Provisioner.Name})
	if err != nil {
		return fmt.Errorf("listing the nodes of Provisioner %q: %w", o.Seen.Provisioner.Name, err)
	}
	o.Seen.OfProvisioner = Fact[[]provisioningv1.ProvisionedNode]{Known: true, Value: nodes}
	return nil
}

// observeNodes lists all nodes. The cache saves a call while there is no place for another failed
// node.
func (o observer) observeNodes(ctx context.Context) error {
	nodes, err := o.list(ctx)
	if err != nil {
		return fmt.Errorf("listing ProvisionedNodes: %w", err)
	}
	o.Seen.Nodes = Fact[[]provisioningv1.ProvisionedNode]{Known: true, Value: nodes}
	return nil
}

func (o observer) list(ctx context.Context, options ...client.ListOption) ([]provisioningv1.ProvisionedNode, error) {
	var nodes provisioningv1.ProvisionedNodeList
	err := o.Client.List(ctx, &nodes, options...)
	return nodes.Items, err
}

func (o observer) observeBudgets(ctx context.Context) error {
	budgets, err := PodDisruptionBudgets(ctx, o.Client)
	o.Seen.Budgets = Fact[[]policyv1.PodDisruptionBudget]{Known: true, Value: budgets}
	return err
}

// PodDisruptionBudgets lists the PodDisruptionBudgets of all namespaces. The caller must not change
// them.
func PodDisruptionBudgets(ctx context.Context, c client.Client) ([]policyv1.PodDisruptionBudget, error) {
	var list policyv1.PodDisruptionBudgetList
	if err := c.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing PodDisruptionBudgets: %w", err)
	}
	return list.Items, nil
}

// observePlaces finds the places that the pods of the Node have, and the volumes that show which
// pods are tied to it.
func (o observer) observePlaces(ctx context.Context) error {
	volumes, err := o.volumes(ctx)
	if err != nil {
		return err
	}
	places := Places{Volumes: volumes, ByPod: map[types.UID]Place{}}
	for i := range o.Seen.Pods.Value {
		pod := &o.Seen.Pods.Value[i]
		name := o.Promises.Of(pod.UID)
		if name == "" || !volumes.Moves(pod) {
			continue
		}
		if places.ByPod[pod.UID], err = o.place(ctx, name); err != nil {
			return err
		}
	}
	o.Seen.Places = Fact[Places]{Known: true, Value: places}
	return nil
}

// volumes reads what shows whether a pod is tied to one Node: nothing if no pod has a claim.
func (o observer) volumes(ctx context.Context) (*clusterstate.Cluster, error) {
	if !slices.ContainsFunc(o.Seen.Pods.Value, clusterstate.Claims) {
		return &clusterstate.Cluster{}, nil
	}
	var provisioners provisioningv1.ProvisionerList
	var nodes corev1.NodeList
	var claims corev1.PersistentVolumeClaimList
	var volumes corev1.PersistentVolumeList
	for _, list := range []client.ObjectList{&provisioners, &nodes, &claims, &volumes} {
		// The lists are read-only.
		if err := o.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing %T: %w", list, err)
		}
	}
	return &clusterstate.Cluster{Provisioners: provisioners.Items, Nodes: nodes.Items, Claims: claims.Items, Volumes: volumes.Items}, nil
}

// place reads the ProvisionedNode of a name, or the Node if there is no such ProvisionedNode.
func (o observer) place(ctx context.Context, name string) (Place, error) {
	node, member := &provisioningv1.ProvisionedNode{}, &corev1.Node{}
	err := o.Client.Get(ctx, client.ObjectKey{Name: name}, node)
	if client.IgnoreNotFound(err) != nil {
		return Place{}, fmt.Errorf("reading ProvisionedNode %q: %w", name, err)
	}
	if err == nil {
		return Place{Name: name, Provisioned: node}, nil
	}
	err = o.Client.Get(ctx, client.ObjectKey{Name: name}, member)
	if client.IgnoreNotFound(err) != nil {
		return Place{}, fmt.Errorf("reading Node %q: %w", name, err)
	}
	if err != nil {
		member = nil
	}
	return Place{Name: name, Member: member}, nil
}
