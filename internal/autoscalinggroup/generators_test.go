package autoscalinggroup

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// placementGroup is created in the rig's AWS.
const placementGroup = "together"

// anImage stands for the image of the rig's AWS.
const anImage = "an image"

var targetGroups = []string{
	"arn:aws:elasticloadbalancing:us-east-1:111122223333:targetgroup/one/73e2d6bc24d8a067",
	"arn:aws:elasticloadbalancing:us-east-1:111122223333:targetgroup/two/73e2d6bc24d8a068",
	"arn:aws:elasticloadbalancing:us-east-1:111122223333:targetgroup/three/73e2d6bc24d8a069",
}

// maybe draws nothing, or one of the values.
func maybe[T any](t *rapid.T, label string, values ...T) *T {
	drawn := rapid.IntRange(0, len(values)).Draw(t, label)
	if drawn == 0 {
		return nil
	}
	return &values[drawn-1]
}

func durations(t *rapid.T, label string, values ...time.Duration) *metav1.Duration {
	if drawn := maybe(t, label, values...); drawn != nil {
		return &metav1.Duration{Duration: *drawn}
	}
	return nil
}

func retaining(action string) infrav1.InstanceLifecyclePolicy {
	return infrav1.InstanceLifecyclePolicy{RetentionTriggers: infrav1.RetentionTriggers{TerminateHookAbandon: action}}
}

// anySpec draws all plain settings.
var anySpec = rapid.Custom(func(t *rapid.T) *infrav1.AWSMachinePoolSpec {
	spec := &infrav1.AWSMachinePoolSpec{
		DefaultCoolDown:       durations(t, "cooldown", 0, time.Minute, 5*time.Minute),
		DefaultInstanceWarmup: durations(t, "warmup", 0, 2*time.Minute),
		CapacityRebalance:     rapid.Bool().Draw(t, "rebalance"),
		TerminationPolicies: rapid.SampledFrom([][]string{
			nil, {"Default"}, {"OldestLaunchTemplate", "NewestInstance"}, {"NewestInstance", "OldestLaunchTemplate"},
		}).Draw(t, "termination"),
		MaxInstanceLifetime: durations(t, "lifetime", 24*time.Hour, 1000*time.Hour),
		InstanceMaintenancePolicy: maybe(t, "maintenance", infrav1.InstanceMaintenancePolicy{MinHealthyPercentage: 90, MaxHealthyPercentage: 120},
			infrav1.InstanceMaintenancePolicy{MinHealthyPercentage: 100, MaxHealthyPercentage: 100}),
		AvailabilityZoneDistribution: rapid.SampledFrom([]infrav1.AvailabilityZoneDistribution{"", "balanced-only", "balanced-best-effort"}).Draw(t, "distribution"),
		AvailabilityZoneImpairmentPolicy: maybe(t, "impairment", infrav1.AvailabilityZoneImpairmentPolicy{},
			infrav1.AvailabilityZoneImpairmentPolicy{ZonalShiftEnabled: true, ImpairedZoneHealthCheckBehavior: "ReplaceUnhealthy"},
			infrav1.AvailabilityZoneImpairmentPolicy{ZonalShiftEnabled: true, ImpairedZoneHealthCheckBehavior: "IgnoreUnhealthy", SkipZonalShiftValidation: true}),
		InstanceLifecyclePolicy: maybe(t, "lifecycle", retaining("retain"), retaining("terminate")),
		ServiceLinkedRoleARN:    rapid.SampledFrom([]string{"", linkedRole}).Draw(t, "role"),
		CapacityReservation: maybe(t, "reservation", infrav1.GroupCapacityReservation{Preference: "none"}, infrav1.GroupCapacityReservation{Preference: "default"},
			infrav1.GroupCapacityReservation{Preference: "capacity-reservations-first", IDs: []string{"cr-0b", "cr-0a"}},
			infrav1.GroupCapacityReservation{Preference: "capacity-reservations-only", ResourceGroupARNs: []string{"arn:aws:resource-groups:us-east-1:111122223333:group/mine"}}),
		DeletionProtection:               rapid.SampledFrom([]infrav1.DeletionProtection{"", "none", "prevent-force-deletion", "prevent-all-deletion"}).Draw(t, "deletion"),
		NewInstancesProtectedFromScaleIn: rapid.Bool().Draw(t, "protected"),
	}
	if rapid.Bool().Draw(t, "checked") {
		spec.HealthCheck = &infrav1.HealthCheck{
			Types:       rapid.SampledFrom([][]string{nil, {"EC2"}, {"ELB"}, {"EBS", "ELB"}, {"ELB", "EC2", "EBS"}}).Draw(t, "checks"),
			GracePeriod: durations(t, "grace", 0, time.Minute),
		}
	}
	return spec
})

