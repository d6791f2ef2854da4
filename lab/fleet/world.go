package fleet

import (
	"maps"

	"github.com/slipway-project/slipway/awssim/world"
)

// groups is the number of Auto Scaling groups that the accounts of World may have, and of node
// groups that a cluster of theirs may have.
const groups = 5000

// World returns the default world, of accounts that have asked AWS for more Auto Scaling groups
// than the 500 and more node groups than the 30 that it gives by default (AWS:
// ec2-auto-scaling-quotas, eks service-quotas; both are adjustable).
func World() *world.World {
	raised := *world.Default()
	raised.Quotas = maps.Clone(raised.Quotas)
	if raised.Quotas == nil {
		raised.Quotas = map[string]int{}
	}
	raised.Quotas[world.QuotaAutoScalingGroups], raised.Quotas[world.QuotaNodeGroups] = groups, groups
	return &raised
}
