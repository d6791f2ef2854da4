package packing

import (
	"iter"
	"math/bits"
	"slices"

	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// domainRoom returns how many pods of the class the topologies over zones and capacity types
// currently admit in a scope.
func (s *topologies) domainRoom(a *attempt, in scopeKey) int64 {
	room := int64(unbounded)
	for t, place := range s.over(a.wanted.spread, in) {
		room = min(room, spreadRoom(t.counts[in.domain(t)], t.fewest(), t.maxSkew, a.class.counted(place)))
	}
	for t, place := range s.over(a.wanted.together, in) {
		if t.counts[in.domain(t)] == 0 && (t.total > 0 || !a.class.counted(place)) && !a.brings(place) {
			return 0
		}
	}
	for t, place := range s.over(a.wanted.apart, in) {
		if t.counts[in.domain(t)] > 0 {
			return 0
		}
		if a.class.counted(place) {
			room = min(room, 1)
		}
	}
	for t := range s.over(a.class.counts, in) {
		if t.owners[in.domain(t)] > 0 {
			return 0
		}
	}
	return room
}

// over iterates over the given topologies that count by domains of a scope, with their places.
func (s *topologies) over(places []int32, in scopeKey) iter.Seq2[*topology, int32] {
	return func(yield func(*topology, int32) bool) {
		for _, place := range places {
			if t := s.all[place]; in.has(t.axis) && !yield(t, place) {
				return
			}
		}
	}
}

// brings reports whether a topology counts a daemon of every new node.
func (a *attempt) brings(place int32) bool {
	return a.candidate != nil && slices.Contains(a.candidate.crowd, place)
}

// nodeRoom returns how many pods of the class the topologies and ports currently admit on a node.
func (s *topologies) nodeRoom(n *node, a *attempt) int64 {
	room := n.portRoom(a.class)
	for _, place := range a.wanted.spread {
		if t := s.all[place]; t.axis == byNode {
			// A new node has none, so that none are the fewest.
			room = min(room, spreadRoom(n.counted.of(place), 0, t.maxSkew, a.class.counted(place)))
		}
	}
	for _, place := range a.wanted.together {
		if t := s.all[place]; t.axis == byNode && n.counted.of(place) == 0 && (t.total > 0 || !a.class.counted(place)) {
			return 0
		}
	}
	for _, place := range a.wanted.apart {
		switch {
		case s.all[place].axis != byNode:
		case n.counted.of(place) > 0:
			return 0
		case a.class.counted(place):
			room = min(room, 1)
		}
	}
	if len(n.owners) > 0 && slices.ContainsFunc(a.class.counts, func(place int32) bool { return n.owners.of(place) > 0 }) {
		return 0
	}
	return room
}

// spreadRoom returns how many more pods may join the given number in a domain, if the emptiest
// domain has the fewest. Pods that do not count themselves may come in any number.
func spreadRoom(some, fewest, maxSkew int64, counts bool) int64 {
	if counts {
		return max(0, fewest+maxSkew-some)
	}
	if some-fewest > maxSkew {
		return 0
	}
	return unbounded
}

// fewest returns the number of pods of the domain that has the fewest. If there are too few
// domains, it is 0, by the scheduler's rule.
func (t *topology) fewest() int64 {
	if bits.OnesCount64(t.domains) < max(t.minDomains, 1) {
		return 0
	}
	fewest := int64(unbounded)
	for rest := t.domains; rest != 0; rest &= rest - 1 {
		fewest = min(fewest, t.counts[bits.TrailingZeros64(rest)])
	}
	return fewest
}

// counted reports whether the topology counts the class's pods.
func (c *class) counted(place int32) bool {
	_, found := slices.BinarySearch(c.counts, place)
	return found
}

// count adds pods on a node to the topologies that count them, and to the topologies that they keep
// others apart by. The domain of a node is settled before it gets pods that some topology counts by
// domains.
func (s *topologies) count(n *node, counted, reserved []int32, number int64) {
	for _, place := range counted {
		switch t := s.all[place]; {
		case t.axis == byNode:
			t.total += number
			n.counted.add(place, number)
		case t.knows(n):
			t.total += number
			if s.countsOn(t, n) {
				t.counts[n.scope().domain(t)] += number
			}
		}
	}
	for _, place := range reserved {
		switch t := s.all[place]; {
		case t.axis == byNode:
			n.owners.add(place, number)
		case t.knows(n):
			t.owners[n.scope().domain(t)] += number
		}
	}
}

// countsOn reports whether the topology counts the pods of a node: a spread is over the nodes that
// the pod with the spread might be on. The future labels of a new node are read from the type that
// it has for now.
func (s *topologies) countsOn(t *topology, n *node) bool {
	if n.existing != nil && !t.over(n.existing.Taints) || n.group != nil && !t.over(n.group.ask.Taints) {
		return false
	}
	return len(t.nodes) == 0 || slices.ContainsFunc(t.nodes, func(way constraints.Requirements) bool {
		for key, set := range way {
			if value, present := s.catalog.label(n, key); !set.Admits(value, present) {
				return false
			}
		}
		return true
	})
}

// label returns the value of a node's label, and whether the node has it.
func (c *catalog) label(n *node, key string) (string, bool) {
	if n.existing != nil {
		value, present := n.existing.Labels[key]
		return value, present
	}
	t := &c.types[n.chosen]
	key = constraints.CanonicalKey(key)
	switch key {
	case corev1.LabelTopologyZone:
		return c.zones[bits.TrailingZeros64(n.zones)], true
	case provisioningv1.LabelCapacityType:
		return capacityTypeNames[bits.TrailingZeros8(n.kinds)], true
	case corev1.LabelInstanceTypeStable:
		return t.Name, true
	case corev1.LabelArchStable:
		return t.Architecture, true
	}
	if value, given := n.group.ask.Labels[key]; given {
		return value, true
	}
	value, present := t.Labels[key]
	return value, present
}
