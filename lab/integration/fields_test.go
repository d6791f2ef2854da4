package integration

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

const (
	spreadGroup = "spread"
	targetOne   = "arn:aws:elasticloadbalancing:us-east-1:111122223333:targetgroup/one/73e2d6bc24d8a067"
	latticeOne  = "arn:aws:vpc-lattice:us-east-1:111122223333:targetgroup/tg-0123456789abcdef0"
	queueOne    = "arn:aws:sqs:us-east-1:111122223333:one"
	roleOne     = "arn:aws:iam::111122223333:role/one"
)

// inAWS holds AWS's description of a pool's group.
type inAWS struct {
	asgtypes.AutoScalingGroup
	hooks map[string]asgtypes.LifecycleHook
}

// fieldOf is a change of one leaf field of a spec, and how its effect is recognized in what AWS
// holds of the pool.
type fieldOf[Spec, Seen any] struct {
	path   string
	change func(*Spec)
	effect func(Seen) bool
}

type field = fieldOf[infrav1.AWSMachinePoolSpec, inAWS]

// fields are changed together, one stage after another. Each leaf of the spec has a row here, or is
// in elsewhere.
var fields = [][]field{
	{
		{"minSize", func(s *infrav1.AWSMachinePoolSpec) { s.MinSize = 0 }, func(g inAWS) bool { return *g.MinSize == 0 }},
		{"maxSize", func(s *infrav1.AWSMachinePoolSpec) { s.MaxSize = 3 }, func(g inAWS) bool { return *g.MaxSize == 3 }},
		{"subnets[].id", func(s *infrav1.AWSMachinePoolSpec) {
			s.Subnets = []infrav1.AWSResourceReference{{ID: ptr.To(privateSubnetB)}}
		},
			func(g inAWS) bool { return *g.VPCZoneIdentifier == privateSubnetB }},
		{"additionalTags", func(s *infrav1.AWSMachinePoolSpec) { s.AdditionalTags = infrav1.Tags{"team": "blue"} }, func(g inAWS) bool {
			return slices.ContainsFunc(g.Tags, func(tag asgtypes.TagDescription) bool { return *tag.Key == "team" && *tag.Value == "blue" })
		}},
		{"defaultCoolDown", func(s *infrav1.AWSMachinePoolSpec) { s.DefaultCoolDown = after(time.Minute) }, func(g inAWS) bool { return *g.DefaultCooldown == 60 }},
		{"defaultInstanceWarmup", func(s *infrav1.AWSMachinePoolSpec) { s.DefaultInstanceWarmup = after(0) },
			func(g inAWS) bool { return g.DefaultInstanceWarmup != nil && *g.DefaultInstanceWarmup == 0 }},
		{"capacityRebalance", func(s *infrav1.AWSMachinePoolSpec) { s.CapacityRebalance = true }, func(g inAWS) bool { return aws.ToBool(g.CapacityRebalance) }},
		{"deletionProtection", func(s *infrav1.AWSMachinePoolSpec) {
			s.DeletionProtection = infrav1.DeletionProtectionPreventForceDeletion
		},
			func(g inAWS) bool { return g.DeletionProtection == asgtypes.DeletionProtectionPreventForceDeletion }},
		{"healthCheck.types", func(s *infrav1.AWSMachinePoolSpec) {
			s.HealthCheck = &infrav1.HealthCheck{Types: []string{"ELB", "EBS"}}
		},
			func(g inAWS) bool { return *g.HealthCheckType == "EBS,ELB" }},
		{"healthCheck.gracePeriod", func(s *infrav1.AWSMachinePoolSpec) { s.HealthCheck.GracePeriod = after(2 * time.Minute) },
			func(g inAWS) bool { return *g.HealthCheckGracePeriod == 120 }},
		{"terminationPolicies", func(s *infrav1.AWSMachinePoolSpec) { s.TerminationPolicies = []string{"OldestInstance"} },
			func(g inAWS) bool { return slices.Equal(g.TerminationPolicies, []string{"OldestInstance"}) }},
		{"maxInstanceLifetime", func(s *infrav1.AWSMachinePoolSpec) { s.MaxInstanceLifetime = after(1000 * time.Hour) },
			func(g inAWS) bool { return aws.ToInt32(g.MaxInstanceLifetime) == 3_600_000 }},
		{"instanceMaintenancePolicy.minHealthyPercentage", func(s *infrav1.AWSMachinePoolSpec) {
			s.InstanceMaintenancePolicy = &infrav1.InstanceMaintenancePolicy{MinHealthyPercentage: 80, MaxHealthyPercentage: 150}
		}, func(g inAWS) bool {
			return g.InstanceMaintenancePolicy != nil && *g.InstanceMaintenancePolicy.MinHealthyPercentage == 80
		}},
		{"instanceMaintenancePolicy.maxHealthyPercentage", func(*infrav1.AWSMachinePoolSpec) {},
			func(g inAWS) bool {
				return g.InstanceMaintenancePolicy != nil && *g.InstanceMaintenancePolicy.MaxHealthyPercentage == 150
			}},
		{"availabilityZoneDistribution", func(s *infrav1.AWSMachinePoolSpec) { s.AvailabilityZoneDistribution = "balanced-only" },
			func(g inAWS) bool {
				return g.AvailabilityZoneDistribution.CapacityDistributionStrategy == "balanced-only"
			}},
		{"availabilityZoneImpairmentPolicy.zonalShiftEnabled", func(s *infrav1.AWSMachinePoolSpec) {
			s.AvailabilityZoneImpairmentPolicy = &infrav1.AvailabilityZoneImpairmentPolicy{ZonalShiftEnabled: true, ImpairedZoneHealthCheckBehavior: "ReplaceUnhealthy"}
		}, func(g inAWS) bool {
			return g.AvailabilityZoneImpairmentPolicy != nil && *g.AvailabilityZoneImpairmentPolicy.ZonalShiftEnabled
		}},
		{"availabilityZoneImpairmentPolicy.impairedZoneHealthCheckBehavior", func(*infrav1.AWSMachinePoolSpec) {}, func(g inAWS) bool {
			return g.AvailabilityZoneImpairmentPolicy != nil && g.AvailabilityZoneImpairmentPolicy.ImpairedZoneHealthCheckBehavior == "ReplaceUnhealthy"
		}},
		{"capacityReservation.preference", func(s *infrav1.AWSMachinePoolSpec) {
			s.CapacityReservation = &infrav1.GroupCapacityReservation{Preference: "capacity-reservations-first", IDs: []string{"cr-0123456789abcdef0"},
				ResourceGroupARNs: []string{"arn:aws:resource-groups:us-east-1:111122223333:group/mine"}}
		}, func(g inAWS) bool {
			return g.CapacityReservationSpecification != nil && g.CapacityReservationSpecification.CapacityReservationPreference == "capacity-reservations-first"
		}},
		{"capacityReservation.ids", func(*infrav1.AWSMachinePoolSpec) {}, func(g inAWS) bool {
			return len(g.CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationIds) == 1
		}},
		{"capacityReservation.resourceGroupARNs", func(*infrav1.AWSMachinePoolSpec) {}, func(g inAWS) bool {
			return len(g.CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationResourceGroupArns) == 1
		}},
		{"targetGroupARNs", func(s *infrav1.AWSMachinePoolSpec) { s.TargetGroupARNs = []string{targetOne} },
			func(g inAWS) bool { return slices.Contains(g.TargetGroupARNs, targetOne) }},
		{"availabilityZoneImpairmentPolicy.skipZonalShiftValidation", func(s *infrav1.AWSMachinePoolSpec) {
			s.AvailabilityZoneImpairmentPolicy.SkipZonalShiftValidation = true
		},
			func(g inAWS) bool { return g.AvailabilityZoneImpairmentPolicy != nil }},
		{"trafficSources[].identifier", func(s *infrav1.AWSMachinePoolSpec) {
			s.TrafficSources = []infrav1.TrafficSource{{Identifier: latticeOne, Type: "vpc-lattice"}}
		}, func(g inAWS) bool { return len(g.TrafficSources) == 1 && *g.TrafficSources[0].Identifier == latticeOne }},
		{"trafficSources[].type", func(*infrav1.AWSMachinePoolSpec) {}, func(g inAWS) bool { return len(g.TrafficSources) == 1 && *g.TrafficSources[0].Type == "vpc-lattice" }},
		{"placementGroup", func(s *infrav1.AWSMachinePoolSpec) { s.PlacementGroup = spreadGroup }, func(g inAWS) bool { return aws.ToString(g.PlacementGroup) == spreadGroup }},
		{"newInstancesProtectedFromScaleIn", func(s *infrav1.AWSMachinePoolSpec) { s.NewInstancesProtectedFromScaleIn = true },
			func(g inAWS) bool { return *g.NewInstancesProtectedFromScaleIn }},
		{"suspendProcesses.all", func(s *infrav1.AWSMachinePoolSpec) { s.SuspendProcesses = &infrav1.SuspendProcessesTypes{All: true} },
			func(g inAWS) bool { return len(g.SuspendedProcesses) == 9 }},
		hookField("name", func(asgtypes.LifecycleHook) bool { return true }),
		hookField("notificationTargetARN", func(h asgtypes.LifecycleHook) bool { return aws.ToString(h.NotificationTargetARN) == queueOne }),
		hookField("roleARN", func(h asgtypes.LifecycleHook) bool { return aws.ToString(h.RoleARN) == roleOne }),
		hookField("lifecycleTransition", func(h asgtypes.LifecycleHook) bool {
			return *h.LifecycleTransition == "autoscaling:EC2_INSTANCE_LAUNCHING"
		}),
		hookField("heartbeatTimeout", func(h asgtypes.LifecycleHook) bool { return *h.HeartbeatTimeout == 60 }),
		hookField("defaultResult", func(h asgtypes.LifecycleHook) bool { return *h.DefaultResult == "CONTINUE" }),
		hookField("notificationMetadata", func(h asgtypes.LifecycleHook) bool { return aws.ToString(h.NotificationMetadata) == "hello" }),
		{"warmPool.minSize", func(s *infrav1.AWSMachinePoolSpec) {
			s.WarmPool = &infrav1.WarmPool{MinSize: 1, MaxGroupPreparedCapacity: ptr.To[int32](4), State: "Running", ReuseOnScaleIn: true}
		}, func(g inAWS) bool { return g.WarmPoolConfiguration != nil && *g.WarmPoolConfiguration.MinSize == 1 }},
		{"warmPool.maxGroupPreparedCapacity", func(*infrav1.AWSMachinePoolSpec) {}, func(g inAWS) bool { return *g.WarmPoolConfiguration.MaxGroupPreparedCapacity == 4 }},
		{"warmPool.state", func(*infrav1.AWSMachinePoolSpec) {}, func(g inAWS) bool { return g.WarmPoolConfiguration.PoolState == "Running" }},
		{"warmPool.reuseOnScaleIn", func(*infrav1.AWSMachinePoolSpec) {}, func(g inAWS) bool { return *g.WarmPoolConfiguration.InstanceReusePolicy.ReuseOnScaleIn }},
	},
	{
		processField("launch", "Launch", func(p *infrav1.Processes) **bool { return &p.Launch }),
		processField("terminate", "Terminate", func(p *infrav1.Processes) **bool { return &p.Terminate }),
		processField("addToLoadBalancer", "AddToLoadBalancer", func(p *infrav1.Processes) **bool { return &p.AddToLoadBalancer }),
		processField("alarmNotification", "AlarmNotification", func(p *infrav1.Processes) **bool { return &p.AlarmNotification }),
		processField("azRebalance", "AZRebalance", func(p *infrav1.Processes) **bool { return &p.AZRebalance }),
		processField("healthCheck", "HealthCheck", func(p *infrav1.Processes) **bool { return &p.HealthCheck }),
		processField("instanceRefresh", "InstanceRefresh", func(p *infrav1.Processes) **bool { return &p.InstanceRefresh }),
		processField("replaceUnhealthy", "ReplaceUnhealthy", func(p *infrav1.Processes) **bool { return &p.ReplaceUnhealthy }),
		processField("scheduledActions", "ScheduledActions", func(p *infrav1.Processes) **bool { return &p.ScheduledActions }),
		{"subnets[].filters[].name", func(s *infrav1.AWSMachinePoolSpec) {
			s.Subnets = []infrav1.AWSResourceReference{{Filters: []infrav1.Filter{{Name: "subnet-id", Values: []string{privateSubnetA}}}}}
		}, func(g inAWS) bool { return *g.VPCZoneIdentifier == privateSubnetA }},
		{"subnets[].filters[].values", func(*infrav1.AWSMachinePoolSpec) {}, func(g inAWS) bool { return *g.VPCZoneIdentifier == privateSubnetA }},
	},
	{
		// Every field that can be removed is removed, and leaves nothing in AWS: the comparison
		// with a recreated pool holds that.
		{"", func(s *infrav1.AWSMachinePoolSpec) {
			kept := *s.DeepCopy()
			*s = infrav1.AWSMachinePoolSpec{
				DeletionProtection: infrav1.DeletionProtectionNone, // left out, it stays as it is
				ProviderID:         kept.ProviderID, ProviderIDList: kept.ProviderIDList, MinSize: 1, MaxSize: 4,
				AWSLaunchTemplate: kept.AWSLaunchTemplate, RefreshPreferences: kept.RefreshPreferences, NodeDrain: kept.NodeDrain,
			}
		}, func(g inAWS) bool { return g.WarmPoolConfiguration == nil }},
		{"availabilityZones", func(s *infrav1.AWSMachinePoolSpec) { s.AvailabilityZones = []string{"us-east-1b"} },
			func(g inAWS) bool { return slices.Equal(g.AvailabilityZones, []string{"us-east-1b"}) }},
		{"availabilityZoneSubnetType", func(s *infrav1.AWSMachinePoolSpec) {
			s.AvailabilityZoneSubnetType = ptr.To(infrav1.AZSubnetTypePrivate)
		},
			func(g inAWS) bool { return *g.VPCZoneIdentifier == privateSubnetB }},
		{"mixedInstancesPolicy.overrides[].instanceType", func(s *infrav1.AWSMachinePoolSpec) {
			s.MixedInstancesPolicy = &infrav1.MixedInstancesPolicy{Overrides: []infrav1.Overrides{
				{InstanceType: "t3.large", WeightedCapacity: ptr.To[int32](1)}, {InstanceType: "m5.large", WeightedCapacity: ptr.To[int32](2)},
			}}
		}, func(g inAWS) bool { return len(overridesOf(g)) == 2 && *overridesOf(g)[1].InstanceType == "m5.large" }},
		{"mixedInstancesPolicy.overrides[].weightedCapacity", func(*infrav1.AWSMachinePoolSpec) {}, func(g inAWS) bool { return *overridesOf(g)[1].WeightedCapacity == "2" }},
		distributionField("onDemandAllocationStrategy", func(d *infrav1.InstancesDistribution) { d.OnDemandAllocationStrategy = "lowest-price" },
			func(d *asgtypes.InstancesDistribution) bool { return *d.OnDemandAllocationStrategy == "lowest-price" }),
		distributionField("spotAllocationStrategy", func(d *infrav1.InstancesDistribution) { d.SpotAllocationStrategy = "lowest-price" },
			func(d *asgtypes.InstancesDistribution) bool { return *d.SpotAllocationStrategy == "lowest-price" }),
		distributionField("onDemandBaseCapacity", func(d *infrav1.InstancesDistribution) { d.OnDemandBaseCapacity = ptr.To[int64](1) },
			func(d *asgtypes.InstancesDistribution) bool { return *d.OnDemandBaseCapacity == 1 }),
		distributionField("onDemandPercentageAboveBaseCapacity", func(d *infrav1.InstancesDistribution) { d.OnDemandPercentageAboveBaseCapacity = ptr.To[int64](40) },
			func(d *asgtypes.InstancesDistribution) bool { return *d.OnDemandPercentageAboveBaseCapacity == 40 }),
		distributionField("spotInstancePools", func(d *infrav1.InstancesDistribution) { d.SpotInstancePools = ptr.To[int32](3) },
			func(d *asgtypes.InstancesDistribution) bool { return *d.SpotInstancePools == 3 }),
		distributionField("spotMaxPrice", func(d *infrav1.InstancesDistribution) { d.SpotMaxPrice = "0.5" },
			func(d *asgtypes.InstancesDistribution) bool { return aws.ToString(d.SpotMaxPrice) == "0.5" }),
	},
	{
		{"mixedInstancesPolicy.overrides[].imageID", func(s *infrav1.AWSMachinePoolSpec) {
			s.MixedInstancesPolicy = &infrav1.MixedInstancesPolicy{Overrides: []infrav1.Overrides{
				{InstanceType: "t3.large"}, {InstanceType: "m6g.large", ImageID: theirArmImage},
				{InstanceType: "m5.large", LaunchTemplate: &infrav1.LaunchTemplateReference{ID: theirTemplate, Version: 1}},
			}}
		}, func(g inAWS) bool { return aws.ToString(overridesOf(g)[1].ImageId) != "" }},
		{"mixedInstancesPolicy.overrides[].launchTemplate.id", func(*infrav1.AWSMachinePoolSpec) {}, func(g inAWS) bool {
			return overridesOf(g)[2].LaunchTemplateSpecification != nil && overridesOf(g)[2].WeightedCapacity == nil
		}},
		{"mixedInstancesPolicy.overrides[].launchTemplate.version", func(*infrav1.AWSMachinePoolSpec) {},
			func(g inAWS) bool { return *overridesOf(g)[2].LaunchTemplateSpecification.Version == "1" }},
	},
}

