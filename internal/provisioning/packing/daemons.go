package packing

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// daemon is what counts of a pod of a daemon set.
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
			d.ways, _ = constraints.PodRequirements(&pod.Spec)
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

// settle reads what is known of a daemon once all pods have been read. One that may be on a node or not is minded by those that keep apart from it, and no help to others.
func (k *classifier) settle(d *daemon) {
	d.request = k.resources.of(podRequests(d.pod))
	d.counts = slices.Clone(k.countsOf(d.pod))
	if !d.sure {
		d.counts = slices.DeleteFunc(d.counts, func(place int32) bool { return k.topologies.all[place].relation != apart })
	}
}

// runs is true for a daemon that has a pod on nodes of the group and the type. Zone and capacity type are not known, so that one which some zone excludes counts.
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
			if given || !admits(constraints.Requirements{key: set}, t) {
				return false
			}
		}
		return true
	})
}

// neighbors are what the daemons of a new node mean to the pods that come there.
type neighbors struct {
	ports           []hostPort
	counted, owners counts  // by topologies over nodes
	crowd, keepers  []int32 // other topologies that count them, and that they keep others apart by
}

// minded are the daemons of a group that some pod may mind.
func (g *group) minded() []*daemon {
	return slices.DeleteFunc(slices.Clone(g.provisioner.daemons), func(d *daemon) bool { return len(d.ports)+len(d.counts)+len(d.reserved) == 0 })
}

// divided are parts of a candidate, each with the types on which the same daemons run, of those that some pod may mind.
func (p *packer) divided(c *candidate) []*candidate {
	if c.group == nil {
		return []*candidate{c}
	}
	minded := c.group.minded()
	if len(minded) == 0 {
		return []*candidate{c}
	}
	parts := map[string]*candidate{}
	var order []*candidate
	for place := range p.catalog.types {
		if c.types[place/64]&(1<<(place%64)) == 0 {
			continue
		}
		t := &p.catalog.types[place]
		running := slices.DeleteFunc(slices.Clone(minded), func(d *daemon) bool { return !d.runs(c.group, t) })
		key := signature(minded, running)
		part := parts[key]
		if part == nil {
			part = &candidate{
				provisioner: c.provisioner, template: c.template, group: c.group, zones: c.zones, types: make([]uint64, len(c.types)),
				neighbors: p.neighbors(running),
			}
			parts[key] = part
			order = append(order, part)
		}
		zones := t.inZones(c.kinds) & c.zones
		part.types[place/64] |= 1 << (place % 64)
		part.launchable |= zones
		part.kinds |= t.ofKinds(c.kinds, zones)
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

func (p *packer) neighbors(daemons []*daemon) neighbors {
	var n neighbors
	for _, d := range daemons {
		n.ports = append(n.ports, d.ports...)
		for _, place := range d.counts {
			if p.topologies.all[place].axis == byNode {
				n.counted.add(place, 1)
			} else {
				n.crowd = append(n.crowd, place)
			}
		}
		for _, place := range d.reserved {
			if p.topologies.all[place].axis == byNode {
				n.owners.add(place, 1)
			} else {
				n.keepers = append(n.keepers, place)
			}
		}
	}
	return n
}