// anyPolicy draws policies that AWS takes: with types, plain or weighted, or with requirements.
var anyPolicy = rapid.Custom(func(t *rapid.T) *infrav1.MixedInstancesPolicy {
	kind := rapid.SampledFrom([]string{"none", "types", "weights", "requirements"}).Draw(t, "policy")
	if kind == "none" {
		return nil
	}
	policy := &infrav1.MixedInstancesPolicy{}
	if kind == "requirements" {
		policy.Overrides = []infrav1.Overrides{{InstanceRequirements: anyRequirements.Draw(t, "requirements")}}
	} else {
		types := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"m5.large", "m5.xlarge", "c5.large", "c5.xlarge"}), 0, 4, rapid.ID[string]).Draw(t, "types")
		for _, instanceType := range types {
			override := infrav1.Overrides{InstanceType: instanceType, ImageID: rapid.SampledFrom([]string{"", anImage}).Draw(t, "image")}
			if kind == "weights" {
				override.WeightedCapacity = ptr.To(rapid.Int32Range(1, 3).Draw(t, "weight"))
			}
			policy.Overrides = append(policy.Overrides, override)
		}
	}
	if rapid.Bool().Draw(t, "defaults") {
		return policy
	}
	policy.InstancesDistribution = &infrav1.InstancesDistribution{
		OnDemandAllocationStrategy: rapid.SampledFrom([]infrav1.OnDemandAllocationStrategy{"", "prioritized", "lowest-price"}).Draw(t, "on-demand"),
		SpotAllocationStrategy:     rapid.SampledFrom([]infrav1.SpotAllocationStrategy{"", "lowest-price", "capacity-optimized", "price-capacity-optimized"}).Draw(t, "spot"),
		SpotMaxPrice:               rapid.SampledFrom([]string{"", "0.5", "0.50"}).Draw(t, "price"),
	}
	distribution := policy.InstancesDistribution
	if kind == "requirements" && distribution.OnDemandAllocationStrategy == "prioritized" {
		distribution.OnDemandAllocationStrategy = ""
	}
	if distribution.SpotAllocationStrategy == "" || distribution.SpotAllocationStrategy == "lowest-price" {
		distribution.SpotInstancePools = maybe[int32](t, "pools", 1, 5)
	}
	distribution.OnDemandBaseCapacity = maybe[int64](t, "base", 0, 2)
	distribution.OnDemandPercentageAboveBaseCapacity = maybe[int64](t, "percentage", 0, 50, 100)
	return policy
})

