package managedmachinepool

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/pool"
)

// desiredNodegroup returns the node group that the pool asks for. Subnets that the spec does not
// name by id are found for a new one alone: they cannot be changed.
func desiredNodegroup(in input) nodegroup.Desired {
	spec, machine := &in.Object.Spec, in.Seen.MachinePool.Spec.Template.Spec
	asked := askedTags(in)
	wanted := nodegroup.Desired{
		Cluster: in.Seen.EKSCluster, Owner: ownerTag(in), UID: string(in.Object.UID), RoleName: spec.RoleName,
		SubnetIDs: sorted(spec.SubnetIDs),
		Template:  templateOf(in), OwnImage: ownImage(in),
		KubernetesVersion: machine.Version, ClusterVersion: in.Seen.Access.Facts.ControlPlaneVersion,
		CapacityType: capacityTypes[ptr.Deref(spec.CapacityType, "")], InstanceTypes: instanceTypes(spec), DiskSize: ptr.Deref(spec.DiskSize, 0),
		RemoteAccess: remoteAccess(in), Settings: settingsOf(spec),
		Tags: maps.Clone(asked), RetiredTags: ownership.RetiredTags(in.Object, asked),
	}
	wanted.Tags[infrav1.KubernetesClusterTagKey(in.Seen.EKSCluster)] = infrav1.TagValueOwned
	wanted.Tags[infrav1.TagManagedMachinePool] = ownerTag(in)
	if !wanted.OwnImage {
		wanted.AMIType, wanted.ReleaseVersion = string(ptr.Deref(spec.AMIType, "")), ptr.Deref(spec.AMIVersion, "")
	}
	if spec.UpdateConfig != nil {
		wanted.Force = spec.UpdateConfig.Force
	}
	wanted.Held = held(in, wanted.Key())
	setSizes(&wanted, in)
	return wanted
}

// setSizes sets the bounds and, unless an external autoscaler decides it, the size. Bounds that the
// spec leaves out are as wide as the size needs them.
func setSizes(wanted *nodegroup.Desired, in input) {
	if scaling := in.Object.Spec.Scaling; scaling != nil {
		wanted.Bounds = nodegroup.Bounds{Min: scaling.MinSize, Max: scaling.MaxSize}
	}
	if pool.Autoscaled(in.Seen.MachinePool) {
		return
	}
	replicas := ptr.Deref(in.Seen.MachinePool.Spec.Replicas, 1)
	wanted.Capacity = &replicas
	bounds := &wanted.Bounds
	if bounds.Min == nil {
		bounds.Min = ptr.To(min(replicas, ptr.Deref(bounds.Max, replicas)))
	}
	if bounds.Max == nil {
		bounds.Max = ptr.To(max(replicas, *bounds.Min, 1, unavailable(*wanted, in)))
	}
}

// unavailable returns how many nodes the node group may have unavailable, now and as it is desired: EKS
// refuses a max size below that (terraform-provider-aws#26535).
func unavailable(wanted nodegroup.Desired, in input) int32 {
	most := wanted.Settings.Update.MaxUnavailable
	if group := in.Seen.Group; group != nil && wanted.Held {
		most = max(most, group.Settings.Update.MaxUnavailable) // sizes change before settings that are held back
	}
	return most
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
// bastion in addition to the named groups. Without any group EKS lets the whole internet connect
// (AWS: API_RemoteAccessConfig, sourceSecurityGroups), which public alone asks for.
func remoteAccess(in input) *nodegroup.RemoteAccess {
	access, facts := in.Object.Spec.RemoteAccess, in.Seen.Access.Facts
	if access == nil {
		return nil
	}
	wanted := &nodegroup.RemoteAccess{KeyName: cmp.Or(ptr.Deref(access.SSHKeyName, ""), ptr.Deref(facts.SSHKeyName, ""))}
	if access.Public {
		return wanted
	}
	wanted.Named, wanted.SecurityGroups = access.SourceSecurityGroups, slices.Clone(access.SourceSecurityGroups)
	for _, group := range []string{facts.ClusterSecurityGroupID, facts.BastionSecurityGroupID} {
		if group != "" && !slices.Contains(wanted.SecurityGroups, group) {
			wanted.SecurityGroups = append(wanted.SecurityGroups, group)
		}
	}
	if len(wanted.SecurityGroups) == 0 {
		wanted.SecurityGroups = slices.Clone(facts.NodeSecurityGroupIDs)
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

// templateOf returns what the pool's instances should be launched from, nil for a pool without a
// template, and while that is not ready.
func templateOf(in input) *nodegroup.Template {
	config := launchable(in)
	if config == nil {
		return nil
	}
	return templateIn(config)
}

// templateIn returns the launch template that a launch config names, with the wanted version.
func templateIn(config *infrav1.AWSLaunchConfig) *nodegroup.Template {
	status := &config.Status
	return &nodegroup.Template{
		ID: status.LaunchTemplateID, Version: status.Version, Config: status.ConfigFingerprint,
		Accepts: func(template string, version int64) bool {
			return template == status.LaunchTemplateID && slices.Contains(status.CurrentVersions, version) ||
				slices.ContainsFunc(status.AcceptedVersions, func(accepted infrav1.AcceptedVersions) bool { return accepted.Holds(template, version) })
		},
	}
}

// ownImage reports whether the template has the image.
func ownImage(in input) bool {
	spec, config := &in.Object.Spec, launchable(in)
	switch {
	case config != nil && spec.LaunchConfigRef != nil && config.Spec.Existing != nil:
		return config.Status.Resolved != nil && config.Status.Resolved.ImageID != ""
	case config != nil && spec.LaunchConfigRef != nil:
		return config.Spec.Nodegroup != nil && config.Spec.Nodegroup.AMIType == infrav1.AMITypeCustom
	case config == nil && spec.LaunchConfigRef != nil && in.Seen.Group != nil:
		return in.Seen.Group.OwnImage() // EKS cannot change it
	}
	return spec.OwnImage()
}

// subnetQuery returns the query for the subnets of a new node group whose spec names none.
func subnetQuery(in input) discovery.SubnetQuery {
	return discovery.SubnetQuery{
		VPCID: in.Seen.Access.Facts.VPCID, AvailabilityZones: in.Object.Spec.AvailabilityZones, FailureDomains: in.Seen.MachinePool.Spec.FailureDomains,
		Type: ptr.Deref(in.Object.Spec.AvailabilityZoneSubnetType, infrav1.AZSubnetTypePrivate), ClusterSubnets: in.Seen.Access.Facts.Subnets,
	}
}

// subnetIDs returns the IDs of subnets, sorted.
func subnetIDs(subnets []discovery.Subnet) []string {
	ids := make([]string, 0, len(subnets))
	for _, subnet := range subnets {
		ids = append(ids, subnet.ID)
	}
	slices.Sort(ids)
	return ids
}