// theirArmImage and theirTemplate stand for what the test finds and creates.
const theirArmImage, theirTemplate = "ami-00000000", "lt-00000000"

// elsewhere are leaves whose effect is held by other tests, by what their paths begin with.
var elsewhere = map[string]string{
	"providerID":         "the controller writes it: TestCreate",
	"awsLaunchTemplate.": "internal/launchtemplate TestEveryFieldIsSent and TestEveryFieldIsAccountedFor, and TestEditsOfTheLaunchTemplate here",
	"versionsToKeep":     "TestPruning",
	"mixedInstancesPolicy.overrides[].instanceRequirements.":             "internal/autoscalinggroup TestRequirements, TestCreatedAndUpdatedGroupsAreAsDesired",
	"mixedInstancesPolicy.instancesDistribution.distributionSegments[].": "internal/autoscalinggroup TestCreatedAndUpdatedGroupsAreAsDesired, awssim TestCapacityReservationsOfAGroup",
	"desiredCapacityType":      "internal/autoscalinggroup TestCreatedAndUpdatedGroupsAreAsDesired, awssim TestCapacityInVCPUs",
	"instanceLifecyclePolicy.": "internal/machinepool TestDrainThatRanOutIsRetained, TestRetainingGroupIsDeleted",
	"serviceLinkedRoleARN":     "internal/autoscalinggroup TestCreatedAndUpdatedGroupsAreAsDesired",
	"refreshPreferences.":      "internal/autoscalinggroup TestRefreshPreferences",
	"ignition.":                "the tests of bootstrap storage",
	"bootstrapStorage":         "the tests of bootstrap storage",
	"nodeDrain.":               "the tests of draining",
	"machinePoolMachines":      "the tests of MachinePool Machines",
	"launchConfigRef.":         "TestSharedLaunchConfig",
	"launchConfigTemplateRef.": "TestTemplateOfTwoClusters",
	"rollout":                  "TestApprovedRollout",
	"pinnedVersion":            "TestPinnedVersion",
}

