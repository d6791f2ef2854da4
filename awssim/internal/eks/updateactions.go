package eks

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// updateActions serves the actions that show updates.
type updateActions struct {
	updates  *updates
	clusters *clusters
	groups   *groups
	addons   *addons
}

func (api *updateActions) describe(_ *sim.Call, in *eks.DescribeUpdateInput) (*eks.DescribeUpdateOutput, error) {
	key, _, err := api.find(in.Name, in.NodegroupName, in.AddonName, in.CapabilityName)
	if err != nil {
		return nil, err
	}
	u, ok := api.updates.views.Visible(key(val(in.UpdateId)))
	if !ok {
		return nil, sim.Errorf(codeNotFound, "No update found for ID: %s", val(in.UpdateId)).WithStatus(404)
	}
	return &eks.DescribeUpdateOutput{Update: u}, nil
}

// find returns the keys and the list of the updates of the named node group or add-on, or of the
// cluster itself if the request names neither. The simulator has no capabilities.
func (api *updateActions) find(name, nodegroup, addon, capability *string) (key func(string) string, list []*update, err error) {
	if _, ok := api.clusters.views.Visible(val(name)); !ok {
		return nil, nil, clusterNotFound(val(name))
	}
	switch {
	case capability != nil:
		return nil, nil, sim.Errorf(codeNotFound, "No capability found for name: %s.", *capability).WithStatus(404)
	case addon != nil:
		if _, ok := api.addons.views.Visible(addonKey(*name, *addon)); !ok {
			return nil, nil, addonNotFound(*addon, *name)
		}
		if c := api.clusters.byName[*name]; c != nil && c.addons[*addon] != nil {
			list = c.addons[*addon].history
		}
		return func(id string) string { return addonKey(*name, *addon) + "/" + id }, list, nil
	case nodegroup != nil:
		if _, ok := api.groups.views.Visible(groupKey(*name, *nodegroup)); !ok {
			return nil, nil, groupNotFound(*nodegroup)
		}
		if g := api.groups.byKey[groupKey(*name, *nodegroup)]; g != nil {
			list = g.history
		}
		return func(id string) string { return groupKey(*name, *nodegroup) + "/" + id }, list, nil
	}
	if c := api.clusters.byName[*name]; c != nil {
		list = c.history
	}
	return func(id string) string { return *name + "/" + id }, list, nil
}

func (api *updateActions) list(_ *sim.Call, in *eks.ListUpdatesInput) (*eks.ListUpdatesOutput, error) {
	key, list, err := api.find(in.Name, in.NodegroupName, in.AddonName, in.CapabilityName)
	if err != nil {
		return nil, err
	}
	ids := []string{}
	for _, u := range slices.Backward(list) {
		if _, ok := api.updates.views.Visible(key(u.id)); ok {
			ids = append(ids, u.id)
		}
	}
	page, next, err := paginate(ids, in.NextToken, in.MaxResults)
	if err != nil {
		return nil, err
	}
	return &eks.ListUpdatesOutput{UpdateIds: page, NextToken: next}, nil
}
