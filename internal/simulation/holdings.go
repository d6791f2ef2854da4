package simulation

import (
	"fmt"
	"slices"
	"strconv"

	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
)

// holdings shows what AWS holds of an owner's, however far reads lag.
type holdings struct {
	awssim.Region
	// owner is the value of the owner's tags.
	owner string
}

// ownedGroups returns the pool's groups, except for groups that are being deleted.
func (h holdings) ownedGroups() []asgtypes.AutoScalingGroup {
	return slices.DeleteFunc(h.AutoScalingGroups(), func(group asgtypes.AutoScalingGroup) bool {
		owned := slices.ContainsFunc(group.Tags, func(tag asgtypes.TagDescription) bool {
			return *tag.Key == infrav1.TagMachinePool && *tag.Value == h.owner
		})
		return !owned || group.Status != nil
	})
}

// ownedTemplates returns the pool's launch templates.
func (h holdings) ownedTemplates() []ec2types.LaunchTemplate {
	return slices.DeleteFunc(h.LaunchTemplates(), func(template ec2types.LaunchTemplate) bool {
		return !slices.ContainsFunc(template.Tags, func(tag ec2types.Tag) bool {
			return *tag.Key == infrav1.TagLaunchConfig && *tag.Value == h.owner
		})
	})
}

// version returns a version of a launch template.
func (h holdings) version(template, number string) (ec2types.LaunchTemplateVersion, error) {
	for _, version := range h.LaunchTemplateVersions(template) {
		if strconv.FormatInt(*version.VersionNumber, 10) == number {
			return version, nil
		}
	}
	return ec2types.LaunchTemplateVersion{}, fmt.Errorf("template %s has no version %s", template, number)
}

// lifecycleState returns the state of an instance in its group, and "" if it is in none.
func (h holdings) lifecycleState(id string) string {
	for _, group := range h.AutoScalingGroups() {
		for _, member := range group.Instances {
			if *member.InstanceId == id {
				return string(member.LifecycleState)
			}
		}
	}
	return ""
}
