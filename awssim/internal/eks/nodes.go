package eks

import (
	"slices"
	"time"

	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling"
	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// NodeState is the state of an instance's node as set by the code that runs nodes. The simulator
// decides nil values.
type NodeState struct {
	// Ready says whether the node has joined the cluster and is Ready.
	Ready *bool
	// Drained says whether the node, once it was cordoned, has no pods left.
	Drained *bool
}

// nodes holds the states of the nodes of managed node groups, and drains them.
type nodes struct {
	region *sim.Region
	kernel *sim.Kernel
	groups *groups

	states   map[string]NodeState // by instance, as SetNode set them
	cordoned map[string]bool      // by instance
	evicting map[string]time.Time // by instance, since when
}

func newNodes(r *sim.Region, groups *groups) *nodes {
	return &nodes{
		region: r, kernel: r.Kernel(), groups: groups,
		states: map[string]NodeState{}, cordoned: map[string]bool{}, evicting: map[string]time.Time{},
	}
}

// forget deletes the state of the node of a terminated instance.
func (ns *nodes) forget(instance string) {
	delete(ns.states, instance)
	delete(ns.cordoned, instance)
	delete(ns.evicting, instance)
}

// SetNode sets the state of an instance's node. Only code that holds the kernel's lock may call it.
func SetNode(r *sim.Region, instance string, state NodeState) {
	s := regional(r)
	known := s.nodes.states[instance]
	if state.Ready != nil {
		known.Ready = state.Ready
	}
	if state.Drained != nil {
		known.Drained = state.Drained
	}
	s.nodes.states[instance] = known
	if i, ok := ec2.LookupInstance(r, instance); ok {
		s.instanceChanged(i)
	}
}

// node is one instance of a group and its node.
type node struct {
	id       string
	name     string // in Kubernetes: the instance's private DNS name
	version  string // of EKS's template
	ready    bool
	launched time.Time
	state    asgtypes.LifecycleState
}

// of returns the nodes of a group, including new ones that have not joined yet, without nodes that
// are being terminated or detached.
func (ns *nodes) of(g *group) []node {
	found, ok := autoscaling.LookupGroup(ns.region, g.made.asg)
	if !ok {
		return nil
	}
	var nodes []node
	for _, m := range found.Instances {
		if leaving(m.LifecycleState) {
			continue
		}
		n := node{id: val(m.InstanceId), state: m.LifecycleState}
		if m.LaunchTemplate != nil && val(m.LaunchTemplate.LaunchTemplateId) == g.made.template {
			n.version = val(m.LaunchTemplate.Version)
		}
		if i, ok := ec2.LookupInstance(ns.region, n.id); ok {
			n.launched, n.name = val(i.LaunchTime), val(i.PrivateDnsName)
			n.ready = m.LifecycleState == asgtypes.LifecycleStateInService && ns.ready(g, i)
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func leaving(state asgtypes.LifecycleState) bool {
	switch state {
	case asgtypes.LifecycleStateTerminating, asgtypes.LifecycleStateTerminatingWait, asgtypes.LifecycleStateTerminatingProceed,
		asgtypes.LifecycleStateTerminatingRetained, asgtypes.LifecycleStateTerminated, asgtypes.LifecycleStateDetaching, asgtypes.LifecycleStateDetached:
		return true
	default:
		return false
	}
}

// rule returns the rule of the simulator's behavior that covers the node of an instance.
func (ns *nodes) rule(g *group, i ec2.Instance) sim.NodeRule {
	facts := sim.NodeFacts{Cluster: g.cluster.Name, Nodegroup: g.name, ImageID: val(i.ImageId), UserData: i.UserData}
	for _, r := range ns.kernel.Behavior().Nodes {
		if r.Covers(facts) {
			return r
		}
	}
	return sim.NodeRule{}
}

// ready reports whether the node of an instance is Ready: as SetNode set it, or otherwise when the
// instance has booted, unless a rule prevents it.
func (ns *nodes) ready(g *group, i ec2.Instance) bool {
	if i.State == nil || i.State.Name != ec2types.InstanceStateNameRunning {
		return false
	}
	if said := ns.states[val(i.InstanceId)].Ready; said != nil {
		return *said
	}
	return i.Booted && !ns.rule(g, i).NeverReady && !ns.kernel.Behavior().NodesReport
}

// ManagedNode describes the node of an instance of a managed node group, as EKS configures it.
type ManagedNode struct {
	Cluster, Nodegroup string
	// Labels and Taints are the labels and taints that the node should have: at its registration,
	// and afterwards, since EKS sets them on nodes that run.
	Labels map[string]string
	Taints []types.Taint
}

// LookupNode returns EKS's configuration of an instance's node, and false if the instance does not
// belong to a managed node group. Only code that holds the kernel's lock may call it.
func LookupNode(r *sim.Region, instance string) (ManagedNode, bool) {
	s := regional(r)
	i, ok := ec2.LookupInstance(r, instance)
	g := s.groups.ofInstance(i)
	if !ok || g == nil {
		return ManagedNode{}, false
	}
	build := g.settings
	for _, n := range s.nodes.of(g) {
		if b, known := g.builds[number(n.version)]; known && n.id == instance {
			build = b
		}
	}
	build.labels = g.labels
	return ManagedNode{Cluster: g.cluster.Name, Nodegroup: g.name, Labels: nodeLabels(g, &build), Taints: slices.Clone(g.taints)}, true
}
