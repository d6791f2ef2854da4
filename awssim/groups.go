package awssim

import (
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling"
	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// AutoScalingGroups returns all Auto Scaling groups of an account in a region, in the order of their
// creation, as they are now: without the lag, the throttling, the faults and the log line of a call.
// Instances in warm pools are not among those of their groups. What pointers lead to must not be
// changed.
func (s *Simulator) AutoScalingGroups(account, region string) (groups []asgtypes.AutoScalingGroup) {
	s.inRegion(account, region, func(r *sim.Region) {
		for _, group := range autoscaling.Groups(r) {
			groups = append(groups, group.AutoScalingGroup)
		}
	})
	return groups
}

// LaunchTemplates returns all launch templates of an account in a region, in the order of their
// creation, like AutoScalingGroups.
func (s *Simulator) LaunchTemplates(account, region string) (templates []types.LaunchTemplate) {
	s.inRegion(account, region, func(r *sim.Region) { templates = ec2.LaunchTemplates(r) })
	return templates
}

// LaunchTemplateVersions returns the versions of a launch template, the newest first, like
// AutoScalingGroups. It returns none if there is no such template.
func (s *Simulator) LaunchTemplateVersions(account, region, template string) (versions []types.LaunchTemplateVersion) {
	s.inRegion(account, region, func(r *sim.Region) { versions = ec2.LaunchTemplateVersions(r, template) })
	return versions
}
