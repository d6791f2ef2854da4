package autoscaling

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// SetCrossZone says whether the load balancer of a target group sends traffic from one zone to
// targets in others. It does, until this says otherwise. Elastic Load Balancing itself is not
// simulated: this is for groups with zonal shift. Only under the kernel's lock.
func SetCrossZone(r *sim.Region, targetGroup string, enabled bool) {
	s := regional(r)
	delete(s.ownZoneOnly, targetGroup)
	if !enabled {
		s.ownZoneOnly[targetGroup] = true
	}
}

// checkZonalShift refuses zonal shift for a group behind a load balancer without cross-zone load
// balancing, unless the caller skips that (SDK
// CreateAutoScalingGroupInput.SkipZonalShiftValidation; UG ec2-auto-scaling-zonal-shift). The words
// are an inference.
func (s *service) checkZonalShift(impairment *types.AvailabilityZoneImpairmentPolicy, a attachments, skip *bool) error {
	if impairment == nil || !val(impairment.ZonalShiftEnabled) || val(skip) {
		return nil
	}
	names := slices.Concat(a.loadBalancers, a.targetGroups)
	for _, source := range a.trafficSources {
		names = append(names, val(source.Identifier))
	}
	for _, name := range names {
		if s.ownZoneOnly[name] {
			return invalid("Zonal shift cannot be enabled because cross-zone load balancing is disabled for %s. To skip this validation, specify SkipZonalShiftValidation.", name)
		}
	}
	return nil
}
