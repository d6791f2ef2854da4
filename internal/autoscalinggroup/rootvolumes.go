package autoscalinggroup

import (
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
)

// This file is about instance refreshes that give instances new root volumes instead of replacing
// them (AWS: replace-root-volume). AWS needs a desired configuration for them whose overrides all
// name an image, and instances that were launched from the group's launch template version.

// InPlace reports whether a refresh replaces root volumes. While it is active, AWS refuses to
// change what the group launches.
func (r *Refresh) InPlace() bool {
	return r != nil && r.Strategy == string(asgtypes.RefreshStrategyReplaceRootVolume)
}

// SameButImages reports whether a group launches what is desired, the images of its overrides apart.
func (d Desired) SameButImages(group Group) bool {
	if !d.launches() || d.MixedInstancesPolicy == nil || len(d.MixedInstancesPolicy.Overrides) != len(group.Overrides) {
		return false
	}
	policy := d.MixedInstancesPolicy.DeepCopy()
	for i, seen := range group.Overrides {
		override, image := &policy.Overrides[i], awssdk.ToString(seen.ImageId)
		if override.ImageID == "" || image == "" || override.LaunchTemplate != nil {
			return false
		}
		override.ImageID = image
	}
	d.MixedInstancesPolicy = policy
	return len(differences(launchChecks, d, group)) == 0
}

// FitInPlace reports whether AWS can bring what is wanted to the instances by new root volumes:
// each was launched from the wanted launch template version, and is of a type that an override
// names.
func (w Wanted) FitInPlace(instances []Instance) bool {
	return !slices.ContainsFunc(instances, func(i Instance) bool {
		listed := false
		for _, override := range w.Overrides {
			listed = listed || override.InstanceType == i.InstanceType
		}
		return !i.Leaving() && (i.LaunchTemplateID != w.TemplateID || i.Version != w.Version || !listed)
	})
}
