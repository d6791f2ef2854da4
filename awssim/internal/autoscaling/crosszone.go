package autoscaling

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
)

// checkZonalShift refuses zonal shift for a group behind a load balancer without cross-zone load
// balancing, unless the caller skips that (SDK
// CreateAutoScalingGroupInput.SkipZonalShiftValidation; UG ec2-auto-scaling-zonal-shift). The words
// are an inference.
func checkZonalShift(ownZoneOnly map[string]bool, impairment *types.AvailabilityZoneImpairmentPolicy, a attachments, skip *bool) error {
	if impairment == nil || !val(impairment.ZonalShiftEnabled) || val(skip) {
		return nil
	}
	names := slices.Concat(a.loadBalancers, a.targetGroups)
	for _, source := range a.trafficSources {
		names = append(names, val(source.Identifier))
	}
	for _, name := range names {
		if ownZoneOnly[name] {
			return invalid("Zonal shift cannot be enabled because cross-zone load balancing is disabled for %s. To skip this validation, specify SkipZonalShiftValidation.", name)
		}
	}
	return nil
}
