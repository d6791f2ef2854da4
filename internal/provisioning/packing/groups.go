package packing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// group are all nodes that are launched alike.
type group struct {
	*room
	ask         constraints.Ask
	provisioner *budget
	demand      amounts // of pods that wait, and that the group is the first choice of
	zones       uint64  // that nodes may come to be in
	kinds       uint8   // and capacity types that they may have
	nodes       []*node
	chosen      *choice // among the types, for the zones and capacity types
}

// room holds what nodes have for pods, by type. Many groups share one: pods choose the values of labels,
// which make groups but no difference to the room.
type room struct {
	free    []amounts // for pods, by type: capacity without overhead and daemons
	largest amounts   // of any type
	parts   []*part   // of the types, by the daemons that run on them
	choices map[scopeKey]*choice
}

// choice holds which types are worth considering for nodes in some zones, of some capacity types.
type choice struct {
	better [][]uint64         // for each type, the types that do as well
	types  map[string][]int32 // worth considering, by the mask of types to choose from
}

// groupOf returns the nodes of a Provisioner that are launched in the same way.
func (r *router) groupOf(b *budget, ask constraints.Ask) *group {
	key := ask.Group()
	if g, known := r.groups[key]; known {
		return g
	}
	g := &group{ask: ask, provisioner: b, demand: make(amounts, len(r.resources.names))}
	g.room = r.roomOf(g)
	r.groups[key] = g
	return g
}

// roomOf returns what the nodes of a group have for pods.
func (r *router) roomOf(g *group) *room {
	key := roomKey(g)
	if known := r.rooms[key]; known != nil {
		return known
	}
	m := &room{largest: make(amounts, len(r.resources.names)), choices: map[scopeKey]*choice{}}
	for i := range r.catalog.types {
		free := r.freeOf(g, &r.catalog.types[i])
		m.free = append(m.free, free)
		for resource := range free {
			m.largest[resource] = max(m.largest[resource], free[resource])
		}
	}
	m.parts = r.partsOf(g)
	r.rooms[key] = m
	return m
}

// roomKey returns the same text for groups with the same room: of one provisioner, with the same
// storage and extra resources, and the same values of the labels by which daemons choose nodes.
func roomKey(g *group) string {
	var key strings.Builder
	fmt.Fprintf(&key, "%s\x00%d\x00%d", g.provisioner.Name, g.ask.EphemeralStorage, len(g.ask.Resources)) // all of the provisioner's, or none
	for _, label := range g.provisioner.daemonLabels {
		if value, given := g.ask.Labels[label]; given {
			key.WriteString("\x00" + label + "=" + value)
		}
	}
	return key.String()
}

// freeOf returns what an instance of the group has left for pods.
func (r *router) freeOf(g *group, t *catalogType) amounts {
	free := slices.Clone(t.capacity)
	if g.ask.EphemeralStorage > 0 {
		free[storage] = g.ask.EphemeralStorage
	}
	free.add(r.resources.of(g.ask.Resources), 1)
	free[memory] -= hugePages(g.ask.Resources)
	free.add(t.overhead, -1)
	for _, d := range g.provisioner.daemons {
		if d.runs(g, t) {
			free.add(d.request, -1)
		}
	}
	if slices.Min(free) < 0 {
		free[pods] = 0 // it does not even hold the daemons
	}
	return free
}
