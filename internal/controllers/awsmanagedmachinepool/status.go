package awsmanagedmachinepool

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
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// due says in words what nodes are to be replaced for.
func due(p *pass) string { return strings.Join(p.step.Due, "; ") }

// withProgress adds to a cause how many instances have been replaced.
func withProgress(p *pass, cause string) string {
	cause = cmp.Or(cause, "somebody else updates the node group")
	if p.members == nil {
		return cause
	}
	current := 0
	for _, instance := range p.members.Instances {
		if newest(p.members, instance) {
			current++
		}
	}
	return fmt.Sprintf("%s; %d of %d instances run it", cause, current, len(p.members.Instances))
}

// rollingOut is true while EKS replaces nodes. At other times a change of labels may have made what
// EKS launches newer than nodes that are as they should be.
func rollingOut(p *pass) bool {
	record := p.pool.Status.Update
	return p.group.Status == nodegroup.StatusUpdating && record != nil && record.Type == nodegroup.VersionUpdate
}

// newest is true for an instance that runs what EKS's Auto Scaling group launches now: EKS keeps a
// template of its own, whose versions the instances name.
func newest(group *autoscalinggroup.Group, instance autoscalinggroup.Instance) bool {
	return instance.LaunchTemplateID == group.LaunchTemplateID && strconv.FormatInt(instance.Version, 10) == group.Version
}

// reportInstances tells Cluster API which instances there are, by the contract of infrastructure
// machine pools. It only runs on groups that were really seen: a shortened list would make core
// Cluster API delete Nodes.
func (r *Reconciler) reportInstances(ctx context.Context, p *pass) reconciling.Outcome {
	status := &p.pool.Status
	status.Retiring = statusOf(p.retiring)
	if p.group == nil {
		if record := status.Nodegroup; record != nil {
			// The record outlives the node group: a new one takes its name, and is told apart from
			// it by its ARN.
			status.Nodegroup = &infrav1.NodegroupStatus{Name: record.Name, ARN: record.ARN}
		}
		return reconciling.Continue()
	}
	status.Nodegroup = statusOf(p.group)
	if p.group.LaunchTemplateID != "" {
		status.LaunchTemplateID, status.LaunchTemplateVersion = p.group.LaunchTemplateID, ptr.To(strconv.FormatInt(p.group.Version, 10))
	}
	moving := p.group.Busy() || p.retiring != nil
	if seen := p.members != nil && (p.retiring == nil || p.retiring.AutoScalingGroup == "" || p.leaving != nil); seen {
		if err := r.writeProviderIDs(ctx, p); err != nil {
			return reconciling.Fail(err)
		}
		if err := r.followAutoscaler(ctx, p); err != nil {
			return reconciling.Fail(err)
		}
		countInstances(p)
		moving = moving || inMotion(p.members, p.group.LaunchesFail())
	}
	// Both signals: core Cluster API reads ready, its v1beta2 contract names provisioned. Neither
	// ever goes back.
	if p.group.Works() || p.retiring != nil {
		status.Ready = true
		status.Initialization.Provisioned = ptr.To(true)
	}
	p.cloud.SeenManagedGroups.InMotion(p.key(), moving)
	return reconciling.Continue()
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

// instances are those of the node group and of the one that is being replaced.
func instances(p *pass) []autoscalinggroup.Instance {
	all := slices.Clone(p.members.Instances)
	if p.leaving != nil {
		all = append(all, p.leaving.Instances...)
	}
	return all
}

// writeProviderIDs writes the field of the spec that the contract gives to the provider, sorted,
// because core compares it in order.
func (r *Reconciler) writeProviderIDs(ctx context.Context, p *pass) error {
	var ids []string
	for _, instance := range instances(p) {
		ids = append(ids, instance.ProviderID())
	}
	slices.Sort(ids)
	if slices.Equal(p.pool.Spec.ProviderIDList, ids) {
		return nil
	}
	generation := p.pool.Generation
	err := reconciling.Patch(ctx, r.Client, p.pool, func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.ProviderIDList = ids })
	if err != nil {
		return fmt.Errorf("writing provider ids: %w", err)
	}
	reconciling.Restamp(p.pool, generation)
	return nil
}

// followAutoscaler writes the size that an external autoscaler gave the group into the MachinePool.
// While EKS replaces nodes the group is larger than anybody asked for.
func (r *Reconciler) followAutoscaler(ctx context.Context, p *pass) error {
	before := ptr.Deref(p.machinePool.Spec.Replicas, 0)
	if !common.Autoscaled(p.machinePool) || before == p.members.Capacity || p.group.Busy() || p.retiring != nil {
		return nil
	}
	err := reconciling.Patch(ctx, r.Client, p.machinePool, func(machinePool *clusterv1.MachinePool) {
		machinePool.Spec.Replicas = ptr.To(p.members.Capacity)
	})
	if err != nil {
		return fmt.Errorf("following the external autoscaler: %w", err)
	}
	r.Report.Done(ctx, p.pool, "ReplicasFollowed", "Set MachinePool replicas to the group's desired capacity: %d → %d", before, p.members.Capacity)
	return nil
}

func countInstances(p *pass) {
	var present, ready, current int32
	var statuses []infrav1.AWSMachinePoolInstanceStatus
	rolling := rollingOut(p)
	for _, instance := range instances(p) {
		statuses = append(statuses, infrav1.AWSMachinePoolInstanceStatus{
			InstanceID: instance.ID, LifecycleState: instance.LifecycleState, HealthStatus: instance.HealthStatus, AvailabilityZone: instance.AvailabilityZone,
		})
		if instance.Leaving() {
			continue
		}
		present++
		if instance.InService() && instance.HealthStatus == "Healthy" {
			ready++
		}
		if rolling && newest(p.members, instance) || !rolling && len(p.step.Due) == 0 {
			current++
		}
	}
	status := &p.pool.Status
	status.Replicas, status.ReadyReplicas, status.Instances = present, &ready, statuses
	if rolling || !p.wantedUnknown() {
		status.UpToDateReplicas = &current
	}
	status.InstanceTypes = common.Shortened(autoscalinggroup.InstanceTypes(instances(p)))
}

// inMotion is true while the group is not at its size with all instances in service. One whose
// launches fail, before its Capacity Block begins perhaps, may not get to its size for days: what
// comes then is seen at rest, too.
func inMotion(group *autoscalinggroup.Group, launchesFail bool) bool {
	return group.Units() != group.Capacity && !launchesFail || slices.ContainsFunc(group.Instances, func(instance autoscalinggroup.Instance) bool {
		return !instance.InService() && instance.LifecycleState != "Standby"
	})
}
