package autoscalinggroup

import (
	"context"
	"fmt"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// followLatest is the version by which CAPA has a group refer to its template.
const followLatest = "$Latest"

// FollowLatest has a group launch from whatever is the newest version of its template, as CAPA wants it.
func (g *Groups) FollowLatest(ctx context.Context, group Group) error {
	if group.Version == followLatest {
		return nil
	}
	specification := &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: &group.LaunchTemplateID, Version: awssdk.String(followLatest)}
	input := &autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: &group.Name}
	if group.Mixed {
		input.MixedInstancesPolicy = &asgtypes.MixedInstancesPolicy{
			InstancesDistribution: group.InstancesDistribution,
			LaunchTemplate:        &asgtypes.LaunchTemplate{LaunchTemplateSpecification: specification, Overrides: group.Overrides},
		}
	} else {
		input.LaunchTemplate = specification
	}
	if _, err := g.api.UpdateAutoScalingGroup(ctx, input); err != nil {
		return fmt.Errorf("having Auto Scaling group %q follow its template: %w", group.Name, err)
	}
	return nil
}

// Disown takes Slipway's own tags from a group.
func (g *Groups) Disown(ctx context.Context, group Group) error {
	own := map[string]string{}
	for _, key := range []string{infrav1.TagMachinePool, infrav1.TagLaunchConfig} {
		if value, there := group.Tags[key]; there {
			own[key] = value
		}
	}
	if len(own) == 0 {
		return nil
	}
	if _, err := g.api.DeleteTags(ctx, &autoscaling.DeleteTagsInput{Tags: groupTags(own, group.Name)}); err != nil {
		return fmt.Errorf("removing the ownership tags of Auto Scaling group %q: %w", group.Name, err)
	}
	return nil
}
