package packing

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// packer is the state of one call of Pack: what was read of the problem, and below it what was
// decided so far.
type packer struct {
	resources  *resourceIndex
	topologies *topologies
	catalog    *catalog
	router     *router
	classes    []*class
	deferred   []*corev1.Pod
	there      []standing

	appetite appetite
	existing []*node
	opened   []*node
	refusals map[refusalsKey]*refusals

	// offered is room for the options of one node, mask for the key of a choice.
	offered []Option
	mask    []byte

	// thorough considers all types and nodes. Tests use it to show that it finds nothing better.
	thorough bool

	// zones and kinds of existing nodes
	inhabited      uint64
	inhabitedKinds uint8
}

// standing is a node that is there, as it is before anything is decided.
type standing struct {
	*Node
	used     amounts
	ports    []hostPort
	counts   [][]int32 // topologies that count its pods, a list a pod
	reserved [][]int32 // topologies that its pods keep others apart by
}

// appetite says when a node is exchanged for a larger one.
type appetite int

const (
	careful appetite = iota // when a pod costs less so than on a new node
	greedy                  // whenever there is a larger type: few nodes, as full as can be
)

func newPacker(problem *Problem) *packer {
	p := &packer{resources: newResourceIndex(problem), topologies: newTopologies(problem.Namespaces)}
	p.router = &router{
		problem: problem, resources: p.resources, topologies: p.topologies, routes: map[digest]*route{}, groups: map[string]*group{}, rooms: map[string]*room{}, suits: map[digest][]int{},
	}
	limited := false
	for i := range problem.Provisioners {
		p.router.budgets = append(p.router.budgets, &budget{Provisioner: &problem.Provisioners[i]})
		p.router.budgets[i].begin()
		limited = limited || p.router.budgets[i].bounded
	}
	slices.SortFunc(p.router.budgets, func(a, b *budget) int {
		return constraints.Before(&a.Provisioner.Provisioner, &b.Provisioner.Provisioner)
	})
	k := &classifier{resources: p.resources, topologies: p.topologies, counted: map[string][]int32{}}
	for _, given := range sortedNodes(problem.Nodes) {
		s := standing{Node: given}
		for _, pod := range given.Pods {
			s.reserved = append(s.reserved, k.reservedOf(pod))
		}
		p.there = append(p.there, s)
	}
	daemons := map[*corev1.Pod]*daemon{}
	for _, b := range p.router.budgets {
		b.daemons = k.daemons(b.Daemons, daemons)
		b.daemonLabels = labelsOf(b.daemons)
	}
	looked, deferred := sliced(problem.Pods, problem.MaxPods)
	looked, beyond := k.withinShares(looked)
	p.deferred = slices.Concat(deferred, beyond)
	p.classes = k.classes(looked, limited)
	p.catalog = newCatalog(problem, p.resources)
	p.router.catalog, p.topologies.catalog = p.catalog, p.catalog
	for _, d := range daemons {
		k.settle(d)
	}
	requests := corev1.ResourceList{}
	for i := range p.there {
		s := &p.there[i]
		s.used = make(amounts, len(p.resources.names))
		for _, pod := range s.Pods {
			requests = podRequests(pod, requests)
			s.used.add(p.resources.of(requests), 1)
			s.ports = append(s.ports, hostPorts(pod)...)
			s.counts = append(s.counts, k.countsOfRunning(pod))
		}
	}
	return p
}

// begin forgets what was decided.
func (p *packer) begin(appetite appetite) {
	p.appetite, p.existing, p.opened = appetite, nil, nil
	for _, b := range p.router.budgets {
		b.begin()
	}
	p.refusals = map[refusalsKey]*refusals{}
	for _, g := range p.router.groups {
		g.nodes, g.demand = nil, make(amounts, len(p.resources.names))
	}
	for _, t := range p.topologies.all {
		domains := max(len(p.catalog.zones), capacityTypes)
		t.total, t.domains, t.counts, t.owners = 0, 0, make([]int64, domains), make([]int64, domains)
	}
	for i := range p.there {
		p.addExisting(&p.there[i])
	}
	for _, c := range p.classes {
		c.placed, c.first = 0, nil
	}
	p.foresee()
}

func comparePods(a, b *corev1.Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func sortedNodes(nodes []Node) []*Node {
	sorted := make([]*Node, len(nodes))
	for i := range nodes {
		sorted[i] = &nodes[i]
	}
	slices.SortFunc(sorted, func(a, b *Node) int { return cmp.Compare(a.Name, b.Name) })
	return sorted
}

// addExisting adds a node that is there, with what its pods take and count.
func (p *packer) addExisting(s *standing) {
	n := &node{existing: s.Node, used: slices.Clone(s.used), free: p.resources.room(s.Allocatable), ports: slices.Clone(s.ports)}
	if zone := p.catalog.zone(s.Labels[corev1.LabelTopologyZone]); zone >= 0 {
		n.zones = 1 << zone
		p.inhabited |= n.zones
	}
	if kind := slices.Index(capacityTypeNames[:], s.Labels[provisioningv1.LabelCapacityType]); kind >= 0 {
		n.kinds = 1 << kind
		p.inhabitedKinds |= n.kinds
	}
	for _, t := range p.topologies.all {
		if t.relation == spread && t.axis != byNode && t.knows(n) && p.topologies.countsOn(t, n) {
			t.domains |= 1 << n.scope().domain(t)
		}
	}
	for i := range s.Pods {
		p.topologies.count(n, s.counts[i], s.reserved[i], 1)
	}
	p.existing = append(p.existing, n)
}

// foresee finds the domains that nodes may come to be in, and adds up what each group will be asked
// for, so that the first nodes are grown with the last pods in mind.
func (p *packer) foresee() {
	for _, c := range p.classes {
		if c.reason != "" {
			continue
		}
		for _, way := range c.ways {
			for _, candidate := range p.router.route(way).candidates {
				if candidate.group == nil || !c.tolerates(candidate.group) {
					continue
				}
				candidate.group.zones |= candidate.launchable
				candidate.group.kinds |= candidate.kinds
				if c.first == nil {
					c.first = candidate.group
					c.first.demand.add(c.request, c.left())
				}
			}
		}
	}
	for _, t := range p.topologies.all {
		if t.relation == spread && t.axis != byNode {
			t.domains |= p.router.openable(t)
		}
	}
}

// openable returns the domains of a spread in which new nodes may appear.
func (r *router) openable(t *topology) uint64 {
	var zones, kinds uint64
	for _, g := range r.groups {
		if t.over(g.ask.Taints) {
			zones |= g.zones
			kinds |= uint64(g.kinds)
		}
	}
	domains, key, of := zones, corev1.LabelTopologyZone, r.catalog.zonesIn
	if t.axis == byCapacityType {
		domains, key, of = kinds, provisioningv1.LabelCapacityType, kindsIn
	}
	if len(t.nodes) == 0 {
		return domains
	}
	var admitted uint64
	for _, way := range t.nodes {
		admitted |= of(constraints.Canonical(way).Get(key))
	}
	return domains & admitted
}

// tolerates reports whether the pods of the class tolerate the taints of a group.
func (c *class) tolerates(g *group) bool {
	tolerated, _ := constraints.Tolerates(&c.pod().Spec, g.ask.Taints)
	return tolerated
}
