package ec2

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/eventbridge"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// publish tells EventBridge of an instance's new state (EC2 user guide, "State change events for
// your instances").
func publish(region *sim.Region, i instance, state string) {
	if !slices.Contains(types.InstanceStateName("").Values(), types.InstanceStateName(state)) {
		return // "booted" is the simulator's own
	}
	eventbridge.Put(region, eventbridge.Event{
		Source: "aws.ec2", DetailType: "EC2 Instance State-change Notification",
		Resources: []string{"arn:aws:ec2:" + region.Name + ":" + region.Account.ID + ":instance/" + i.id()},
		Detail:    map[string]string{"instance-id": i.id(), "state": state},
	})
}
