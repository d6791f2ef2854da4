package managedmachinepool

import (
	"slices"
	"strconv"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/report"
)

// reportInstances shows Cluster API which instances there are, by the contract of infrastructure
// machine pools. It only considers groups that were really seen: a shortened list would make core
// Cluster API delete Nodes.
func reportInstances(in input, plan *reconcile.Plan) bool {
	group, status := in.Seen.Group, &in.Object.Status
	status.Retiring = statusOf(in.Seen.Retiring)
	if group == nil {
		if record := status.Nodegroup; record != nil {
			// The record outlives the node group: a new one takes its name, and is distinguished
			// from it by its ARN.
			status.Nodegroup = &infrav1.NodegroupStatus{Name: record.Name, ARN: record.ARN}
		}
		return true
	}
	reported := statusOf(group)
	reported.Status, reported.GroupVersion = statusNow(in), groupVersion(in)
	if group.LaunchTemplateID != "" {
		status.LaunchTemplateID, status.LaunchTemplateVersion = group.LaunchTemplateID, ptr.To(strconv.FormatInt(group.Version, 10))
	}
	moving := busy(in) || in.Seen.Retiring != nil
	if instancesSeen(in) {
		if recordChanges(in, plan); pending(plan) {
			return true
		}
		countInstances(in)
		moving = moving || inMotion(in.Seen.Members, group.LaunchesFail())
	}
	status.Nodegroup = reported
	// Both signals: core Cluster API reads ready, its v1beta2 contract names provisioned. Neither
	// ever goes back.
	if group.Works() || in.Seen.Retiring != nil {
		status.Ready = true
		status.Initialization.Provisioned = ptr.To(true)
	}
	watchClosely(in, plan, moving)
	return true
}

// instancesSeen reports whether the Auto Scaling groups of all node groups of the pool were seen.
func instancesSeen(in input) bool {
	retiring := in.Seen.Retiring
	return in.Seen.Members != nil && (retiring == nil || retiring.AutoScalingGroup == "" || in.Seen.Leaving != nil)
}

// watchClosely has the groups observed as often as those in which something is expected to happen,
// or as those at rest.
func watchClosely(in input, plan *reconcile.Plan, closely bool) {
	watched := slices.ContainsFunc([]*nodegroup.Nodegroup{in.Seen.Group, in.Seen.Retiring}, func(group *nodegroup.Nodegroup) bool {
		return group != nil && group.AutoScalingGroup != ""
	})
	if in.Seen.InMotion == closely || !watched {
		return
	}
	reason := "nothing is expected to change"
	if closely {
		reason = "its instances are expected to change"
	}
	plan.Do(watchInstances{Closely: closely}, "%s", reason)
}

func statusOf(group *nodegroup.Nodegroup) *infrav1.NodegroupStatus {
	if group == nil {
		return nil
	}
	return &infrav1.NodegroupStatus{
		Name: group.Name, ARN: group.ARN, Status: group.Status, AMIType: group.AMIType, ReleaseVersion: group.ReleaseVersion,
		KubernetesVersion: group.KubernetesVersion, AutoScalingGroup: group.AutoScalingGroup,
	}
}

// instances returns the instances of the node group and of the one that is being replaced.
func instances(in input) []autoscalinggroup.Instance {
	all := slices.Clone(in.Seen.Members.Instances)
	if in.Seen.Leaving != nil {
		all = append(all, in.Seen.Leaving.Instances...)
	}
	return all
}

// recordChanges records the instances in the field of the spec that the contract gives to the
// provider, sorted, because core compares it in order, and the size that an external autoscaler
// gave the group in the MachinePool. While EKS replaces nodes, the group is larger than requested.
func recordChanges(in input, plan *reconcile.Plan) {
	var ids []string
	for _, instance := range instances(in) {
		ids = append(ids, instance.ProviderID())
	}
	slices.Sort(ids)
	if tried, _ := reconcile.Attempted[recordInstances](in.Done); !tried && !slices.Equal(in.Object.Spec.ProviderIDList, ids) {
		plan.Do(recordInstances{Generation: in.Object.Generation, ProviderIDs: ids}, "the instances of the node group changed")
		return
	}
	machinePool, before, size := in.Seen.MachinePool, ptr.Deref(in.Seen.MachinePool.Spec.Replicas, 0), in.Seen.Members.Capacity
	tried, _ := reconcile.Attempted[followAutoscaler](in.Done)
	if tried || !pool.Autoscaled(machinePool) || before == size || busy(in) || in.Seen.Retiring != nil {
		return
	}
	plan.Do(followAutoscaler{MachinePool: machinePool.Name, Before: before, Replicas: size},
		"an external autoscaler set the desired capacity of the node group: %d → %d", before, size)
}

func countInstances(in input) {
	var present, ready, current int32
	var statuses []infrav1.AWSMachinePoolInstanceStatus
	versions, runs := launchedVersions(in), runner(in)
	for _, instance := range instances(in) {
		statuses = append(statuses, infrav1.AWSMachinePoolInstanceStatus{
			InstanceID: instance.ID, LifecycleState: instance.LifecycleState, HealthStatus: instance.HealthStatus, AvailabilityZone: instance.AvailabilityZone,
			InstanceType: instance.InstanceType, LaunchTemplateVersion: versions[instance.ID],
		})
		if instance.Leaving() {
			continue
		}
		present++
		if instance.InService() && instance.HealthStatus == "Healthy" {
			ready++
		}
		if runs(instance, versions[instance.ID]) {
			current++
		}
	}
	status := &in.Object.Status
	status.Replicas, status.ReadyReplicas, status.Instances = present, &ready, statuses
	if rollingOut(in) || !wantedUnknown(in) {
		status.UpToDateReplicas = &current
	}
	status.InstanceTypes = report.Shortened(autoscalinggroup.InstanceTypes(instances(in)))
}

// runner returns a function that reports whether an instance, which was launched from a version of the pool's
// template, runs what EKS rolls out, or what is wanted while EKS rolls out nothing. A failed update leaves
// instances with the wanted version, while EKS shows the node group at the version before.
func runner(in input) func(instance autoscalinggroup.Instance, version string) bool {
	upToDate, launches := len(nextStep(in).Due) == 0, versionText(in.Seen.Group)
	switch {
	case rollingOut(in) && pointed(in):
		return func(instance autoscalinggroup.Instance, _ string) bool { return newest(in.Seen.Members, instance) }
	case rollingOut(in):
		return func(autoscalinggroup.Instance, string) bool { return false }
	case !upToDate:
		return func(_ autoscalinggroup.Instance, version string) bool { return wantedAlready(in, version) }
	}
	return func(_ autoscalinggroup.Instance, version string) bool { return version == "" || version == launches }
}

// wantedAlready reports whether a node group with this version of the pool's template, and otherwise as it
// is, would need no update. It is false if the version is not known, and if an image of EKS's is due too:
// which image an instance runs is not known.
func wantedAlready(in input, version string) bool {
	number, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		return false
	}
	group := *in.Seen.Group
	group.Version, group.Issues = number, nil
	in.Seen.Group = &group
	return len(nextStep(in).Due) == 0
}

// inMotion reports whether the group is not at its size with all instances in service. One whose
// launches fail, before its Capacity Block begins perhaps, may not get to its size for days: what
// comes then is seen at rest, too.
func inMotion(group *autoscalinggroup.Group, launchesFail bool) bool {
	return group.Units() != group.Capacity && !launchesFail || slices.ContainsFunc(group.Instances, func(instance autoscalinggroup.Instance) bool {
		return !instance.InService() && instance.LifecycleState != "Standby"
	})
}
