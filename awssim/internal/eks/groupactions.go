package eks

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/iam"
	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// groupActions serves the actions about node groups.
type groupActions struct {
	region        *sim.Region
	kernel        *sim.Kernel
	tokens        *tokens
	clusters      *clusters
	groups        *groups
	accessEntries *accessEntries
	requests      *requests
}

func (api *groupActions) create(c *sim.Call, in *eks.CreateNodegroupInput) (*eks.CreateNodegroupOutput, error) {
	k, err := api.clusters.find(in.ClusterName)
	if err != nil {
		return nil, err
	}
	if err := checkName(in.NodegroupName); err != nil {
		return nil, err
	}
	if k.status == types.ClusterStatusCreating || k.status == types.ClusterStatusDeleting || k.status == types.ClusterStatusFailed {
		// the wording is an inference
		return nil, badRequest("Nodegroup cannot be created as cluster %s is in status %s", k.Name, k.status)
	}
	key := groupKey(k.Name, *in.NodegroupName)
	request := shape.Clone(*in)
	if out, err := replay[eks.CreateNodegroupOutput](api.tokens, c.Action, in.ClientRequestToken, request); out != nil || err != nil {
		return out, err
	}
	if api.groups.byKey[key] != nil {
		return nil, inUse("NodeGroup already exists with name %s and cluster name %s", *in.NodegroupName, k.Name)
	}
	quota, have := api.kernel.World().Quota(world.QuotaNodeGroups, defaultGroups), 0
	for _, g := range api.groups.byKey {
		if g.cluster == k {
			have++
		}
	}
	if have >= quota { // UG service-quotas
		return nil, sim.Errorf(codeLimitExceeded, "Cannot exceed quota for the number of managed node groups per cluster: %d", quota)
	}
	n, err := api.requests.newSettings(k, in)
	if err != nil {
		return nil, err
	}
	g := &group{
		cluster: k, name: *in.NodegroupName, id: api.kernel.NewUUID(), created: c.Now, settings: n, status: types.NodegroupStatusCreating,
		deadline: c.Now.Add(creationLimit), builds: map[int64]settings{},
	}
	g.arn = fmt.Sprintf("arn:aws:eks:%s:%s:nodegroup/%s/%s/%s", api.region.Name, api.region.Account.ID, k.Name, g.name, g.id)
	api.groups.byKey[key] = g
	api.groups.changed(g)
	iam.EnsureServiceLinkedRole(c.Account, linkedRole, linkedService)
	api.accessEntries.admitNodes(k, n.nodeRole)
	out := &eks.CreateNodegroupOutput{Nodegroup: api.groups.describe(g)}
	api.tokens.remember(c.Action, in.ClientRequestToken, request, out)
	return out, nil
}

func (api *groupActions) describe(_ *sim.Call, in *eks.DescribeNodegroupInput) (*eks.DescribeNodegroupOutput, error) {
	if _, ok := api.clusters.views.Visible(val(in.ClusterName)); !ok {
		return nil, clusterNotFound(val(in.ClusterName))
	}
	view, ok := api.groups.views.Visible(groupKey(*in.ClusterName, val(in.NodegroupName)))
	if !ok {
		return nil, groupNotFound(val(in.NodegroupName))
	}
	return &eks.DescribeNodegroupOutput{Nodegroup: view}, nil
}

func (api *groupActions) list(_ *sim.Call, in *eks.ListNodegroupsInput) (*eks.ListNodegroupsOutput, error) {
	if _, ok := api.clusters.views.Visible(val(in.ClusterName)); !ok {
		return nil, clusterNotFound(val(in.ClusterName))
	}
	names := []string{}
	for _, v := range api.groups.views.VisibleAll() {
		if *v.ClusterName == *in.ClusterName {
			names = append(names, *v.NodegroupName)
		}
	}
	page, next, err := pageOfNames(names, in.NextToken, in.MaxResults)
	if err != nil {
		return nil, err
	}
	return &eks.ListNodegroupsOutput{Nodegroups: page, NextToken: next}, nil
}

