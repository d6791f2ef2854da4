package eks

import (
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling"
	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// groups holds the node groups of one account and Region, and what Describe actions show of them.
type groups struct {
	region   *sim.Region
	kernel   *sim.Kernel
	updates  *updates
	clusters *clusters
	// reconcile takes the steps that are due for a group. newService sets it, because the reconciler
	// uses groups.
	reconcile func(*group)

	byKey map[string]*group // by groupKey
	byASG map[string]*group // by the name of the Auto Scaling group
	views *sim.Table[*types.Nodegroup]
}

func newGroups(r *sim.Region, updates *updates, clusters *clusters) *groups {
	k := r.Kernel()
	return &groups{
		region: r, kernel: k, updates: updates, clusters: clusters,
		byKey: map[string]*group{}, byASG: map[string]*group{}, views: sim.NewTable[*types.Nodegroup](k),
	}
}

// publish updates what Describe actions show of a group.
func (gs *groups) publish(g *group) { gs.views.Put(g.key(), gs.describe(g)) }

// emit notifies the simulator's subscribers of a new status of a group.
func (gs *groups) emit(g *group) {
	gs.kernel.Emit(sim.Event{Account: gs.region.Account.ID, Region: gs.region.Name, Kind: "nodegroup", ID: g.key(), State: string(g.status)})
}

// describe returns the group as DescribeNodegroup returns it.
func (gs *groups) describe(g *group) *types.Nodegroup {
	d := &types.Nodegroup{
		ClusterName: ptr(g.cluster.Name), NodegroupName: ptr(g.name), NodegroupArn: ptr(g.arn), CreatedAt: ptr(g.created), ModifiedAt: ptr(g.modified),
		Status: g.status, Health: &types.NodegroupHealth{Issues: shape.Clone(append([]types.Issue{}, g.issues...))},
		NodeRole: ptr(g.nodeRole), Subnets: slices.Clone(g.subnets), AmiType: g.amiType, CapacityType: g.capacityType,
		InstanceTypes: slices.Clone(g.instanceTypes), RemoteAccess: g.remote, Version: ptr(g.version), ReleaseVersion: ptr(g.release),
		ScalingConfig: ptr(gs.liveScaling(g)), UpdateConfig: ptr(shape.Clone(g.updating)),
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

// liveScaling returns the sizes of the Auto Scaling group, where the Cluster Autoscaler sets the
// desired size (SDK NodegroupScalingConfig.DesiredSize). During a roll-out or a deletion it returns
// the sizes of the node group's settings.
func (gs *groups) liveScaling(g *group) types.NodegroupScalingConfig {
	scaling := shape.Clone(g.scaling)
	if g.roll != nil || g.status == types.NodegroupStatusDeleting {
		return scaling
	}
	if found, ok := autoscaling.LookupGroup(gs.region, g.made.asg); ok {
		scaling = types.NodegroupScalingConfig{MinSize: found.MinSize, MaxSize: found.MaxSize, DesiredSize: found.DesiredCapacity}
	}
	return scaling
}

// autoScalingGroupChanged has the node group of an Auto Scaling group reconciled.
func (gs *groups) autoScalingGroupChanged(name string) {
	if g := gs.byASG[name]; g != nil {
		gs.wake(g, 0)
	}
}

// ofInstance returns the node group of an instance, by the tag of Auto Scaling, or nil.
func (gs *groups) ofInstance(i ec2.Instance) *group {
	for _, tag := range i.Tags {
		if val(tag.Key) == "aws:autoscaling:groupName" {
			return gs.byASG[val(tag.Value)]
		}
	}
	return nil
}

// find returns the current state of a group, as actions that change it need it.
func (gs *groups) find(clusterName, name *string) (*group, error) {
	if _, err := gs.clusters.find(clusterName); err != nil {
		return nil, err
	}
	g := gs.byKey[groupKey(val(clusterName), val(name))]
	if g == nil {
		return nil, groupNotFound(val(name))
	}
	return g, nil
}

// wake schedules a reconciliation of the group after d, unless an earlier one is already scheduled.
func (gs *groups) wake(g *group, d time.Duration) {
	g.wakeUp.In(gs.kernel, d, func() {
		if !g.gone {
			gs.reconcile(g)
		}
	})
}

// changed publishes a change of a group by a call, and schedules its reconciliation.
func (gs *groups) changed(g *group) {
	g.modified = gs.kernel.Now()
	gs.publish(g)
	gs.wake(g, reaction)
}

// setStatus sets the status of a group and notifies the simulator's subscribers.
func (gs *groups) setStatus(g *group, status types.NodegroupStatus) {
	g.status, g.modified = status, gs.kernel.Now()
	if status == types.NodegroupStatusActive {
		g.checkAt = g.modified.Add(healthInterval)
	}
	gs.emit(g)
}

// beginUpdate records an update that a call requests. The group is UPDATING until the update is complete.
func (gs *groups) beginUpdate(c *sim.Call, g *group, kind types.UpdateType, params []types.UpdateParam) *update {
	u := gs.updates.create(kind, params)
	if u.fails = c.UpdateFault(); u.fails != nil {
		u.at = c.Now.Add(max(u.fails.Delay, reaction))
	}
	gs.updates.views.Put(g.updateKey(u.id), u.view)
	g.change, g.history = u, append(g.history, u)
	gs.setStatus(g, types.NodegroupStatusUpdating)
	gs.changed(g)
	return u
}

// endUpdate completes the update under way. The group is ACTIVE again, even if the update failed
// (UG managed-node-update-behavior).
func (gs *groups) endUpdate(g *group, errors ...types.ErrorDetail) {
	gs.updates.views.Put(g.updateKey(g.change.id), g.change.ended(errors...))
	g.change, g.roll = nil, nil
	g.issues = nil
	gs.setStatus(g, types.NodegroupStatusActive)
}
