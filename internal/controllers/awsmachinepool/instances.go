package awsmachinepool

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// reportInstances tells Cluster API which instances there are, by the contract of infrastructure machine pools, and decides whether the group
// is in motion. It only runs on a group that was really seen: a shortened list would make core Cluster API delete Nodes.
func (r *Reconciler) reportInstances(ctx context.Context, p *pass) reconciling.Outcome {
	if p.group == nil || p.group.Deleting || !p.pool.DeletionTimestamp.IsZero() {
		return reconciling.Continue() // the size of a group that is being deleted is no size to follow
	}
	if err := r.record(ctx, p); err != nil {
		return reconciling.Fail(err)
	}
	if err := r.followAutoscaler(ctx, p); err != nil {
		return reconciling.Fail(err)
	}
	status := &p.pool.Status
	if !p.adopting {
		status.AutoScalingGroup = &infrav1.AutoScalingGroupReference{Name: p.group.Name, ARN: p.group.ARN}
	}
	status.LaunchTemplateID = p.group.LaunchTemplateID
	status.LaunchTemplateVersion = ptr.To(p.group.Version)
	r.countInstances(p)
	// Both signals: core Cluster API reads ready, its v1beta2 contract names provisioned. Neither ever goes back.
	status.Ready = true
	status.Initialization.Provisioned = ptr.To(true)
	p.cloud.SeenGroups.InMotion(p.key(), p.moving || !p.resting && inMotion(p.group))
	return reconciling.Continue()
}

// record writes what else than status there is to write on the pool, in one patch: what was done in AWS, and the two fields of the spec that the
// contract gives to the provider, sorted, because core compares them in order.
func (r *Reconciler) record(ctx context.Context, p *pass) error {
	ids := make([]string, 0, len(p.group.Instances))
	for _, instance := range p.group.Instances {
		ids = append(ids, instance.ProviderID())
	}
	slices.Sort(ids)
	generation := p.pool.Generation
	err := reconciling.Patch(ctx, r.Client, p.pool, func(pool *infrav1.AWSMachinePool) {
		for _, record := range p.confirmed {
			record(pool)
		}
		pool.Spec.ProviderID = p.group.ARN
		if !slices.Equal(pool.Spec.ProviderIDList, ids) {
			pool.Spec.ProviderIDList = ids
		}
	})
	if err != nil {
		return fmt.Errorf("recording the group and its instances: %w", err)
	}
	reconciling.Restamp(p.pool, generation)
	return nil
}

// followAutoscaler writes the size that an external autoscaler gave the group into the MachinePool.
func (r *Reconciler) followAutoscaler(ctx context.Context, p *pass) error {
	if !common.Autoscaled(p.machinePool) || ptr.Deref(p.machinePool.Spec.Replicas, 0) == p.group.Capacity {
		return nil
	}
	before := ptr.Deref(p.machinePool.Spec.Replicas, 0)
	err := reconciling.Patch(ctx, r.Client, p.machinePool, func(machinePool *clusterv1.MachinePool) {
		machinePool.Spec.Replicas = ptr.To(p.group.Capacity)
	})
	if err != nil {
		return fmt.Errorf("following the external autoscaler: %w", err)
	}
	r.Report.Done(ctx, p.pool, "ReplicasFollowed", "Set MachinePool replicas to the group's desired capacity: %d → %d", before, p.group.Capacity)
	return nil
}

func (r *Reconciler) countInstances(p *pass) {
	var present, ready, current int32
	for _, instance := range p.group.Instances {
		if instance.Leaving() {
			continue
		}
		present++
		if instance.InService() && instance.HealthStatus == "Healthy" {
			ready++
		}
		if p.wanted != nil && p.wanted.Runs(instance) {
			current++
		}
	}
	status := &p.pool.Status
	status.Replicas, status.ReadyReplicas, status.Instances = present, &ready, instanceStatuses(p.group)
	status.RunningVersions, status.InstanceTypes = runningVersions(p), common.Shortened(autoscalinggroup.InstanceTypes(p.group.Instances))
	// Nobody knows while the wanted version is not known.
	status.UpToDateReplicas = nil
	if p.wanted != nil {
		status.UpToDateReplicas = &current
	}
}

// mostRunningVersions is how many different ones status lists (API: maxItems).
const mostRunningVersions = 64

// runningVersions count the instances by what they were launched from, those of the pool's own template first.
func runningVersions(p *pass) []infrav1.RunningVersion {
	var running []infrav1.RunningVersion
	for _, instance := range p.group.Instances {
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
		running[found].UpToDate = running[found].UpToDate || p.wanted != nil && p.wanted.Runs(instance)
	}
	slices.SortFunc(running, func(a, b infrav1.RunningVersion) int {
		return cmp.Or(strings.Compare(a.LaunchTemplateID, b.LaunchTemplateID), cmp.Compare(b.Version, a.Version), strings.Compare(a.ImageID, b.ImageID))
	})
	return running[:min(len(running), mostRunningVersions)]
}

func instanceStatuses(group *autoscalinggroup.Group) []infrav1.AWSMachinePoolInstanceStatus {
	var statuses []infrav1.AWSMachinePoolInstanceStatus
	for _, instance := range group.Instances {
		statuses = append(statuses, instanceStatus(instance))
	}
	return statuses
}

func instanceStatus(instance autoscalinggroup.Instance) infrav1.AWSMachinePoolInstanceStatus {
	return infrav1.AWSMachinePoolInstanceStatus{
		InstanceID: instance.ID, LaunchTemplateVersion: strconv.FormatInt(instance.Version, 10),
		LifecycleState: instance.LifecycleState, HealthStatus: instance.HealthStatus, AvailabilityZone: instance.AvailabilityZone,
	}
}

// inMotion is true while the group is not at its size with all instances in service.
func inMotion(group *autoscalinggroup.Group) bool {
	// Weighted instances may add up to more than was asked for (AWS: ec2-auto-scaling-mixed-instances-groups-instance-weighting).
	units := group.Units()
	weighted := slices.ContainsFunc(group.Instances, func(instance autoscalinggroup.Instance) bool { return instance.Weight != 1 })
	if units < group.Capacity || units > group.Capacity && !weighted {
		return true
	}
	return slices.ContainsFunc(group.Instances, func(instance autoscalinggroup.Instance) bool {
		return !instance.InService() && instance.LifecycleState != "Standby" && !instance.Retained()
	})
}
