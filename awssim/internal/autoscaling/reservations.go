package autoscaling

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/list"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file decides which launches go into the Capacity Reservations that a group names.
// Reservations that the launch template names are not considered here.

// capacityTypes are the markets of the types of capacity that a distribution segment lists (SDK
// DistributionSegment).
var capacityTypes = map[types.TargetCapacityType]ec2types.MarketType{
	types.TargetCapacityTypeOnDemandCapacityReservation:      ec2types.MarketTypeOnDemand,
	types.TargetCapacityTypeCapacityBlock:                    ec2types.MarketTypeCapacityBlock,
	types.TargetCapacityTypeInterruptibleCapacityReservation: ec2types.MarketTypeInterruptibleCapacityReservation,
}

// reservedFirst returns the options of a launch with those into the group's reservations before
// those into none (SDK CapacityReservationSpecification). Options are ordered by zone, so that a
// group stays balanced over its zones although another one has the reservations: "prioritizes
// Availability Zone balance" (UG use-ec2-capacity-reservations, "Availability Zone balance and
// Capacity Reservations"). The strategy reservations-then-balanced, and distribution segments, go
// by reservation first.
func (p *launchPlanner) reservedFirst(g *group, config configuration, plain []option, spot bool) ([]option, error) {
	if segments := config.segments(); len(segments) > 0 {
		return p.bySegment(g, segments, plain)
	}
	spec := g.reservation
	if spot || spec == nil || spec.CapacityReservationTarget == nil {
		return plain, nil
	}
	only := spec.CapacityReservationPreference == types.CapacityReservationPreferenceCapacityReservationsOnly
	if !only && spec.CapacityReservationPreference != types.CapacityReservationPreferenceCapacityReservationsFirst {
		return plain, nil
	}
	reserved := p.intoReservations(g, plain, ec2types.MarketTypeOnDemand)
	switch {
	case only && len(reserved) == 0:
		return nil, errNoReservation
	case only:
		return reserved, nil
	case g.reservationsThenBalanced():
		return append(reserved, plain...), nil
	}
	return byZone(plain, append(reserved, plain...)), nil
}

func (n *settings) reservationsThenBalanced() bool {
	return n.distribution != nil && n.distribution.CapacityDistributionStrategy == types.CapacityDistributionStrategyReservationsThenBalanced
}

// outOfBalance reports whether an instance does not count where zones are balanced:
// reservations-then-balanced balances "any remaining capacity" (SDK AvailabilityZoneDistribution).
// That this holds for distribution segments too is an inference: what they order would be undone
// otherwise.
func (n *settings) outOfBalance(m *member) bool {
	return m.reservation != "" && (n.reservationsThenBalanced() || len(n.config.segments()) > 0)
}

// bySegment returns the options in the order of the types of capacity that the segments list.
func (p *launchPlanner) bySegment(g *group, segments []types.DistributionSegment, plain []option) ([]option, error) {
	var ordered []option
	for _, segment := range segments {
		for _, kind := range segment.TargetCapacityTypes {
			if kind == types.TargetCapacityTypeOnDemand {
				ordered = append(ordered, plain...)
				continue
			}
			ordered = append(ordered, p.intoReservations(g, plain, capacityTypes[kind])...)
		}
	}
	if len(ordered) == 0 {
		return nil, errNoReservation
	}
	return ordered, nil
}

// intoReservations returns the options that fit reservations of a market which have room, each
// launching into one.
func (p *launchPlanner) intoReservations(g *group, plain []option, market ec2types.MarketType) []option {
	target := g.reservation.CapacityReservationTarget
	open := ec2.OpenReservations(p.region, target.CapacityReservationIds, target.CapacityReservationResourceGroupArns)
	var reserved []option
	for _, o := range plain {
		instanceType := o.choice.InstanceType
		if instanceType == "" {
			instanceType = string(o.template.data.InstanceType)
		}
		for _, c := range open {
			if c.InstanceType == instanceType && c.Zone == o.place.Zone && c.Market() == market {
				into := o
				into.market, into.reservation = market, c.ID
				reserved = append(reserved, into)
			}
		}
	}
	return reserved
}

// byZone returns options in the order in which zones appear in the plain ones, and within a zone in
// the order given.
func byZone(plain, options []option) []option {
	var ordered []option
	var seen []string
	for _, p := range plain {
		if zone := p.place.Zone; !slices.Contains(seen, zone) {
			seen = append(seen, zone)
			ordered = append(ordered, list.Filter(options, func(o option) bool { return o.place.Zone == zone })...)
		}
	}
	return ordered
}

// errNoReservation is the error of a launch into reservations that are full, or that do not fit
// (EC2's error codes, "ReservationCapacityExceeded").
var errNoReservation = sim.Errorf("ReservationCapacityExceeded",
	"The requested reservation does not have sufficient compatible and available capacity for this request.")

// segments returns the distribution segments of the configuration.
func (c configuration) segments() []types.DistributionSegment {
	if c.mixed == nil {
		return nil
	}
	return c.mixed.InstancesDistribution.DistributionSegments
}

// checkSegments refuses distribution segments that name no type of capacity, and those without a
// resource group to find reservations in (UG use-distribution-segments). That there is one segment
// at most, that types are listed once, and all words are inferences.
func checkSegments(segments []types.DistributionSegment, d *types.InstancesDistribution) error {
	if len(segments) == 0 {
		return nil
	}
	if len(segments) > 1 {
		return invalid("You can specify a maximum of 1 distribution segment.")
	}
	if d.OnDemandBaseCapacity != nil || d.OnDemandPercentageAboveBaseCapacity != nil {
		return invalid("You cannot specify DistributionSegments together with OnDemandBaseCapacity or OnDemandPercentageAboveBaseCapacity.")
	}
	kinds := segments[0].TargetCapacityTypes
	if len(kinds) == 0 {
		return required("mixedInstancesPolicy.instancesDistribution.distributionSegments.member.targetCapacityTypes")
	}
	for i, kind := range kinds {
		if !slices.Contains(kind.Values(), kind) {
			return notInEnum("mixedInstancesPolicy.instancesDistribution.distributionSegments.member.targetCapacityTypes", kind, kind.Values())
		}
		if slices.Contains(kinds[:i], kind) {
			return invalid("Duplicate target capacity type: %s", kind)
		}
	}
	return nil
}
