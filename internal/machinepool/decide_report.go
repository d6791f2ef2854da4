package machinepool

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/report"
)

// reportInstances shows Cluster API which instances there are, by the contract of infrastructure machine
// pools, and decides whether the group is in motion. It only considers a group that was really
// seen: a shortened list would make core Cluster API delete Nodes.
func reportInstances(in input, plan *reconcile.Plan) {
	group, status := in.Seen.Group, &in.Object.Status
	if group == nil || group.Deleting {
		return // the size of a group that is being deleted is no size to follow
	}
	if tried, _ := reconcile.Attempted[recordInstances](in.Done); !tried {
		record := recordOf(in)
		if why := record.differs(in); why != "" {
			plan.Do(record, "%s", why)
			return
		}
	}
	if tried, _ := reconcile.Attempted[followAutoscaler](in.Done); !tried && pool.Autoscaled(in.Seen.MachinePool) && ptr.Deref(in.Seen.MachinePool.Spec.Replicas, 0) != group.Capacity {
		before := ptr.Deref(in.Seen.MachinePool.Spec.Replicas, 0)
		plan.Do(followAutoscaler{MachinePool: in.Seen.MachinePool.Name, Before: before, Replicas: group.Capacity},
			"an external autoscaler set the desired capacity of Auto Scaling group %s: %d → %d", group.Name, before, group.Capacity)
		return
	}
	if !in.Seen.Adopting {
		status.AutoScalingGroup = &infrav1.AutoScalingGroupReference{Name: group.Name, ARN: group.ARN}
	}
	status.LaunchTemplateID = group.LaunchTemplateID
	status.LaunchTemplateVersion = ptr.To(group.Version)
	countInstances(in)
	// Both signals: core Cluster API reads ready, its v1beta2 contract names provisioned. Neither
	// ever goes back.
	status.Ready = true
	status.Initialization.Provisioned = ptr.To(true)
	watchGroup(in, plan, expectsMotion(in) || !resting(in) && inMotion(group))
}

// watchGroup has the group observed as often as one in which something is expected to happen, or as
// one at rest.
func watchGroup(in input, plan *reconcile.Plan, closely bool) {
	if in.Seen.InMotion != closely && in.Seen.Group != nil {
		reason := "nothing is expected to change"
		if closely {
			reason = "its instances are expected to change"
		}
		plan.Do(watchInstances{Group: in.Seen.Group.Name, Closely: closely}, "%s", reason)
	}
}

// expectsMotion reports whether something in AWS is expected to change by itself soon.
func expectsMotion(in input) bool {
	rolledOut := meta.FindStatusCondition(in.Object.Status.Conditions, infrav1.RolledOutCondition)
	return refreshing(in.Object) || in.Seen.Group.WarmPoolDeleting || reconcile.Succeeded[terminateInstances](in.Done) || reconcile.Succeeded[createGroup](in.Done) ||
		in.Seen.Fresh && rolledOut != nil && rolledOut.Reason == infrav1.WaitingForRefreshReason
}

// resting reports whether the group waits for what may not come soon, so that checking often would
// be for nothing.
func resting(in input) bool {
	return in.Seen.Group.Units() < in.Seen.Group.Capacity && (launchSuspended(in) || shortFor(in) >= shortRest)
}

// recordOf returns the record for the pool: what was done in AWS, and the two fields of the spec
// that the contract gives to the provider, sorted, because core compares them in order.
func recordOf(in input) recordInstances {
	ids := make([]string, 0, len(in.Seen.Group.Instances))
	for _, instance := range in.Seen.Group.Instances {
		ids = append(ids, instance.ProviderID())
	}
	slices.Sort(ids)
	return recordInstances{
		Generation: in.Object.Generation, ProviderID: in.Seen.Group.ARN, ProviderIDs: ids,
		Annotations: annotationChanges(in, func(pool *infrav1.AWSMachinePool) { confirmGiven(in, pool) }),
	}
}

// differs returns what is not recorded yet, "" if all of it is.
func (r recordInstances) differs(in input) string {
	var differing []string
	if in.Object.Spec.ProviderID != r.ProviderID {
		differing = append(differing, "the Auto Scaling group")
	}
	if !slices.Equal(in.Object.Spec.ProviderIDList, r.ProviderIDs) {
		differing = append(differing, "its instances")
	}
	if len(r.Annotations) > 0 {
		differing = append(differing, "what it was given")
	}
	if len(differing) == 0 {
		return ""
	}
	return fmt.Sprintf("%s changed", strings.Join(differing, ", "))
}

