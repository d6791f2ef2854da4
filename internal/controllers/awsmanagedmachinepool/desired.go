package awsmanagedmachinepool

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// desired is the node group that the pool asks for. Subnets that the spec does not name by id are
// looked up for a new one alone: they cannot be changed.
func desired(p *pass) nodegroup.Desired {
	spec, machine := &p.pool.Spec, p.machinePool.Spec.Template.Spec
	asked := p.facts.AskedTags(spec.AdditionalTags)
	wanted := nodegroup.Desired{
		Cluster: p.eksCluster, Owner: p.ownerTag(), UID: string(p.pool.UID), RoleARN: p.roleARN, RoleName: spec.RoleName,
		SubnetIDs: slices.Sorted(slices.Values(spec.SubnetIDs)),
		Template:  templateOf(p), OwnImage: ownImage(p),
		KubernetesVersion: machine.Version, ClusterVersion: p.facts.ControlPlaneVersion,
		CapacityType: capacityTypes[ptr.Deref(spec.CapacityType, "")], InstanceTypes: instanceTypes(spec), DiskSize: ptr.Deref(spec.DiskSize, 0),
		RemoteAccess: remoteAccess(p), Settings: settingsOf(spec),
		Tags: maps.Clone(asked), RetiredTags: common.RetiredTags(p.pool, asked),
	}
	wanted.Tags[infrav1.KubernetesClusterTagKey(p.eksCluster)] = infrav1.TagValueOwned
	wanted.Tags[infrav1.TagManagedMachinePool] = p.ownerTag()
	if !wanted.OwnImage {
		wanted.AMIType, wanted.ReleaseVersion = string(ptr.Deref(spec.AMIType, "")), ptr.Deref(spec.AMIVersion, "")
	}
	if spec.UpdateConfig != nil {
		wanted.Force = spec.UpdateConfig.Force
	}
	setSizes(&wanted, p)
	return wanted
}

// setSizes sets the bounds and, unless an external autoscaler decides it, the size. Bounds that the
// spec leaves out are as wide as the size needs them.
func setSizes(wanted *nodegroup.Desired, p *pass) {
	if scaling := p.pool.Spec.Scaling; scaling != nil {
		wanted.Bounds = nodegroup.Bounds{Min: scaling.MinSize, Max: scaling.MaxSize}
	}
	if common.Autoscaled(p.machinePool) {
		return
	}
	replicas := ptr.Deref(p.machinePool.Spec.Replicas, 1)
	wanted.Capacity = &replicas
	bounds := &wanted.Bounds
	if bounds.Min == nil {
		bounds.Min = ptr.To(min(replicas, ptr.Deref(bounds.Max, replicas)))
	}
	if bounds.Max == nil {
		bounds.Max = ptr.To(max(replicas, *bounds.Min, 1))
	}
}

// capacityTypes are EKS's words for how instances are bought.
var capacityTypes = map[infrav1.ManagedMachinePoolCapacityType]string{
	"": "ON_DEMAND",
	infrav1.ManagedMachinePoolCapacityTypeOnDemand:      "ON_DEMAND",
	infrav1.ManagedMachinePoolCapacityTypeSpot:          "SPOT",
	infrav1.ManagedMachinePoolCapacityTypeCapacityBlock: "CAPACITY_BLOCK",
}

// taintEffects are EKS's words for what taints do.
var taintEffects = map[infrav1.TaintEffect]string{
	infrav1.TaintEffectNoSchedule: "NO_SCHEDULE", infrav1.TaintEffectNoExecute: "NO_EXECUTE", infrav1.TaintEffectPreferNoSchedule: "PREFER_NO_SCHEDULE",
}

func instanceTypes(spec *infrav1.AWSManagedMachinePoolSpec) []string {
	if spec.InstanceType != nil && *spec.InstanceType != "" {
		return []string{*spec.InstanceType}
	}
	return spec.InstanceTypes
}

// remoteAccess has CAPA's defaults: the control plane's key, and the groups of the cluster and its
// bastion beside those that are named. Without any group EKS lets the whole internet connect (AWS:
// API_RemoteAccessConfig, sourceSecurityGroups), which public alone asks for.
func remoteAccess(p *pass) *nodegroup.RemoteAccess {
	access := p.pool.Spec.RemoteAccess
	if access == nil {
		return nil
	}
	wanted := &nodegroup.RemoteAccess{KeyName: cmp.Or(ptr.Deref(access.SSHKeyName, ""), ptr.Deref(p.facts.SSHKeyName, ""))}
	if access.Public {
		return wanted
	}
	wanted.Named, wanted.SecurityGroups = access.SourceSecurityGroups, slices.Clone(access.SourceSecurityGroups)
	for _, group := range []string{p.facts.ClusterSecurityGroupID, p.facts.BastionSecurityGroupID} {
		if group != "" && !slices.Contains(wanted.SecurityGroups, group) {
			wanted.SecurityGroups = append(wanted.SecurityGroups, group)
		}
	}
	if len(wanted.SecurityGroups) == 0 {
		wanted.SecurityGroups = slices.Clone(p.facts.NodeSecurityGroupIDs)
	}
	return wanted
}

