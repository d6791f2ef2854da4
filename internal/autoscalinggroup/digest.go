package autoscalinggroup

import "github.com/slipway-project/slipway/internal/digest"

// Digests returns two digests that are equal for the same group, hooks apart, and for no other:
// launches covers what the group launches, and is "" if that is not known; settings covers the
// rest.
func (d Desired) Digests() (settings, launches string) {
	if d.launches() {
		launches = digest.Of(struct {
			Template string
			Version  int64
			Policy   any
		}{d.LaunchTemplateID, d.Version, d.MixedInstancesPolicy})
	}
	d.LaunchTemplateID, d.Version, d.MixedInstancesPolicy = "", 0, nil
	d.Names, d.Hooks, d.RetiredTags = nil, nil, nil
	return digest.Of(d), launches
}