func countInstances(in input) {
	runs := runner(in)
	var present, ready, current int32
	for _, instance := range in.Seen.Group.Instances {
		if instance.Leaving() {
			continue
		}
		present++
		if instance.InService() && instance.HealthStatus == "Healthy" {
			ready++
		}
		if runs != nil && runs(instance) {
			current++
		}
	}
	status := &in.Object.Status
	status.Replicas, status.ReadyReplicas, status.Instances = present, &ready, instanceStatuses(in)
	status.RunningVersions, status.InstanceTypes = runningVersions(in.Seen.Group, runs), report.Shortened(autoscalinggroup.InstanceTypes(in.Seen.Group.Instances))
	// It is not known while the wanted version is not known.
	status.UpToDateReplicas = nil
	if runs != nil {
		status.UpToDateReplicas = &current
	}
}

// runner returns a function that reports whether an instance runs what is wanted, nil while that is
// not known.
func runner(in input) func(autoscalinggroup.Instance) bool {
	if launchable(in) == nil {
		return nil
	}
	return wanted(in).Runs
}

// mostRunningVersions limits the number of different versions that status lists (API: maxItems).
const mostRunningVersions = 64

// runningVersions counts the instances by what they were launched from, sorted by template, and
// each template's newest version first.
func runningVersions(group *autoscalinggroup.Group, runs func(autoscalinggroup.Instance) bool) []infrav1.RunningVersion {
	var running []infrav1.RunningVersion
	for _, instance := range group.Instances {
		if instance.Leaving() {
			continue
		}
		found := slices.IndexFunc(running, func(version infrav1.RunningVersion) bool {
			return version.LaunchTemplateID == instance.LaunchTemplateID && version.Version == instance.Version && version.ImageID == instance.ImageID
		})
		if found < 0 {
			running = append(running, infrav1.RunningVersion{
				LaunchTemplateID: instance.LaunchTemplateID, Version: instance.Version, ImageID: instance.ImageID,
			})
			found = len(running) - 1
		}
		running[found].Instances++
		running[found].UpToDate = running[found].UpToDate || runs != nil && runs(instance)
	}
	slices.SortFunc(running, func(a, b infrav1.RunningVersion) int {
		return cmp.Or(strings.Compare(a.LaunchTemplateID, b.LaunchTemplateID), cmp.Compare(b.Version, a.Version), strings.Compare(a.ImageID, b.ImageID))
	})
	return running[:min(len(running), mostRunningVersions)]
}

func instanceStatuses(in input) []infrav1.AWSMachinePoolInstanceStatus {
	var statuses []infrav1.AWSMachinePoolInstanceStatus
	times := inServiceTimes(in)
	for _, instance := range in.Seen.Group.Instances {
		status := instanceStatus(instance)
		status.InServiceTime = times[instance.ID]
		statuses = append(statuses, status)
	}
	return statuses
}

func instanceStatus(instance autoscalinggroup.Instance) infrav1.AWSMachinePoolInstanceStatus {
	return infrav1.AWSMachinePoolInstanceStatus{
		InstanceID: instance.ID, LaunchTemplateVersion: strconv.FormatInt(instance.Version, 10),
		LifecycleState: instance.LifecycleState, HealthStatus: instance.HealthStatus, AvailabilityZone: instance.AvailabilityZone,
		InstanceType: instance.InstanceType,
	}
}

// inMotion reports whether the group is not at its size with all instances in service.
func inMotion(group *autoscalinggroup.Group) bool {
	// Weighted instances may add up to more than was asked for (AWS:
	// ec2-auto-scaling-mixed-instances-groups-instance-weighting).
	units := group.Units()
	weighted := slices.ContainsFunc(group.Instances, func(instance autoscalinggroup.Instance) bool { return instance.Weight != 1 })
	if units < group.Capacity || units > group.Capacity && !weighted {
		return true
	}
	return slices.ContainsFunc(group.Instances, func(instance autoscalinggroup.Instance) bool {
		return !instance.InService() && instance.LifecycleState != "Standby" && !instance.Retained()
	})
}

// counted words a number of instances.
func counted(instances int) string {
	if instances == 1 {
		return "1 instance"
	}
	return fmt.Sprintf("%d instances", instances)
}