func after(duration time.Duration) *metav1.Duration { return &metav1.Duration{Duration: duration} }

func overridesOf(g inAWS) []asgtypes.LaunchTemplateOverrides {
	if g.MixedInstancesPolicy == nil {
		return make([]asgtypes.LaunchTemplateOverrides, 1)
	}
	return append(slices.Clone(g.MixedInstancesPolicy.LaunchTemplate.Overrides), asgtypes.LaunchTemplateOverrides{})[:len(g.MixedInstancesPolicy.LaunchTemplate.Overrides)]
}

func hookField(member string, effect func(asgtypes.LifecycleHook) bool) field {
	return field{"lifecycleHooks[]." + member, func(s *infrav1.AWSMachinePoolSpec) {
		s.LifecycleHooks = []infrav1.AWSLifecycleHook{{
			Name: "ours", NotificationTargetARN: ptr.To(queueOne), RoleARN: ptr.To(roleOne), LifecycleTransition: infrav1.LifecycleTransitionInstanceLaunching,
			HeartbeatTimeout: after(time.Minute), DefaultResult: ptr.To(infrav1.LifecycleHookDefaultResultContinue), NotificationMetadata: ptr.To("hello"),
		}}
	}, func(g inAWS) bool { hook, exists := g.hooks["ours"]; return exists && effect(hook) }}
}

