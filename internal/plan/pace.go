package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

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

// orderOfRefresh says who chooses the order of an instance refresh. AWS documents none.
const orderOfRefresh = "AWS chooses the order"

// pacing holds the values that determine the pace of a roll-out.
type pacing struct {
	// desired is the desired capacity. Replaced is how many instances are replaced, and instances how
	// many there are in all that do not leave.
	desired, replaced, instances int
	// smallest and largest are the fewest and the most units of capacity of a replaced instance: 1
	// unless the group has weights.
	smallest, largest int
	// minHealthy and maxHealthy are percentages of the desired capacity.
	minHealthy, maxHealthy int
	// inPlace is true if root volumes are replaced and not instances.
	inPlace bool
	// checkpoints are the percentages of new instances at which the refresh pauses for delay, in
	// ascending order.
	checkpoints []int
	delay       time.Duration
	// warmup is how long a new instance is in service before it counts, drain how long a node may be
	// drained, and bake the time after the last instance.
	warmup, drain, bake time.Duration
}

// pace returns the pace of the refresh that a world started, nil if it started none.
func (w *world) pace(pool *infrav1.AWSMachinePool, replaced []string) *Rollout {
	refresh, group := w.aws.Refresh()
	if refresh == nil {
		return nil
	}
	p := pacingOf(&group, len(replaced))
	p.inPlace = refresh.Strategy == asgtypes.RefreshStrategyReplaceRootVolume
	p.drain = drainLimit(pool)
	p.smallest, p.largest = weights(group.Instances, replaced)
	if refresh.Preferences != nil {
		p.prefer(refresh.Preferences)
	}
	rollout := p.rollout()
	rollout.Stay, rollout.Held = asides(group.Instances, replaced, refresh.Preferences)
	return rollout
}

// pacingOf returns the pace at which a group replaces a number of instances by default.
func pacingOf(group *asgtypes.AutoScalingGroup, replaced int) pacing {
	p := pacing{
		desired: int(awssdk.ToInt32(group.DesiredCapacity)), replaced: replaced, smallest: 1, largest: 1,
		minHealthy: defaultMinHealthy, maxHealthy: defaultMaxHealthy, warmup: seconds(group.HealthCheckGracePeriod),
	}
	for i := range group.Instances {
		if !leaves(&group.Instances[i]) {
			p.instances++
		}
	}
	if policy := group.InstanceMaintenancePolicy; policy != nil {
		p.minHealthy, p.maxHealthy = int(awssdk.ToInt32(policy.MinHealthyPercentage)), int(awssdk.ToInt32(policy.MaxHealthyPercentage))
	}
	if group.DefaultInstanceWarmup != nil {
		p.warmup = seconds(group.DefaultInstanceWarmup)
	}
	return p
}

// drainLimit returns how long a node of a pool may be drained, 0 if nodes are not drained.
func drainLimit(pool *infrav1.AWSMachinePool) time.Duration {
	switch drain := pool.Spec.NodeDrain; {
	case drain != nil && drain.Disable:
		return 0
	case drain != nil && drain.Timeout != nil:
		return drain.Timeout.Duration
	}
	return infrav1.DefaultNodeDrainTimeout
}

// drainsOf returns how long drains of a pool's nodes can be held, nil if they are not drained.
func drainsOf(pool *infrav1.AWSMachinePool) *Drains {
	limit := drainLimit(pool)
	if limit == 0 {
		return nil
	}
	drains := &Drains{Limit: Duration(limit), After: "the instance is terminated with the pods that are left"}
	if policy := pool.Spec.InstanceLifecyclePolicy; policy != nil && policy.RetentionTriggers.TerminateHookAbandon == infrav1.RetentionActionRetain {
		drains.After = "the instance is retained and replaced, and is terminated when its node is empty"
	}
	return drains
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
		p.checkpoints = append(p.checkpoints, int(percentage))
	}
	p.delay = defaultCheckpointDelay
	if preferences.CheckpointDelay != nil {
		p.delay = seconds(preferences.CheckpointDelay)
	}
	p.bake = seconds(preferences.BakeTime)
}

func seconds(count *int32) time.Duration {
	return time.Duration(awssdk.ToInt32(count)) * time.Second
}

// atOnce returns how many instances of a number of units AWS replaces at a time. AWS rounds the
// minimum up and the maximum down, and replaces one instance at a time where they leave no room (AWS:
// instance-refresh-overview).
func (p pacing) atOnce(units int) int {
	floor := min(p.desired, (p.desired*p.minHealthy+99)/100)
	room := p.desired - floor
	if !p.inPlace {
		room += max(p.desired, p.desired*p.maxHealthy/100) - p.desired
	}
	return min(max(room/units, 1), max(p.replaced, 1))
}

// stages splits the replaced instances at the checkpoints. It returns the number of instances of each
// stage, and the checkpoints between them. A refresh ends at its last checkpoint, so that the sum may be
// less than what should be replaced (AWS: asg-adding-checkpoints-instance-refresh). Instances that need
// no replacement count as new (inferred).
func (p pacing) stages() (stages []int, checkpoints []Checkpoint) {
	kept := max(p.instances-p.replaced, 0)
	done := 0
	for i, percentage := range p.checkpoints {
		reached := min(max((p.instances*percentage+99)/100-kept, done), p.replaced)
		if reached > done {
			stages = append(stages, reached-done)
		}
		if last := i == len(p.checkpoints)-1; !last && reached > done && reached < p.replaced {
			checkpoints = append(checkpoints, Checkpoint{Percentage: percentage, Replaced: reached, Delay: Duration(p.delay)})
		}
		done = reached
	}
	if len(p.checkpoints) == 0 {
		stages = []int{p.replaced}
	}
	return stages, checkpoints
}

