package autoscalinggroup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
)

// targetGroupBatch is how many target groups one call attaches or detaches (AWS: API_AttachLoadBalancerTargetGroups).
const targetGroupBatch = 10

// EnsureTargetGroups attaches the target groups that are wanted, and detaches those of retired that are still attached. Target groups of others stay.
// It changes the group that was seen accordingly, and says in words what it did.
func (g *Groups) EnsureTargetGroups(ctx context.Context, wanted, retired []string, group *Group) ([]string, error) {
	var done []string
	for batch := range slices.Chunk(without(wanted, slices.Concat(group.TargetGroupARNs, Identifiers(group.TrafficSources))), targetGroupBatch) {
		if _, err := g.api.AttachLoadBalancerTargetGroups(ctx, &autoscaling.AttachLoadBalancerTargetGroupsInput{
			AutoScalingGroupName: &group.Name, TargetGroupARNs: batch,
		}); err != nil {
			return done, fmt.Errorf("attaching target groups %q to Auto Scaling group %q: %w", batch, group.Name, err)
		}
		group.TargetGroupARNs = sorted(slices.Concat(group.TargetGroupARNs, batch))
		done = append(done, "attached "+strings.Join(batch, ", "))
	}
	for batch := range slices.Chunk(both(without(retired, wanted), group.TargetGroupARNs), targetGroupBatch) {
		if _, err := g.api.DetachLoadBalancerTargetGroups(ctx, &autoscaling.DetachLoadBalancerTargetGroupsInput{
			AutoScalingGroupName: &group.Name, TargetGroupARNs: batch,
		}); err != nil {
			return done, fmt.Errorf("detaching target groups %q from Auto Scaling group %q: %w", batch, group.Name, err)
		}
		group.TargetGroupARNs = without(group.TargetGroupARNs, batch)
		done = append(done, "detached "+strings.Join(batch, ", "))
	}
	return done, nil
}
