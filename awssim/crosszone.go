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
func (s *Simulator) SetCrossZone(account, region, targetGroup string, enabled bool) error {
	if err := s.kernel.InRegion(account, region, func(r *sim.Region) { autoscaling.SetCrossZone(r, targetGroup, enabled) }); err != nil {
		return fmt.Errorf("setting cross-zone load balancing of %q: %w", targetGroup, err)
	}
	return nil
}

func (s *Simulator) postCrossZone(r *http.Request) (any, error) {
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
	account, region := s.place(in.Account, in.Region)
	return nil, s.SetCrossZone(account, region, in.TargetGroup, in.Enabled)
}
