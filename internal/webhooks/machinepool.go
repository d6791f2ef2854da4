package webhooks

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// subject is a pool and its surroundings.
type subject struct {
	pool *infrav1.AWSMachinePool
	wanted
}

// wanted holds what the MachinePool of a pool asks for.
type wanted struct {
	// machinePool refers to the pool; nil if there is none yet.
	machinePool *clusterv1.MachinePool
}

// machinePoolRules are by their ids in the validation matrix; each returns a warning that says what
// to do, or nothing.
var machinePoolRules = map[string]func(subject) string{
	"AS10": replicasFit,
	"AS13": weightsLeaveRoom,
	"AS17": rebalancesWell,
	"RF2W": refreshEnds,
	"RF7W": alarmsRollBack,
	"SL11": refreshIsOn,
	"SL12": rollOutsCanRun,
	"SL13": healthChecksHaveSomething,
	"SL14": protectedInstancesRoll,
	"SL15": warmPoolWaits,
	"SL16": ignitionVersionCounts,
	"SL17": drainIsOn,
	"SL18": policiesCanDecide,
}

func machinePoolWarnings(s subject) []string {
	said := []string{}
	if template := s.pool.Spec.AWSLaunchTemplate; template != nil {
		said = launchTemplateWarnings("spec.awsLaunchTemplate", template)
	}
	for _, rule := range sorted(machinePoolRules) {
		if warning := machinePoolRules[rule](s); warning != "" {
			said = append(said, warning)
		}
	}
	return said
}

// replicas returns the replicas of the MachinePool, and whether they are known: an external
// autoscaler's are not the MachinePool's to say.
func (s wanted) replicas() (int32, bool) {
	if s.machinePool == nil || s.machinePool.Spec.Replicas == nil {
		return 0, false
	}
	managed, annotated := s.machinePool.Annotations[clusterv1.ReplicasManagedByAnnotation]
	return *s.machinePool.Spec.Replicas, !annotated || managed == "false"
}

// replicasFit: Auto Scaling refuses a desired capacity that is out of bounds; the controller says
// so in a condition, later.
//
// +slipway:warning=AS10
func replicasFit(s subject) string {
	replicas, known := s.replicas()
	if !known || replicas >= s.pool.Spec.MinSize && replicas <= s.pool.Spec.MaxSize {
		return ""
	}
	return fmt.Sprintf("spec.minSize, spec.maxSize: spec.replicas of MachinePool %q is %d, which is not between "+
		"%d and %d: change one of them",
		s.machinePool.Name, replicas, s.pool.Spec.MinSize, s.pool.Spec.MaxSize)
}

// weightsLeaveRoom: a refresh may replace all instances of a group at once whose desired capacity
// is not above an instance's weight (AWS: instance-refresh-overview).
//
// +slipway:warning=AS13
func weightsLeaveRoom(s subject) string {
	if s.pool.Spec.MixedInstancesPolicy == nil {
		return ""
	}
	largest := int32(0)
	for _, override := range s.pool.Spec.MixedInstancesPolicy.Overrides {
		largest = max(largest, ptr.Deref(override.WeightedCapacity, 0))
	}
	units, known := s.replicas()
	if !known {
		units = s.pool.Spec.MaxSize
	}
	if largest == 0 || units > largest {
		return ""
	}
	return fmt.Sprintf("spec.mixedInstancesPolicy.overrides: an instance can count for %d units, and the pool "+
		"has %d, so a roll-out may replace all instances at once: use smaller weights or a larger pool",
		largest, units)
}

