package discovery

import (
	"context"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

// CapacityReservation describes a Capacity Reservation or Capacity Block that instances can be
// launched into.
type CapacityReservation struct {
	// End is the time at which the reservation expires, zero for never.
	End time.Time
}

// CapacityReservation describes a Capacity Reservation by its id. If it does not exist the error is
// a *NotFoundError.
func (d *Discovery) CapacityReservation(ctx context.Context, id string) (CapacityReservation, error) {
	const kind, advice = "Capacity Reservation", "it does not exist in this region, or is not shared with this account"
	return d.reservations.get(ctx, id, func(ctx context.Context) (CapacityReservation, error) {
		output, err := d.clients.EC2.DescribeCapacityReservations(ctx, &ec2.DescribeCapacityReservationsInput{CapacityReservationIds: []string{id}})
		if err != nil {
			return CapacityReservation{}, missing(err, kind, id, advice)
		}
		if len(output.CapacityReservations) == 0 {
			return CapacityReservation{}, &NotFoundError{Kind: kind, What: id, Advice: advice}
		}
		return CapacityReservation{End: awssdk.ToTime(output.CapacityReservations[0].EndDate)}, nil
	})
}
