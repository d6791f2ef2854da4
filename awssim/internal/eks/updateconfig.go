package eks

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
)

// configuration is an update under way that does not replace nodes.
type configuration struct {
	wanted               settings
	scales, labels, pool bool
}

// reconfigured returns the settings of the group after an update of its configuration, and refuses
// invalid updates.
func (r *requests) reconfigured(g *group, in *eks.UpdateNodegroupConfigInput) (*configuration, error) {
	c := &configuration{wanted: g.settings, scales: in.ScalingConfig != nil, labels: in.Labels != nil || in.Taints != nil, pool: in.WarmPoolConfig != nil}
	n := &c.wanted
	n.scaling = r.groups.liveScaling(g)
	if in.ScalingConfig != nil {
		shape.Overlay(&n.scaling, *in.ScalingConfig)
		if err := r.checkScaling(n.scaling); err != nil {
			return nil, err
		}
	}
	if in.Labels != nil {
		if err := checkLabels(in.Labels.AddOrUpdateLabels); err != nil {
			return nil, err
		}
		n.labels = merged(n.labels, in.Labels.AddOrUpdateLabels)
		for _, key := range in.Labels.RemoveLabels {
			if _, twice := in.Labels.AddOrUpdateLabels[key]; twice {
				return nil, invalid("Label %s cannot be both updated and removed.", key) // inference
			}
			delete(n.labels, key)
		}
	}
	if in.Taints != nil {
		n.taints = retainted(n.taints, in.Taints)
		if err := checkTaints(n.taints); err != nil {
			return nil, err
		}
	}
	if in.UpdateConfig != nil {
		n.updating = *in.UpdateConfig
	}
	if in.NodeRepairConfig != nil {
		n.repair = in.NodeRepairConfig
	}
	// SDK WarmPoolConfig.Enabled: "if not specified during an update, the current value is preserved"
	if in.WarmPoolConfig != nil {
		pool := val(n.warm)
		shape.Overlay(&pool, *in.WarmPoolConfig)
		n.warm = &pool
	}
	for _, err := range []error{checkUpdating(in.UpdateConfig, val(n.scaling.MaxSize)), checkRepair(in.NodeRepairConfig), checkWarmPool(n)} {
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// retainted returns taints with the payload's changes: a taint is known by key and effect.
func retainted(taints []types.Taint, in *types.UpdateTaintsPayload) []types.Taint {
	without := func(list []types.Taint, gone types.Taint) []types.Taint {
		return slices.DeleteFunc(slices.Clone(list), func(t types.Taint) bool { return val(t.Key) == val(gone.Key) && t.Effect == gone.Effect })
	}
	for _, t := range in.RemoveTaints {
		taints = without(taints, t)
	}
	for _, t := range in.AddOrUpdateTaints {
		taints = append(without(taints, t), t)
	}
	return taints
}

// configParams returns what an update shows of a request: labels and taints as JSON (AWS CLI,
// examples of update-nodegroup-config).
func configParams(in *eks.UpdateNodegroupConfigInput) []types.UpdateParam {
	p := params{}
	if c := in.ScalingConfig; c != nil {
		p.number(types.UpdateParamTypeMinSize, c.MinSize)
		p.number(types.UpdateParamTypeMaxSize, c.MaxSize)
		p.number(types.UpdateParamTypeDesiredSize, c.DesiredSize)
	}
	if l := in.Labels; l != nil {
		if len(l.AddOrUpdateLabels) > 0 {
			p.object(types.UpdateParamTypeLabelsToAdd, l.AddOrUpdateLabels)
		}
		if len(l.RemoveLabels) > 0 {
			p.object(types.UpdateParamTypeLabelsToRemove, l.RemoveLabels)
		}
	}
	if t := in.Taints; t != nil {
		if len(t.AddOrUpdateTaints) > 0 {
			p.object(types.UpdateParamTypeTaintsToAdd, shownTaints(t.AddOrUpdateTaints))
		}
		if len(t.RemoveTaints) > 0 {
			p.object(types.UpdateParamTypeTaintsToRemove, shownTaints(t.RemoveTaints))
		}
	}
	if c := in.UpdateConfig; c != nil {
		p.number(types.UpdateParamTypeMaxUnavailable, c.MaxUnavailable)
		p.number(types.UpdateParamTypeMaxUnavailablePercentage, c.MaxUnavailablePercentage)
		p.add(types.UpdateParamTypeUpdateStrategy, string(c.UpdateStrategy))
	}
	if in.NodeRepairConfig != nil {
		p.object(types.UpdateParamTypeNodeRepairConfig, map[string]bool{"enabled": val(in.NodeRepairConfig.Enabled)})
	}
	if w := in.WarmPoolConfig; w != nil {
		p.number(types.UpdateParamTypeWarmPoolMinSize, w.MinSize)
		p.number(types.UpdateParamTypeWarmPoolMaxGroupPreparedCapacity, w.MaxGroupPreparedCapacity)
		p.add(types.UpdateParamTypeWarmPoolState, string(w.PoolState))
	}
	return p
}

// shownTaint is a taint as the parameters of an update have it.
type shownTaint struct {
	Effect types.TaintEffect `json:"effect"`
	Value  string            `json:"value"`
	Key    string            `json:"key"`
}

func shownTaints(taints []types.Taint) []shownTaint {
	var shown []shownTaint
	for _, t := range taints {
		shown = append(shown, shownTaint{Effect: t.Effect, Value: val(t.Value), Key: val(t.Key)})
	}
	return shown
}
