package eks

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling"
	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// publish shows what the group is now to Describe actions.
func (s *service) publish(g *group) { s.views.Put(g.key(), s.describeGroup(g)) }

// emit notifies the simulator's subscribers of a group's new status.
func (s *service) emit(g *group) {
	s.kernel.Emit(sim.Event{Account: s.region.Account.ID, Region: s.region.Name, Kind: "nodegroup", ID: g.key(), State: string(g.status)})
}

func (s *service) describeGroup(g *group) *types.Nodegroup {
	d := &types.Nodegroup{
		ClusterName: ptr(g.cluster.Name), NodegroupName: ptr(g.name), NodegroupArn: ptr(g.arn), CreatedAt: ptr(g.created), ModifiedAt: ptr(g.modified),
		Status: g.status, Health: &types.NodegroupHealth{Issues: shape.Clone(append([]types.Issue{}, g.issues...))},
		NodeRole: ptr(g.nodeRole), Subnets: slices.Clone(g.subnets), AmiType: g.amiType, CapacityType: g.capacityType,
		InstanceTypes: slices.Clone(g.instanceTypes), RemoteAccess: g.remote, Version: ptr(g.version), ReleaseVersion: ptr(g.release),
		ScalingConfig: ptr(s.liveScaling(g)), UpdateConfig: ptr(shape.Clone(g.updating)),
		Labels: merged(g.labels), Taints: shape.Clone(g.taints), NodeRepairConfig: g.repair, WarmPoolConfig: g.warm, Tags: merged(g.tags),
		Resources: &types.NodegroupResources{AutoScalingGroups: []types.AutoScalingGroup{}},
	}
	if g.updating.UpdateStrategy == "" {
		d.UpdateConfig.UpdateStrategy = types.NodegroupUpdateStrategiesDefault
	}
	if g.source == nil {
		d.DiskSize = ptr(diskSize(&g.settings))
	} else {
		d.LaunchTemplate = &types.LaunchTemplateSpecification{Id: ptr(g.source.id), Name: ptr(g.source.name), Version: ptr(itoa(g.source.version))}
	}
	if g.made.asg != "" {
		d.Resources.AutoScalingGroups = append(d.Resources.AutoScalingGroups, types.AutoScalingGroup{Name: ptr(g.made.asg)})
	}
	d.Resources.RemoteAccessSecurityGroup = optional(g.made.remoteGroup)
	return d
}

// liveScaling returns the sizes of the Auto Scaling group unless an update is changing it: the
// Cluster Autoscaler sets the desired size there (SDK NodegroupScalingConfig.DesiredSize).
func (s *service) liveScaling(g *group) types.NodegroupScalingConfig {
	scaling := shape.Clone(g.scaling)
	if g.roll != nil || g.status == types.NodegroupStatusDeleting {
		return scaling
	}
	if found, ok := autoscaling.LookupGroup(s.region, g.made.asg); ok {
		scaling = types.NodegroupScalingConfig{MinSize: found.MinSize, MaxSize: found.MaxSize, DesiredSize: found.DesiredCapacity}
	}
	return scaling
}

func (s *service) describeNodegroup(_ *sim.Call, in *eks.DescribeNodegroupInput) (*eks.DescribeNodegroupOutput, error) {
	if _, ok := s.clusterViews.Visible(val(in.ClusterName)); !ok {
		return nil, clusterNotFound(val(in.ClusterName))
	}
	view, ok := s.views.Visible(groupKey(*in.ClusterName, val(in.NodegroupName)))
	if !ok {
		return nil, groupNotFound(val(in.NodegroupName))
	}
	return &eks.DescribeNodegroupOutput{Nodegroup: view}, nil
}

func (s *service) listNodegroups(_ *sim.Call, in *eks.ListNodegroupsInput) (*eks.ListNodegroupsOutput, error) {
	if _, ok := s.clusterViews.Visible(val(in.ClusterName)); !ok {
		return nil, clusterNotFound(val(in.ClusterName))
	}
	names := []string{}
	for _, v := range s.views.VisibleAll() {
		if *v.ClusterName == *in.ClusterName {
			names = append(names, *v.NodegroupName)
		}
	}
	slices.Sort(names)
	page, next, err := paginate(names, in.NextToken, in.MaxResults)
	if err != nil {
		return nil, err
	}
	return &eks.ListNodegroupsOutput{Nodegroups: page, NextToken: next}, nil
}
