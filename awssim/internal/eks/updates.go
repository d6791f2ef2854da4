package eks

import (
	"encoding/json"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file keeps the list of a group's updates: what they were asked to change, and how they ended.

// update is one update of a group. What view leads to is never changed.
type update struct {
	id   string
	view *types.Update
}

// begin records an update that a call has asked for. The group is UPDATING until it ends.
func (s *service) begin(g *group, kind types.UpdateType, params []types.UpdateParam) *update {
	u := &update{id: s.kernel.NewUUID()}
	u.view = &types.Update{
		Id: ptr(u.id), Type: kind, Status: types.UpdateStatusInProgress, CreatedAt: ptr(s.kernel.Now()), Params: params, Errors: []types.ErrorDetail{},
	}
	s.updates.Put(g.updateKey(u.id), u.view)
	g.change, g.history = u, append(g.history, u)
	s.become(g, types.NodegroupStatusUpdating)
	s.changed(g)
	return u
}

// end closes the update under way: the group is ACTIVE again, also if the update failed (UG managed-node-update-behavior).
func (s *service) end(g *group, errors ...types.ErrorDetail) {
	view := shape.Clone(*g.change.view)
	view.Status = types.UpdateStatusSuccessful
	if len(errors) > 0 {
		view.Status, view.Errors = types.UpdateStatusFailed, errors
	}
	g.change.view = &view
	s.updates.Put(g.updateKey(g.change.id), &view)
	g.change, g.roll = nil, nil
	g.issues = nil
	s.become(g, types.NodegroupStatusActive)
}

func (g *group) updateKey(id string) string { return g.key() + "/" + id }

// updatable refuses updates of a group that is not at rest (message seen in many reports). That a DEGRADED group can be updated, which is how it
// is mended, is an inference.
func (g *group) updatable() error {
	if g.status == types.NodegroupStatusActive || g.status == types.NodegroupStatusDegraded {
		return nil
	}
	return inUse("Nodegroup cannot be updated as it is currently not in Active State")
}

func (s *service) describeUpdate(_ *sim.Call, in *eks.DescribeUpdateInput) (*eks.DescribeUpdateOutput, error) {
	if err := s.ofNodegroups(in.Name, in.NodegroupName, in.AddonName, in.CapabilityName); err != nil {
		return nil, err
	}
	if in.NodegroupName != nil {
		if u, ok := s.updates.Visible(groupKey(*in.Name, *in.NodegroupName) + "/" + val(in.UpdateId)); ok {
			return &eks.DescribeUpdateOutput{Update: u}, nil
		}
	}
	return nil, sim.Errorf(codeNotFound, "No update found for ID: %s", val(in.UpdateId)).WithStatus(404)
}

// ofNodegroups refuses what is not about node groups: clusters, add-ons and capabilities have no updates here.
func (s *service) ofNodegroups(cluster, nodegroup, addon, capability *string) error {
	if _, ok := s.clusterViews.Visible(val(cluster)); !ok {
		return clusterNotFound(val(cluster))
	}
	if addon != nil || capability != nil {
		return sim.Errorf(codeNotFound, "No addon or capability found for name: %s%s.", val(addon), val(capability)).WithStatus(404)
	}
	if nodegroup != nil {
		if _, ok := s.views.Visible(groupKey(*cluster, *nodegroup)); !ok {
			return groupNotFound(*nodegroup)
		}
	}
	return nil
}

func (s *service) listUpdates(_ *sim.Call, in *eks.ListUpdatesInput) (*eks.ListUpdatesOutput, error) {
	if err := s.ofNodegroups(in.Name, in.NodegroupName, in.AddonName, in.CapabilityName); err != nil {
		return nil, err
	}
	ids := []string{}
	if in.NodegroupName != nil {
		if g := s.groups[groupKey(*in.Name, *in.NodegroupName)]; g != nil {
			for _, u := range slices.Backward(g.history) {
				if _, ok := s.updates.Visible(g.updateKey(u.id)); ok {
					ids = append(ids, u.id)
				}
			}
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