// processField has a process go on while all others are stopped.
func processField(member, process string, pick func(*infrav1.Processes) **bool) field {
	return field{"suspendProcesses.processes." + member, func(s *infrav1.AWSMachinePoolSpec) {
		if s.SuspendProcesses.Processes == nil {
			s.SuspendProcesses.Processes = &infrav1.Processes{}
		}
		*pick(s.SuspendProcesses.Processes) = ptr.To(false)
	}, func(g inAWS) bool {
		return !slices.ContainsFunc(g.SuspendedProcesses, func(p asgtypes.SuspendedProcess) bool { return *p.ProcessName == process })
	}}
}

func distributionField(member string, change func(*infrav1.InstancesDistribution), effect func(*asgtypes.InstancesDistribution) bool) field {
	return field{"mixedInstancesPolicy.instancesDistribution." + member, func(s *infrav1.AWSMachinePoolSpec) {
		if s.MixedInstancesPolicy.InstancesDistribution == nil {
			s.MixedInstancesPolicy.InstancesDistribution = &infrav1.InstancesDistribution{}
		}
		change(s.MixedInstancesPolicy.InstancesDistribution)
	}, func(g inAWS) bool {
		return g.MixedInstancesPolicy != nil && effect(g.MixedInstancesPolicy.InstancesDistribution)
	}}
}

