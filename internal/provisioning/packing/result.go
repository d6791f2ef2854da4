package packing

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// maxOptions bounds the offerings of one node. EC2 takes 300 overrides in a fleet.
const maxOptions = 60

// outcome holds the result of one appetite. Reasons for pods are computed for the better outcome
// only: they take more memory than everything else.
type outcome struct {
	existing, opened []*node
	left             int64 // pods without a place
	unplaced         []Unplaced
	rejected         []Rejected
	price            float64
}

func (p *packer) outcome() *outcome {
	o := &outcome{existing: p.existing, opened: p.opened}
	for _, n := range p.opened {
		o.price += n.price
	}
	for _, c := range p.classes {
		o.left += c.left()
	}
	return o
}

// giveReasons adds to the present outcome why pods have no place.
func (p *packer) giveReasons(o *outcome) {
	var left []*class
	for _, c := range p.classes {
		if c.left() == 0 {
			continue
		}
		left = append(left, c)
		reason, cause := p.explain(c)
		for _, pod := range c.pods[c.placed:] {
			o.unplaced = append(o.unplaced, Unplaced{pod, reason, cause})
		}
	}
	o.rejected = p.rejected(left)
}

func (o *outcome) betterThan(other *outcome) bool {
	if o.left != other.left {
		return o.left < other.left
	}
	return o.price < other.price-epsilon
}

func (p *packer) result(o *outcome) *Result {
	r := &Result{Existing: map[string][]*corev1.Pod{}, New: make([]NewNode, 0, len(o.opened)), Unplaced: o.unplaced, Deferred: p.deferred, Rejected: o.rejected}
	for _, n := range o.existing {
		if placed := n.pods(); len(placed) > 0 {
			r.Existing[n.existing.Name] = placed
		}
	}
	for _, n := range o.opened {
		r.New = append(r.New, NewNode{
			Ask: n.group.ask, Architecture: p.catalog.types[n.chosen].Architecture, Options: p.options(n), Pods: n.pods(),
		})
	}
	return r
}

func (n *node) pods() []*corev1.Pod {
	number := 0
	for _, some := range n.content {
		number += some.last - some.first
	}
	if number == 0 {
		return nil
	}
	all := make([]*corev1.Pod, 0, number)
	for _, some := range n.content {
		all = append(all, some.class.pods[some.first:some.last]...)
	}
	return all
}

// options returns the cheapest offerings that suit a node.
func (p *packer) options(n *node) []Option {
	chosen := &p.catalog.types[n.chosen]
	options := p.offered[:0]
	defer func() { p.offered = options }()
	for word := range n.types {
		for rest := n.types[word]; rest != 0; rest &= rest - 1 {
			place := word*64 + bits.TrailingZeros64(rest)
			t := &p.catalog.types[place]
			if len(options) >= maxOptions && t.cheapest > options[len(options)-1].Price {
				return firstOptions(options)
			}
			larger := n.group.provisioner.bounded && (t.capacity[cpu] > chosen.capacity[cpu] || t.capacity[memory] > chosen.capacity[memory])
			if t.Architecture == chosen.Architecture && !larger && holds(n.group.free[place], n.used) {
				options = p.catalog.appendOfferings(options, t, n)
			}
		}
	}
	return firstOptions(options)
}

func (c *catalog) appendOfferings(options []Option, t *catalogType, n *node) []Option {
	for kind, name := range capacityTypeNames {
		if n.kinds&(1<<kind) == 0 {
			continue
		}
		for rest := t.zones[kind] & n.zones; rest != 0; rest &= rest - 1 {
			zone := bits.TrailingZeros64(rest)
			options = append(options, Option{t.Name, c.zones[zone], name, t.prices[kind][zone]})
		}
	}
	return options
}

func firstOptions(options []Option) []Option {
	slices.SortFunc(options, func(a, b Option) int {
		return cmp.Or(cmp.Compare(a.Price, b.Price), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.CapacityType, b.CapacityType))
	})
	return slices.Clone(options[:min(len(options), maxOptions)])
}

// explain says why pods of the class are left.
func (p *packer) explain(c *class) (string, Cause) {
	if c.reason != "" {
		return c.reason, c.cause
	}
	if len(p.router.budgets) == 0 {
		return "waits, because the cluster has no Provisioner", CauseNoProvisioner
	}
	var reasons []string
	cause := CauseIncompatible
	r := p.router.route(c.ways[len(c.ways)-1])
	for _, candidate := range r.candidates {
		reason, of := candidate.reason, candidate.cause
		if reason == "" {
			reason, of = p.obstacle(c, r, candidate)
		}
		cause = closer(cause, of)
		reasons = append(reasons, reason)
	}
	// The reason why the provisioner that a pod asks for refuses it says more than that the pod
	// does not ask for the others.
	telling := slices.DeleteFunc(slices.Clone(reasons), func(reason string) bool { return strings.HasPrefix(reason, "requires Provisioner ") })
	if len(telling) == 0 {
		telling = []string{reasons[0] + ", which does not exist"}
	}
	return strings.Join(slices.Compact(telling), "; or "), cause
}

