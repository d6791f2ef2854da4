package awssim

import (
	"fmt"
	"net/http"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// SetCrossZone says whether the load balancer of a target group, of an account in a region, sends
// traffic from one zone to targets in others, as it does by default. It fails if the world has no
// such region.
func (r Region) SetCrossZone(targetGroup string, enabled bool) error {
	if err := r.do(func(held *sim.Region) error { autoscaling.SetCrossZone(held, targetGroup, enabled); return nil }); err != nil {
		return fmt.Errorf("setting cross-zone load balancing of %q: %w", targetGroup, err)
	}
	return nil
}

func (c control) postCrossZone(r *http.Request) (any, error) {
	type request struct {
		Account     string `json:"account"`
		Region      string `json:"region"`
		TargetGroup string `json:"targetGroup"`
		Enabled     bool   `json:"enabled"`
	}
	in, err := readJSON[request](r)
	if err != nil {
		return nil, err
	}
	region := c.region(in.Account, in.Region)
	return nil, region.SetCrossZone(in.TargetGroup, in.Enabled)
}
