// Package scheduler launches nodes for pods that wait. There is one object, all of the cluster,
// and one pass at a time: it reads what there is, has package packing choose nodes, and writes
// ProvisionedNodes, which another controller launches. The pass itself launches nothing, so that a
// crash anywhere in it costs nothing.
//
// A reconcile considers at most --pods-per-pass pods. Pods that were tried before go last, so pods
// without a place never starve others. Every pod that waits has an event: NodeLaunched when its
// node is on its way, and NoNodeLaunched with the reason otherwise. An event is a write to the API
// server, so a reconcile writes at most 200 of a kind, and all reconciles together at most 2,400 a
// minute.
//
// Schedulers from Kubernetes 1.35 on keep the place of a pod whose status.nominatedNodeName is set,
// regardless of which component set it. The field is written once the pod's Node has registered,
// because a failed attempt to schedule the pod removes an earlier value. A value that the scheduler
// wrote is never replaced.
package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/metrics"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/clustername"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/defaults"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/region"
	"github.com/slipway-project/slipway/internal/provisioning/templates"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/report"
)

// Name is the controller's, in logs, metrics and as the reporter of events.
const Name = "node-scheduler"

// DefaultPodsPerPass lets a pass consider as many pods as take some hundred megabytes.
const DefaultPodsPerPass = 20000

// lookAgain is the interval at which waiting pods are considered again although nothing happened:
// capacity that was short may be available again.
const lookAgain = time.Minute

// Reconciler launches nodes.
type Reconciler struct {
	Client client.Client
	// Pods returns the pods of the cache without copying them: lists by Client are copies, which
	// take half as much memory as the pods. The caller must not change them.
	Pods func(context.Context) ([]*corev1.Pod, error)
	// Live reads past the cache.
	Live client.Reader
	// ClusterUID is the UID of the kube-system namespace: the mark of this cluster's instances.
	ClusterUID string
	// Names knows cluster names that another cluster uses.
	Names     *clustername.Names
	Region    *region.Region
	Defaults  *defaults.Templates
	Templates *templates.Reader
	Asked     *templates.Asked
	Shortages *catalog.Shortages
	Refusals  *launcher.Refusals
	Budget    *launcher.Budget
	Promises  *launcher.Promises
	Report    report.Reporter
	// Startups are how long pods wait; nothing is measured if nil.
	Startups *Startups
	Clock    clock.PassiveClock
	// BatchMax is how long pods wait for others at most while they keep coming;
	// launcher.DefaultLongest if zero.
	BatchMax time.Duration
	// PodsPerPass bounds how many pods one pass considers. The others are left to the next.
	PodsPerPass int
	// Random returns random letters and digits for the names of launches; rand.String if nil.
	Random func(length int) string

	begun   bool
	window  *launcher.Window
	ready   readySince
	created created
	movers  movers
	unkept  unkept
	pending pending
	events  *podEvents

	nominations nominations
}

// pass holds the state of one pass over the cluster.
type pass struct {
	cluster *clusterstate.Cluster
	// tied are the pods that wait for one Node alone. Set by tellTied.
	tied []clusterstate.Tied
	// stuck are the pods that wait for a volume. Set by tellStuck.
	stuck []packing.Unplaced
	// failing is how many pods have a place on a node whose launch fails. Set by tellComing.
	failing int
	// provisioners may launch, and are what the steps below work with. Set by learnRegion.
	provisioners []usable
	// facts are what the region sells, and zones are where the provisioners have subnets. Set by
	// learnRegion.
	facts catalog.Facts
	zones []string
	// types can be launched, and notOffered are types that AWS offers in no zone where nodes can
	// be. Set by buildCatalog.
	types, notOffered []packing.InstanceType
	// templates holds the launch templates that provisioners and pods name. Set by readTemplates.
	templates constraints.Templates
	known     map[constraints.Reference]templates.Known
	result    *packing.Result
	// fresh are the pods that no pass has considered before. Set by choose.
	fresh []packing.Pod
	// again is true if a launch template turned out to be refused, after nodes had been chosen of
	// it. Set by launch.
	again bool
}