// leaves are the paths of all leaf fields of a type, as a manifest writes them.
func leaves(of reflect.Type, path string) []string {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Struct {
		return leaves(of.Elem(), path+"[]")
	}
	if of.Kind() != reflect.Struct || !strings.HasPrefix(of.PkgPath(), "github.com/slipway-project/") {
		return []string{path}
	}
	var all []string
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		all = append(all, leaves(of.Field(i).Type, strings.TrimPrefix(path+"."+name, "."))...)
	}
	return all
}

// pathsOf are the fields that rows are about.
func pathsOf[Spec, Seen any](stages ...[]fieldOf[Spec, Seen]) map[string]bool {
	paths := map[string]bool{}
	for _, stage := range stages {
		for _, row := range stage {
			paths[row.path] = true
		}
	}
	delete(paths, "") // what is about no field by itself
	return paths
}

// expectEveryLeaf fails for a leaf of a type that neither rows nor the tests elsewhere are about,
// and for a row or a place about no leaf.
func expectEveryLeaf(t *testing.T, of reflect.Type, rows map[string]bool, elsewhere map[string]string) {
	t.Helper()
	known, places := leaves(of, ""), map[string]bool{}
	for _, path := range known {
		covered := rows[path]
		for prefix := range elsewhere {
			if strings.HasPrefix(path, prefix) {
				covered, places[prefix] = true, true
			}
		}
		if !covered {
			t.Errorf("%s has no row: say in the table what it does in AWS", path)
		}
	}
	for path := range rows {
		if !slices.Contains(known, path) {
			t.Errorf("there is no field %s", path)
		}
	}
	for prefix := range elsewhere {
		if !places[prefix] {
			t.Errorf("there is no field that begins with %s", prefix)
		}
	}
}