// updateConfig changes sizes, labels, taints, and how the group is updated and repaired. Sizes that
// the request leaves out stay as they are in the Auto Scaling group (UG
// managed-node-update-behavior).
func (api *groupActions) updateConfig(c *sim.Call, in *eks.UpdateNodegroupConfigInput) (*eks.UpdateNodegroupConfigOutput, error) {
	g, err := api.groups.find(in.ClusterName, in.NodegroupName)
	if err != nil {
		return nil, err
	}
	request := shape.Clone(*in)
	if out, err := replay[eks.UpdateNodegroupConfigOutput](api.tokens, c.Action, in.ClientRequestToken, request); out != nil || err != nil {
		return out, err
	}
	if err := g.updatable(); err != nil {
		return nil, err
	}
	if in.ScalingConfig == nil && in.Labels == nil && in.Taints == nil && in.UpdateConfig == nil && in.NodeRepairConfig == nil && in.WarmPoolConfig == nil {
		// inference
		return nil, badRequest("An update must change something of the node group's configuration.")
	}
	changed, err := api.requests.reconfigured(g, in)
	if err != nil {
		return nil, err
	}
	g.config = changed
	u := api.groups.beginUpdate(c, g, types.UpdateTypeConfigUpdate, configParams(in))
	out := &eks.UpdateNodegroupConfigOutput{Update: u.view}
	api.tokens.remember(c.Action, in.ClientRequestToken, request, out)
	return out, nil
}

// updateVersion replaces the nodes with nodes of another version of Kubernetes, of EKS's image, or
// of the user's launch template.
func (api *groupActions) updateVersion(c *sim.Call, in *eks.UpdateNodegroupVersionInput) (*eks.UpdateNodegroupVersionOutput, error) {
	g, err := api.groups.find(in.ClusterName, in.NodegroupName)
	if err != nil {
		return nil, err
	}
	request := shape.Clone(*in)
	if out, err := replay[eks.UpdateNodegroupVersionOutput](api.tokens, c.Action, in.ClientRequestToken, request); out != nil || err != nil {
		return out, err
	}
	if err := g.updatable(); err != nil {
		return nil, err
	}
	n, err := api.requests.updated(g, in)
	if err != nil {
		return nil, err
	}
	g.roll = newRollout(n, in.Force)
	p := params{}
	p.add(types.UpdateParamTypeVersion, n.version)
	p.add(types.UpdateParamTypeReleaseVersion, n.release)
	if in.LaunchTemplate != nil {
		p.add(types.UpdateParamTypeLaunchTemplateName, n.source.name)
		p.add(types.UpdateParamTypeLaunchTemplateVersion, itoa(n.source.version))
	}
	u := api.groups.beginUpdate(c, g, types.UpdateTypeVersionUpdate, p)
	out := &eks.UpdateNodegroupVersionOutput{Update: u.view}
	api.tokens.remember(c.Action, in.ClientRequestToken, request, out)
	return out, nil
}

// delete begins to delete a group in any state, unless an update is under way. The wording is from
// reports of users about updates.
func (api *groupActions) delete(_ *sim.Call, in *eks.DeleteNodegroupInput) (*eks.DeleteNodegroupOutput, error) {
	g, err := api.groups.find(in.ClusterName, in.NodegroupName)
	if err != nil {
		return nil, err
	}
	if g.status == types.NodegroupStatusDeleting {
		return &eks.DeleteNodegroupOutput{Nodegroup: api.groups.describe(g)}, nil
	}
	if g.status == types.NodegroupStatusUpdating {
		return nil, inUse("Nodegroup cannot be deleted while it is being updated")
	}
	g.deadline, g.step = api.kernel.Now().Add(drainLimit), 0
	api.groups.setStatus(g, types.NodegroupStatusDeleting)
	api.groups.changed(g)
	return &eks.DeleteNodegroupOutput{Nodegroup: api.groups.describe(g)}, nil
}