// usable is a provisioner that nodes can be launched by.
type usable struct {
	object *provisioningv1.Provisioner
	layer  constraints.Provisioner
	// places that its nodes can be in.
	places launcher.Places
}

// request is the one object.
var request = ctrl.Request{NamespacedName: types.NamespacedName{Name: "cluster"}}

// Reconcile launches nodes for the pods that wait:
//
//  1. learn what was launched before this process began, once
//  2. read the cluster
//  3. point the scheduler to the Nodes that are there for pods
//  4. report which pods wait for one Node alone, for a volume, or for a node that is on its way;
//     and wait for further pods, if many come
//  5. learn what the region offers, and which provisioners can launch
//  6. read the launch templates that provisioners and pods name, and build the catalog of what can
//     be launched
//  7. choose nodes
//  8. write them down
//  9. report which pods find no place, and why
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	if r.events == nil {
		r.events = newPodEvents(r.Report, r.Clock)
	}
	return reconciling.Run(ctx, &pass{}, []reconciling.Step[*pass]{
		{Name: "learning what was launched before", Run: r.begin},
		{Name: "reading the cluster", Run: r.read},
		{Name: "nominating Nodes for pods", Run: r.nominate},
		{Name: "telling of pods that are tied to a Node", Run: r.events.tellTied},
		{Name: "telling of pods that wait for a volume", Run: r.events.tellStuck},
		{Name: "telling pods of their nodes", Run: r.events.tellComing},
		{Name: "collecting pods", Run: r.collect},
		{Name: "learning what can be launched", Run: r.learnRegion},
		{Name: "reading launch templates", Run: r.readTemplates},
		{Name: "building the catalog", Run: r.buildCatalog},
		{Name: "choosing nodes", Run: r.choose},
		{Name: "launching nodes", Run: r.launch},
		{Name: "telling of pods without a place", Run: r.tell},
	})
}

// collect waits while many pods come, so that they are packed together. A pod that comes alone is
// served at once.
func (r *Reconciler) collect(_ context.Context, p *pass) reconciling.Outcome {
	waiting := p.cluster.Waiting()
	if len(waiting) == 0 {
		r.Asked.Set(nil)
		r.events.told.keep(nil, nil)
		r.pending.keep(nil, r.Clock.Now())
		r.Report.Progress.PodsPending(p.withTied(map[string]int{}))
		if p.cluster.Preempting() {
			return reconciling.ComeBack(lookAgain, "a Node may go that the scheduler makes room on")
		}
		return reconciling.Stop("no pod waits for a node")
	}
	r.pending.keep(waiting, r.Clock.Now())
	fresh := 0
	for _, pod := range waiting {
		if _, promised := p.cluster.Promise(pod.UID); !promised {
			fresh++
		}
	}
	if fresh == 0 {
		r.events.told.keep(nil, nil)
		r.Report.Progress.PodsPending(p.withTied(p.placed(len(waiting))))
		return reconciling.ComeBack(bindingTime, "all pods have places, and the scheduler is yet to put them there")
	}
	if r.window == nil {
		r.window = launcher.NewWindow(cmp.Or(r.BatchMax, launcher.DefaultLongest))
	}
	if wait := r.window.Wait(r.Clock.Now(), fresh); wait > 0 {
		return reconciling.ComeBack(wait, "more pods are coming")
	}
	r.Report.Progress.BatchWaited(r.window.Waited(r.Clock.Now()))
	return reconciling.Continue()
}

// choose packs.
func (r *Reconciler) choose(ctx context.Context, p *pass) reconciling.Outcome {
	layers := make([]constraints.Provisioner, 0, len(p.provisioners))
	for i := range p.provisioners {
		layers = append(layers, p.provisioners[i].layer)
	}
	problem := p.cluster.Problem(layers, p.types)
	problem.Templates, problem.NotOffered, problem.MaxPods = p.templates, p.notOffered, r.PodsPerPass
	for i := range problem.Pods {
		problem.Pods[i].Tried = !r.isNew(problem.Pods[i].Pod)
		if !problem.Pods[i].Tried {
			p.fresh = append(p.fresh, problem.Pods[i])
		}
	}
	done := r.Report.Progress.Choosing(r.Clock, len(problem.Pods))
	p.result = r.packUnheld(ctx, p, problem, r.window.Expected(p.fresh))
	done()
	p.result.Unplaced = append(p.result.Unplaced, p.cluster.Immovable()...)
	r.Report.Progress.Batched(metrics.BatchPods, len(p.fresh))
	return reconciling.Continue()
}

