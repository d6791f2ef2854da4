package eks

import (
	"encoding/json"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file keeps the lists of updates of clusters, node groups, and add-ons: their requests, and
// their results.

// update is one update. The value behind view is never changed.
type update struct {
	id   string
	view *types.Update
}

// updates holds the updates of clusters, node groups, and add-ons, as Describe actions show them.
type updates struct {
	kernel *sim.Kernel
	views  *sim.Table[*types.Update]
}

func newUpdates(k *sim.Kernel) *updates {
	return &updates{kernel: k, views: sim.NewTable[*types.Update](k)}
}

// create returns a new update, which is in progress. The caller adds it to the views.
func (us *updates) create(kind types.UpdateType, params []types.UpdateParam) *update {
	u := &update{id: us.kernel.NewUUID()}
	u.view = &types.Update{
		Id: ptr(u.id), Type: kind, Status: types.UpdateStatusInProgress, CreatedAt: ptr(us.kernel.Now()), Params: params, Errors: []types.ErrorDetail{},
	}
	return u
}

// ended closes an update, and returns its view.
func (u *update) ended(errors ...types.ErrorDetail) *types.Update {
	view := shape.Clone(*u.view)
	view.Status = types.UpdateStatusSuccessful
	if len(errors) > 0 {
		view.Status, view.Errors = types.UpdateStatusFailed, errors
	}
	u.view = &view
	return u.view
}

// The keys of updates: a node group's name has no colon, which keeps the three kinds apart.

func (c *cluster) updateKey(id string) string { return c.Name + "/" + id }

func (g *group) updateKey(id string) string { return g.key() + "/" + id }

func (a *addon) updateKey(id string) string { return a.key() + "/" + id }

// updatable refuses updates of a group that is not at rest (message seen in many reports). That a
// DEGRADED group can be updated, which is how it is mended, is an inference.
func (g *group) updatable() error {
	if g.status == types.NodegroupStatusActive || g.status == types.NodegroupStatusDegraded {
		return nil
	}
	return inUse("Nodegroup cannot be updated as it is currently not in Active State")
}

func (s *service) describeUpdate(_ *sim.Call, in *eks.DescribeUpdateInput) (*eks.DescribeUpdateOutput, error) {
	key, _, err := s.updatesOf(in.Name, in.NodegroupName, in.AddonName, in.CapabilityName)
	if err != nil {
		return nil, err
	}
	u, ok := s.updates.views.Visible(key(val(in.UpdateId)))
	if !ok {
		return nil, sim.Errorf(codeNotFound, "No update found for ID: %s", val(in.UpdateId)).WithStatus(404)
	}
	return &eks.DescribeUpdateOutput{Update: u}, nil
}

// updatesOf returns the keys and the list of the updates of a node group or an add-on if one is
// named, and else of the cluster's own. There are no capabilities here.
func (s *service) updatesOf(name, nodegroup, addon, capability *string) (key func(string) string, list []*update, err error) {
	if _, ok := s.clusters.views.Visible(val(name)); !ok {
		return nil, nil, clusterNotFound(val(name))
	}
	switch {
	case capability != nil:
		return nil, nil, sim.Errorf(codeNotFound, "No capability found for name: %s.", *capability).WithStatus(404)
	case addon != nil:
		if _, ok := s.addons.views.Visible(addonKey(*name, *addon)); !ok {
			return nil, nil, addonNotFound(*addon, *name)
		}
		if c := s.clusters.byName[*name]; c != nil && c.addons[*addon] != nil {
			list = c.addons[*addon].history
		}
		return func(id string) string { return addonKey(*name, *addon) + "/" + id }, list, nil
	case nodegroup != nil:
		if _, ok := s.groups.views.Visible(groupKey(*name, *nodegroup)); !ok {
			return nil, nil, groupNotFound(*nodegroup)
		}
		if g := s.groups.byKey[groupKey(*name, *nodegroup)]; g != nil {
			list = g.history
		}
		return func(id string) string { return groupKey(*name, *nodegroup) + "/" + id }, list, nil
	}
	if c := s.clusters.byName[*name]; c != nil {
		list = c.history
	}
	return func(id string) string { return *name + "/" + id }, list, nil
}

func (s *service) listUpdates(_ *sim.Call, in *eks.ListUpdatesInput) (*eks.ListUpdatesOutput, error) {
	key, list, err := s.updatesOf(in.Name, in.NodegroupName, in.AddonName, in.CapabilityName)
	if err != nil {
		return nil, err
	}
	ids := []string{}
	for _, u := range slices.Backward(list) {
		if _, ok := s.updates.views.Visible(key(u.id)); ok {
			ids = append(ids, u.id)
		}
	}
	page, next, err := paginate(ids, in.NextToken, in.MaxResults)
	if err != nil {
		return nil, err
	}
	return &eks.ListUpdatesOutput{UpdateIds: page, NextToken: next}, nil
}

// params collects what an update changes, as it is shown.
type params []types.UpdateParam

func (p *params) add(kind types.UpdateParamType, value string) {
	if value != "" {
		*p = append(*p, types.UpdateParam{Type: kind, Value: ptr(value)})
	}
}

func (p *params) number(kind types.UpdateParamType, value *int32) {
	if value != nil {
		p.add(kind, itoa(*value))
	}
}

func (p *params) object(kind types.UpdateParamType, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic("eks: a parameter of an update does not marshal: " + err.Error())
	}
	p.add(kind, string(text))
}