// rebalancesWell: rebalancing at the lowest price moves instances to where they are interrupted
// next (AWS: ec2-auto-scaling-capacity-rebalancing).
//
// +slipway:warning=AS17
func rebalancesWell(s subject) string {
	if !s.pool.Spec.CapacityRebalance {
		return ""
	}
	if !asksForSpot(&s.pool.Spec) {
		return "spec.capacityRebalance: only applies to Spot Instances, and the pool requests none"
	}
	mixed := s.pool.Spec.MixedInstancesPolicy
	if mixed == nil || mixed.InstancesDistribution.SpotAllocationStrategy != infrav1.SpotAllocationStrategyLowestPrice {
		return ""
	}
	return "spec.capacityRebalance: with spotAllocationStrategy lowest-price, replacements are also likely to " +
		"be interrupted: use price-capacity-optimized"
}

// asksForSpot reports whether instances may be Spot Instances; where a policy has a distribution,
// AWS's default is On-Demand alone.
func asksForSpot(spec *infrav1.AWSMachinePoolSpec) bool {
	if mixed := spec.MixedInstancesPolicy; mixed != nil {
		return mixed.InstancesDistribution != nil && ptr.Deref(mixed.InstancesDistribution.OnDemandPercentageAboveBaseCapacity, 100) < 100
	}
	template := spec.AWSLaunchTemplate
	return template != nil && (template.MarketType == infrav1.MarketTypeSpot || template.SpotMarketOptions != nil)
}

// rolls returns the preferences of refreshes, and whether refreshes are enabled.
func (s subject) rolls() (infrav1.RefreshPreferences, bool) {
	preferences := ptr.Deref(s.pool.Spec.RefreshPreferences, infrav1.RefreshPreferences{})
	return preferences, !preferences.Disable
}

// refreshEnds: a refresh finishes at its last checkpoint (AWS:
// asg-adding-checkpoints-instance-refresh).
//
// +slipway:warning=RF2W
func refreshEnds(s subject) string {
	preferences, rolls := s.rolls()
	checkpoints := preferences.CheckpointPercentages
	if !rolls || len(checkpoints) == 0 || checkpoints[len(checkpoints)-1] == 100 {
		return ""
	}
	return fmt.Sprintf("spec.refreshPreferences.checkpointPercentages: the refresh finishes at the last "+
		"checkpoint, which is %d, and another one is started for the rest: make 100 the last checkpoint",
		checkpoints[len(checkpoints)-1])
}

// alarmsRollBack: an alarm fails a refresh and leaves the group half replaced (AWS:
// instance-refresh-rollback).
//
// +slipway:warning=RF7W
func alarmsRollBack(s subject) string {
	preferences, rolls := s.rolls()
	if !rolls || len(preferences.Alarms) == 0 || preferences.Rollback {
		return ""
	}
	return "spec.refreshPreferences.alarms: a refresh that an alarm fails is retried: set rollback to true to " +
		"roll back to the last good configuration instead"
}

// refreshIsOn: preferences of refreshes that there will be none of.
//
// +slipway:warning=SL11
func refreshIsOn(s subject) string {
	preferences, rolls := s.rolls()
	preferences.Disable, preferences.Strategy = false, nil
	if rolls || isZero(preferences) {
		return ""
	}
	return "spec.refreshPreferences: the other preferences have no effect, because disable is true"
}

func isZero(p infrav1.RefreshPreferences) bool {
	return p.InstanceWarmup == nil && p.MinHealthyPercentage == nil && p.MaxHealthyPercentage == nil && len(p.CheckpointPercentages) == 0 &&
		p.CheckpointDelay == nil && p.BakeTime == nil && len(p.Alarms) == 0 && !p.Rollback && p.ScaleInProtectedInstances == "" &&
		p.StandbyInstances == "" && p.SkipMatching == nil
}

// rollOutsCanRun: a refresh terminates and launches instances (AWS: as-suspend-resume-processes).
//
// +slipway:warning=SL12
func rollOutsCanRun(s subject) string {
	suspended := s.pool.Spec.SuspendProcesses
	if _, rolls := s.rolls(); !rolls || suspended == nil {
		return ""
	}
	of := ptr.Deref(suspended.Processes, infrav1.Processes{})
	var needed []string
	for name, process := range map[string]*bool{"launch": of.Launch, "terminate": of.Terminate, "instanceRefresh": of.InstanceRefresh} {
		if ptr.Deref(process, suspended.All) {
			needed = append(needed, name)
		}
	}
	if len(needed) == 0 {
		return ""
	}
	return fmt.Sprintf("spec.suspendProcesses: %s %s suspended, so an edit does not reach the instances until "+
		"you resume %s",
		listed(needed), plural(len(needed), "is", "are"), plural(len(needed), "it", "them"))
}

