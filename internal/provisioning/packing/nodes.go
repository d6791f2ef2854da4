package packing

import (
	"math"
	"math/bits"
	"slices"
)

// node is a node with its pods: one that is there, or one to launch, whose type is open.
type node struct {
	existing *Node
	free     amounts

	group  *group
	types  []uint64
	zones  uint64
	kinds  uint8
	chosen int // place of the cheapest type that suits
	price  float64

	used    amounts
	ports   []hostPort
	counted counts // pods on the node, by topology
	owners  counts // pods on the node that keep apart, by topology
	content []content
}

// scope returns the zones and capacity types of the node.
func (n *node) scope() scopeKey { return scopeKey{n.zones, n.kinds} }

// content are some pods of a class.
type content struct {
	class       *class
	first, last int
}

// counts are numbers by topology; the few that are not 0.
type counts []count

type count struct {
	topology int32
	number   int64
}

func (c counts) of(topology int32) int64 {
	for i := range c {
		if c[i].topology == topology {
			return c[i].number
		}
	}
	return 0
}

func (c *counts) add(topology int32, number int64) {
	for i := range *c {
		if (*c)[i].topology == topology {
			(*c)[i].number += number
			return
		}
	}
	*c = append(*c, count{topology, number})
}

// fit is a type that a node could have, for how many pods of a class, and what each costs.
type fit struct {
	count int64
	each  float64
}

// slack returns how many more pods fit without another type.
func (c *catalog) slack(n *node, a *attempt, s scope) int64 {
	if n.types[n.chosen/64]&a.candidate.types[n.chosen/64]&(1<<(n.chosen%64)) == 0 {
		return 0
	}
	count := times(n.group.free[n.chosen], n.used, a.class.request, s.bound)
	if count == 0 || n.zones&s.zones == n.zones && n.kinds&s.kinds == n.kinds {
		return count
	}
	if c.types[n.chosen].price(n.zones&s.zones, n.kinds&s.kinds) > n.price+epsilon {
		return 0
	}
	return count
}

// grown returns the best type to exchange the node for: the type on which a further pod costs
// least, if as many of its kind are ahead. Of equal types it is the one with room for the most
// pods. A new node has no price yet, and is grown from nothing.
func (p *packer) grown(n *node, a *attempt, s scope, ahead int64, most float64) fit {
	best := fit{each: most}
	zones, kinds := n.zones&s.zones, n.kinds&s.kinds
	for _, place := range p.choices(n.group, n.types, a.candidate.types) {
		t := &p.catalog.types[place]
		if t.cheapest-n.price > (best.each+epsilon)*float64(ahead) {
			return best // all that follow are dearer still
		}
		count := times(n.group.free[place], n.used, a.class.request, ahead)
		if count == 0 || !holds(n.group.free[place], n.used) || !p.catalog.affordable(n, t) {
			continue
		}
		price := t.price(zones, kinds)
		each := (price - n.price) / float64(count)
		if each < best.each-epsilon || each <= best.each+epsilon && count > best.count && !math.IsInf(price, 1) {
			best = fit{count, min(each, best.each)}
		}
	}
	return best
}

// epsilon is below any difference of prices that matters, and above what sums of them are wrong by.
const epsilon = 1e-9

// affordable reports whether the provisioner stays within its limits with a type in place of the
// one that the node has.
func (c *catalog) affordable(n *node, t *catalogType) bool {
	b := n.group.provisioner
	if !b.bounded {
		return true
	}
	for _, r := range []int{cpu, memory} {
		had := int64(0)
		if len(n.content) > 0 {
			had = c.types[n.chosen].capacity[r]
		}
		if t.capacity[r]-had > b.left[r] {
			return false
		}
	}
	return len(n.content) > 0 || b.nodes > 0
}

// charge moves the node's share of the limits to another type.
func (c *catalog) charge(n *node, kind int) {
	b := n.group.provisioner
	if !b.bounded {
		n.chosen = kind
		return
	}
	for _, r := range []int{cpu, memory} {
		before := b.left[r]
		if len(n.content) > 0 {
			b.left[r] += c.types[n.chosen].capacity[r]
		}
		if b.left[r] -= c.types[kind].capacity[r]; b.left[r] > before {
			b.returns++
		}
	}
	if len(n.content) == 0 {
		b.nodes--
	}
	n.chosen = kind
}

// cheapest returns the cheapest type that suits what is on the node, within the limits, and its
// price.
func (c *catalog) cheapest(n *node) (int, float64) {
	best, price := -1, math.Inf(1)
	for word := range n.types {
		for rest := n.types[word]; rest != 0; rest &= rest - 1 {
			place := word*64 + bits.TrailingZeros64(rest)
			t := &c.types[place]
			if t.cheapest >= price {
				return best, price
			}
			if !holds(n.group.free[place], n.used) || !c.affordable(n, t) {
				continue
			}
			if costs := t.price(n.zones, n.kinds); costs < price {
				best, price = place, costs
			}
		}
	}
	return best, price
}

// portRoom returns how many pods of a class the ports of the pods that are there leave room for.
func (n *node) portRoom(c *class) int64 {
	if len(c.ports) == 0 {
		return unbounded
	}
	for _, taken := range n.ports {
		if c.numbers[taken.number()] && slices.ContainsFunc(c.ports, taken.conflicts) {
			return 0
		}
	}
	return 1
}
