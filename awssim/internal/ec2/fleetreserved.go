package ec2

import (
	"slices"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file launches instant fleets into Capacity Reservations (SDK,
// ReservedCapacityOptionsRequest; User Guide, "Configure your EC2 Fleet to launch instances into
// interruptible Capacity Reservations", ec2-fleet-launch-instances-interruptible-cr-walkthrough).

// reservedMarkets are the market types of the instances in each type of reservation.
var reservedMarkets = map[types.FleetReservationType]types.MarketType{
	types.FleetReservationTypeOnDemandCapacityReservation:      types.MarketTypeOnDemand,
	types.FleetReservationTypeCapacityBlock:                    types.MarketTypeCapacityBlock,
	types.FleetReservationTypeInterruptibleCapacityReservation: types.MarketTypeInterruptibleCapacityReservation,
}

// checkFleetReserved holds the rules of reserved capacity. The codes are an inference.
func checkFleetReserved(in *awsec2.CreateFleetInput) error {
	target, options := in.TargetCapacitySpecification, in.ReservedCapacityOptions
	reserved := target.DefaultTargetCapacityType == types.DefaultTargetCapacityTypeReservedCapacity
	switch {
	case target.DefaultTargetCapacityType == types.DefaultTargetCapacityTypeCapacityBlock:
		return sim.Errorf("Unsupported", "The simulation's fleets use capacity reservations by ReservedCapacityOptions alone.")
	case options != nil && !reserved:
		return invalidFleet("ReservedCapacityOptions requires DefaultTargetCapacityType to be reserved-capacity.")
	case !reserved:
		return nil
	case options == nil || len(options.ReservationTypes) == 0:
		return missingParameter("ReservedCapacityOptions.ReservationType")
	case target.OnDemandTargetCapacity != nil || target.SpotTargetCapacity != nil:
		return invalidFleet("OnDemandTargetCapacity and SpotTargetCapacity are not supported with the target capacity type reserved-capacity.")
	}
	if named := options.CapacityReservationTarget; named != nil && len(named.CapacityReservationIds) > 0 && len(named.CapacityReservationResourceGroupArns) > 0 {
		return invalidCombination("Either CapacityReservationIds or CapacityReservationResourceGroupArns may be specified, but not both.")
	}
	return nil
}

// runReserved launches into each type of reservation in the order given, and what is missing then
// in the markets that the fleet falls back to. Without AllocationStrategy AWS launches "in a random
// order"; here it is the order of the request.
func (f *fleetLaunch) runReserved() error {
	options := f.fleet.request.ReservedCapacityOptions
	target := float64(val(f.fleet.request.TargetCapacitySpecification.TotalTargetCapacity))
	for _, kind := range options.ReservationTypes {
		if f.fleet.fulfilled >= target {
			return nil
		}
		if err := f.buy(f.reserved(kind, target-f.fleet.fulfilled)); err != nil {
			return err
		}
	}
	left := target - f.fleet.fulfilled
	if left <= 0 || options.ReservedCapacityFallbackOptions == nil || !slices.Contains(options.ReservedCapacityFallbackOptions.MarketTypes, types.ReservedCapacityFallbackMarketTypeOnDemand) {
		return nil
	}
	before := f.fleet.fulfilled
	outside := *f
	outside.pools = nil
	for _, p := range f.pools {
		// the rest runs in no reservation (inference: the fallback is for when those have no room)
		plain := *p
		plain.in.CapacityReservationSpecification, plain.in.InstanceMarketOptions = nil, nil
		outside.pools = append(outside.pools, &plain)
	}
	err := outside.buy(outside.onDemand(left))
	f.fleet = outside.fleet
	f.fleet.onDemand = f.fleet.fulfilled - before
	return err
}

// reserved returns the purchase from the reservations of one type, with a pool for each reservation
// that a pool of the fleet fits. The price is zero, because a reservation is already paid for.
func (f *fleetLaunch) reserved(kind types.FleetReservationType, target float64) *purchase {
	p := &purchase{
		fleetLaunch: f, lifecycle: types.InstanceLifecycle(kind), target: target, price: func(*pool) float64 { return 0 }, failed: map[failure]bool{},
		keepsMarket: true,
	}
	var pools []*pool
	for _, from := range p.possible() {
		found := f.state.capacities.matching(f.fleet.request.ReservedCapacityOptions, from, reservedMarkets[kind])
		if len(found) == 0 {
			p.empty = append(p.empty, from)
		}
		for _, c := range found {
			into := *from
			into.in = shape.Clone(from.in)
			into.in.CapacityReservationSpecification = &types.CapacityReservationSpecification{CapacityReservationTarget: &types.CapacityReservationTarget{CapacityReservationId: ptr(c.ID)}}
			into.in.InstanceMarketOptions = nil
			if c.Market() != types.MarketTypeOnDemand {
				into.in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: c.Market()}
			}
			pools = append(pools, &into)
		}
	}
	p.offers = offers(pools, target, p.price)
	if f.fleet.request.ReservedCapacityOptions.AllocationStrategy == types.ReservedCapacityAllocationStrategyPrioritized {
		slices.SortStableFunc(p.offers, byPriority)
	}
	return p
}
