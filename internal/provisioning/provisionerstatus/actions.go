package provisionerstatus

import (
	"fmt"
	"strings"
)

// The actions on ProvisionedNodes, by name.
type (
	// allowDisruptions lets nodes be disrupted for the reasons that they ask for.
	allowDisruptions struct{ Nodes []allowance }
	// revokeDisruptions takes back what allowDisruptions did.
	revokeDisruptions struct{ Nodes []string }
	// markDrifted requests the replacement of nodes. The controller of nodes does the rest.
	markDrifted struct {
		// Why is how they differ from nodes that would be launched now.
		Why   string
		Nodes []string
	}
	// unmarkDrifted takes back what markDrifted did.
	unmarkDrifted struct{ Nodes []string }
	deleteNodes   struct{ Nodes []string }
)

// allowance is a node and the reason for which it may be disrupted.
type allowance struct{ Node, Reason string }

// The actions on default launch templates, by variant.
type (
	// ensureDefault reads a default launch template, and creates it or a version of it if there is none
	// for the spec.
	ensureDefault struct{ Variant string }
	pruneDefault  struct{ Variant string }
	// deleteDefaults deletes the default launch templates of all variants.
	deleteDefaults struct{}
)

// countDrifted shows in the metrics how many drifted nodes wait for their replacement. It changes
// nothing in Kubernetes or AWS.
type countDrifted struct{ Nodes int }

func (a allowDisruptions) String() string {
	names := make([]string, len(a.Nodes))
	for i, node := range a.Nodes {
		names[i] = node.Node
	}
	return "allow the disruption of " + nodesOf(names)
}

func (r revokeDisruptions) String() string { return "forbid the disruption of " + nodesOf(r.Nodes) }
func (m markDrifted) String() string       { return "request the replacement of " + nodesOf(m.Nodes) }
func (u unmarkDrifted) String() string     { return "keep " + nodesOf(u.Nodes) }
func (d deleteNodes) String() string       { return "delete " + nodesOf(d.Nodes) }
func (e ensureDefault) String() string     { return "ensure the default launch template for " + e.Variant }
func (p pruneDefault) String() string {
	return "prune versions of the default launch template for " + p.Variant
}
func (deleteDefaults) String() string { return "delete the default launch templates" }
func (c countDrifted) String() string { return fmt.Sprintf("count %d drifted nodes", c.Nodes) }

// nodesOf names nodes.
func nodesOf(names []string) string {
	if len(names) == 1 {
		return "ProvisionedNode " + names[0]
	}
	return fmt.Sprintf("%d ProvisionedNodes: %s", len(names), strings.Join(names, ", "))
}
