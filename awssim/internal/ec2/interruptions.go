package ec2

import (
	"time"

	"github.com/slipway-project/slipway/awssim/internal/eventbridge"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// noticeTime is the time between the notice of an interruption and the interruption of a Spot
// Instance (User Guide, "Spot Instance interruption notices").
const noticeTime = 2 * time.Minute

// InterruptSpotInstance has EC2 take a Spot Instance back: it gives notice, and terminates the
// instance two minutes later, unless it has already been terminated. It fails if there is no such
// Spot Instance that is pending or running.
func InterruptSpotInstance(r *sim.Region, id string) error {
	s := stateOf(r)
	i, err := s.instances.spot(id)
	if err != nil {
		return err
	}
	eventbridge.Put(r, eventbridge.Event{
		Source: "aws.ec2", DetailType: "EC2 Spot Instance Interruption Warning",
		// The page says that this ARN, unlike others, has the zone in the place of Region and account.
		Resources: []string{"arn:" + partition(r.Name) + ":ec2:" + val(i.api.Placement.AvailabilityZone) + ":instance/" + id},
		Detail:    map[string]string{"instance-id": id, "instance-action": "terminate"},
	})
	s.kernel.After(noticeTime, func() {
		if now, ok := s.instances.Get(id); ok {
			s.instances.terminate(now, interrupted)
		}
	})
	return nil
}

// RecommendRebalance has EC2 say that a Spot Instance is at elevated risk of interruption (User
// Guide, "EC2 instance rebalance recommendations"). It fails like InterruptSpotInstance.
func RecommendRebalance(r *sim.Region, id string) error {
	s := stateOf(r)
	if _, err := s.instances.spot(id); err != nil {
		return err
	}
	eventbridge.Put(r, eventbridge.Event{
		Source: "aws.ec2", DetailType: "EC2 Instance Rebalance Recommendation", Resources: []string{resourceARN(s.region, "instance/"+id)},
		Detail: map[string]string{"instance-id": id},
	})
	return nil
}
