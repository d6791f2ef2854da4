package packing

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// Each capacity type has its own bit.
const (
	kindOnDemand = iota
	kindSpot
	capacityTypes
)

var capacityTypeNames = [capacityTypes]string{kindOnDemand: provisioningv1.CapacityTypeOnDemand, kindSpot: provisioningv1.CapacityTypeSpot}

// maxZones bounds the number of zones: each has its own bit. No region has a third as many, local
// zones included.
const maxZones = 64

// catalog holds what can be launched. Zones, types, and resources are known by their indices.
type catalog struct {
	resources *resourceIndex
	zones     []string
	types     []catalogType // by price
	// labels are the keys of labels that nodes of some type have by their type.
	labels map[string]bool
}

// catalogType is an instance type. Its zones are those with an offering that is available, by
// capacity type, and sold are all with an offering.
type catalogType struct {
	*InstanceType
	zones    [capacityTypes]uint64
	sold     [capacityTypes]uint64
	prices   [capacityTypes][]float64
	cheapest float64
	capacity amounts
	overhead amounts
}

func newCatalog(p *Problem, resources *resourceIndex) *catalog {
	c := &catalog{resources: resources, labels: map[string]bool{corev1.LabelInstanceTypeStable: true, corev1.LabelArchStable: true}}
	names := map[string]bool{}
	for i := range p.Types {
		for key := range p.Types[i].Labels {
			c.labels[key] = true
		}
		for _, offering := range p.Types[i].Offerings {
			names[offering.Zone] = true
		}
	}
	for i := range p.Nodes {
		if zone := p.Nodes[i].Labels[corev1.LabelTopologyZone]; zone != "" {
			names[zone] = true
		}
	}
	c.zones = slices.Sorted(maps.Keys(names))
	if len(c.zones) > maxZones {
		c.zones = c.zones[:maxZones]
	}
	for i := range p.Types {
		c.types = append(c.types, c.typeOf(&p.Types[i]))
	}
	slices.SortFunc(c.types, func(a, b catalogType) int {
		return cmp.Or(cmp.Compare(a.cheapest, b.cheapest), cmp.Compare(a.Name, b.Name))
	})
	return c
}

func (c *catalog) typeOf(of *InstanceType) catalogType {
	t := catalogType{InstanceType: of, cheapest: math.Inf(1), capacity: c.resources.room(of.Capacity), overhead: c.resources.of(of.Overhead)}
	for i := range t.prices {
		t.prices[i] = make([]float64, len(c.zones))
	}
	for _, offering := range of.Offerings {
		kind := slices.Index(capacityTypeNames[:], offering.CapacityType)
		zone := c.zone(offering.Zone)
		if kind < 0 || zone < 0 {
			continue
		}
		t.sold[kind] |= 1 << zone
		if offering.Unavailable {
			continue
		}
		t.zones[kind] |= 1 << zone
		t.prices[kind][zone] = offering.Price
		t.cheapest = min(t.cheapest, offering.Price)
	}
	return t
}

func (c *catalog) zone(name string) int {
	place, found := slices.BinarySearch(c.zones, name)
	if !found {
		return -1
	}
	return place
}

// price returns the lowest price in the zones for the capacity types, or infinity if the type is
// not sold there.
func (t *catalogType) price(zones uint64, kinds uint8) float64 {
	lowest := math.Inf(1)
	for kind := range t.zones {
		if kinds&(1<<kind) == 0 {
			continue
		}
		for rest := t.zones[kind] & zones; rest != 0; rest &= rest - 1 {
			lowest = min(lowest, t.prices[kind][bits.TrailingZeros64(rest)])
		}
	}
	return lowest
}

// inZones returns those in which it can be had.
func (t *catalogType) inZones(kinds uint8) uint64 { return zonesOf(t.zones, kinds) }

// soldIn returns those in which it is sold, even if there is none now.
func (t *catalogType) soldIn(kinds uint8) uint64 { return zonesOf(t.sold, kinds) }

func zonesOf(byKind [capacityTypes]uint64, kinds uint8) uint64 {
	var zones uint64
	for kind := range byKind {
		if kinds&(1<<kind) != 0 {
			zones |= byKind[kind]
		}
	}
	return zones
}

// ofKinds returns the given capacity types by which the type is available in some of the zones.
func (t *catalogType) ofKinds(kinds uint8, zones uint64) uint8 {
	var had uint8
	for kind := range t.zones {
		if kinds&(1<<kind) != 0 && t.zones[kind]&zones != 0 {
			had |= 1 << kind
		}
	}
	return had
}

// budget holds what a provisioner may still launch.
type budget struct {
	*Provisioner
	daemons []*daemon
	// daemonLabels are the keys of the labels by which the daemons choose nodes.
	daemonLabels []string
	bounded      bool
	left         amounts // CPU and memory
	nodes        int64
	returns      int // how often a node took less than before
}

