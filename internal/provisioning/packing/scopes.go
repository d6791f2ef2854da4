package packing

import (
	"cmp"
	"math/bits"
	"slices"
)

// scope holds where some pods of a class may go at once: some zones, or one, and some capacity
// types, or one.
type scope struct {
	scopeKey
	bound  int64
	crowd  int64 // pods there that spreads count
	cursor *cursor
}

type scopeKey struct {
	zones uint64
	kinds uint8
}

// domain returns the place of a topology's domain in a scope of one zone, or of one capacity type.
func (k scopeKey) domain(t *topology) int {
	if t.axis == byZone {
		return bits.TrailingZeros64(k.zones)
	}
	return bits.TrailingZeros8(k.kinds)
}

// has reports whether the scope has a domain of an axis.
func (k scopeKey) has(a axis) bool {
	return a == byZone && k.zones != 0 || a == byCapacityType && k.kinds != 0
}

// holds reports whether a node is in the scope. An axis that is not divided does not matter.
func (k scopeKey) holds(n *node, a *attempt) bool {
	return (!a.zonal || n.zones&k.zones != 0 || n.zones == 0 && k.zones == 0) && (!a.kindly || n.kinds&k.kinds != 0 || n.kinds == 0 && k.kinds == 0)
}

// scopes returns one scope for all domains if no topology counts by them. Otherwise it returns one
// per domain that the topologies admit, the emptiest first.
func (s *topologies) scopes(a *attempt) []scope {
	var scopes []scope
	for _, zones := range a.parts(a.zones, a.zonal, byZone) {
		for _, kinds := range a.parts(uint64(a.kinds), a.kindly, byCapacityType) {
			key := scopeKey{zones, uint8(kinds)} //nolint:gosec // a mask of capacity types
			room := s.domainRoom(a, key)
			if room == 0 {
				continue
			}
			if a.cursors[key] == nil {
				a.cursors[key] = &cursor{}
			}
			scopes = append(scopes, scope{key, min(room, a.class.left()), s.crowd(a.class, key), a.cursors[key]})
		}
	}
	slices.SortStableFunc(scopes, func(a, b scope) int { return cmp.Compare(a.crowd, b.crowd) })
	return scopes
}

// parts returns the bits of a mask one by one, or the whole mask. The empty part stands for
// existing nodes without a domain, which only spreads and affinities need.
func (a *attempt) parts(mask uint64, divided bool, over axis) []uint64 {
	if !divided {
		return []uint64{mask}
	}
	var parts []uint64
	for rest := mask; rest != 0; rest &= rest - 1 {
		parts = append(parts, rest&-rest)
	}
	if a.candidate == nil && !slices.Contains(a.needs, over) {
		parts = append(parts, 0)
	}
	return parts
}

// crowd returns how many pods the spreads that count the class have in a domain.
func (s *topologies) crowd(c *class, in scopeKey) int64 {
	var crowd int64
	for t := range s.over(c.counts, in) {
		if t.relation == spread {
			crowd += t.counts[in.domain(t)]
		}
	}
	return crowd
}
