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

// EndInstance terminates an instance that is pending or running for a reason of EC2's or of its own:
// Client.InternalError, Client.VolumeLimitExceeded and Client.InvalidSnapshot.NotFound (its volumes
// cannot be created), Server.InternalError and Server.InsufficientInstanceCapacity (EC2 cannot launch
// it), or Client.InstanceInitiatedShutdown. It fails for another reason or instance.
func (r Region) EndInstance(instance, reason string) error {
	if err := r.do(func(held *sim.Region) error { return ec2.EndInstance(held, instance, reason) }); err != nil {
		return fmt.Errorf("ending instance %q: %w", instance, err)
	}
	return nil
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
		Reason    string `json:"reason"`
	}
	order, err := readJSON[request](r)
	if err != nil {
		return nil, err
	}
	region := c.region(order.Account, order.Region)
	switch {
	case order.Reason != "":
		return nil, region.EndInstance(order.Instance, order.Reason)
	case order.Rebalance:
		return nil, region.RecommendRebalance(order.Instance)
	}
	return nil, region.InterruptSpotInstance(order.Instance)
}