// begin forgets what was launched.
func (b *budget) begin() {
	p := b.Provisioner
	b.left, b.nodes = amounts{unbounded, unbounded}, unbounded
	if p.Limits.CPU != nil {
		b.bounded, b.left[cpu] = true, amountOf(corev1.ResourceCPU, p.Limits.CPU)
		if p.Used.CPU != nil {
			b.left[cpu] -= amountOf(corev1.ResourceCPU, p.Used.CPU)
		}
	}
	if p.Limits.Memory != nil {
		b.bounded, b.left[memory] = true, amountOf(corev1.ResourceMemory, p.Limits.Memory)
		if p.Used.Memory != nil {
			b.left[memory] -= amountOf(corev1.ResourceMemory, p.Used.Memory)
		}
	}
	if p.Limits.Nodes != nil {
		b.bounded, b.nodes = true, *p.Limits.Nodes
		if p.Used.Nodes != nil {
			b.nodes -= *p.Used.Nodes
		}
	}
}

// candidate describes the new nodes that one provisioner can launch for one way of a pod, and which
// types suit.
type candidate struct {
	// cause is the kind of the reason, CauseIncompatible if it is empty.
	cause       Cause
	provisioner string
	template    string // that its nodes name
	reason      string // why there is no group
	group       *group
	types       []uint64
	zones       uint64 // that the requirements admit
	launchable  uint64 // of them, those in which one of the types can be had
	kinds       uint8
	short       []int // types that suit and are sold, but have no capacity now
	asked       uint8 // capacity types that the requirements admit
	neighbors
}

// route is one way of a pod, to nodes that there are and to new ones.
type route struct {
	way   constraints.Requirements
	zones uint64 // that the way itself admits
	kinds uint8  // the same for capacity types
	// one a provisioner, or several where daemons that pods mind run on some types alone
	candidates []*candidate
}

// router finds the new nodes that pods can have.
type router struct {
	problem    *Problem
	resources  *resourceIndex
	topologies *topologies
	catalog    *catalog
	budgets    []*budget
	// routes are by the requirements of a way, groups by what is asked for, rooms by what of it decides
	// which daemons run, and suits by the requirements that decide which types suit.
	routes map[digest]*route
	groups map[string]*group
	rooms  map[string]*room
	suits  map[digest][]int
}

// route returns a way of a pod with the candidates for new nodes.
func (r *router) route(way constraints.Requirements) *route {
	key := digestOf(way.String())
	if known, ok := r.routes[key]; ok {
		return known
	}
	named := constraints.Canonical(way)
	found := &route{
		way: way, zones: r.catalog.zonesIn(named.Get(corev1.LabelTopologyZone)),
		kinds: uint8(kindsIn(named.Get(provisioningv1.LabelCapacityType))), //nolint:gosec // a mask of capacity types
	}
	for _, b := range r.budgets {
		found.candidates = append(found.candidates, r.catalog.divided(r.candidate(b, way))...)
	}
	r.routes[key] = found
	return found
}

// digest identifies a text. Pods may have long ones, so that it is kept in their place.
type digest [sha256.Size]byte

func digestOf(text string) digest { return sha256.Sum256([]byte(text)) }

// zonesIn returns the zones of a set.
func (c *catalog) zonesIn(set constraints.Set) uint64 {
	var zones uint64
	for i, name := range c.zones {
		if set.Has(name) {
			zones |= 1 << i
		}
	}
	return zones
}

// kindsIn returns the capacity types of a set.
func kindsIn(set constraints.Set) uint64 {
	var kinds uint64
	for kind, name := range capacityTypeNames {
		if set.Has(name) {
			kinds |= 1 << kind
		}
	}
	return kinds
}

// candidate returns the new nodes of a Provisioner that suit a way, or the reason why there are none.
func (r *router) candidate(b *budget, way constraints.Requirements) *candidate {
	c := &candidate{provisioner: b.Name}
	var ask constraints.Ask
	if ask, c.reason = constraints.Resolve(&b.Provisioner.Provisioner, r.problem.Templates, way); c.reason != "" {
		return c
	}
	c.template = ask.Labels[provisioningv1.LabelLaunchTemplateName]
	c.zones = r.catalog.zonesIn(ask.Requirements.Get(corev1.LabelTopologyZone))
	kinds := uint8(kindsIn(ask.Requirements.Get(provisioningv1.LabelCapacityType))) //nolint:gosec // a mask of capacity types
	c.asked = kinds
	c.types = make([]uint64, (len(r.catalog.types)+63)/64)
	var refused []int
	suits := r.suiting(&ask)
	for _, i := range suits {
		t := &r.catalog.types[i]
		sold, free := r.catalog.launched(t, kinds, c.zones, ask.Refused)
		if sold == 0 && t.soldIn(kinds)&c.zones != 0 {
			refused = append(refused, i)
		}
		if sold&^free != 0 {
			c.short = append(c.short, i)
		}
		if free != 0 {
			c.launchable |= free
			c.kinds |= t.ofKinds(kinds, free)
			c.types[i/64] |= 1 << (i % 64)
		}
	}
	switch {
	case c.launchable != 0:
		c.group = r.groupOf(b, ask)
	case len(suits) == 0:
		c.reason = r.noneSuits(&ask, kinds)
	case len(c.short) > 0:
		c.reason, c.cause = r.catalog.noneNow(c.short, kinds, c.zones), CauseNoCapacity
	case len(refused) > 0:
		c.reason, c.cause = r.catalog.refusedAll(&ask, refused, kinds, c.zones), CauseLaunch
	default:
		c.reason = whyNotOffered(r.catalog.namesOf(suits), kinds, ask.Requirements.Get(corev1.LabelTopologyZone))
	}
	return c
}

