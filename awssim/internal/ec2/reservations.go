package ec2

import (
	"fmt"
	"slices"
	"strings"
	"time"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// SetCapacityReservation makes a reservation, or changes the one of that id. It fails if it is none
// that could be bought. Only for code under the kernel's lock.
func SetCapacityReservation(r *sim.Region, c CapacityReservation) error {
	s := stateOf(r)
	if err := s.capacities.check(c); err != nil {
		return fmt.Errorf("capacity reservation %q: %w", c.ID, err)
	}
	s.capacities.Put(c.ID, c)
	if c.Block {
		ending := c.End.Add(-blockEnding)
		s.kernel.After(max(ending.Sub(s.kernel.Now()), 0), func() { endBlock(s, c.ID, c.End) })
	}
	return nil
}

// LookupCapacityReservation returns the reservation of that id as it is now.
func LookupCapacityReservation(r *sim.Region, id string) (CapacityReservation, bool) {
	return stateOf(r).capacities.Get(id)
}

// OpenReservations returns the reservations that have one of the ids, or are in one of the resource
// groups, and have room left, by id. Only for code under the kernel's lock.
func OpenReservations(r *sim.Region, ids, groups []string) []CapacityReservation {
	s := stateOf(r)
	var open []CapacityReservation
	for _, c := range s.capacities.All() {
		if named := slices.Contains(ids, c.ID) || c.ResourceGroup != "" && slices.Contains(groups, c.ResourceGroup); named && s.capacities.reservationLeft(c) > 0 {
			open = append(open, c)
		}
	}
	slices.SortFunc(open, func(a, b CapacityReservation) int { return strings.Compare(a.ID, b.ID) })
	return open
}

// endBlock terminates the instances in a Capacity Block that is about to expire, unless the end has
// been moved.
func endBlock(s *state, id string, end time.Time) {
	if c, ok := s.capacities.Get(id); !ok || !c.End.Equal(end) {
		return
	}
	for _, i := range s.instances.All() {
		if val(i.api.CapacityReservationId) == id {
			s.instances.terminate(i, userInitiated)
		}
	}
}

var reservationListing = listing[types.CapacityReservation]{
	kind: reservationID, id: func(c types.CapacityReservation) string { return *c.CapacityReservationId }, pages: pageLimits{min: 1, max: 1000},
	filters: filterTable[types.CapacityReservation]{
		"availability-zone": func(c types.CapacityReservation) []string { return text(c.AvailabilityZone) },
		"end-date":          func(c types.CapacityReservation) []string { return instant(c.EndDate) },
		"end-date-type":     func(c types.CapacityReservation) []string { return enum(c.EndDateType) },
		"instance-match-criteria": func(c types.CapacityReservation) []string {
			return enum(c.InstanceMatchCriteria)
		},
		"instance-platform": func(c types.CapacityReservation) []string { return enum(c.InstancePlatform) },
		"instance-type":     func(c types.CapacityReservation) []string { return text(c.InstanceType) },
		"owner-id":          func(c types.CapacityReservation) []string { return text(c.OwnerId) },
		// UG capacity-blocks-view
		"reservation-type": func(c types.CapacityReservation) []string { return enum(c.ReservationType) },
		"start-date":       func(c types.CapacityReservation) []string { return instant(c.StartDate) },
		"state":            func(c types.CapacityReservation) []string { return enum(c.State) },
		"tenancy":          func(c types.CapacityReservation) []string { return enum(c.Tenancy) },
		"outpost-arn":      func(c types.CapacityReservation) []string { return text(c.OutpostArn) },
		"placement-group-arn": func(c types.CapacityReservation) []string {
			return text(c.PlacementGroupArn)
		},
	},
}

func describeCapacityReservations(c *sim.Call, in *awsec2.DescribeCapacityReservationsInput) (*awsec2.DescribeCapacityReservationsOutput, error) {
	s := stateOf(c.Region)
	var all []types.CapacityReservation
	for _, reservation := range s.capacities.VisibleAll() {
		all = append(all, s.capacities.describe(reservation))
	}
	found, next, err := reservationListing.read(all, query{ids: in.CapacityReservationIds, filters: in.Filters, maxResults: in.MaxResults, nextToken: in.NextToken, dryRun: in.DryRun})
	if err != nil {
		return nil, err
	}
	return &awsec2.DescribeCapacityReservationsOutput{CapacityReservations: found, NextToken: next}, nil
}
