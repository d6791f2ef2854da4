package nodegroup

import (
	"maps"
	"slices"
	"strconv"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/internal/optional"
)

// tokenLength is the length of client request tokens.
const tokenLength = 64

// createInput returns the request for a new node group. AWS answers a token that it has seen with
// the node group that it created then, even if that was deleted since. So the token differs for
// each object that asks and for each node group of the name that was lost.
func createInput(desired Desired, name, lost string) *eks.CreateNodegroupInput {
	settings := desired.Settings.Sorted()
	input := &eks.CreateNodegroupInput{
		ClusterName: &desired.Cluster, NodegroupName: &name, NodeRole: &desired.RoleARN, Subnets: desired.SubnetIDs,
		AmiType: ekstypes.AMITypes(desired.AMIType), CapacityType: ekstypes.CapacityTypes(desired.CapacityType),
		InstanceTypes: desired.InstanceTypes, Labels: settings.Labels, Taints: taints(settings.Taints), Tags: desired.Tags,
		UpdateConfig: settings.Update.input(), NodeRepairConfig: settings.Repair.input(),
		ScalingConfig: newSizes(desired),
	}
	if settings.WarmPool.Enabled {
		input.WarmPoolConfig = settings.WarmPool.input()
	}
	if desired.DiskSize != 0 {
		input.DiskSize = &desired.DiskSize
	}
	if access := desired.RemoteAccess; access != nil {
		input.RemoteAccess = &ekstypes.RemoteAccessConfig{SourceSecurityGroups: access.SecurityGroups}
		if access.KeyName != "" {
			input.RemoteAccess.Ec2SshKey = &access.KeyName
		}
	}
	if desired.Template != nil {
		input.LaunchTemplate = specification(desired.Template.ID, desired.Template.Version)
	}
	if !desired.OwnImage {
		input.Version, input.ReleaseVersion = optional.Text(Minor(desired.KubernetesVersion)), optional.Text(desired.ReleaseVersion)
	}
	input.ClientRequestToken = awssdk.String(digest(tokenLength, "create", desired.Owner, desired.UID, lost, text(input)))
	return input
}

// newSizes returns the sizes of a new node group: bounds that are not given are as narrow as its
// size, and the number of nodes that may be unavailable, allow.
func newSizes(desired Desired) *ekstypes.NodegroupScalingConfig {
	size := int32(1)
	if desired.Capacity != nil {
		size = *desired.Capacity
	}
	least, most := size, max(size, 1, desired.Settings.Update.MaxUnavailable)
	if desired.Bounds.Min != nil {
		least = *desired.Bounds.Min
		most = max(most, least)
	}
	if desired.Bounds.Max != nil {
		most = max(*desired.Bounds.Max, 1)
		least = min(least, most)
	}
	size = min(max(size, least), most)
	return &ekstypes.NodegroupScalingConfig{MinSize: &least, MaxSize: &most, DesiredSize: &size}
}

// configInput returns the request for a change of the configuration of a node group as it was seen.
func configInput(change ConfigChange, seen Nodegroup) *eks.UpdateNodegroupConfigInput {
	input := &eks.UpdateNodegroupConfigInput{ClusterName: &seen.Cluster, NodegroupName: &seen.Name}
	if sizes := change.Sizes; sizes != nil {
		input.ScalingConfig = &ekstypes.NodegroupScalingConfig{MinSize: &sizes.Min, MaxSize: &sizes.Max, DesiredSize: sizes.Desired}
	}
	if wanted := change.Settings; wanted != nil {
		input.Labels = labelsInput(wanted.Labels, seen.Settings.Labels)
		input.Taints = taintsInput(wanted.Taints, seen.Settings.Taints)
		if wanted.Update != seen.Settings.Update {
			input.UpdateConfig = wanted.Update.input()
		}
		if wanted.Repair.text() != seen.Settings.Repair.text() {
			input.NodeRepairConfig = wanted.Repair.input()
		}
		if wanted.WarmPool != seen.Settings.WarmPool {
			input.WarmPoolConfig = wanted.WarmPool.input()
			// EKS keeps a number that is not sent.
			if wanted.WarmPool.Enabled && wanted.WarmPool.Prepared == noPrepared && seen.Settings.WarmPool.Enabled && seen.Settings.WarmPool.Prepared != noPrepared {
				input.WarmPoolConfig.MaxGroupPreparedCapacity = awssdk.Int32(noPrepared)
			}
		}
	}
	input.ClientRequestToken = awssdk.String(updateToken(seen, change.Attempt, text(input)))
	return input
}

// versionInput returns the request for nodes that are launched from something else. It has no
// sizes: EKS goes by the sizes that the group has then.
func versionInput(change VersionChange, seen Nodegroup) *eks.UpdateNodegroupVersionInput {
	input := &eks.UpdateNodegroupVersionInput{
		ClusterName: &seen.Cluster, NodegroupName: &seen.Name, Force: change.Force,
		Version: optional.Text(change.KubernetesVersion), ReleaseVersion: optional.Text(change.ReleaseVersion),
	}
	if change.TemplateID != "" {
		input.LaunchTemplate = specification(change.TemplateID, change.TemplateVersion)
	}
	input.ClientRequestToken = awssdk.String(updateToken(seen, change.Attempt, text(input)))
	return input
}

