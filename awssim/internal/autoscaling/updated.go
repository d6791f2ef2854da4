package autoscaling

import (
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
)

// This file compares an instance with what a configuration names, or with what an instance refresh
// or its roll-back wants of it.

// updated reports whether an instance runs what the refresh, or its rollback, wants.
func (s *sources) updated(g *group, r *refresh, m *member) bool {
	switch {
	case r.inPlace():
		return s.updatedInPlace(g, r, m)
	case r.rollback != nil:
		return m.sequence <= r.startSequence || m.sequence > r.rollbackSequence
	case r.desired != nil:
		// With $Latest or $Default, a version made meanwhile has instances replaced again (UG
		// asg-instance-refresh-skip-matching).
		return (m.sequence > r.startSequence || r.prefs.skipMatching) && s.matches(m, *r.desired)
	}
	return m.sequence > r.startSequence || r.skipped[m.id]
}

// matches reports whether an instance was launched from what a configuration names now: the launch
// template and its version, and one of its instance types and images (UG
// asg-instance-refresh-skip-matching). That a launch configuration matches too is an inference.
func (s *sources) matches(m *member, config configuration) bool {
	if config.launchConfiguration != "" {
		return val(s.configurations.nameOf(m.configuration)) == config.launchConfiguration
	}
	if m.template == nil {
		return false
	}
	fits := func(spec *types.LaunchTemplateSpecification) bool {
		t, err := s.resolve(spec)
		return err == nil && t.id == *m.template.LaunchTemplateId && t.number == m.version()
	}
	overrides := config.overrides()
	if len(overrides) == 0 {
		return m.imageID == "" && fits(config.specification())
	}
	for _, o := range overrides {
		spec := config.specification()
		if o.LaunchTemplateSpecification != nil {
			spec = o.LaunchTemplateSpecification
		}
		if (o.InstanceType == nil || *o.InstanceType == m.instanceType) && val(o.ImageId) == m.imageID && fits(spec) {
			return true
		}
	}
	return false
}

// updatedInPlace reports whether an instance has the image that the refresh, or its roll-back,
// wants. Without skip matching, every instance that was there before gets a new root volume.
func (s *sources) updatedInPlace(g *group, r *refresh, m *member) bool {
	matches := s.currentImage(m) == s.imageFor(g, r, m)
	return matches && (r.rollback != nil || r.prefs.skipMatching || m.sequence > r.startSequence || m.rootOf == r.id)
}

// imageFor returns the image that the refresh wants for an instance, "" if it wants none of its
// type. A roll-back wants what the group names (inference: AWS documents roll-backs for instances
// that were replaced).
func (s *sources) imageFor(g *group, r *refresh, m *member) string {
	config := g.config
	if r.rollback == nil && r.desired != nil {
		config = *r.desired
	}
	o, _ := s.overrideFor(config, m)
	return val(o.ImageId)
}

// currentImage returns the image of the instance's root volume, or of the volume that will replace
// it.
func (s *sources) currentImage(m *member) string {
	if m.nextImage != "" {
		return m.nextImage
	}
	i, _ := ec2.LookupInstance(s.region, m.id)
	return val(i.ImageId)
}
