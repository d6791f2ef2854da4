package plan

import (
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

const (
	// startLimit is the time from the launch of a new instance until it is in service that the
	// longest estimate of a roll-out assumes. It is a guess: AWS specifies no time.
	startLimit = 5 * time.Minute
	// The defaults of an instance refresh (AWS: understand-instance-refresh-default-values).
	defaultMinHealthy      = 90
	defaultMaxHealthy      = 100
	defaultCheckpointDelay = time.Hour
)

// pacing holds the values that determine the pace of a roll-out.
type pacing struct {
	// desired is the desired capacity, and replaced how many instances are replaced.
	desired, replaced int
	// minHealthy and maxHealthy are percentages of the desired capacity.
	minHealthy, maxHealthy int
	// inPlace is true if root volumes are replaced and not instances.
	inPlace bool
	// warmup is how long a new instance is in service before it counts, drain how long a node may be
	// drained, and waits the sum of checkpoint delays and the bake time.
	warmup, drain, waits time.Duration
}

// pace returns the pace of the refresh that a world started, nil if it started none.
func (w *world) pace(pool *infrav1.AWSMachinePool, replaced int) *Rollout {
	refresh, group := w.aws.Refresh()
	if refresh == nil {
		return nil
	}
	p := pacing{
		desired: int(awssdk.ToInt32(group.DesiredCapacity)), replaced: replaced, minHealthy: defaultMinHealthy, maxHealthy: defaultMaxHealthy,
		inPlace: refresh.Strategy == asgtypes.RefreshStrategyReplaceRootVolume,
		warmup:  seconds(group.HealthCheckGracePeriod), drain: infrav1.DefaultNodeDrainTimeout,
	}
	if policy := group.InstanceMaintenancePolicy; policy != nil {
		p.minHealthy, p.maxHealthy = int(awssdk.ToInt32(policy.MinHealthyPercentage)), int(awssdk.ToInt32(policy.MaxHealthyPercentage))
	}
	if group.DefaultInstanceWarmup != nil {
		p.warmup = seconds(group.DefaultInstanceWarmup)
	}
	switch drain := pool.Spec.NodeDrain; {
	case drain != nil && drain.Disable:
		p.drain = 0
	case drain != nil && drain.Timeout != nil:
		p.drain = drain.Timeout.Duration
	}
	if preferences := refresh.Preferences; preferences != nil {
		p.prefer(preferences)
	}
	return p.rollout()
}

// prefer takes over what a refresh was asked for. A minimum alone overrides both percentages of the
// group's policy.
func (p *pacing) prefer(preferences *asgtypes.RefreshPreferences) {
	if preferences.MinHealthyPercentage != nil {
		p.minHealthy, p.maxHealthy = int(*preferences.MinHealthyPercentage), defaultMaxHealthy
	}
	if preferences.MaxHealthyPercentage != nil {
		p.maxHealthy = int(*preferences.MaxHealthyPercentage)
	}
	if preferences.InstanceWarmup != nil && *preferences.InstanceWarmup >= 0 {
		p.warmup = seconds(preferences.InstanceWarmup)
	}
	for _, percentage := range preferences.CheckpointPercentages {
		if percentage >= 100 {
			continue // nothing is left to replace after it
		}
		if delay := preferences.CheckpointDelay; delay != nil {
			p.waits += seconds(delay)
		} else {
			p.waits += defaultCheckpointDelay
		}
	}
	p.waits += seconds(preferences.BakeTime)
}

func seconds(count *int32) time.Duration {
	return time.Duration(awssdk.ToInt32(count)) * time.Second
}

// rollout returns the pace. AWS rounds the minimum up and the maximum down, and replaces one instance
// at a time where they leave no room (AWS: instance-refresh-overview).
func (p pacing) rollout() *Rollout {
	floor := min(p.desired, (p.desired*p.minHealthy+99)/100)
	ceiling := max(p.desired, p.desired*p.maxHealthy/100)
	atOnce := p.desired - floor
	if !p.inPlace {
		atOnce += ceiling - p.desired
	}
	atOnce = min(max(atOnce, 1), max(p.replaced, 1))
	batches := time.Duration((p.replaced + atOnce - 1) / atOnce)
	return &Rollout{
		Replaced: p.replaced, AtOnce: atOnce,
		AtLeast: Duration(batches*p.warmup + p.waits),
		AtMost:  Duration(batches*(p.warmup+p.drain+startLimit) + p.waits),
	}
}

// managedPace returns how many nodes of a node group EKS replaces at a time (AWS:
// API_NodegroupUpdateConfig): one by default. A percentage is rounded down.
func managedPace(group *ekstypes.Nodegroup, replaced int) *Rollout {
	atOnce := 1
	if group != nil && group.UpdateConfig != nil {
		if number := group.UpdateConfig.MaxUnavailable; number != nil {
			atOnce = int(*number)
		}
		if percentage := group.UpdateConfig.MaxUnavailablePercentage; percentage != nil && group.ScalingConfig != nil {
			atOnce = int(awssdk.ToInt32(group.ScalingConfig.DesiredSize)) * int(*percentage) / 100
		}
	}
	return &Rollout{Replaced: replaced, AtOnce: min(max(atOnce, 1), replaced)}
}