// pack chooses nodes with room for the pods that are expected.
func (r *Reconciler) pack(problem *packing.Problem, expected []packing.Pod) *packing.Result {
	return launcher.Pack(problem, expected, r.isNew)
}

// isNew reports whether no pass has considered a pod yet.
func (r *Reconciler) isNew(pod *corev1.Pod) bool {
	_, told := r.events.told[pod.UID]
	return !told
}

// unseen reports whether no pass has considered some of the pods yet.
func (r *Reconciler) unseen(pods []*corev1.Pod) bool {
	return slices.ContainsFunc(pods, r.isNew)
}

// launch writes the nodes down that were chosen, as many as may be launched this minute.
func (r *Reconciler) launch(ctx context.Context, p *pass) reconciling.Outcome {
	left := r.Budget.Left()
	chosen := p.result.New
	held := max(len(chosen)-left, 0)
	p.leave(chosen[len(chosen)-held:], fmt.Sprintf("no more than %d nodes are launched in a minute", r.Budget.PerMinute()))
	chosen = chosen[:len(chosen)-held]
	launches := r.plan(ctx, p, chosen)
	places := r.existing(p)
	r.Promises.Add(places)
	r.Startups.Place(places)
	for _, launch := range launches {
		if err := r.write(ctx, launch); err != nil {
			return reconciling.Fail(fmt.Errorf("writing down launch %q: %w", launch.Name, err))
		}
	}
	if len(launches) > 0 {
		r.window.Launched(r.Clock.Now(), p.fresh)
	} else {
		r.window.Idle()
	}
	switch {
	case p.again:
		return reconciling.ContinueAndComeBack(0, "EC2 refuses a launch template")
	case held > 0:
		return reconciling.ContinueAndComeBack(r.Budget.Next(), fmt.Sprintf("%d nodes wait because no more are launched this minute", held))
	case r.unseen(p.result.Deferred):
		return reconciling.ContinueAndComeBack(0, "more pods wait than one pass looks at")
	}
	if len(launches) > 0 {
		return reconciling.ContinueAndComeBack(tellAgain, "pods are to be told of their nodes")
	}
	return reconciling.ContinueAndComeBack(bindingTime, "the scheduler is to put the pods where there are places for them now")
}

// existing returns the places that pods were found on nodes that are on their way. For pods whose
// node leaves, it includes places on any node: their node leaves once they have places.
func (r *Reconciler) existing(p *pass) map[types.UID]string {
	places := map[types.UID]string{}
	byNode := map[string]string{}
	for i := range p.cluster.Provisioned {
		node := &p.cluster.Provisioned[i]
		byNode[node.Name] = node.Name
		if node.Status.NodeName != "" {
			byNode[node.Status.NodeName] = node.Name
		}
	}
	for name, pods := range p.result.Existing {
		for _, pod := range pods {
			if provisioned := byNode[name]; provisioned != "" {
				places[pod.UID] = provisioned
			} else if pod.Spec.NodeName != "" {
				places[pod.UID] = name
			}
		}
	}
	return places
}

// write creates the objects of a launch. Another controller launches the instances, once all
// objects are there.
func (r *Reconciler) write(ctx context.Context, launch launcher.Launch) error {
	r.Budget.Spend(len(launch.Nodes))
	r.pending.mark(launch)
	for _, node := range launch.Nodes {
		r.created.add(node.Name) // a creation that fails may have its effect
		if err := r.Client.Create(ctx, node); err != nil {
			return fmt.Errorf("creating ProvisionedNode %q: %w", node.Name, err)
		}
		r.Report.Progress.NodesDecided(node.Spec.Provisioner, metrics.DecisionLaunch, 1)
	}
	r.Promises.Add(launch.Places())
	r.Startups.Place(launch.Places())
	return nil
}
