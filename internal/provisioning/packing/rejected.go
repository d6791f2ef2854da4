package packing

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"

	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// Rejection classifies why nothing is launched of an offering for a pod.
type Rejection string

// The classes of reasons. An offering that several reject has the first of them.
const (
	RejectedByTaints       Rejection = "Taints"
	RejectedByArchitecture Rejection = "Architecture"
	RejectedByInstanceType Rejection = "InstanceType"
	RejectedByZone         Rejection = "Zone"
	RejectedByCapacityType Rejection = "CapacityType"
	RejectedByEC2          Rejection = "LaunchRefused"
	RejectedByCapacity     Rejection = "NoCapacity"
	RejectedBySize         Rejection = "TooSmall"
	RejectedByLimits       Rejection = "Limits"
	RejectedByPlacement    Rejection = "Placement"
)

// Rejected are the offerings of which a Provisioner launches nothing for pods without a place, for one class of
// reasons.
type Rejected struct {
	Provisioner string
	Reason      Rejection
	// Offerings is how many are rejected for at least one of the pods, and Example the first of them by name.
	Offerings int
	Example   constraints.Offering
	// Pod is the first pod, by namespace and name, that they are rejected for.
	Pod *corev1.Pod
}

// mostExplained bounds the classes of pods whose offerings are counted. Pods of one class ask for the same.
const mostExplained = 10

// place identifies an offering in the catalog.
type place struct{ typ, zone, kind int }

// rejections are the offerings that are counted, by Provisioner and class of reasons.
type rejections map[rejectionKey]*rejection

type rejectionKey struct {
	provisioner string
	reason      Rejection
}

type rejection struct {
	offerings map[place]bool
	pod       *corev1.Pod
}

func (r rejections) add(provisioner string, reason Rejection, at place, pod *corev1.Pod) {
	key := rejectionKey{provisioner, reason}
	if r[key] == nil {
		r[key] = &rejection{offerings: map[place]bool{}, pod: pod}
	}
	r[key].offerings[at] = true
	if comparePods(pod, r[key].pod) < 0 {
		r[key].pod = pod
	}
}

// rejected counts, for classes with pods that have no place, the offerings of each Provisioner by why none of
// them is launched. A Provisioner that cannot launch for a pod at all is left out: the pod's reason names it.
func (p *packer) rejected(left []*class) []Rejected {
	counted := rejections{}
	for _, c := range left[:min(len(left), mostExplained)] {
		if c.reason != "" || len(c.ways) == 0 {
			continue
		}
		r := p.router.route(c.ways[len(c.ways)-1])
		for _, b := range p.router.budgets {
			if ask, reason := constraints.Resolve(&b.Provisioner.Provisioner, p.router.problem.Templates, r.way); reason == "" {
				p.reject(counted, c, r, b, &ask)
			}
		}
	}
	all := make([]Rejected, 0, len(counted))
	for key, one := range counted {
		all = append(all, Rejected{
			Provisioner: key.provisioner, Reason: key.reason, Offerings: len(one.offerings), Pod: one.pod, Example: p.catalog.example(one.offerings),
		})
	}
	slices.SortFunc(all, func(a, b Rejected) int {
		return cmp.Or(cmp.Compare(a.Provisioner, b.Provisioner), cmp.Compare(b.Offerings, a.Offerings), cmp.Compare(a.Reason, b.Reason))
	})
	return all
}

// example returns the first offering by name.
func (c *catalog) example(offerings map[place]bool) constraints.Offering {
	named := func(at place) constraints.Offering {
		return constraints.Offering{InstanceType: c.types[at.typ].Name, Zone: c.zones[at.zone], CapacityType: capacityTypeNames[at.kind]}
	}
	first := slices.MinFunc(slices.Collect(maps.Keys(offerings)), func(a, b place) int {
		x, y := named(a), named(b)
		return cmp.Or(cmp.Compare(x.InstanceType, y.InstanceType), cmp.Compare(x.Zone, y.Zone), cmp.Compare(x.CapacityType, y.CapacityType))
	})
	return named(first)
}

// reject counts the offerings of one Provisioner for one class.
func (p *packer) reject(counted rejections, c *class, r *route, b *budget, ask *constraints.Ask) {
	var g *group
	for _, candidate := range r.candidates {
		if candidate.provisioner == b.Name && candidate.group != nil {
			g = candidate.group
		}
	}
	tolerated := true
	if g != nil {
		tolerated = c.tolerates(g)
	}
	wanted := asked{ask: ask, zones: p.catalog.zonesIn(ask.Requirements.Get(corev1.LabelTopologyZone)), kinds: kindsIn(ask.Requirements.Get(provisioningv1.LabelCapacityType))}
	if c.zones != nil {
		wanted.zones &= p.catalog.mask(c.zones)
	}
	empty := make(amounts, len(p.resources.names))
	for i := range p.catalog.types {
		t := &p.catalog.types[i]
		fits := g == nil || times(g.free[i], empty, c.request, 1) > 0
		for kind := range t.sold {
			for rest := t.sold[kind]; rest != 0; rest &= rest - 1 {
				at := place{i, bits.TrailingZeros64(rest), kind}
				reason := wanted.rejects(p.catalog, t, at)
				switch {
				case !tolerated:
					reason = RejectedByTaints
				case reason != "":
				case !fits:
					reason = RejectedBySize
				case b.bounded:
					reason = RejectedByLimits
				default:
					reason = RejectedByPlacement
				}
				counted.add(b.Name, reason, at, c.pods[c.placed])
			}
		}
	}
}

// asked holds the requirements of a pod and a Provisioner together.
type asked struct {
	ask   *constraints.Ask
	zones uint64
	kinds uint64
}

// rejects returns why an offering is not what is asked for, or cannot be had now; "" if it can.
func (a *asked) rejects(c *catalog, t *catalogType, at place) Rejection {
	switch {
	case !a.ask.Requirements.Get(corev1.LabelArchStable).Has(t.Architecture):
		return RejectedByArchitecture
	case !t.Suits(a.ask):
		return RejectedByInstanceType
	case a.zones&(1<<at.zone) == 0:
		return RejectedByZone
	case a.kinds&(1<<at.kind) == 0:
		return RejectedByCapacityType
	case a.ask.Refused.Why(constraints.Offering{InstanceType: t.Name, Zone: c.zones[at.zone], CapacityType: capacityTypeNames[at.kind]}) != "":
		return RejectedByEC2
	case t.zones[at.kind]&(1<<at.zone) == 0:
		return RejectedByCapacity
	}
	return ""
}
