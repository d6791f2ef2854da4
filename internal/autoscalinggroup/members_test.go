package autoscalinggroup

import (
	"maps"
	"testing"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/sdkmembers"
)

// Why members of Auto Scaling's requests are left out.
const (
	byID            = "launch templates are named by id"
	bySubnets       = "subnets are sent, which have their zones"
	classic         = "Classic Load Balancers do not take the targets of today's instance types; target groups do"
	launchConfigs   = "AWS gives new accounts no launch configurations, and a group launches from a launch template"
	forAWS          = "AWS reserves it for its own services"
	locksOut        = "a group with an operator can be changed by that AWS service alone, and not by Slipway"
	noConfiguration = "the group itself is given what it launches, so that its version can move on during a refresh: a join token lives 15 minutes, a refresh up to 14 days"
)

// notYet are members that are not offered yet.
const notYet = "not offered yet"

// leftOutOfGroups are the members of both requests for groups that no pool can set.
var leftOutOfGroups = map[string]string{
	"AvailabilityZoneIds":      bySubnets,
	"AvailabilityZones":        bySubnets,
	"Context":                  forAWS,
	"DesiredCapacityType":      notYet,
	"InstanceLifecyclePolicy":  notYet,
	"LaunchConfigurationName":  launchConfigs,
	"ServiceLinkedRoleARN":     notYet,
	"SkipZonalShiftValidation": notYet,

	"LaunchTemplate.LaunchTemplateName":                                                            byID,
	"MixedInstancesPolicy.LaunchTemplate.LaunchTemplateSpecification.LaunchTemplateName":           byID,
	"MixedInstancesPolicy.LaunchTemplate.Overrides.LaunchTemplateSpecification.LaunchTemplateName": byID,

	"MixedInstancesPolicy.InstancesDistribution.DistributionSegments":                               notYet,
	"MixedInstancesPolicy.LaunchTemplate.Overrides.InstanceRequirements.BaselinePerformanceFactors": notYet,
}

// leftOutOfNewGroups are those that a new group alone can be given.
var leftOutOfNewGroups = map[string]string{
	"InstanceId":        launchConfigs,
	"LoadBalancerNames": classic,
	"Operator":          locksOut,
	"TrafficSources":    notYet,
}

// TestEveryMemberIsDecided fails when the SDK has a member that no pool can set, until there is a field for it, or a reason why there is none.
func TestEveryMemberIsDecided(t *testing.T) {
	t.Parallel()
	spec := sdkmembers.Filled[infrav1.AWSMachinePoolSpec]()
	capacity := int32(1)
	mixed := Desired{
		Tags: map[string]string{"a": "b"}, Capacity: &capacity, LaunchTemplateID: "lt-1", Version: 1, MixedInstancesPolicy: spec.MixedInstancesPolicy,
		SubnetIDs: []string{"subnet-1"}, Settings: SettingsOf(&spec), Hooks: HooksOf(spec.LifecycleHooks), TargetGroupARNs: spec.TargetGroupARNs,
	}
	plain := mixed
	plain.MixedInstancesPolicy = nil
	newGroups := maps.Clone(leftOutOfGroups)
	maps.Copy(newGroups, leftOutOfNewGroups)
	before := Group{Name: "pool", Settings: defaultSettings()}
	hook := mixed.Hooks[0]
	for _, row := range []struct {
		request  string
		leftOut  map[string]string
		requests []any
	}{
		{"CreateAutoScalingGroup", newGroups, []any{createInput(mixed, "pool"), createInput(plain, "pool")}},
		{"UpdateAutoScalingGroup", leftOutOfGroups, []any{updateInput(mixed, before), updateInput(plain, before)}},
		{"StartInstanceRefresh", map[string]string{
			"DesiredConfiguration":     noConfiguration,
			"Preferences.AutoRollback": "AWS's own rollback needs a desired configuration; refreshPreferences.rollback is Slipway's",
		}, []any{refreshInput("pool", Replacing{Preferences: spec.RefreshPreferences})}},
		{"PutWarmPool", nil, []any{warmPoolInput("pool", *WarmPoolOf(spec.WarmPool))}},
		{"PutLifecycleHook", nil, []any{hookInput("pool", hook, Hook{})}},
	} {
		for _, complaint := range sdkmembers.Undecided(row.leftOut, row.requests...) {
			t.Errorf("%s: %s", row.request, complaint)
		}
	}
}
