package autoscaling

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/list"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// warmPoolActions serves the actions on warm pools.
type warmPoolActions struct {
	groups    *groups
	requests  *requests
	lifecycle *lifecycle
}

func (api *warmPoolActions) put(c *sim.Call, in *autoscaling.PutWarmPoolInput) (*autoscaling.PutWarmPoolOutput, error) {
	g, err := api.groups.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	if err := refuseWarmPool(g); err != nil {
		return nil, err
	}
	w := warmPool{state: types.WarmPoolStateStopped}
	if g.warm != nil {
		w = *g.warm
	}
	if v := in.PoolState; v != "" {
		if !slices.Contains(v.Values(), v) {
			return nil, notInEnum("poolState", v, v.Values())
		}
		w.state = v
	}
	if in.MinSize != nil {
		if *in.MinSize < 0 {
			return nil, constraint(itoa(int(*in.MinSize)), "minSize", "Member must have value greater than or equal to 0")
		}
		w.min = int(*in.MinSize)
	}
	if m := in.MaxGroupPreparedCapacity; m != nil {
		switch {
		case *m < -1:
			return nil, constraint(itoa(int(*m)), "maxGroupPreparedCapacity", "Member must have value greater than or equal to -1")
		case *m == -1:
			w.maxPrepared = nil
		default:
			w.maxPrepared = m
		}
	}
	if in.InstanceReusePolicy != nil {
		w.reuse = in.InstanceReusePolicy
	}
	if err := api.requests.checkWarmPool(g.config, w.state); err != nil {
		return nil, err
	}
	g.warm = &w
	api.groups.changed(g)
	return &autoscaling.PutWarmPoolOutput{}, nil
}

// refuseWarmPool refuses a warm pool for a group whose last one is being deleted, and a new one
// while root volumes are replaced (UG replace-root-volume, "Limitations").
func refuseWarmPool(g *group) error {
	switch {
	case g.warm != nil && g.warm.deleting:
		return sim.Errorf(codeScalingInProgress, "The warm pool of Auto Scaling group %s is being deleted.", g.name)
	case g.warm == nil && g.refresh.inPlace():
		return invalid("You can't add a warm pool to an Auto Scaling group that has an active instance refresh with the ReplaceRootVolume strategy.")
	}
	return nil
}

func (api *warmPoolActions) delete(c *sim.Call, in *autoscaling.DeleteWarmPoolInput) (*autoscaling.DeleteWarmPoolOutput, error) {
	g, err := api.groups.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	if g.warm == nil {
		return nil, invalid("No warm pool found for Auto Scaling group %s", g.name)
	}
	pool := list.Filter(g.members, (*member).warmed)
	// Without force the instances are terminated with their lifecycle actions; with it, at once
	// (SDK DeleteWarmPoolInput.ForceDelete).
	g.warm.deleting = true
	if val(in.ForceDelete) {
		for _, m := range pool {
			m.forced = true
			if !m.leaving() {
				api.lifecycle.startTermination(g, m, "At "+stamp(c.Now)+" a user request force deleted the warm pool.")
			}
			m.actions, m.settle = nil, c.Now
			m.outcome = resultContinue
		}
	}
	api.groups.changed(g)
	return &autoscaling.DeleteWarmPoolOutput{}, nil
}

func (api *warmPoolActions) describe(_ *sim.Call, in *autoscaling.DescribeWarmPoolInput) (*autoscaling.DescribeWarmPoolOutput, error) {
	v, err := api.groups.visible(in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	page, next, err := paginate(v.warm, in.NextToken, in.MaxRecords, 50, 50, func(i types.Instance) string { return *i.InstanceId })
	if err != nil {
		return nil, err
	}
	return &autoscaling.DescribeWarmPoolOutput{Instances: page, NextToken: next, WarmPoolConfiguration: v.group.WarmPoolConfiguration}, nil
}
