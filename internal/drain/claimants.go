package drain

import (
	"cmp"
	"context"
	"slices"
)

// nodesPerLook bounds how many Nodes of one instance one look drains.
const nodesPerLook = 16

// Claimants are the Nodes that name one instance. Its pods leave only if its own Node is drained, and
// any of them may be that Node, so the instance is empty only once all of them were. However many
// Nodes another user creates, each has its turn, and the likeliest has it in every look.
type Claimants struct {
	names []string
	// next is the index, after the likeliest Node, at which the next look begins. empty counts the Nodes
	// that were empty in a row.
	next, empty int
}

// ClaimantsOf returns the claimants of an instance by their names. Likeliest is the name that its own Node
// should have, "" if it is not known.
func ClaimantsOf(names []string, likeliest string) Claimants {
	names = slices.Clone(names)
	slices.SortStableFunc(names, func(a, b string) int {
		switch likeliest {
		case a:
			return -1
		case b:
			return 1
		}
		return 0
	})
	return Claimants{names: names}
}

// Names returns the names of the Nodes, the likeliest first.
func (c *Claimants) Names() []string { return c.names }

// Look does the same as Look for some Nodes of an instance, and returns the progress of the one
// that has the longest way to go. It is empty once all Nodes were.
func (c *Claimants) Look(ctx context.Context, api API, providerID string) (Progress, error) {
	last, failed := Look(ctx, api, c.names[0], providerID)
	others := c.names[1:]
	for range min(len(others), nodesPerLook-1) {
		progress, err := Look(ctx, api, others[c.next], providerID)
		failed = cmp.Or(failed, err)
		c.next, c.empty = (c.next+1)%len(others), c.empty+1
		if err != nil || !progress.Empty {
			c.empty = 0
		}
		if last.Empty && (!progress.Empty || last.Gone) {
			last = progress
		}
	}
	if left := len(others) - c.empty; last.Empty && left > 0 {
		last.Empty, last.Unchecked = false, left
	}
	return last, failed
}