// healthChecksHaveSomething: a load balancer's verdict needs a load balancer (AWS:
// ec2-auto-scaling-health-checks).
//
// +slipway:warning=SL13
func healthChecksHaveSomething(s subject) string {
	if s.pool.Spec.HealthCheck == nil || !slices.Contains(s.pool.Spec.HealthCheck.Types, "ELB") || len(s.pool.Spec.TargetGroupARNs) > 0 {
		return ""
	}
	return "spec.healthCheck.types: ELB has no effect unless another program attaches a target group, because " +
		"targetGroupARNs is empty"
}

// protectedInstancesRoll: a refresh waits an hour for protection to be taken away, and fails then
// (AWS SDK: RefreshPreferences).
//
// +slipway:warning=SL14
func protectedInstancesRoll(s subject) string {
	preferences, rolls := s.rolls()
	if !rolls || !s.pool.Spec.NewInstancesProtectedFromScaleIn || preferences.ScaleInProtectedInstances == "Refresh" || preferences.ScaleInProtectedInstances == "Ignore" {
		return ""
	}
	return "spec.newInstancesProtectedFromScaleIn: a roll-out waits one hour for the protection to be removed, " +
		"and then fails: set refreshPreferences.scaleInProtectedInstances to Refresh"
}

// warmPoolWaits: an instance runs its user data on the way into the warm pool (AWS:
// ec2-auto-scaling-warm-pools).
//
// +slipway:warning=SL15
func warmPoolWaits(s subject) string {
	launching := func(hook infrav1.AWSLifecycleHook) bool {
		return hook.LifecycleTransition == infrav1.LifecycleTransitionInstanceLaunching
	}
	if s.pool.Spec.WarmPool == nil || slices.ContainsFunc(s.pool.Spec.LifecycleHooks, launching) {
		return ""
	}
	return "spec.warmPool: instances run their user data and join the cluster before they enter the warm pool; " +
		"use a lifecycle hook on launching if you need time to prepare them"
}

// ignitionVersionCounts: bootstrap data in place says itself which version it is of (CAPA ignores
// the field too), unless settings are put around it.
//
// +slipway:warning=SL16
func ignitionVersionCounts(s subject) string {
	ignition := s.pool.Spec.Ignition
	if ignition == nil || ignition.Version == "" || ignition.Proxy != nil || ignition.TLS != nil ||
		ignition.StorageType != infrav1.IgnitionStorageTypeUnencryptedUserData {
		return ""
	}
	return "spec.ignition.version: has no effect with storageType UnencryptedUserData, because the bootstrap " +
		"data contains its version"
}

// drainIsOn: a time limit of a drain that there will be none of.
//
// +slipway:warning=SL17
func drainIsOn(s subject) string {
	if drain := s.pool.Spec.NodeDrain; drain == nil || !drain.Disable || drain.Timeout == nil {
		return ""
	}
	return "spec.nodeDrain.timeout: has no effect, because disable is true"
}

// policiesCanDecide: the instances of a pool have launch templates, none a launch configuration.
//
// +slipway:warning=SL18
func policiesCanDecide(s subject) string {
	if !slices.Contains(s.pool.Spec.TerminationPolicies, "OldestLaunchConfiguration") {
		return ""
	}
	return "spec.terminationPolicies: OldestLaunchConfiguration has no effect, because pools have launch " +
		"templates: use OldestLaunchTemplate"
}

func sorted[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }

// listed joins the names as in a sentence.
func listed(names []string) string {
	slices.Sort(names)
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
