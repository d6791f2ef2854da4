package packing

import (
	"encoding/binary"
	"math/bits"
)

// choices returns the types that are in both masks and are worth considering for a node of the
// group, the cheapest first. It leaves out a type where another one that is in both masks does as
// well. Of EC2's types nine in ten are left out: previous generations, and variants with local
// disks or faster networks that no pod asks for.
func (p *packer) choices(g *group, a, b []uint64) []int32 {
	p.mask = p.mask[:0]
	for word := range a {
		p.mask = binary.LittleEndian.AppendUint64(p.mask, a[word]&b[word])
	}
	if g.chosen == nil {
		g.chosen = p.choice(g)
	}
	if known, ok := g.chosen.types[string(p.mask)]; ok {
		return known
	}
	chosen := []int32{}
	for word := range a {
		for rest := a[word] & b[word]; rest != 0; rest &= rest - 1 {
			if place := word*64 + bits.TrailingZeros64(rest); !common(g.chosen.better[place], a, b) {
				chosen = append(chosen, int32(place)) //nolint:gosec // the place of a type
			}
		}
	}
	g.chosen.types[string(p.mask)] = chosen
	return chosen
}

// choice returns which types are worth considering for the group, in the zones and of the capacity types
// that its nodes may come to be in.
func (p *packer) choice(g *group) *choice {
	key := scopeKey{g.zones, g.kinds}
	if known := g.choices[key]; known != nil {
		return known
	}
	made := &choice{types: map[string][]int32{}, better: make([][]uint64, len(p.catalog.types))}
	if !p.thorough {
		made.better = p.catalog.better(g)
	}
	g.choices[key] = made
	return made
}

// common reports whether some type is in all masks. The first may be shorter than the others.
func common(first, second, third []uint64) bool {
	for word := range first {
		if first[word]&second[word]&third[word] != 0 {
			return true
		}
	}
	return false
}

// better returns, for each type, the mask of the types that do as well for any node of the group.
func (c *catalog) better(g *group) [][]uint64 {
	types := c.types
	masks := make([][]uint64, len(types))
	for i := range types {
		// Types are sorted by price, so no type that follows is cheaper.
		for j := 0; j < len(types) && types[j].cheapest <= types[i].cheapest; j++ {
			if j == i || !c.asGood(g, j, i) || j > i && c.asGood(g, i, j) {
				continue // of two that are equal, the first is as good as the second alone
			}
			for len(masks[i]) <= j/64 {
				masks[i] = append(masks[i], 0)
			}
			masks[i][j/64] |= 1 << (j % 64)
		}
	}
	return masks
}

// asGood reports whether the first type has as much for pods of the group as the second, costs at
// most as much wherever the second is available, and takes at most as much of the limits.
func (c *catalog) asGood(g *group, first, second int) bool {
	if !holds(g.free[first], g.free[second]) {
		return false
	}
	f, s := &c.types[first], &c.types[second]
	if g.provisioner.bounded && (f.capacity[cpu] > s.capacity[cpu] || f.capacity[memory] > s.capacity[memory]) {
		return false
	}
	for kind := range s.zones {
		if g.kinds&(1<<kind) == 0 {
			continue
		}
		zones := s.zones[kind] & g.zones
		if zones&^f.zones[kind] != 0 {
			return false
		}
		for ; zones != 0; zones &= zones - 1 {
			if zone := bits.TrailingZeros64(zones); f.prices[kind][zone] > s.prices[kind][zone] {
				return false
			}
		}
	}
	return true
}
