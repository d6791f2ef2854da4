package eks

import (
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
)

// poolStates maps EKS's states of warm pools to Auto Scaling's.
var poolStates = map[types.WarmPoolState]asgtypes.WarmPoolState{
	"": asgtypes.WarmPoolStateStopped, types.WarmPoolStateStopped: asgtypes.WarmPoolStateStopped,
	types.WarmPoolStateRunning: asgtypes.WarmPoolStateRunning, types.WarmPoolStateHibernated: asgtypes.WarmPoolStateHibernated,
}

// attachWarmPool creates or updates the warm pool of the Auto Scaling group if the settings enable
// one.
func (b *builder) attachWarmPool(g *group) error {
	w := g.warm
	if w == nil || !val(w.Enabled) {
		return nil
	}
	in := &autoscaling.PutWarmPoolInput{
		AutoScalingGroupName: ptr(g.made.asg), MinSize: w.MinSize, MaxGroupPreparedCapacity: w.MaxGroupPreparedCapacity, PoolState: poolStates[w.PoolState],
	}
	if w.ReuseOnScaleIn != nil {
		in.InstanceReusePolicy = &asgtypes.InstanceReusePolicy{ReuseOnScaleIn: w.ReuseOnScaleIn}
	}
	_, err := call[autoscaling.PutWarmPoolOutput](b.region, "autoscaling", "PutWarmPool", in)
	return err
}

// detachWarmPool drains and deletes the warm pool of the Auto Scaling group, if there is one.
func (b *builder) detachWarmPool(g *group) {
	_, _ = call[autoscaling.DeleteWarmPoolOutput](b.region, "autoscaling", "DeleteWarmPool", &autoscaling.DeleteWarmPoolInput{
		AutoScalingGroupName: ptr(g.made.asg), ForceDelete: ptr(true),
	})
}
