package ec2

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// CapacityReservation is capacity for instances of one type in one zone that somebody has bought:
// by the hour (On-Demand), or as a Capacity Block. It takes instances that name it alone
// (InstanceMatchCriteria targeted), on Linux and of default tenancy. Setting one stands for
// CreateCapacityReservation and PurchaseCapacityBlock, which the simulation does not have.
type CapacityReservation struct {
	ID           string `json:"id"` // cr-0123456789abcdef0
	InstanceType string `json:"instanceType"`
	Zone         string `json:"zone"`
	Count        int    `json:"count"`
	// Block tells a Capacity Block from an On-Demand reservation. It needs Start and End.
	Block bool `json:"block,omitempty"`
	// Interruptible tells a reservation whose owner may take it back, which takes instances of that
	// market type alone.
	Interruptible bool `json:"interruptible,omitempty"`
	// ResourceGroup is the ARN of a resource group that it is in. The groups themselves are not simulated.
	ResourceGroup string `json:"resourceGroup,omitempty"`
	// Start is when it becomes active, End when it expires: at once and never if they are left out.
	Start time.Time `json:"start,omitzero"`
	End   time.Time `json:"end,omitzero"`
}

// blockEnding is how long before the end of a Capacity Block EC2 terminates what runs in it (UG
// capacity-blocks-how: "30 minutes before the end time").
const blockEnding = 30 * time.Minute

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

func (cp *capacity) check(c CapacityReservation) error {
	if err := reservationID.check(c.ID); err != nil {
		return err
	}
	kind := cp.kernel.World().InstanceType(c.InstanceType)
	switch {
	case kind == nil || cp.region.World().Zone(c.Zone) == nil:
		return fmt.Errorf("there is no instance type %q, or no zone %q", c.InstanceType, c.Zone)
	case c.Count < 1:
		return fmt.Errorf("it is for %d instances", c.Count)
	case c.Block && c.Interruptible:
		return errors.New("a Capacity Block is not interruptible")
	case c.Block && !slices.Contains(kind.UsageClasses, string(types.UsageClassTypeCapacityBlock)):
		return fmt.Errorf("there are no Capacity Blocks of %s", c.InstanceType)
	case c.Block && (c.Start.IsZero() || !c.End.After(c.Start)):
		return fmt.Errorf("a Capacity Block begins and ends: %s, %s", c.Start, c.End)
	}
	return nil
}

// LookupCapacityReservation returns the reservation of that id as it is now.
func LookupCapacityReservation(r *sim.Region, id string) (CapacityReservation, bool) {
	return stateOf(r).capacities.Get(id)
}

// Market returns the market type of the instances that run in the reservation.
func (c CapacityReservation) Market() types.MarketType {
	switch {
	case c.Block:
		return types.MarketTypeCapacityBlock
	case c.Interruptible:
		return types.MarketTypeInterruptibleCapacityReservation
	}
	return types.MarketTypeOnDemand
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

// endBlock terminates what runs in a Capacity Block that is about to end, unless the end has been moved.
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

// reservationState returns where a reservation is in its life (UG capacity-blocks-view).
func (cp *capacity) reservationState(c CapacityReservation) types.CapacityReservationState {
	switch now := cp.kernel.Now(); {
	case now.Before(c.Start):
		return types.CapacityReservationStateScheduled
	case !c.End.IsZero() && !now.Before(c.End):
		return types.CapacityReservationStateExpired
	}
	return types.CapacityReservationStateActive
}

// reservationLeft returns how many more instances can be launched into a reservation: none before it
// begins and after it ends (UG capacity-blocks-view). That none can be in the half hour in which
// EC2 empties a block is an inference.
func (cp *capacity) reservationLeft(c CapacityReservation) int {
	ending := c.Block && !cp.kernel.Now().Before(c.End.Add(-blockEnding))
	if ending || cp.reservationState(c) != types.CapacityReservationStateActive {
		return 0
	}
	used := 0
	for _, i := range cp.instances.All() {
		// One that shuts down still counts (UG capacity-blocks-launch).
		if val(i.api.CapacityReservationId) == c.ID && i.holdsCapacity() {
			used++
		}
	}
	for _, d := range cp.drafts {
		if reservation, named := d.launch.reserved(); named && reservation.ID == c.ID {
			used += d.count
		}
	}
	return max(c.Count-used, 0)
}

// reserved returns the reservation that the launch names by its id.
func (l *launch) reserved() (CapacityReservation, bool) {
	return l.state.capacities.Get(val(val(val(l.in.CapacityReservationSpecification).CapacityReservationTarget).CapacityReservationId))
}

// reservedRoom returns how many instances the reservation takes. What is of another type, zone,
// platform or market finds no room (code and words as users report them, of a type that differs
// too: hashicorp/terraform-provider-aws#32458; for the market it is an inference). It is a matter
// of the moment like all capacity, so that a dry run does not look at it: an Auto Scaling group can
// be made before its Capacity Block begins (EKS UG capacity-blocks-mng).
func (cp *capacity) reservedRoom(l *launch, c CapacityReservation) (int, error) {
	market := cmp.Or(val(l.in.InstanceMarketOptions).MarketType, types.MarketTypeOnDemand)
	fits := string(l.in.InstanceType) == c.InstanceType && val(l.subnet.AvailabilityZone) == c.Zone && l.image.Platform == "" && market == c.Market()
	if fits && cp.reservationState(c) == types.CapacityReservationStateScheduled {
		// error codes: "Your Capacity Block is not active yet."
		return 0, sim.Errorf("InvalidCapacityReservationState.PendingActivation", "The Capacity Reservation %s is not active yet.", c.ID)
	}
	if left := cp.reservationLeft(c); fits && left > 0 {
		return left, nil
	}
	return 0, errReservationFull
}

var errReservationFull = sim.Errorf("ReservationCapacityExceeded", "The requested reservation does not have sufficient compatible and available capacity for this request.")

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

func (cp *capacity) describe(c CapacityReservation) types.CapacityReservation {
	shown := types.CapacityReservation{
		CapacityReservationId: ptr(c.ID), CapacityReservationArn: ptr(resourceARN(cp.region, "capacity-reservation/"+c.ID)), OwnerId: ptr(cp.region.Account.ID),
		InstanceType: ptr(c.InstanceType), InstancePlatform: types.CapacityReservationInstancePlatformLinuxUnix, AvailabilityZone: ptr(c.Zone),
		AvailabilityZoneId: ptr(cp.region.World().Zone(c.Zone).ID), State: cp.reservationState(c), Tenancy: types.CapacityReservationTenancyDefault,
		TotalInstanceCount: count32(c.Count), AvailableInstanceCount: count32(cp.reservationLeft(c)), InstanceMatchCriteria: types.InstanceMatchCriteriaTargeted,
		ReservationType: types.CapacityReservationTypeDefault, EndDateType: types.EndDateTypeUnlimited,
	}
	if c.Block {
		shown.ReservationType = types.CapacityReservationTypeCapacityBlock
	}
	if c.Interruptible {
		shown.Interruptible = ptr(true)
	}
	if !c.Start.IsZero() {
		shown.StartDate = ptr(c.Start)
	}
	if !c.End.IsZero() {
		shown.EndDateType, shown.EndDate = types.EndDateTypeLimited, ptr(c.End)
	}
	return shown
}
