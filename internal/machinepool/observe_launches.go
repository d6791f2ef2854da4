package machinepool

import (
	"cmp"
	"context"
	"slices"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

func (o observer) findSubnets(ctx context.Context) {
	subnets, err := o.Memory.cloud.Discovery.SubnetIDs(ctx, subnetQuery(o.input()))
	o.Seen.Subnets = Subnets{Read: err == nil, Err: err}
	for _, subnet := range subnets {
		o.Seen.Subnets.IDs = append(o.Seen.Subnets.IDs, subnet.ID)
	}
	slices.Sort(o.Seen.Subnets.IDs)
}

func (o observer) lookUpOverrides(ctx context.Context) {
	o.Seen.Overrides, o.Seen.OverridesRead = nil, true
	for i := range o.Object.Spec.MixedInstancesPolicy.Overrides {
		o.Seen.Overrides = append(o.Seen.Overrides, o.lookUpOverride(ctx, &o.Object.Spec.MixedInstancesPolicy.Overrides[i]))
	}
}

// lookUpOverride finds what AWS knows about an override.
func (o observer) lookUpOverride(ctx context.Context, override *infrav1.Overrides) Override {
	discovery, launched := o.Memory.cloud.Discovery, launchable(o.input()).WhatIsLaunched()
	template := launchtemplate.Contents{ImageID: launched.ImageID, InstanceType: launched.InstanceType}
	if own := override.LaunchTemplate; own != nil {
		data, err := discovery.TemplateVersion(ctx, own.ID, own.Version)
		if err == nil {
			template, err = data.Contents()
		}
		if err != nil {
			return Override{Reason: infrav1.LaunchTemplateNotFoundReason, Err: err}
		}
		if err := o.Clouds.AllowsInstanceProfile(ctx, o.Seen.Access.Facts.Identity, template.InstanceProfile); err != nil {
			return Override{Reason: infrav1.InstanceProfileNotAllowedReason, Err: err}
		}
	}
	found := Override{ImageID: cmp.Or(override.ImageID, template.ImageID), Architecture: launched.ImageArchitecture}
	if found.ImageID != launched.ImageID {
		found.Architecture = "" // an image that is named by a Systems Manager parameter, or not at all
		if strings.HasPrefix(found.ImageID, "ami-") {
			image, err := discovery.ImageByID(ctx, found.ImageID)
			if err != nil {
				return Override{Reason: infrav1.ImageNotFoundReason, Err: err}
			}
			found.Architecture = image.Architecture
		}
	}
	name := cmp.Or(override.InstanceType, template.InstanceType)
	if override.InstanceRequirements != nil || name == "" {
		// AWS takes types that can run the image (AWS:
		// create-mixed-instances-group-attribute-based-instance-type-selection)
		return found
	}
	instanceType, err := discovery.InstanceType(ctx, name)
	if err != nil {
		return Override{Reason: infrav1.InstanceTypeNotFoundReason, Err: err}
	}
	found.InstanceType, found.Architectures = instanceType.Name, instanceType.Architectures
	return found
}

// findFailedLaunch finds the newest launch that failed. AWS is asked the more rarely the longer the
// group has been short. In a group that is not, only the newest launch of all says whether
// replacements can be launched.
func (o observer) findFailedLaunch(ctx context.Context) {
	now, group := o.Clock.Now(), o.Seen.Group
	if now.Before(o.Memory.failedUntil) {
		o.Seen.FailedLaunch = FailedLaunch{Read: true, Launch: o.Memory.failedLaunch, Again: o.Memory.failedUntil}
		return
	}
	again := nextAsk(shortFor(o.input()))
	shortly := again
	if group.Units() >= group.Capacity {
		shortly = 0
	}
	launch, err := o.Memory.cloud.Groups.LatestFailedLaunch(ctx, group.Name, shortly)
	o.Seen.FailedLaunch = FailedLaunch{Read: err == nil, Launch: launch, Err: err, Again: now.Add(again)}
	if err == nil {
		o.Memory.failedLaunch, o.Memory.failedUntil, o.Memory.failedOf = launch, now.Add(again), group.InstanceIDs()
	}
}
