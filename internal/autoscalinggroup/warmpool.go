package autoscalinggroup

import (
	"cmp"
	"context"
	"fmt"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// noPreparedCapacity lets the group's max size decide (AWS: API_PutWarmPool).
const noPreparedCapacity = -1

// WarmPool is the warm pool of a group, with AWS's defaults in place of the fields that were left
// out. Its instances do not belong to the group: AWS lists them elsewhere, they count for no size,
// and they are no nodes.
type WarmPool struct {
	MinSize int32
	// Prepared is -1 if the group's max size decides.
	Prepared int32
	State    string
	Reuse    bool
}

// WarmPoolOf returns the warm pool that a pool asks for, nil for none.
func WarmPoolOf(wanted *infrav1.WarmPool) *WarmPool {
	if wanted == nil {
		return nil
	}
	pool := &WarmPool{
		MinSize: wanted.MinSize, Prepared: noPreparedCapacity, State: cmp.Or(wanted.State, string(asgtypes.WarmPoolStateStopped)), Reuse: wanted.ReuseOnScaleIn,
	}
	set(&pool.Prepared, wanted.MaxGroupPreparedCapacity)
	return pool
}

// warmPoolOf converts AWS's description of a group's warm pool, and reports whether it is being
// deleted.
func warmPoolOf(seen *asgtypes.WarmPoolConfiguration) (pool *WarmPool, deleting bool) {
	if seen == nil {
		return nil, false
	}
	pool = &WarmPool{
		MinSize: awssdk.ToInt32(seen.MinSize), Prepared: noPreparedCapacity, State: cmp.Or(string(seen.PoolState), string(asgtypes.WarmPoolStateStopped)),
	}
	set(&pool.Prepared, seen.MaxGroupPreparedCapacity)
	if reuse := seen.InstanceReusePolicy; reuse != nil {
		set(&pool.Reuse, reuse.ReuseOnScaleIn)
	}
	return pool, seen.Status == asgtypes.WarmPoolStatusPendingDelete
}

// DeleteWarmPool deletes the warm pool of a group. Its instances are terminated as others are,
// hooks included, so that it is there for a while longer.
func (g *Groups) DeleteWarmPool(ctx context.Context, group string) error {
	if _, err := g.api.DeleteWarmPool(ctx, &autoscaling.DeleteWarmPoolInput{AutoScalingGroupName: &group}); err != nil {
		return fmt.Errorf("deleting the warm pool of Auto Scaling group %q: %w", group, err)
	}
	return nil
}

// warmPoolInput returns the request that gives a group the warm pool.
func warmPoolInput(group string, wanted WarmPool) *autoscaling.PutWarmPoolInput {
	return &autoscaling.PutWarmPoolInput{
		AutoScalingGroupName: &group, MinSize: &wanted.MinSize, MaxGroupPreparedCapacity: &wanted.Prepared,
		PoolState: asgtypes.WarmPoolState(wanted.State), InstanceReusePolicy: &asgtypes.InstanceReusePolicy{ReuseOnScaleIn: &wanted.Reuse},
	}
}

// WarmSurplus returns how many instances a group's warm pool has above its wanted size: so many are
// on their way out, or about to be.
func (g Group) WarmSurplus() int32 {
	if g.WarmPool == nil || g.WarmPoolDeleting {
		return g.WarmPoolSize
	}
	// AWS: ec2-auto-scaling-warm-pools, "Warm pool size".
	prepared := g.WarmPool.Prepared
	if prepared < 0 {
		prepared = g.MaxSize
	}
	return g.WarmPoolSize - max(g.WarmPool.MinSize, prepared-g.Capacity, 0)
}

// WarmInstances returns the instances in a group's warm pool. There is no call for the warm pools
// of many groups.
func (g *Groups) WarmInstances(ctx context.Context, group string) ([]Instance, error) {
	pages := autoscaling.NewDescribeWarmPoolPaginator(g.api, &autoscaling.DescribeWarmPoolInput{AutoScalingGroupName: &group})
	var instances []Instance
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("describing the warm pool of Auto Scaling group %q: %w", group, err)
		}
		for i := range page.Instances {
			instances = append(instances, instanceOf(&page.Instances[i]))
		}
	}
	return instances, nil
}
