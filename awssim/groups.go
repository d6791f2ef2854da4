package awssim

import (
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling"
	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// AutoScalingGroups returns all Auto Scaling groups, in the order of their creation, as they are
// now, like Instance. A group does not list the instances in its warm pool. Callers must not change
// the values that pointers refer to.
func (r Region) AutoScalingGroups() (groups []asgtypes.AutoScalingGroup) {
	r.look(func(held *sim.Region) {
		for _, group := range autoscaling.Groups(held) {
			groups = append(groups, group.AutoScalingGroup)
		}
	})
	return groups
}

// LaunchTemplates returns all launch templates, in the order of their creation, like
// AutoScalingGroups.
func (r Region) LaunchTemplates() (templates []types.LaunchTemplate) {
	r.look(func(held *sim.Region) { templates = ec2.LaunchTemplates(held) })
	return templates
}

// LaunchTemplateVersions returns the versions of a launch template, the newest first, like
// AutoScalingGroups. It returns none if there is no such template.
func (r Region) LaunchTemplateVersions(template string) (versions []types.LaunchTemplateVersion) {
	r.look(func(held *sim.Region) { versions = ec2.LaunchTemplateVersions(held, template) })
	return versions
}
