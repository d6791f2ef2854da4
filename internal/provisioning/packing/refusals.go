package packing

import "encoding/binary"

// refusals remember, for the nodes of a group by their places, that no larger type paid for one
// more pod of some size. There are far more classes of pods than sizes: classes differ by labels
// and topologies too.
type refusals []refusal

// refusal says that a node of some price was refused, with so many pods ahead, and a new node at
// most at such a price. Fewer pods and a lower price do not change that, nor does what is put on
// the node while its price is the same, because it leaves less room.
type refusal struct {
	price, most float64
	ahead       int64
	returns     int // of the provisioner's limits
}

// refusalsKey holds what refusals depend on, in addition to the nodes.
type refusalsKey struct {
	candidate *candidate
	scope     scopeKey
	request   string
}

// refusalsOf returns the refusals for what the attempt asks for.
func (p *packer) refusalsOf(a *attempt, s scope) *refusals {
	if s.cursor.refusals == nil {
		var request []byte
		for _, amount := range a.class.request {
			request = binary.AppendVarint(request, amount)
		}
		key := refusalsKey{a.candidate, s.scopeKey, string(request)}
		if p.refusals[key] == nil {
			p.refusals[key] = &refusals{}
		}
		s.cursor.refusals = p.refusals[key]
	}
	return s.cursor.refusals
}

// cover reports whether the node in some place was refused, and would be refused again.
func (r *refusals) cover(place int, now refusal) bool {
	if place >= len(*r) {
		return false
	}
	before := (*r)[place]
	return before.price == now.price && before.returns == now.returns && now.ahead <= before.ahead && now.most <= before.most
}

func (r *refusals) add(place int, now refusal) {
	for len(*r) <= place {
		*r = append(*r, refusal{}) // covers nothing, because there are always pods ahead
	}
	(*r)[place] = now
}
