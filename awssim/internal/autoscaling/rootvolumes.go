package autoscaling

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
)

// This file has a refresh replace root volumes in place of instances (UG replace-root-volume; UG
// lifecycle-hooks-overview, "Lifecycle state transitions for instances undergoing root volume
// replacement"; UG instance-refresh-overview).

// inPlace reports whether the refresh replaces root volumes.
func (r *refresh) inPlace() bool {
	return r != nil && r.strategy == types.RefreshStrategyReplaceRootVolume
}

// replacing reports whether the root volume of an instance is being replaced.
func (m *member) replacing() bool {
	return slices.Contains([]types.LifecycleState{types.LifecycleStateReplacingRootVolume, types.LifecycleStateReplacingRootVolumeWait,
		types.LifecycleStateReplacingRootVolumeProceed, types.LifecycleStateRootVolumeReplaced}, m.state)
}

// checkRootVolumes refuses the strategy ReplaceRootVolume where AWS says that it cannot be used
// ("Requirements" and "Limitations" of UG replace-root-volume; that Elastic Load Balancing is not
// supported: UG instance-refresh-overview, "Limitations"). AWS documents no messages.
func (s *service) checkRootVolumes(g *group, desired *configuration) error {
	switch {
	case g.config.mixed == nil:
		return invalid("The ReplaceRootVolume strategy requires an Auto Scaling group with a mixed instances policy.")
	case desired == nil || desired.mixed == nil:
		return invalid("The ReplaceRootVolume strategy requires a desired configuration with a mixed instances policy.")
	// The page asks for an image in all overrides of "the mixed instances policy", of which there
	// are two: the group's and the desired one. That it asks for them in both is a reading; a
	// roll-back needs them in the group's.
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
		image, known := ec2.LookupImage(s.region, *o.ImageId)
		if volumes := filter(image.BlockDeviceMappings, func(d ec2types.BlockDeviceMapping) bool { return d.Ebs != nil }); known && len(volumes) > 1 {
			return invalid("The ReplaceRootVolume strategy requires AMIs with a single root volume: %s has %d volumes.", *o.ImageId, len(volumes))
		}
	}
	return s.checkInstancesFit(g, *desired)
}

// checkInstancesFit refuses a group with instances that are not as its launch template is now, or
// of a type that is not in the policy. That the desired configuration must name the launch template
// version that they were launched from is an inference: nothing but their image changes.
func (s *service) checkInstancesFit(g *group, desired configuration) error {
	for _, m := range g.members {
		if m.leaving() || m.retained() {
			continue
		}
		o, listed := s.overrideFor(desired, m)
		if !listed {
			return invalid("The ReplaceRootVolume strategy can't be used: the instance type %s of the instance %s is not in the mixed instances policy.", m.instanceType, m.id)
		}
		now, listed := s.overrideFor(g.config, m)
		if !listed || !s.launchedFrom(m, g.config, now) || !s.launchedFrom(m, desired, o) {
			return invalid("The ReplaceRootVolume strategy can't be used: the instance %s does not match the launch template of the Auto Scaling group.", m.id)
		}
	}
	return nil
}

// launchedFrom reports whether an instance has the launch template version that a configuration
// names for an override.
func (s *service) launchedFrom(m *member, c configuration, o types.LaunchTemplateOverrides) bool {
	base, err := s.base(c)
	if err != nil {
		return false
	}
	t, err := s.templateOf(o, base)
	return err == nil && m.template != nil && *m.template.LaunchTemplateId == t.id && m.version() == t.number
}

func imagesEverywhere(c configuration) bool {
	return len(c.overrides()) > 0 && !slices.ContainsFunc(c.overrides(), func(o types.LaunchTemplateOverrides) bool { return o.ImageId == nil })
}

// overrideFor returns the first override for the type of an instance.
func (s *service) overrideFor(c configuration, m *member) (types.LaunchTemplateOverrides, bool) {
	base, err := s.base(c)
	if err != nil {
		return types.LaunchTemplateOverrides{}, false
	}
	for _, o := range c.overrides() {
		t, err := s.templateOf(o, base)
		if err == nil && valOr(o.InstanceType, string(t.data.InstanceType)) == m.instanceType {
			return o, true
		}
	}
	return types.LaunchTemplateOverrides{}, false
}

