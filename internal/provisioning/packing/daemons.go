package packing

import (
	"maps"
	"math/bits"
	"slices"

	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// daemon holds what counts of a pod of a daemon set.
type daemon struct {
	pod      *corev1.Pod
	ways     []constraints.Requirements
	request  amounts
	ports    []hostPort
	counts   []int32 // topologies that count it
	reserved []int32 // topologies that it keeps others apart by
	sure     bool    // the type decides whether it runs on a node, and not the node's zone or capacity type
}

// daemons reads pods of daemon sets, each once.
func (k *classifier) daemons(pods []*corev1.Pod, known map[*corev1.Pod]*daemon) []*daemon {
	var all []*daemon
	for _, pod := range pods {
		d := known[pod]
		if d == nil {
			d = &daemon{pod: pod, ports: hostPorts(pod), reserved: k.reservedOf(pod)}
			d.ports = d.ports[:min(len(d.ports), maxHostPorts)]
			ways, _ := constraints.PodRequirements(&pod.Spec)
			for _, way := range ways {
				d.ways = append(d.ways, constraints.Canonical(way))
			}
			d.sure = !slices.ContainsFunc(d.ways, func(way constraints.Requirements) bool {
				_, zone := way[corev1.LabelTopologyZone]
				_, kind := way[provisioningv1.LabelCapacityType]
				return zone || kind
			})
			known[pod] = d
		}
		all = append(all, d)
	}
	return all
}

// labelsOf returns the keys of the labels by which daemons choose nodes.
func labelsOf(daemons []*daemon) []string {
	keys := map[string]bool{}
	for _, d := range daemons {
		for _, way := range d.ways {
			for key := range way {
				keys[key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// settle reads the properties of a daemon once all pods have been read. Pods that keep apart from a
// daemon heed it even if it may not run on the node; it does not help other pods.
func (k *classifier) settle(d *daemon) {
	d.request = k.resources.of(podRequests(d.pod, nil))
	d.counts = slices.Clone(k.countsOf(d.pod))
	if !d.sure {
		d.counts = slices.DeleteFunc(d.counts, func(place int32) bool { return k.topologies.all[place].relation != apart })
	}
}

// runs reports whether a daemon has a pod on nodes of the group and the type. Zone and capacity
// type are not known, so a daemon that some zone excludes counts.
func (d *daemon) runs(g *group, t *catalogType) bool {
	if tolerated, _ := constraints.Tolerates(&d.pod.Spec, g.ask.Taints); !tolerated {
		return false
	}
	return slices.ContainsFunc(d.ways, func(way constraints.Requirements) bool {
		for key, set := range way {
			value, given := g.ask.Labels[key]
			if key == corev1.LabelHostname || given && set.Has(value) {
				continue
			}
			if given || !t.admitted(constraints.Requirements{key: set}) {
				return false
			}
		}
		return true
	})
}

// neighbors holds how the daemons of a new node affect the pods that come there.
type neighbors struct {
	ports           []hostPort
	counted, owners counts  // by topologies over nodes
	crowd, keepers  []int32 // other topologies that count them, and that they keep others apart by
}

// part holds the types of a group on which the same daemons run, considering only daemons that some
// pod may mind.
type part struct {
	types []uint64
	neighbors
}

// partsOf divides the types for a group.
func (r *router) partsOf(g *group) []*part {
	minded := slices.DeleteFunc(slices.Clone(g.provisioner.daemons), func(d *daemon) bool { return len(d.ports)+len(d.counts)+len(d.reserved) == 0 })
	parts := map[string]*part{}
	var order []*part
	for place := range r.catalog.types {
		running := slices.DeleteFunc(slices.Clone(minded), func(d *daemon) bool { return !d.runs(g, &r.catalog.types[place]) })
		key := signature(minded, running)
		if parts[key] == nil {
			parts[key] = &part{make([]uint64, (len(r.catalog.types)+63)/64), r.topologies.neighbors(running)}
			order = append(order, parts[key])
		}
		parts[key].types[place/64] |= 1 << (place % 64)
	}
	return order
}

func signature(all, running []*daemon) string {
	b := make([]byte, len(all))
	for i, d := range all {
		if slices.Contains(running, d) {
			b[i] = 1
		}
	}
	return string(b)
}

// divided splits a candidate by the parts of its group.
func (c *catalog) divided(of *candidate) []*candidate {
	if of.group == nil {
		return []*candidate{of}
	}
	var shares []*candidate
	for _, part := range of.group.parts {
		share := *of
		share.neighbors = part.neighbors
		if len(of.group.parts) > 1 && !c.narrow(&share, part.types) {
			continue
		}
		shares = append(shares, &share)
	}
	return shares
}

// narrow leaves a candidate some types, and is false if there are none.
func (c *catalog) narrow(of *candidate, to []uint64) bool {
	all, admitted := of.types, of.kinds
	of.types, of.launchable, of.kinds = make([]uint64, len(all)), 0, 0
	for word := range all {
		of.types[word] = all[word] & to[word]
		for rest := of.types[word]; rest != 0; rest &= rest - 1 {
			t := &c.types[word*64+bits.TrailingZeros64(rest)]
			zones := t.inZones(admitted) & of.zones
			of.launchable |= zones
			of.kinds |= t.ofKinds(admitted, zones)
		}
	}
	return of.launchable != 0
}

func (s *topologies) neighbors(daemons []*daemon) neighbors {
	var n neighbors
	for _, d := range daemons {
		n.ports = append(n.ports, d.ports...)
		for _, place := range d.counts {
			if s.all[place].axis == byNode {
				n.counted.add(place, 1)
			} else {
				n.crowd = append(n.crowd, place)
			}
		}
		for _, place := range d.reserved {
			if s.all[place].axis == byNode {
				n.owners.add(place, 1)
			} else {
				n.keepers = append(n.keepers, place)
			}
		}
	}
	return n
}