// obstacle returns why a pod cannot have a new node of a candidate that suits it as such.
func (p *packer) obstacle(c *class, r *route, candidate *candidate) (string, Cause) {
	if tolerated, reason := constraints.Tolerates(&c.pod().Spec, candidate.group.ask.Taints); !tolerated {
		return reason, CauseIncompatible
	}
	a := p.attempt(c, r, candidate, &c.levels[len(c.levels)-1])
	if reason := p.short(a); reason != "" {
		return reason, CauseNoCapacity
	}
	if a.zones == 0 {
		return fmt.Sprintf("has volumes in zone %s, where no suitable instance is available", cmp.Or(strings.Join(c.zones, " or "), "none")), CauseTopology
	}
	if reason := p.tooLarge(a); reason != "" {
		return reason, CauseTooLarge
	}
	if len(p.topologies.scopes(a)) == 0 {
		return "has affinities or topology spread constraints over zones or capacity types that cannot be " +
			"satisfied with the current placement of pods", CauseTopology
	}
	blank := p.blank(a)
	if blank.portRoom(c) == 0 {
		return "uses a host port that a DaemonSet uses on every node", CauseIncompatible
	}
	if p.topologies.nodeRoom(blank, a) == 0 {
		return "has an anti-affinity to pods that every new node would run, or an affinity to pods whose nodes " +
			"have no room for it", CauseTopology
	}
	if b := candidate.group.provisioner; b.bounded {
		return fmt.Sprintf("needs more than the remaining limits of Provisioner %s: %s", b.Name, b.Limits), CauseLimits
	}
	return "has affinities or topology spread constraints that no zone with suitable instances satisfies with " +
		"the current placement of pods", CauseTopology
}

// tooLarge returns what a pod asks for that no instance type has enough of, whether AWS has one now or not.
func (p *packer) tooLarge(a *attempt) string {
	empty := make(amounts, len(p.resources.names))
	largest := make(amounts, len(p.resources.names))
	for place := range p.catalog.types {
		available := a.candidate.types[place/64]&(1<<(place%64)) != 0 && p.catalog.types[place].inZones(a.candidate.kinds)&a.zones != 0
		if !available && !slices.Contains(a.candidate.short, place) {
			continue
		}
		free := a.candidate.group.free[place]
		if available && times(free, empty, a.class.request, 1) > 0 {
			return ""
		}
		for r := range free {
			largest[r] = max(largest[r], free[r])
		}
	}
	for r := range p.resources.names {
		if a.class.request[r] > largest[r] && largest[r] <= 0 && Extended(p.resources.names[r]) {
			return fmt.Sprintf("requests %s, which no suitable instance type provides: if its launch template "+
				"or a device plugin adds the resource, list it in spec.extraResources of Provisioner %s",
				p.resources.quantity(r, a.class.request[r]), a.candidate.provisioner)
		}
		if a.class.request[r] > largest[r] {
			return fmt.Sprintf("requests %s, but no suitable instance type leaves more than %s for pods",
				p.resources.quantity(r, a.class.request[r]), p.resources.quantity(r, largest[r]))
		}
	}
	return "requests a combination of resources that no single instance type has"
}

// short says that a pod has to wait until AWS has instances again, if none that AWS has now is
// large enough, and one would be that it sells.
func (p *packer) short(a *attempt) string {
	empty := make(amounts, len(p.resources.names))
	zones := a.candidate.zones
	if a.class.zones != nil {
		zones &= p.catalog.mask(a.class.zones)
	}
	fits := func(place int) bool { return times(a.candidate.group.free[place], empty, a.class.request, 1) > 0 }
	for place := range p.catalog.types {
		if a.candidate.types[place/64]&(1<<(place%64)) != 0 && p.catalog.types[place].inZones(a.candidate.kinds)&a.zones != 0 && fits(place) {
			return ""
		}
	}
	large := slices.DeleteFunc(slices.Clone(a.candidate.short), func(place int) bool {
		return !fits(place) || p.catalog.types[place].soldIn(a.candidate.asked)&zones == 0
	})
	if len(large) == 0 {
		return ""
	}
	return p.catalog.noneNow(large, a.candidate.asked, zones)
}

// mostNamed bounds how many instance types and zones a reason names.
const mostNamed = 3

// noneNow says that AWS has none of some instance types now, or that the account may have none.
func (c *catalog) noneNow(types []int, kinds uint8, within uint64) string {
	var zones uint64
	whys := map[string]bool{}
	for _, place := range types {
		t := &c.types[place]
		zones |= (t.soldIn(kinds) &^ t.inZones(kinds)) & within
		for _, offering := range t.Offerings {
			kind, zone := slices.Index(capacityTypeNames[:], offering.CapacityType), c.zone(offering.Zone)
			if offering.Unavailable && kind >= 0 && zone >= 0 && kinds&(1<<kind) != 0 && within&(1<<zone) != 0 {
				whys[offering.Why] = true
			}
		}
	}
	var in []string
	for place, zone := range c.zones {
		if zones&(1<<place) != 0 {
			in = append(in, zone)
		}
	}
	what := fmt.Sprintf("%s, %s, in %s", some(c.namesOf(types)), kindNames(kinds), some(in))
	if why := slices.Sorted(maps.Keys(whys)); len(why) > 0 && why[0] != "" {
		return fmt.Sprintf("needs an instance that AWS currently does not launch for this account: %s: %s. "+
			"Slipway retries within minutes", what, strings.TrimSuffix(why[0], "."))
	}
	return fmt.Sprintf("needs an instance for which AWS recently had no capacity: %s. Slipway retries within minutes", what)
}

// kindNames returns the names of capacity types, for a user.
func kindNames(kinds uint8) string {
	var names []string
	for kind, name := range capacityTypeNames {
		if kinds&(1<<kind) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// some returns the first of the names, and how many more there are.
func some(names []string) string {
	if len(names) <= mostNamed+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, and %d more", strings.Join(names[:mostNamed], ", "), len(names)-mostNamed)
}