// anyRequirements draws such as some types of the simulated AWS fit, AWS's defaults said aloud among them.
var anyRequirements = rapid.Custom(func(t *rapid.T) *infrav1.InstanceRequirements {
	return &infrav1.InstanceRequirements{
		VCPUCount:             infrav1.RequiredRange{Min: rapid.Int32Range(0, 2).Draw(t, "vCPUs"), Max: maybe[int32](t, "most vCPUs", 8, 16)},
		MemoryMiB:             infrav1.RequiredRange{Min: 1024, Max: maybe[int32](t, "most memory", 65536)},
		MemoryGiBPerVCPU:      maybe(t, "memory per vCPU", infrav1.QuantityRange{Min: ptr.To(resource.MustParse("1.5"))}, infrav1.QuantityRange{}),
		CPUManufacturers:      rapid.SampledFrom([][]string{nil, {"intel"}, {"intel", "amd"}, {"amd", "intel"}}).Draw(t, "manufacturers"),
		InstanceGenerations:   rapid.SampledFrom([][]string{nil, {"current"}, {"current", "previous"}}).Draw(t, "generations"),
		ExcludedInstanceTypes: rapid.SampledFrom([][]string{nil, {"t3.*"}, {"t3.*", "c5.large"}}).Draw(t, "excluded"),
		BareMetal:             rapid.SampledFrom([]infrav1.Inclusion{"", "excluded", "included"}).Draw(t, "metal"),
		BurstablePerformance:  rapid.SampledFrom([]infrav1.Inclusion{"", "excluded", "included"}).Draw(t, "burstable"),
		LocalStorage:          rapid.SampledFrom([]infrav1.Inclusion{"", "included", "excluded"}).Draw(t, "storage"),
		AcceleratorCount:      maybe(t, "accelerators", infrav1.Range{Max: ptr.To[int32](0)}, infrav1.Range{Min: ptr.To[int32](0)}),
		NetworkInterfaceCount: maybe(t, "interfaces", infrav1.Range{Min: ptr.To[int32](2)}),
		OnDemandMaxPricePercentageOverLowestPrice: maybe[int32](t, "price protection", 20, 999999),
		SpotMaxPricePercentageOverLowestPrice:     maybe[int32](t, "Spot price protection", 100, 999999),
	}
})

var anyHooks = rapid.Custom(func(t *rapid.T) []infrav1.AWSLifecycleHook {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID[string]).Draw(t, "hooks")
	var hooks []infrav1.AWSLifecycleHook
	for _, name := range names {
		hook := infrav1.AWSLifecycleHook{
			Name: name, HeartbeatTimeout: durations(t, "heartbeat", 30*time.Second, time.Hour),
			LifecycleTransition: rapid.SampledFrom([]infrav1.LifecycleTransition{
				infrav1.LifecycleTransitionInstanceLaunching, infrav1.LifecycleTransitionInstanceTerminating,
			}).Draw(t, "transition"),
			DefaultResult:        maybe(t, "result", infrav1.LifecycleHookDefaultResultContinue, infrav1.LifecycleHookDefaultResultAbandon),
			NotificationMetadata: maybe(t, "metadata", "one", "two"),
		}
		if hook.NotificationTargetARN = maybe(t, "target", "arn:aws:sqs:us-east-1:111122223333:one", "arn:aws:sns:us-east-1:111122223333:two"); hook.NotificationTargetARN != nil {
			hook.RoleARN = ptr.To(rapid.SampledFrom([]string{"arn:aws:iam::111122223333:role/one", "arn:aws:iam::111122223333:role/two"}).Draw(t, "role"))
		}
		hooks = append(hooks, hook)
	}
	return hooks
})

var anySuspension = rapid.Custom(func(t *rapid.T) *infrav1.SuspendProcessesTypes {
	return maybe(t, "suspension", infrav1.SuspendProcessesTypes{}, infrav1.SuspendProcessesTypes{All: true},
		infrav1.SuspendProcessesTypes{All: true, Processes: &infrav1.Processes{Launch: ptr.To(false), AZRebalance: ptr.To(true)}},
		infrav1.SuspendProcessesTypes{Processes: &infrav1.Processes{AZRebalance: ptr.To(true), HealthCheck: ptr.To(true), Launch: ptr.To(false)}},
		infrav1.SuspendProcessesTypes{Processes: &infrav1.Processes{Launch: ptr.To(true)}})
})

var anyWarmPool = rapid.Custom(func(t *rapid.T) *infrav1.WarmPool {
	if rapid.Bool().Draw(t, "cold") {
		return nil
	}
	return &infrav1.WarmPool{
		MinSize: rapid.Int32Range(0, 1).Draw(t, "warm"), MaxGroupPreparedCapacity: maybe[int32](t, "prepared", 0, 4),
		State: rapid.SampledFrom([]string{"", "Stopped", "Running"}).Draw(t, "state"), ReuseOnScaleIn: rapid.Bool().Draw(t, "reuse"),
	}
})