// imageFor returns the image that the refresh wants for an instance, "" if it wants none of its
// type. A roll-back wants what the group names (inference: AWS documents roll-backs for instances
// that were replaced).
func (s *service) imageFor(g *group, r *refresh, m *member) string {
	config := g.config
	if r.rollback == nil && r.desired != nil {
		config = *r.desired
	}
	o, _ := s.overrideFor(config, m)
	return val(o.ImageId)
}

// currentImage is the image of the instance's root volume, or that of the volume that will replace it.
func (s *service) currentImage(m *member) string {
	if m.nextImage != "" {
		return m.nextImage
	}
	i, _ := ec2.LookupInstance(s.region, m.id)
	return val(i.ImageId)
}

// updatedInPlace reports whether an instance has the image that the refresh, or its roll-back,
// wants. Without skip matching, every instance that was there before gets a new root volume.
func (s *service) updatedInPlace(g *group, r *refresh, m *member) bool {
	matches := s.currentImage(m) == s.imageFor(g, r, m)
	return matches && (r.rollback != nil || r.prefs.skipMatching || m.sequence > r.startSequence || m.rootOf == r.id)
}

// replaceRoot takes an instance out of service so that its root volume is replaced. AWS documents
// neither description nor cause of the activity.
func (s *service) replaceRoot(g *group, m *member) {
	now := s.kernel.Now()
	m.nextImage, m.rootOf, m.rootTask = s.imageFor(g, g.refresh, m), g.refresh.id, ""
	m.actions, m.outcome = nil, ""
	m.state, m.settle = types.LifecycleStateReplacingRootVolume, now.Add(reaction)
	m.run = s.begin(g, m, "Replacing root volume of EC2 instance: "+m.id, causeOutOfService(now, reasonRefresh))
}

// stepReplacing moves an instance on whose root volume is being replaced. One that no longer runs,
// or whose task fails, is terminated and replaced.
func (s *service) stepReplacing(g *group, m *member) {
	if s.instanceState(m.id) != ec2types.InstanceStateNameRunning {
		s.rootFailed(g, m)
		return
	}
	switch m.state {
	case types.LifecycleStateReplacingRootVolume:
		switch {
		case !s.due(m):
		case s.beginActions(g, m, transitionTerminate):
			m.state = types.LifecycleStateReplacingRootVolumeWait
			m.run = s.note(m.run, types.ScalingActivityStatusCodeMidLifecycleAction, 60, "")
		default:
			m.state, m.settle = types.LifecycleStateReplacingRootVolumeProceed, s.kernel.Now().Add(reaction)
		}
	case types.LifecycleStateReplacingRootVolumeWait:
		// Either result lets the replacement go on, as it does with terminations (inference).
		if m.settleActions(s.kernel.Now()); m.outcome != "" {
			m.state, m.settle = types.LifecycleStateReplacingRootVolumeProceed, s.kernel.Now().Add(reaction)
			m.actions, m.outcome = nil, ""
		}
	case types.LifecycleStateReplacingRootVolumeProceed:
		s.stepRootTask(g, m)
	default:
		if s.due(m) {
			m.state, m.rootReplaced = types.LifecycleStatePending, true // launch hooks get it again
		}
	}
}

// stepRootTask has EC2 replace the root volume, once the instance has been in the state long enough
// to be seen, and waits for it.
func (s *service) stepRootTask(g *group, m *member) {
	if m.rootTask == "" {
		if !s.due(m) {
			return
		}
		task, err := ec2.ReplaceRootVolume(s.region, m.id, m.nextImage)
		if err != nil {
			s.rootFailed(g, m)
			return
		}
		m.rootTask = task
	}
	switch ec2.RootVolumeTaskState(s.region, m.rootTask) {
	case ec2types.ReplaceRootVolumeTaskStateSucceeded:
		m.imageID, m.nextImage, m.rootTask = m.nextImage, "", ""
		m.state, m.settle = types.LifecycleStateRootVolumeReplaced, s.kernel.Now().Add(reaction)
	case ec2types.ReplaceRootVolumeTaskStateFailed, ec2types.ReplaceRootVolumeTaskStateFailedDetached:
		s.rootFailed(g, m)
	default:
		// EC2 tells when it ends.
	}
}

// rootFailed marks an instance for termination whose root volume could not be replaced. A new
// instance takes its place.
func (s *service) rootFailed(g *group, m *member) {
	m.nextImage, m.rootTask = "", ""
	g.replacing++
	s.startTermination(g, m, causeOutOfService(s.kernel.Now(), "a root volume replacement that failed"))
}
