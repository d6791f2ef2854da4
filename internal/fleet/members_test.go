package fleet

import (
	"testing"

	"github.com/slipway-project/slipway/internal/sdkmembers"
)

// Why members of CreateFleet are left out.
const (
	ofTemplate = "the launch template has it, so that a node is what its AWSLaunchConfig says"
	ofLasting  = "it is for fleets of type maintain or request, and a launch is one of type instant"
	planned    = "a Provisioner has chosen the instance types for pods that wait, and plans with equal instances in any of the subnets"
	some       = "some nodes are better than none: the pods that are left are planned for again"
	oneMarket  = "a launch is of one purchase option, which is the default for all of its capacity"
)

// leftOut are the members of CreateFleet that no launch sets.
var leftOut = map[string]string{
	"Context": "AWS reserves it for its own services",

	"LaunchTemplateConfigs.LaunchTemplateSpecification.LaunchTemplateName":                  "launch templates are named by id",
	"LaunchTemplateConfigs.LaunchTemplateSpecification.LaunchTemplateSpecificationUserData": ofTemplate,
	"LaunchTemplateConfigs.Overrides.AvailabilityZone":                                      "an offering has a subnet, which has its zone",
	"LaunchTemplateConfigs.Overrides.AvailabilityZoneId":                                    "an offering has a subnet, which has its zone",
	"LaunchTemplateConfigs.Overrides.BlockDeviceMappings":                                   ofTemplate,
	"LaunchTemplateConfigs.Overrides.IamInstanceProfile":                                    ofTemplate,
	"LaunchTemplateConfigs.Overrides.ImageId":                                               ofTemplate,
	"LaunchTemplateConfigs.Overrides.InstanceRequirements":                                  planned,
	"LaunchTemplateConfigs.Overrides.KeyName":                                               ofTemplate,
	"LaunchTemplateConfigs.Overrides.MaxPrice":                                              "AWS advises against it, since it has instances interrupted more often; a Provisioner's limits bound what it launches",
	"LaunchTemplateConfigs.Overrides.MetadataOptions":                                       ofTemplate,
	"LaunchTemplateConfigs.Overrides.Placement":                                             ofTemplate,
	"LaunchTemplateConfigs.Overrides.Priority":                                              "On-Demand Instances are chosen by price, and Spot Instances by price and capacity",
	"LaunchTemplateConfigs.Overrides.WeightedCapacity":                                      planned,

	"OnDemandOptions.CapacityReservationOptions": "the launch template names the Capacity Reservations that its instances use",
	"OnDemandOptions.MaxTotalPrice":              "a Provisioner's limits bound what it launches",
	"OnDemandOptions.MinTargetCapacity":          some,
	"OnDemandOptions.SingleAvailabilityZone":     planned,
	"OnDemandOptions.SingleInstanceType":         planned,
	"ReplaceUnhealthyInstances":                  ofLasting,
	"ReservedCapacityOptions": "with it reservations are a purchase option of their own, in place of On-Demand and Spot, and a Provisioner plans with the prices of those two; " +
		"the launch template names the Capacity Reservations that its instances use",

	"ExcessCapacityTerminationPolicy":          ofLasting,
	"SpotOptions.InstanceInterruptionBehavior": "a node that is interrupted is replaced: EC2 terminates it, which is the default",
	"SpotOptions.InstancePoolsToUseCount":      "it is for the allocation strategy lowest-price",
	"SpotOptions.MaintenanceStrategies":        ofLasting,
	"SpotOptions.MaxTotalPrice":                "a Provisioner's limits bound what it launches",
	"SpotOptions.MinTargetCapacity":            some,
	"SpotOptions.SingleAvailabilityZone":       planned,
	"SpotOptions.SingleInstanceType":           planned,

	"TargetCapacitySpecification.OnDemandTargetCapacity": oneMarket,
	"TargetCapacitySpecification.SpotTargetCapacity":     oneMarket,
	"TargetCapacitySpecification.TargetCapacityUnitType": planned,
	"TerminateInstancesWithExpiration":                   ofLasting,
	"ValidFrom":                                          ofLasting,
	"ValidUntil":                                         ofLasting,
}

// TestEveryMemberIsDecided fails when the SDK has a member of CreateFleet that no launch sets,
// until it is set, or there is a reason why not.
func TestEveryMemberIsDecided(t *testing.T) {
	t.Parallel()
	request := sdkmembers.Filled[Request]()
	onDemand := request
	onDemand.Spot = false
	for _, complaint := range sdkmembers.Undecided(leftOut, input(request), input(onDemand), dryRunInput(request)) {
		t.Error(complaint)
	}
}
