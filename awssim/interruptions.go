package awssim

import (
	"fmt"
	"net/http"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// InterruptSpotInstance has EC2 take a Spot Instance of an account in a region back: EventBridge
// gets the warning at once, and two minutes later the instance is terminated. It fails if the world
// has no such region, or there is no such Spot Instance that is pending or running.
func (s *Simulator) InterruptSpotInstance(account, region, instance string) error {
	return s.toSpotInstance(account, region, instance, "interrupting", ec2.InterruptSpotInstance)
}

// RecommendRebalance has EC2 say that a Spot Instance is at elevated risk of interruption; nothing
// else happens to it. It fails like InterruptSpotInstance.
func (s *Simulator) RecommendRebalance(account, region, instance string) error {
	return s.toSpotInstance(account, region, instance, "recommending to rebalance", ec2.RecommendRebalance)
}

func (s *Simulator) toSpotInstance(account, region, instance, what string, f func(*sim.Region, string) error) error {
	var failure error
	err := s.kernel.InRegion(account, region, func(r *sim.Region) { failure = f(r, instance) })
	if err == nil {
		err = failure
	}
	if err != nil {
		return fmt.Errorf("%s instance %q: %w", what, instance, err)
	}
	return nil
}

func (s *Simulator) postInterruptions(r *http.Request) (any, error) {
	type request struct {
		Account   string `json:"account"`
		Region    string `json:"region"`
		Instance  string `json:"instance"`
		Rebalance bool   `json:"rebalance"`
	}
	order, err := readJSON[request](r)
	if err != nil {
		return nil, err
	}
	account, region := s.place(order.Account, order.Region)
	if order.Rebalance {
		return nil, s.RecommendRebalance(account, region, order.Instance)
	}
	return nil, s.InterruptSpotInstance(account, region, order.Instance)
}
