package packing

import (
	"math"
	"slices"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// Pack chooses nodes for the pods. Both appetites are tried, because neither is better on all pods;
// the outcome that leaves fewer pods, or else costs less, is taken.
func Pack(problem *Problem) *Result {
	return newPacker(problem).pack()
}

func (p *packer) pack() *Result {
	var best *outcome
	for _, appetite := range []appetite{careful, greedy} {
		p.begin(appetite)
		for progress := true; progress; {
			progress = false
			for _, c := range p.classes {
				progress = c.left() > 0 && p.place(c) || progress
			}
		}
		if o := p.outcome(); best == nil || o.betterThan(best) {
			p.giveReasons(o)
			best = o
		}
	}
	return p.result(best)
}

// attempt is one way to place a class, at one level of its preferences.
type attempt struct {
	class     *class
	route     *route
	candidate *candidate // nil: nodes that there are
	wanted    *wanted
	zones     uint64 // that requirements and volumes admit, and where there are such nodes or can be
	kinds     uint8  // the same for capacity types
	zonal     bool   // a node has to be in one zone, because some topology counts by zones
	kindly    bool   // a node has to be of one capacity type, because some topology counts by them
	needs     []axis // by which some required or preferred neighbor is counted
	cursors   map[scopeKey]*cursor
}

// cursor counts the nodes, from the first on, that are full for the class: they get no pods while
// it is being placed.
type cursor struct {
	existing, slack, growth int
	refusals                *refusals
}

// place puts as many pods of the class as it can, and says whether there were any.
func (p *packer) place(c *class) bool {
	before := c.placed
	for level := range c.levels {
		for _, way := range c.ways {
			r := p.router.route(way)
			for a := p.attempt(c, r, nil, &c.levels[level]); c.left() > 0 && p.stepOntoExisting(a); {
			}
			for _, candidate := range r.candidates {
				if c.left() == 0 {
					return true
				}
				if candidate.group == nil || !c.tolerates(candidate.group) {
					continue
				}
				for a := p.attempt(c, r, candidate, &c.levels[level]); c.left() > 0 && p.step(a); {
				}
			}
		}
	}
	return c.placed > before
}

// attempt prepares to place a class on what there is, or on a candidate's new nodes.
func (p *packer) attempt(c *class, r *route, candidate *candidate, wanted *wanted) *attempt {
	a := &attempt{
		class: c, route: r, candidate: candidate, wanted: wanted, zones: r.zones & p.inhabited, kinds: r.kinds & p.inhabitedKinds, cursors: map[scopeKey]*cursor{},
	}
	counting := [][]int32{c.counts, wanted.spread, wanted.together, wanted.apart}
	if candidate != nil {
		a.zones, a.kinds = candidate.zones&candidate.launchable, candidate.kinds
		counting = append(counting, candidate.crowd, candidate.keepers)
	}
	if c.zones != nil {
		a.zones &= p.catalog.mask(c.zones)
	}
	for _, place := range slices.Concat(wanted.spread, wanted.together) {
		a.needs = append(a.needs, p.topologies.all[place].axis)
	}
	for _, places := range counting {
		for _, place := range places {
			a.zonal = a.zonal || p.topologies.all[place].axis == byZone
			a.kindly = a.kindly || p.topologies.all[place].axis == byCapacityType
		}
	}
	return a
}

func (c *catalog) mask(zones []string) uint64 {
	var mask uint64
	for _, name := range zones {
		if zone := c.zone(name); zone >= 0 {
			mask |= 1 << zone
		}
	}
	return mask
}

// step puts some pods of the class where they cost least, and says whether it found a place.
func (p *packer) step(a *attempt) bool {
	scopes := p.topologies.scopes(a)
	ahead := a.class.ahead()
	for _, s := range scopes {
		if p.intoSlack(a, s) {
			return true
		}
	}
	fresh := make([]fit, len(scopes))
	best := fit{each: math.Inf(1)}
	for i, s := range scopes {
		if fresh[i] = p.fresh(a, s, ahead); fresh[i].count > 0 && fresh[i].each < best.each-epsilon {
			best = fresh[i]
		}
	}
	most := best.each
	if p.appetite == greedy {
		most = math.Inf(1)
	}
	for _, s := range scopes {
		if p.byGrowth(a, s, ahead, most) {
			return true
		}
	}
	for i, s := range scopes {
		if fresh[i].count > 0 && fresh[i].each <= best.each+epsilon {
			p.open(a, s, fresh[i])
			return true
		}
	}
	return false
}

// ahead returns how many pods of the class's size must still be placed. It counts what others of
// the group ask for as so many of them.
func (c *class) ahead() int64 {
	if c.first == nil {
		return c.left()
	}
	return max(c.left(), times(c.first.demand, make(amounts, len(c.request)), c.request, unbounded))
}

// stepOntoExisting puts some pods of the class on a node that is there, and says whether it found one.
func (p *packer) stepOntoExisting(a *attempt) bool {
	if len(p.existing) == 0 {
		return false
	}
	for _, s := range p.topologies.scopes(a) {
		if p.ontoExisting(a, s) {
			return true
		}
	}
	return false
}

func (p *packer) ontoExisting(a *attempt, s scope) bool {
	for ; s.cursor.existing < len(p.existing); s.cursor.existing++ {
		n := p.existing[s.cursor.existing]
		count := times(n.free, n.used, a.class.request, s.bound)
		if count == 0 || !s.holds(n, a) || !a.suits(n) {
			continue
		}
		if count = min(count, p.topologies.nodeRoom(n, a)); count > 0 {
			p.commit(n, a, s, count)
			return true
		}
	}
	return false
}

// suits reports whether the class may go to an existing node. A node that was launched for pods
// that name a launch template is not for pods that name none, and the other way round: the launch
// template is the one that the node's provisioner would launch the pod's node from.
func (a *attempt) suits(n *node) bool {
	if n.existing.Closed || !a.route.way.Admit(n.existing.Labels) || a.class.zones != nil && n.zones&a.zones == 0 {
		return false
	}
	name := n.existing.Labels[provisioningv1.LabelLaunchTemplateName]
	for _, candidate := range a.route.candidates {
		if candidate.provisioner == n.existing.Labels[provisioningv1.LabelProvisionerName] && candidate.template != name {
			return false
		}
	}
	tolerated, _ := constraints.Tolerates(&a.class.pod().Spec, n.existing.Taints)
	return tolerated
}

func (p *packer) intoSlack(a *attempt, s scope) bool {
	nodes := a.candidate.group.nodes
	for ; s.cursor.slack < len(nodes); s.cursor.slack++ {
		n := nodes[s.cursor.slack]
		if n.zones&s.zones == 0 || n.kinds&s.kinds == 0 {
			continue
		}
		count := p.catalog.slack(n, a, s)
		if count == 0 {
			continue
		}
		if count = min(count, p.topologies.nodeRoom(n, a)); count > 0 {
			p.commit(n, a, s, count)
			return true
		}
	}
	return false
}

// byGrowth puts pods on the first node for which a larger type costs at most as much per pod as a
// new node does.
func (p *packer) byGrowth(a *attempt, s scope, ahead int64, most float64) bool {
	nodes := a.candidate.group.nodes
	refusals := p.refusalsOf(a, s)
	for ; s.cursor.growth < len(nodes); s.cursor.growth++ {
		n := nodes[s.cursor.growth]
		now := refusal{price: n.price, most: most, ahead: ahead, returns: n.group.provisioner.returns}
		if !p.thorough && refusals.cover(s.cursor.growth, now) || n.zones&s.zones == 0 || n.kinds&s.kinds == 0 || times(n.group.largest, n.used, a.class.request, 1) == 0 {
			continue
		}
		room := p.topologies.nodeRoom(n, a)
		if room == 0 {
			continue
		}
		if f := p.grown(n, a, s, ahead, most); f.count > 0 {
			p.commit(n, a, s, min(f.count, room, s.bound))
			for _, cursor := range a.cursors {
				cursor.slack = min(cursor.slack, s.cursor.growth) // the new type may have room to spare
			}
			return true
		}
		refusals.add(s.cursor.growth, now)
	}
	return false
}

// fresh returns how well a new node would do.
func (p *packer) fresh(a *attempt, s scope, ahead int64) fit {
	n := p.blank(a)
	if p.topologies.nodeRoom(n, a) == 0 || p.topologies.crowded(a, s) {
		return fit{}
	}
	return p.grown(n, a, s, ahead, math.Inf(1))
}

func (p *packer) blank(a *attempt) *node {
	c := a.candidate
	return &node{
		group: c.group, types: c.types, zones: a.zones & c.launchable, kinds: c.kinds, ports: c.ports, used: make(amounts, len(p.resources.names)),
		counted: c.counted, owners: c.owners,
	}
}

// crowded reports whether the daemons of a new node and the pods of its domain, including the class
// itself, would keep each other out.
func (s *topologies) crowded(a *attempt, in scope) bool {
	return slices.ContainsFunc(a.candidate.crowd, func(place int32) bool {
		t := s.all[place]
		return t.owners[in.domain(t)] > 0 || slices.Contains(a.wanted.apart, place)
	}) || slices.ContainsFunc(a.candidate.keepers, func(place int32) bool {
		t := s.all[place]
		return t.counts[in.domain(t)] > 0 || slices.Contains(a.class.counts, place)
	})
}

func (p *packer) open(a *attempt, s scope, f fit) {
	n := p.blank(a)
	n.types, n.ports, n.counted, n.owners = slices.Clone(n.types), slices.Clone(n.ports), slices.Clone(n.counted), slices.Clone(n.owners)
	p.opened = append(p.opened, n)
	n.group.nodes = append(n.group.nodes, n)
	p.commit(n, a, s, min(f.count, p.topologies.nodeRoom(n, a), s.bound))
	p.topologies.count(n, a.candidate.crowd, a.candidate.keepers, 1)
	for _, at := range a.candidate.counted {
		p.topologies.all[at.topology].total += at.number
	}
}

// commit puts the next pods of the class on the node.
func (p *packer) commit(n *node, a *attempt, s scope, count int64) {
	c := a.class
	n.used.add(c.request, count)
	n.ports = append(n.ports, c.ports...)
	if n.group != nil {
		for i := range n.types {
			n.types[i] &= a.candidate.types[i]
		}
		n.zones &= s.zones
		n.kinds &= s.kinds
		kind, price := p.catalog.cheapest(n)
		p.catalog.charge(n, kind)
		n.price = price
	}
	n.content = append(n.content, content{c, c.placed, c.placed + int(count)})
	p.topologies.count(n, c.counts, c.reserved, count)
	c.placed += int(count)
	if c.first != nil {
		c.first.demand.add(c.request, -count)
	}
}