// batches returns in how many batches of at most so many instances the stages are replaced.
func batches(stages []int, atOnce int) int {
	count := 0
	for _, stage := range stages {
		count += (stage + atOnce - 1) / atOnce
	}
	return count
}

// rollout returns the pace.
func (p pacing) rollout() *Rollout {
	atOnce := p.atOnce(p.smallest)
	stages, checkpoints := p.stages()
	least, most := batches(stages, atOnce), batches(stages, p.atOnce(p.largest))
	left := p.replaced
	for _, stage := range stages {
		left -= stage
	}
	waits := p.waits(checkpoints)
	return &Rollout{
		Replaced: p.replaced, AtOnce: atOnce, Batches: least, Order: orderOfRefresh, Checkpoints: checkpoints, Left: left,
		AtLeast: Duration(time.Duration(least)*p.warmup + waits),
		AtMost:  Duration(time.Duration(most)*(p.warmup+p.drain+startLimit) + waits),
	}
}

// waits returns the time in which nothing is replaced.
func (p pacing) waits(checkpoints []Checkpoint) time.Duration {
	return time.Duration(len(checkpoints))*p.delay + p.bake
}

// asides returns the instances of a group that a refresh does not replace, and the ones that it waits for.
func asides(instances []asgtypes.Instance, replaced []string, preferences *asgtypes.RefreshPreferences) (stay, held []Aside) {
	if preferences == nil {
		preferences = &asgtypes.RefreshPreferences{}
	}
	replaces := setOf(replaced)
	for i := range instances {
		one := &instances[i]
		id := awssdk.ToString(one.InstanceId)
		switch {
		case leaves(one):
		case !replaces[id]:
			stay = aside(stay, id, whyItStays(one, preferences))
		case protected(one) && waitsForProtected(preferences):
			held = aside(held, id, "they are protected from scale in. Remove the protection, or set refreshPreferences.scaleInProtectedInstances")
		case standby(one) && waitsForStandby(preferences):
			held = aside(held, id, "they are in standby. Return them to service, or set refreshPreferences.standbyInstances")
		}
	}
	return stay, held
}

// whyItStays says why a refresh does not replace an instance.
func whyItStays(instance *asgtypes.Instance, preferences *asgtypes.RefreshPreferences) string {
	switch {
	case standby(instance) && preferences.StandbyInstances == asgtypes.StandbyInstancesIgnore:
		return "they are in standby, and the refresh ignores such instances"
	case protected(instance) && preferences.ScaleInProtectedInstances == asgtypes.ScaleInProtectedInstancesIgnore:
		return "they are protected from scale in, and the refresh ignores such instances"
	}
	return "they run this configuration already"
}

// aside adds an instance to the entry of a reason.
func aside(all []Aside, instance, reason string) []Aside {
	for i := range all {
		if all[i].Reason == reason {
			all[i].Instances = append(all[i].Instances, instance)
			return all
		}
	}
	return append(all, Aside{Instances: []string{instance}, Reason: reason})
}

func leaves(instance *asgtypes.Instance) bool {
	return strings.Contains(string(instance.LifecycleState), "Terminat") || strings.HasPrefix(string(instance.LifecycleState), "Warmed")
}

func protected(instance *asgtypes.Instance) bool { return awssdk.ToBool(instance.ProtectedFromScaleIn) }

func standby(instance *asgtypes.Instance) bool {
	return instance.LifecycleState == asgtypes.LifecycleStateStandby
}

// waitsForProtected and waitsForStandby report whether a refresh waits for such instances, which is the
// default (AWS: API_RefreshPreferences).
func waitsForProtected(preferences *asgtypes.RefreshPreferences) bool {
	return preferences.ScaleInProtectedInstances == "" || preferences.ScaleInProtectedInstances == asgtypes.ScaleInProtectedInstancesWait
}

func waitsForStandby(preferences *asgtypes.RefreshPreferences) bool {
	return preferences.StandbyInstances == "" || preferences.StandbyInstances == asgtypes.StandbyInstancesWait
}

// refreshed returns the instances that a refresh replaces: the outdated ones that it does not ignore, and
// all others too if it does not skip matching instances.
func (w *world) refreshed(outdated []string) []string {
	refresh, group := w.aws.Refresh()
	if refresh == nil || refresh.Preferences == nil {
		return outdated
	}
	preferences, wanted := refresh.Preferences, setOf(outdated)
	var ids []string
	for i := range group.Instances {
		one := &group.Instances[i]
		id := awssdk.ToString(one.InstanceId)
		ignored := protected(one) && preferences.ScaleInProtectedInstances == asgtypes.ScaleInProtectedInstancesIgnore ||
			standby(one) && preferences.StandbyInstances == asgtypes.StandbyInstancesIgnore
		if !leaves(one) && !ignored && (wanted[id] || !awssdk.ToBool(preferences.SkipMatching)) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// weights returns the fewest and the most units of capacity of some of a group's instances.
func weights(instances []asgtypes.Instance, of []string) (smallest, largest int) {
	wanted := setOf(of)
	for i := range instances {
		if !wanted[awssdk.ToString(instances[i].InstanceId)] {
			continue
		}
		units := 1
		if text := awssdk.ToString(instances[i].WeightedCapacity); text != "" {
			if _, err := fmt.Sscan(text, &units); err != nil || units < 1 {
				units = 1
			}
		}
		if smallest == 0 {
			smallest = units
		}
		smallest, largest = min(smallest, units), max(largest, units)
	}
	return max(smallest, 1), max(largest, 1)
}

// setOf returns a set of texts.
func setOf(texts []string) map[string]bool {
	set := make(map[string]bool, len(texts))
	for _, text := range texts {
		set[text] = true
	}
	return set
}
