package autoscalinggroup

import (
	"maps"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup/lifecyclehook"
	"github.com/slipway-project/slipway/internal/sdkmembers"
)

// Why members of Auto Scaling's requests are left out.
const (
	byID            = "launch templates are named by id"
	bySubnets       = "subnets are sent, which have their zones; beside them zones can only say the same, or be refused"
	classic         = "trafficSources has Classic Load Balancers"
	launchConfigs   = "AWS gives new accounts no launch configurations, and a group launches from a launch template"
	forAWS          = "AWS reserves it for its own services"
	locksOut        = "a group with an operator can be changed by that AWS service alone, and not by Slipway"
	noConfiguration = "the group itself is given what it launches, so that its version can move on during a refresh: a join token lives 15 minutes, a refresh up to 14 days"
)

// leftOutOfGroups are the members of both requests for groups that no pool can set.
var leftOutOfGroups = map[string]string{
	"AvailabilityZoneIds":     bySubnets,
	"AvailabilityZones":       bySubnets,
	"Context":                 forAWS,
	"LaunchConfigurationName": launchConfigs,

	"LaunchTemplate.LaunchTemplateName":                                                            byID,
	"MixedInstancesPolicy.LaunchTemplate.LaunchTemplateSpecification.LaunchTemplateName":           byID,
	"MixedInstancesPolicy.LaunchTemplate.Overrides.LaunchTemplateSpecification.LaunchTemplateName": byID,
}

// leftOutOfNewGroups are members that only a new group can be given.
var leftOutOfNewGroups = map[string]string{
	"InstanceId":        launchConfigs,
	"LoadBalancerNames": classic,
	"Operator":          locksOut,
}

// TestEveryMemberIsDecided fails when the SDK has a member that no pool can set, until there is a
// field for it, or a reason why there is none.
func TestEveryMemberIsDecided(t *testing.T) {
	t.Parallel()
	spec := sdkmembers.Filled[infrav1.AWSMachinePoolSpec]()
	capacity := int32(1)
	mixed := Desired{
		Tags: map[string]string{"a": "b"}, Capacity: &capacity, LaunchTemplateID: "lt-1", Version: 1, MixedInstancesPolicy: spec.MixedInstancesPolicy,
		SubnetIDs: []string{"subnet-1"}, Settings: SettingsOf(&spec), Hooks: lifecyclehook.Of(spec.LifecycleHooks), TargetGroupARNs: spec.TargetGroupARNs,
		TrafficSources: TrafficSourcesOf(spec.TrafficSources),
	}
	plain := mixed
	plain.MixedInstancesPolicy = nil
	sourced := plain
	sourced.TargetGroupARNs = nil
	unsegmented := mixed
	unsegmented.MixedInstancesPolicy = spec.MixedInstancesPolicy.DeepCopy()
	unsegmented.MixedInstancesPolicy.InstancesDistribution.DistributionSegments = nil
	newGroups := maps.Clone(leftOutOfGroups)
	maps.Copy(newGroups, leftOutOfNewGroups)
	before := Group{Name: "pool", Settings: defaultSettings()}
	for _, row := range []struct {
		request  string
		leftOut  map[string]string
		requests []any
	}{
		{"CreateAutoScalingGroup", newGroups, []any{createInput(mixed, "pool"), createInput(unsegmented, "pool"), createInput(plain, "pool"), createInput(sourced, "pool")}},
		{"UpdateAutoScalingGroup", leftOutOfGroups, []any{updateInput(mixed, before), updateInput(unsegmented, before), updateInput(plain, before)}},
		{"StartInstanceRefresh", map[string]string{
			"DesiredConfiguration.LaunchTemplate": noConfiguration,
			"DesiredConfiguration.MixedInstancesPolicy.LaunchTemplate.LaunchTemplateSpecification.LaunchTemplateName":           byID,
			"DesiredConfiguration.MixedInstancesPolicy.LaunchTemplate.Overrides.LaunchTemplateSpecification.LaunchTemplateName": byID,
			"Preferences.AutoRollback": "refreshPreferences.rollback is Slipway's, which also goes back where no desired configuration is sent",
		}, []any{
			refreshInput("pool", Replacing{Preferences: spec.RefreshPreferences}), refreshInput("pool", Replacing{RootVolumes: &mixed}),
			refreshInput("pool", Replacing{RootVolumes: &unsegmented}),
		}},
		{"AttachTrafficSources", nil, []any{attachInput("pool", sourced.TrafficSources, sourced.Settings)}},
		{"PutWarmPool", nil, []any{warmPoolInput("pool", *WarmPoolOf(spec.WarmPool))}},
		{"CancelInstanceRefresh", map[string]string{
			"WaitForTransitioningInstances": "AWS waits for launches and terminations under way by default, and the next refresh must not begin beside them",
		}, []any{&autoscaling.CancelInstanceRefreshInput{AutoScalingGroupName: &before.Name}}},
		{"TerminateInstanceInAutoScalingGroup", map[string]string{
			"AutoScalingGroupName": "an instance is in one group",
			"InstanceIds":          "each instance is terminated when its own Machine is deleted, or its own node is empty; one refusal must not keep the others",
		}, []any{terminateInput("i-1", true)}},
	} {
		for _, complaint := range sdkmembers.Undecided(row.leftOut, row.requests...) {
			t.Errorf("%s: %s", row.request, complaint)
		}
	}
}
