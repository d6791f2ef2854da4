package fleet

import (
	"maps"

	"github.com/slipway-project/slipway/awssim/world"
)

// groups is how many Auto Scaling groups the accounts of World may have.
const groups = 5000

// World is the default world, of accounts that have asked AWS for more Auto Scaling groups than the 500 that it gives by default
// (AWS: ec2-auto-scaling-quotas; the quota is adjustable).
func World() *world.World {
	raised := *world.Default()
	raised.Quotas = maps.Clone(raised.Quotas)
	if raised.Quotas == nil {
		raised.Quotas = map[string]int{}
	}
	raised.Quotas[world.QuotaAutoScalingGroups] = groups
	return &raised
}
