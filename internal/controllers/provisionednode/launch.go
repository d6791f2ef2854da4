package provisionednode

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// gathering is how long the other nodes of a launch are waited for. Whoever wrote the first of them writes the others within a moment, or has crashed.
const gathering = 30 * time.Second

// launch has EC2 launch the instances of a launch by one call, made by whichever of its nodes comes first, and takes this node's from the answer. The call is
// known by its name: after a crash it is made again, and answered with the same instances.
func (r *Reconciler) launch(ctx context.Context, p *pass) reconciling.Outcome {
	node := p.node
	if node.Status.InstanceID != "" {
		return reconciling.Continue()
	}
	reconciling.False(node, provisioningv1.LaunchedCondition, provisioningv1.LaunchingReason, "")
	if node.Status.RequestTime == nil {
		node.Status.RequestTime = &metav1.Time{Time: r.Clock.Now()}
	}
	var siblings provisioningv1.ProvisionedNodeList
	if err := r.Client.List(ctx, &siblings, client.MatchingFields{byLaunch: node.Spec.Launch.Name}); err != nil {
		return reconciling.Fail(fmt.Errorf("listing the nodes of launch %q: %w", node.Spec.Launch.Name, err))
	}
	if missing := int(node.Spec.Launch.Nodes) - len(siblings.Items); missing > 0 {
		_, answered := r.launches.answerTo(node.Spec.Launch.Name)
		if left := gathering - r.Clock.Since(node.Status.RequestTime.Time); left > 0 && !answered {
			return reconciling.ComeBack(left, fmt.Sprintf("%d nodes of the launch are not written down yet", missing))
		}
	}
	answer, err := r.launches.once(node.Spec.Launch.Name, func() (answer, error) { return r.call(ctx, p, siblings.Items) })
	if err != nil {
		return r.launchFailed(ctx, p, err)
	}
	instance, launched := answer.instances[node.Name]
	if !launched {
		reconciling.False(node, provisioningv1.LaunchedCondition, provisioningv1.InsufficientCapacityReason, answer.why)
		r.tell(ctx, p, provisioningv1.InsufficientCapacityReason, "ProvisionedNode %s was not launched: %s.", node.Name, cmp.Or(answer.why, "EC2 gives no reason"))
		return r.end(ctx, p, "EC2 launched no instance for it")
	}
	resources, err := r.Region.Resources(ctx, instance.InstanceType)
	if err != nil {
		return outcome.Again(err)
	}
	node.Status.InstanceID, node.Status.InstanceType, node.Status.Zone = instance.ID, instance.InstanceType, instance.Zone
	node.Status.LaunchTime = &metav1.Time{Time: r.Clock.Now()}
	node.Status.Resources = &resources
	reconciling.True(node, provisioningv1.LaunchedCondition, provisioningv1.LaunchedCondition, "")
	reconciling.False(node, provisioningv1.RegisteredCondition, provisioningv1.RegisteringReason, "")
	if p.provisioner != nil {
		r.Report.Done(ctx, p.provisioner, provisioningv1.LaunchedCondition, "Launched instance %s (%s, %s, %s) for ProvisionedNode %s.",
			instance.ID, instance.InstanceType, instance.Zone, node.Spec.CapacityType, node.Name)
	}
	return reconciling.Continue()
}

// launchTimeout is how long a launch is tried that fails as a whole. Then its pods are packed anew, from what is true then.
const launchTimeout = 5 * time.Minute

// launchFailed says why, and tries again for a while: nobody knows whether EC2 has launched anything.
func (r *Reconciler) launchFailed(ctx context.Context, p *pass, err error) reconciling.Outcome {
	fate := aws.FateOf(err)
	reconciling.False(p.node, provisioningv1.LaunchedCondition, provisioningv1.LaunchFailedReason, aws.UserMessage(err))
	if r.Clock.Since(p.node.Status.RequestTime.Time) > launchTimeout {
		r.tell(ctx, p, provisioningv1.LaunchFailedReason, "ProvisionedNode %s could not be launched: %s", p.node.Name, aws.UserMessage(err))
		return r.end(ctx, p, "it could not be launched")
	}
	if fate.After > 0 {
		return reconciling.ComeBack(fate.After, err.Error())
	}
	return reconciling.Fail(err)
}