// TestEveryFieldHasARow holds that no field of the spec is without a test of its effect.
func TestEveryFieldHasARow(t *testing.T) {
	t.Parallel()
	expectEveryLeaf(t, reflect.TypeFor[infrav1.AWSMachinePoolSpec](), pathsOf(fields...), elsewhere)
}

// TestEveryField changes each field through the API server and finds its effect in AWS. In the end
// the pool that went through all of it equals one that was created with the last spec, and what
// others gave the group is still there.
func TestEveryField(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.ec2().CreatePlacementGroup(w.Context(), &ec2.CreatePlacementGroupInput{GroupName: aws.String(spreadGroup), Strategy: ec2types.PlacementStrategySpread}); err != nil {
		t.Fatal(err)
	}
	w.havePool("  minSize: 1\n", "  minSize: 1\n  refreshPreferences: {disable: true}\n  nodeDrain: {disable: true}\n")
	image, template := w.theirs()
	w.attachTheirs()
	for number, stage := range fields {
		w.editPool(func(pool *infrav1.AWSMachinePool) {
			for _, row := range stage {
				row.change(&pool.Spec)
			}
			if policy := pool.Spec.MixedInstancesPolicy; policy != nil && number == len(fields)-1 {
				policy.Overrides[1].ImageID, policy.Overrides[2].LaunchTemplate.ID = image, template
			}
		})
		w.Eventually(fmt.Sprintf("stage %d has its effect", number), func() error {
			seen := w.seen(poolName)
			for _, row := range stage {
				if !row.effect(seen) {
					return fmt.Errorf("%s has no effect; conditions %+v", row.path, w.mustPool().Status.Conditions)
				}
			}
			return w.acted()
		})
	}
	w.detachTheirs()
	w.makeAfresh()
	w.Eventually("both are the same in AWS", func() error {
		if difference := cmp.Diff(w.comparable("afresh"), w.comparable(poolName), cmpopts.EquateEmpty(), cmp.Exporter(func(reflect.Type) bool { return true })); difference != "" {
			return fmt.Errorf("a pool made so (-) is not as one that was changed (+):\n%s", difference)
		}
		return nil
	})
}
