package autoscaling

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/ec2"

	"github.com/slipway-project/slipway/awssim/internal/list"
)

// desiredConfiguration checks what a refresh should deploy as an update of the group would be checked.
func (api *refreshActions) desiredConfiguration(g *group, d *types.DesiredConfiguration) (*configuration, error) {
	if d == nil || d.LaunchTemplate == nil && d.MixedInstancesPolicy == nil {
		return nil, nil
	}
	config, err := api.requests.applyConfiguration(g.config, d.LaunchTemplate, d.MixedInstancesPolicy, nil)
	if err != nil {
		return nil, err
	}
	n := g.settings
	n.config = config
	if err := api.requests.checkUpdate(g, &n); err != nil {
		return nil, err
	}
	return &config, nil
}

// checkRefresh refuses preferences that the group, or the desired configuration, does not allow
// (reference 2.4; UG instance-refresh-overview, instance-refresh-rollback,
// using-systems-manager-parameters).
func (api *refreshActions) checkRefresh(g *group, prefs preferences, desired *configuration) error {
	byAttributes := api.sources.attributeBased(g.config) || desired != nil && api.sources.attributeBased(*desired)
	switch {
	case byAttributes && desired != nil:
		return invalid("DesiredConfiguration is not supported for Auto Scaling groups that use attribute-based instance type selection.")
	case byAttributes && prefs.skipMatching:
		return invalid("SkipMatching is not supported for Auto Scaling groups that use attribute-based instance type selection.")
	case prefs.autoRollback && desired == nil:
		return invalid("AutoRollback requires a desired configuration.")
	}
	if err := api.checkParameterImages(g, prefs, desired); err != nil {
		return err
	}
	if prefs.autoRollback && !numbered(g.config) {
		return invalid("AutoRollback is not supported for Auto Scaling groups that use the $Latest or $Default launch template version.")
	}
	return api.checkAlarms(prefs)
}

// checkParameterImages refuses what needs an image id where a launch template has a parameter (UG
// using-systems-manager-parameters). An automatic rollback goes back to what the group names now,
// which must not name a parameter either (SDK RefreshPreferences.AutoRollback).
func (api *refreshActions) checkParameterImages(g *group, prefs preferences, desired *configuration) error {
	if desired != nil && api.sources.usesParameterImage(*desired) || (prefs.skipMatching || prefs.autoRollback) && api.sources.usesParameterImage(g.config) {
		return invalid("DesiredConfiguration, SkipMatching and AutoRollback are not supported with a launch template that uses an AWS Systems Manager parameter instead of an AMI ID.")
	}
	return nil
}

// checkAlarms: an alarm must exist and be OK when a refresh starts (UG instance-refresh-rollback).
func (api *refreshActions) checkAlarms(prefs preferences) error {
	for _, name := range prefs.alarms {
		switch state, known := api.alarms[name]; {
		case !known:
			return invalid("The alarm %s does not exist.", name)
		case state != AlarmOK:
			return invalid("The alarm %s is in %s state. Alarms must be in OK state when an instance refresh starts.", name, state)
		}
	}
	return nil
}

// checkRootVolumes refuses the strategy ReplaceRootVolume where AWS says that it cannot be used
// ("Requirements" and "Limitations" of UG replace-root-volume; that Elastic Load Balancing is not
// supported: UG instance-refresh-overview, "Limitations"). AWS documents no messages.
func (api *refreshActions) checkRootVolumes(g *group, desired *configuration) error {
	switch {
	case g.config.mixed == nil:
		return invalid("The ReplaceRootVolume strategy requires an Auto Scaling group with a mixed instances policy.")
	case desired == nil || desired.mixed == nil:
		return invalid("The ReplaceRootVolume strategy requires a desired configuration with a mixed instances policy.")
	// The page requires an image in all overrides of "the mixed instances policy". There are two
	// policies: the group's and the desired one. That both need the images is an interpretation; a
	// rollback needs them in the group's.
	case !imagesEverywhere(*desired) || !imagesEverywhere(g.config):
		return invalid("The ReplaceRootVolume strategy requires an ImageId in every launch template override.")
	case !numbered(*desired) || !numbered(g.config):
		return invalid("The ReplaceRootVolume strategy does not support the $Latest or $Default launch template version.")
	case g.warm != nil:
		return invalid("The ReplaceRootVolume strategy does not support Auto Scaling groups with a warm pool.")
	case len(g.attached.loadBalancers)+len(g.attached.targetGroups)+len(g.attached.trafficSources) > 0:
		return invalid("The ReplaceRootVolume strategy does not support Elastic Load Balancing.")
	}
	for _, o := range desired.overrides() {
		image, known := ec2.LookupImage(api.region, *o.ImageId)
		if volumes := list.Filter(image.BlockDeviceMappings, func(d ec2types.BlockDeviceMapping) bool { return d.Ebs != nil }); known && len(volumes) > 1 {
			return invalid("The ReplaceRootVolume strategy requires AMIs with a single root volume: %s has %d volumes.", *o.ImageId, len(volumes))
		}
	}
	return api.checkInstancesFit(g, *desired)
}

func imagesEverywhere(c configuration) bool {
	return len(c.overrides()) > 0 && !slices.ContainsFunc(c.overrides(), func(o types.LaunchTemplateOverrides) bool { return o.ImageId == nil })
}

// checkInstancesFit refuses a group with instances that are not as its launch template is now, or
// of a type that is not in the policy. That the desired configuration must name the launch template
// version that they were launched from is an inference: nothing but their image changes.
func (api *refreshActions) checkInstancesFit(g *group, desired configuration) error {
	for _, m := range g.members {
		if m.leaving() || m.retained() {
			continue
		}
		o, listed := api.sources.overrideFor(desired, m)
		if !listed {
			return invalid("The ReplaceRootVolume strategy can't be used: the instance type %s of the instance %s is not in the mixed instances policy.", m.instanceType, m.id)
		}
		now, listed := api.sources.overrideFor(g.config, m)
		if !listed || !api.sources.launchedFrom(m, g.config, now) || !api.sources.launchedFrom(m, desired, o) {
			return invalid("The ReplaceRootVolume strategy can't be used: the instance %s does not match the launch template of the Auto Scaling group.", m.id)
		}
	}
	return nil
}
