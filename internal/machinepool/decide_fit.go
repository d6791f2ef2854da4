package machinepool

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/inspection"
	"github.com/slipway-project/slipway/internal/pool"
)

// reservation reports whether the pool decides on Capacity Reservations itself, and whether its
// instances may run in those.
func reservation(pool *infrav1.AWSMachinePoolSpec) (itself, inside bool) {
	itself = pool.CapacityReservation != nil && pool.CapacityReservation.Preference != "default"
	return itself, itself && pool.CapacityReservation.Preference != "none"
}

// skipsMatching reports whether refreshes leave instances alone that run what is wanted.
func skipsMatching(preferences *infrav1.RefreshPreferences) bool {
	return preferences == nil || !preferences.Disable && ptr.Deref(preferences.SkipMatching, true)
}

// incompatible returns why the pool cannot launch from a launch config that is not written in the
// pool itself, "" if it can. They are the rules that the API server holds for awsLaunchTemplate.
func incompatible(in input, spec *infrav1.AWSLaunchConfigSpec) string {
	object, mixed := &in.Object.Spec, in.Object.Spec.MixedInstancesPolicy
	spot, block := pool.Bought(spec)
	outside := object.BootstrapStorage != "" && object.BootstrapStorage != infrav1.BootstrapStorageUserData
	reserves, inReservation := reservation(object)
	// A parameter that a spec names is resolved before a version is made of it.
	parameter := spec.Existing != nil && strings.HasPrefix(ptr.Deref(spec.AMI.ID, ""), inspection.ParameterPrefix)
	return cmp.Or(
		pool.If(spec.ClusterName != in.Seen.MachinePool.Spec.ClusterName, fmt.Sprintf("it belongs to Cluster %q", spec.ClusterName)),
		pool.If(spec.Nodegroup != nil, "its spec.nodegroup is set, so its user data is for a managed node "+
			"group. Use an AWSLaunchConfig without nodegroup"),
		pool.If(spec.InstanceType == "" && spec.InstanceRequirements == nil && (mixed == nil || len(mixed.Overrides) == 0), "it has no instance type, and the pool "+
			"has no mixedInstancesPolicy.overrides: set one of them"),
		pool.If(lacksDryRun(spec), "it requests a dry run, which requires an instance type, but has none: set "+
			"instanceType, or remove verify"),
		pool.If(mixed != nil && spot, "it requests Spot Instances, but the pool has mixedInstancesPolicy: set "+
			"onDemandPercentageAboveBaseCapacity in the policy instead"),
		pool.If(mixed != nil && block, "it requests a Capacity Block, which cannot be used with mixedInstancesPolicy"),
		incompatibleWithWarmPool(object.WarmPool, spec, spot || block, parameter),
		pool.If(parameter && skipsMatching(object.RefreshPreferences), "its image is a Systems Manager "+
			"parameter, so AWS cannot determine which instances already match: set "+
			"refreshPreferences.skipMatching to false"),
		pool.If(outside && spec.IamInstanceProfile == "", "it has no iamInstanceProfile, which instances need "+
			"to read bootstrap data that is stored outside the launch template (bootstrapStorage)"),
		pool.If(reserves && ptr.Deref(spec.CapacityReservationID, "") != "", "it specifies a Capacity Reservation, "+
			"which capacityReservation of the pool overrides"),
		pool.If(inReservation && spot, "it requests Spot Instances, which cannot run in the Capacity "+
			"Reservation of the pool"),
	)
}

// incompatibleWithWarmPool returns why instances of a launch config cannot be in the warm pool, ""
// if they can or there is none.
func incompatibleWithWarmPool(warm *infrav1.WarmPool, spec *infrav1.AWSLaunchConfigSpec, bought, parameter bool) string {
	if warm == nil {
		return ""
	}
	return cmp.Or(
		pool.If(bought, "it requests Spot Instances or a Capacity Block, which the warmPool of the pool does "+
			"not support"),
		pool.If(warm.State == hibernatedWarmPool && !hibernates(spec),
			"its instances cannot hibernate, but the pool has a warmPool in state Hibernated: set "+
				"hibernationOptions.configured to true, or warmPool.state to Stopped"),
		pool.If(parameter, "its image is a Systems Manager parameter, which Auto Scaling does not support with "+
			"a warm pool"),
	)
}

// hibernatedWarmPool is the state of a warm pool whose instances hibernate.
const hibernatedWarmPool = "Hibernated"

// hibernates reports whether instances of a launch config can hibernate, or it is for AWS to say,
// which has the launch template.
func hibernates(spec *infrav1.AWSLaunchConfigSpec) bool {
	return spec.Existing != nil || spec.HibernationOptions != nil && spec.HibernationOptions.Configured
}

// lacksDryRun reports whether a launch config asks for a dry run and has no instance type, without
// which there is no dry run.
func lacksDryRun(spec *infrav1.AWSLaunchConfigSpec) bool {
	return spec.Verify != "" && spec.InstanceType == ""
}