// call makes the call of a launch, and shares its instances out: a node that knows its instance keeps it, the others get theirs in the order of their names.
func (r *Reconciler) call(ctx context.Context, p *pass, siblings []provisioningv1.ProvisionedNode) (answer, error) {
	spec := &p.node.Spec
	request := fleet.Request{
		Name: spec.Launch.Name, TemplateID: spec.LaunchTemplate.ID, Version: spec.LaunchTemplate.Version, Nodes: spec.Launch.Nodes,
		Spot: spec.CapacityType == provisioningv1.CapacityTypeSpot,
		Tags: map[string]string{
			"Name": spec.Cluster + "-" + spec.Provisioner, "kubernetes.io/cluster/" + spec.Cluster: "owned",
			fleet.TagCluster: spec.Cluster, fleet.TagProvisioner: spec.Provisioner, fleet.TagLaunch: spec.Launch.Name,
		},
	}
	for _, offering := range spec.Offerings {
		request.Offerings = append(request.Offerings, fleet.Offering(offering))
	}
	if err := r.reduce(ctx, &request, len(siblings)); err != nil {
		return answer{}, err
	}
	launched, err := r.Fleets.Launch(ctx, request)
	if err != nil {
		return answer{}, err
	}
	made := share(launched.Instances, siblings)
	for _, failure := range launched.Failures {
		// What fails for another reason than capacity would fail again at once: it is left alone for as long.
		r.Shortages.Mark(catalog.Offering{InstanceType: failure.InstanceType, Zone: failure.Zone, CapacityType: spec.CapacityType})
		made.why = failure.Message
	}
	if len(launched.Instances) < int(spec.Launch.Nodes) && len(launched.Failures) == 0 {
		for _, offering := range spec.Offerings {
			r.Shortages.Mark(catalog.Offering{InstanceType: offering.InstanceType, Zone: offering.Zone, CapacityType: spec.CapacityType})
		}
	}
	return made, nil
}

// reduce has a launch whose writer crashed before all of its nodes were written down be of those that are, unless it was made already. It is a launch of another name then,
// because EC2 takes calls of one name for one.
func (r *Reconciler) reduce(ctx context.Context, request *fleet.Request, written int) error {
	if written >= int(request.Nodes) {
		return nil
	}
	made, err := r.Fleets.OfLaunch(ctx, request.Name)
	if err != nil || len(made) > 0 {
		return err
	}
	request.Name, request.Nodes = fmt.Sprintf("%s-%d", request.Name, written), int32(written) // #nosec G115 -- fewer than Nodes, which is one
	return nil
}

// share gives every node of a launch its instance.
func share(instances []fleet.Instance, siblings []provisioningv1.ProvisionedNode) answer {
	slices.SortFunc(siblings, func(a, b provisioningv1.ProvisionedNode) int { return cmp.Compare(a.Name, b.Name) })
	free := slices.DeleteFunc(slices.Clone(instances), func(instance fleet.Instance) bool {
		return slices.ContainsFunc(siblings, func(node provisioningv1.ProvisionedNode) bool { return node.Status.InstanceID == instance.ID })
	})
	made := answer{instances: map[string]fleet.Instance{}}
	for i := range siblings {
		if siblings[i].Status.InstanceID == "" && len(free) > 0 {
			made.instances[siblings[i].Name], free = free[0], free[1:]
		}
	}
	return made
}

// answer is what became of a launch.
type answer struct {
	// instances by the name of the node.
	instances map[string]fleet.Instance
	// why there are fewer than nodes.
	why string
}

// launches remember the answers to the calls that this process made, for the nodes that were launched by the same call. It is safe for concurrent use.
type launches struct {
	mu   sync.Mutex
	made map[string]*onceAnswered
}

type onceAnswered struct {
	mu       sync.Mutex
	answered bool
	answer
}

func (l *launches) of(name string) *onceAnswered {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made == nil {
		l.made = map[string]*onceAnswered{}
	}
	if l.made[name] == nil {
		l.made[name] = &onceAnswered{}
	}
	return l.made[name]
}

// once is the answer to the call of a launch, which is made if it was not yet. A call that failed was not made.
func (l *launches) once(name string, call func() (answer, error)) (answer, error) {
	made := l.of(name)
	made.mu.Lock()
	defer made.mu.Unlock()
	if !made.answered {
		answered, err := call()
		if err != nil {
			return answer{}, err
		}
		made.answered, made.answer = true, answered
	}
	return made.answer, nil
}

// answerTo is the answer to the call of a launch, if there is one.
func (l *launches) answerTo(name string) (answer, bool) {
	made := l.of(name)
	made.mu.Lock()
	defer made.mu.Unlock()
	return made.answer, made.answered
}

// forget drops the answer to a launch whose nodes are gone.
func (l *launches) forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.made, name)
}
