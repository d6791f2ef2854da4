package eks

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// Nodegroup is a managed node group with its updates, the oldest first.
type Nodegroup struct {
	types.Nodegroup
	Updates []types.Update
}

// Nodegroups returns all node groups as they are now, in the order of their creation. Only code that
// holds the kernel's lock may call it.
func Nodegroups(r *sim.Region) []Nodegroup {
	s := regional(r)
	var found []Nodegroup
	for _, key := range sortedKeys(s.groups.byKey) {
		g := s.groups.byKey[key]
		shown := Nodegroup{Nodegroup: *s.groups.describe(g)}
		for _, u := range g.history {
			shown.Updates = append(shown.Updates, *u.view)
		}
		found = append(found, shown)
	}
	slices.SortStableFunc(found, func(a, b Nodegroup) int { return cmp.Compare(a.CreatedAt.UnixNano(), b.CreatedAt.UnixNano()) })
	return found
}