// suiting returns the types that suit. Pods name labels that no type has, and these ask for the same types.
func (r *router) suiting(ask *constraints.Ask) []int {
	typed := constraints.Requirements{}
	for key, set := range ask.Requirements {
		switch {
		case r.catalog.labels[key]:
			typed[key] = set
		case key != corev1.LabelTopologyZone && key != provisioningv1.LabelCapacityType && !set.HasAbsence():
			return nil
		}
	}
	adapters := ask.Resources[EFA]
	key := digestOf(adapters.String() + " " + typed.String())
	suits, known := r.suits[key]
	if !known {
		of := constraints.Ask{Requirements: typed, Resources: ask.Resources}
		for i := range r.catalog.types {
			if r.catalog.types[i].Suits(&of) {
				suits = append(suits, i)
			}
		}
		r.suits[key] = suits
	}
	return suits
}

// noneSuits says that no instance type is what is asked for, or none that AWS offers where nodes
// can be.
func (r *router) noneSuits(ask *constraints.Ask, kinds uint8) string {
	if others := r.notOffered(ask); len(others) > 0 {
		return whyNotOffered(others, kinds, ask.Requirements.Get(corev1.LabelTopologyZone))
	}
	reason := "has requirements that no instance type satisfies: " + strange(ask.Requirements)
	if adapters := ask.Resources[EFA]; adapters.Value() > 0 {
		reason += fmt.Sprintf(", with %d %s", adapters.Value(), EFA)
	}
	return reason
}

// launched returns the zones, of those given, in which the type is sold, and those in which it can
// be had now, without the offerings that EC2 refuses to launch.
func (c *catalog) launched(t *catalogType, kinds uint8, within uint64, refused constraints.Refused) (sold, free uint64) {
	if len(refused) == 0 {
		return t.soldIn(kinds) & within, t.inZones(kinds) & within
	}
	for kind, name := range capacityTypeNames {
		if kinds&(1<<kind) == 0 {
			continue
		}
		for rest := t.sold[kind] & within; rest != 0; rest &= rest - 1 {
			zone := rest & -rest
			if refused.Why(constraints.Offering{InstanceType: t.Name, Zone: c.zones[bits.TrailingZeros64(zone)], CapacityType: name}) == "" {
				sold |= zone
				free |= zone & t.zones[kind]
			}
		}
	}
	return sold, free
}

// refusedAll says that EC2 launches none of some instance types from the launch template that is
// asked for.
func (c *catalog) refusedAll(ask *constraints.Ask, types []int, kinds uint8, within uint64) string {
	t := &c.types[types[0]]
	why := ""
	for kind, name := range capacityTypeNames {
		for rest := t.sold[kind] & within; rest != 0 && kinds&(1<<kind) != 0 && why == ""; rest &= rest - 1 {
			why = ask.Refused.Why(constraints.Offering{InstanceType: t.Name, Zone: c.zones[bits.TrailingZeros64(rest)], CapacityType: name})
		}
	}
	return fmt.Sprintf("needs %s, but EC2 does not launch %s from it: %s", ask.Template, some(c.namesOf(types)), strings.TrimSuffix(why, "."))
}

// namesOf returns the names of some types.
func (c *catalog) namesOf(types []int) []string {
	names := make([]string, 0, len(types))
	for _, place := range types {
		names = append(names, c.types[place].Name)
	}
	return names
}

// notOffered returns the names of types that suit, and that AWS offers in no zone where nodes can
// be.
func (r *router) notOffered(ask *constraints.Ask) []string {
	var names []string
	for i := range r.problem.NotOffered {
		if t := &r.problem.NotOffered[i]; t.Suits(ask) {
			names = append(names, t.Name)
		}
	}
	return names
}

// whyNotOffered says that AWS does not offer instance types where a node would be.
func whyNotOffered(types []string, kinds uint8, zones constraints.Set) string {
	text := "needs an instance that AWS does not offer in the required zones: " + some(types) + ", " + kindNames(kinds)
	if values, finite := zones.Values(); finite {
		text += ", in " + some(values)
	}
	return text
}

// strange describes the requirements of a type for a user.
func strange(r constraints.Requirements) string {
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(r)), func(key string) bool {
		return key == corev1.LabelTopologyZone || key == provisioningv1.LabelCapacityType
	})
	return r.Brief(keys)
}