// updateToken returns the same token for a request that is repeated because its answer was lost,
// and another token for a request that is repeated because its update failed: every update changes
// when the node group was modified, and each attempt has a number.
func updateToken(seen Nodegroup, attempt, request string) string {
	return digest(tokenLength, "update", seen.ARN, attempt, seen.Modified.UTC().Format("2006-01-02T15:04:05.000000000"), request)
}

func specification(id string, version int64) *ekstypes.LaunchTemplateSpecification {
	return &ekstypes.LaunchTemplateSpecification{Id: &id, Version: awssdk.String(strconv.FormatInt(version, 10))}
}

func labelsInput(wanted, seen map[string]string) *ekstypes.UpdateLabelsPayload {
	payload := &ekstypes.UpdateLabelsPayload{}
	for key, value := range wanted {
		if before, there := seen[key]; !there || before != value {
			if payload.AddOrUpdateLabels == nil {
				payload.AddOrUpdateLabels = map[string]string{}
			}
			payload.AddOrUpdateLabels[key] = value
		}
	}
	for _, key := range slices.Sorted(maps.Keys(seen)) {
		if _, kept := wanted[key]; !kept {
			payload.RemoveLabels = append(payload.RemoveLabels, key)
		}
	}
	if len(payload.AddOrUpdateLabels)+len(payload.RemoveLabels) == 0 {
		return nil
	}
	return payload
}

// taintsInput adds and removes taints. One of the same key and effect is replaced by being added.
func taintsInput(wanted, seen []Taint) *ekstypes.UpdateTaintsPayload {
	added := slices.DeleteFunc(slices.Clone(wanted), func(taint Taint) bool { return slices.Contains(seen, taint) })
	removed := slices.DeleteFunc(slices.Clone(seen), func(taint Taint) bool {
		return slices.ContainsFunc(wanted, func(other Taint) bool { return other.Key == taint.Key && other.Effect == taint.Effect })
	})
	if len(added)+len(removed) == 0 {
		return nil
	}
	return &ekstypes.UpdateTaintsPayload{AddOrUpdateTaints: taints(added), RemoveTaints: taints(removed)}
}

func taints(list []Taint) []ekstypes.Taint {
	var converted []ekstypes.Taint
	for _, taint := range list {
		converted = append(converted, ekstypes.Taint{
			Key: awssdk.String(taint.Key), Value: awssdk.String(taint.Value), Effect: ekstypes.TaintEffect(taint.Effect),
		})
	}
	return converted
}

func (u UpdateConfig) input() *ekstypes.NodegroupUpdateConfig {
	input := &ekstypes.NodegroupUpdateConfig{UpdateStrategy: ekstypes.NodegroupUpdateStrategies(u.Strategy)}
	if u.MaxUnavailablePercentage != 0 {
		input.MaxUnavailablePercentage = &u.MaxUnavailablePercentage
	} else {
		input.MaxUnavailable = &u.MaxUnavailable
	}
	return input
}

func (r Repair) input() *ekstypes.NodeRepairConfig {
	input := &ekstypes.NodeRepairConfig{Enabled: &r.Enabled}
	if !r.Enabled {
		return input
	}
	for _, limit := range []struct {
		field **int32
		value int32
	}{
		{&input.MaxParallelNodesRepairedCount, r.MaxParallelCount},
		{&input.MaxParallelNodesRepairedPercentage, r.MaxParallelPercentage},
		{&input.MaxUnhealthyNodeThresholdCount, r.UnhealthyThresholdCount},
		{&input.MaxUnhealthyNodeThresholdPercentage, r.UnhealthyThresholdPercentage},
	} {
		if limit.value != 0 {
			*limit.field = &limit.value
		}
	}
	for _, override := range r.Overrides {
		input.NodeRepairConfigOverrides = append(input.NodeRepairConfigOverrides, ekstypes.NodeRepairConfigOverrides{
			NodeMonitoringCondition: awssdk.String(override.Condition), NodeUnhealthyReason: awssdk.String(override.Reason),
			MinRepairWaitTimeMins: awssdk.Int32(override.WaitMinutes), RepairAction: ekstypes.RepairAction(override.Action),
		})
	}
	return input
}

func (w WarmPool) input() *ekstypes.WarmPoolConfig {
	if !w.Enabled {
		return &ekstypes.WarmPoolConfig{Enabled: awssdk.Bool(false)}
	}
	input := &ekstypes.WarmPoolConfig{
		Enabled: &w.Enabled, MinSize: &w.Min, PoolState: ekstypes.WarmPoolState(w.State), ReuseOnScaleIn: &w.Reuse,
	}
	if w.Prepared != noPrepared {
		input.MaxGroupPreparedCapacity = &w.Prepared
	}
	return input
}
