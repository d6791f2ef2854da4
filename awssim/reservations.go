package awssim

import (
	"fmt"
	"net/http"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// CapacityReservation is EC2 capacity that an account has bought: On-Demand, or as a Capacity
// Block.
type CapacityReservation = ec2.CapacityReservation

// SetCapacityReservation creates a Capacity Reservation of an account in a region, as if it had
// been bought, or changes the one of that ID. It fails if the world has no such region, or if the
// reservation could not be bought.
func (r Region) SetCapacityReservation(reservation CapacityReservation) error {
	if err := r.do(func(held *sim.Region) error { return ec2.SetCapacityReservation(held, reservation) }); err != nil {
		return fmt.Errorf("setting a capacity reservation: %w", err)
	}
	return nil
}

func (c control) postReservations(r *http.Request) (any, error) {
	type request struct {
		Account string `json:"account"`
		Region  string `json:"region"`
		CapacityReservation
	}
	in, err := readJSON[request](r)
	if err != nil {
		return nil, err
	}
	region := c.region(in.Account, in.Region)
	return nil, region.SetCapacityReservation(in.CapacityReservation)
}
