package ec2

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// CapacityReservation is reserved capacity for instances of one type in one zone, either On-Demand
// or as a Capacity Block. Only instances that name it use it (InstanceMatchCriteria targeted), on
// Linux and with default tenancy. Setting one replaces calls of CreateCapacityReservation and
// PurchaseCapacityBlock, which the simulation does not have.
type CapacityReservation struct {
	ID           string `json:"id"` // cr-0123456789abcdef0
	InstanceType string `json:"instanceType"`
	Zone         string `json:"zone"`
	Count        int    `json:"count"`
	// Block selects a Capacity Block instead of an On-Demand reservation. It requires both times
	// below.
	Block bool `json:"block,omitempty"`
	// Interruptible marks a reservation that its owner may take back. It only accepts instances of
	// that market type.
	Interruptible bool `json:"interruptible,omitempty"`
	// ResourceGroup is the ARN of a resource group that it is in. The groups themselves are not simulated.
	ResourceGroup string `json:"resourceGroup,omitempty"`
	// The reservation becomes active at Start, immediately if it is zero, and expires at End, never
	// if it is zero.
	Start time.Time `json:"start,omitzero"`
	End   time.Time `json:"end,omitzero"`
}

// blockEnding is the time before the end of a Capacity Block at which EC2 terminates the instances
// in it (UG capacity-blocks-how: "30 minutes before the end time").
const blockEnding = 30 * time.Minute

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

// reservationLeft returns how many more instances can be launched into a reservation: none before
// it begins and after it expires (UG capacity-blocks-view). That none can be in the half hour in
// which EC2 empties a block is an inference.
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

// reservedRoom returns how many instances the reservation takes. An instance of another type, zone,
// platform or market finds no room (code and message as users report them, also for a type that
// differs: hashicorp/terraform-provider-aws#32458; for the market it is an inference). Like all
// capacity it can change at any time, so that a dry run does not check it: an Auto Scaling group
// can be created before its Capacity Block begins (EKS UG capacity-blocks-mng).
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

// checkNamed refuses a fleet that names a reservation that does not exist.
func (cp *capacity) checkNamed(in *awsec2.CreateFleetInput) error {
	for _, id := range val(val(in.ReservedCapacityOptions).CapacityReservationTarget).CapacityReservationIds {
		if err := reservationID.check(id); err != nil {
			return err
		}
		if _, exists := cp.Get(id); !exists {
			return reservationID.missing(id)
		}
	}
	return nil
}

// matching returns the reservations of a market that fit a pool, ordered by id. It considers the
// reservations that the fleet names, or the ones that the launch template names if the fleet has no
// target.
func (cp *capacity) matching(options *types.ReservedCapacityOptionsRequest, p *pool, market types.MarketType) []CapacityReservation {
	named := val(options.CapacityReservationTarget)
	if options.CapacityReservationTarget == nil {
		ofTemplate := val(val(p.in.CapacityReservationSpecification).CapacityReservationTarget)
		named.CapacityReservationIds, named.CapacityReservationResourceGroupArns = text(ofTemplate.CapacityReservationId), text(ofTemplate.CapacityReservationResourceGroupArn)
	}
	if asked := val(p.in.InstanceMarketOptions).MarketType; asked != "" && asked != market {
		return nil
	}
	var found []CapacityReservation
	for _, c := range cp.All() {
		isNamed := slices.Contains(named.CapacityReservationIds, c.ID) || c.ResourceGroup != "" && slices.Contains(named.CapacityReservationResourceGroupArns, c.ResourceGroup)
		if isNamed && c.Market() == market && c.InstanceType == string(p.in.InstanceType) && c.Zone == p.zone {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b CapacityReservation) int { return cmp.Compare(a.ID, b.ID) })
	return found
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

var errReservationFull = sim.Errorf("ReservationCapacityExceeded", "The requested reservation does not have sufficient compatible and available capacity for this request.")