func settingsOf(spec *infrav1.AWSManagedMachinePoolSpec) nodegroup.Settings {
	settings := nodegroup.DefaultSettings()
	if len(spec.Labels) > 0 {
		settings.Labels = spec.Labels
	}
	for _, taint := range spec.Taints {
		settings.Taints = append(settings.Taints, nodegroup.Taint{Key: taint.Key, Value: taint.Value, Effect: taintEffects[taint.Effect]})
	}
	if update := spec.UpdateConfig; update != nil {
		settings.Update.MaxUnavailable, settings.Update.MaxUnavailablePercentage = ptr.Deref(update.MaxUnavailable, 0), ptr.Deref(update.MaxUnavailablePercentage, 0)
		if settings.Update.MaxUnavailable == 0 && settings.Update.MaxUnavailablePercentage == 0 {
			settings.Update.MaxUnavailable = 1
		}
		if update.UpdateStrategy != "" {
			settings.Update.Strategy = strings.ToUpper(string(update.UpdateStrategy))
		}
	}
	settings.Repair = repairOf(spec.NodeRepairConfig)
	if pool := spec.WarmPool; pool != nil {
		settings.WarmPool = warmPoolOf(pool)
	}
	return settings.Sorted()
}

func repairOf(config *infrav1.NodeRepairConfig) nodegroup.Repair {
	if config == nil || !ptr.Deref(config.Enabled, false) {
		return nodegroup.Repair{}
	}
	repair := nodegroup.Repair{
		Enabled:          true,
		MaxParallelCount: ptr.Deref(config.MaxParallelNodesRepairedCount, 0), MaxParallelPercentage: ptr.Deref(config.MaxParallelNodesRepairedPercentage, 0),
		UnhealthyThresholdCount:      ptr.Deref(config.MaxUnhealthyNodeThresholdCount, 0),
		UnhealthyThresholdPercentage: ptr.Deref(config.MaxUnhealthyNodeThresholdPercentage, 0),
	}
	for _, override := range config.NodeRepairConfigOverrides {
		repair.Overrides = append(repair.Overrides, nodegroup.RepairOverride{
			Condition: override.NodeMonitoringCondition, Reason: override.NodeUnhealthyReason, Action: string(override.RepairAction),
			WaitMinutes: override.MinRepairWaitTimeMins,
		})
	}
	return repair
}

func warmPoolOf(pool *infrav1.WarmPool) nodegroup.WarmPool {
	warm := nodegroup.DefaultWarmPool()
	warm.Min, warm.Reuse = pool.MinSize, pool.ReuseOnScaleIn
	warm.Prepared = ptr.Deref(pool.MaxGroupPreparedCapacity, warm.Prepared)
	if pool.State != "" {
		warm.State = strings.ToUpper(pool.State)
	}
	return warm
}

// templateOf is what the pool's instances should be launched from, nil for a pool without a
// template, and while that is not ready.
func templateOf(p *pass) *nodegroup.Template {
	if p.config == nil {
		return nil
	}
	status := &p.config.Status
	return &nodegroup.Template{
		ID: status.LaunchTemplateID, Version: status.Version, Config: status.ConfigFingerprint,
		Accepts: func(template string, version int64) bool {
			return template == status.LaunchTemplateID && slices.Contains(status.CurrentVersions, version) ||
				slices.ContainsFunc(status.AcceptedVersions, func(accepted infrav1.AcceptedVersions) bool { return accepted.Holds(template, version) })
		},
	}
}

// settle decides what the node group should be, and holds back what is newly wanted until that has
// not changed for a while, so that a batch of edits makes one update. Sizes are not held back.
func (r *Reconciler) settle(ctx context.Context, p *pass) reconciling.Outcome {
	p.desired = desired(p)
	if template := p.desired.Template; template != nil {
		template.Why = func(version int64) string {
			return common.Differences(ctx, p.cloud.Discovery, template.ID, version, template.Version)
		}
	}
	if p.wantedUnknown() {
		p.desired.Held = true
		return reconciling.Continue()
	}
	status := &p.pool.Status
	if p.config != nil {
		status.WantedVersion = p.config.Status.Version
	}
	key := p.desired.Key()
	if status.WantedConfig != key || status.WantedSince == nil {
		status.WantedConfig, status.WantedSince = key, common.SettleFrom(r.Clock)
	}
	wait := common.SettleWait(status.WantedSince, r.SettleWindow, r.Clock)
	if p.group == nil || wait <= 0 {
		return reconciling.Continue()
	}
	p.desired.Held = true
	return reconciling.ContinueAndComeBack(wait, "the spec changed a moment ago")
}

// subnets are those of a new node group.
func subnets(ctx context.Context, p *pass) ([]string, error) {
	if ids := p.pool.Spec.SubnetIDs; len(ids) > 0 {
		return slices.Sorted(slices.Values(ids)), nil
	}
	found, err := p.cloud.Discovery.SubnetIDs(ctx, discovery.SubnetQuery{
		VPCID: p.facts.VPCID, AvailabilityZones: p.pool.Spec.AvailabilityZones, FailureDomains: p.machinePool.Spec.FailureDomains,
		Type: ptr.Deref(p.pool.Spec.AvailabilityZoneSubnetType, infrav1.AZSubnetTypePrivate), ClusterSubnets: p.facts.Subnets,
	})
	if err != nil {
		return nil, fmt.Errorf("finding the subnets of the node group: %w", err)
	}
	ids := make([]string, 0, len(found))
	for _, subnet := range found {
		ids = append(ids, subnet.ID)
	}
	slices.Sort(ids)
	return ids, nil
}
