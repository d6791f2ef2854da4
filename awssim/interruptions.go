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
func (r Region) InterruptSpotInstance(instance string) error {
	return r.toSpotInstance(instance, "interrupting", ec2.InterruptSpotInstance)
}

// RecommendRebalance has EC2 say that a Spot Instance is at elevated risk of interruption; nothing
// else happens to it. It fails like InterruptSpotInstance.
func (r Region) RecommendRebalance(instance string) error {
	return r.toSpotInstance(instance, "recommending to rebalance", ec2.RecommendRebalance)
}

func (r Region) toSpotInstance(instance, what string, f func(*sim.Region, string) error) error {
	if err := r.do(func(held *sim.Region) error { return f(held, instance) }); err != nil {
		return fmt.Errorf("%s instance %q: %w", what, instance, err)
	}
	return nil
}

func (c control) postInterruptions(r *http.Request) (any, error) {
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
	region := c.region(order.Account, order.Region)
	if order.Rebalance {
		return nil, region.RecommendRebalance(order.Instance)
	}
	return nil, region.InterruptSpotInstance(order.Instance)
}
