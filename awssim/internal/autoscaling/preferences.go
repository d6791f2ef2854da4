package autoscaling

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
)

// Limits of refresh preferences (reference 2.4; SDK RefreshPreferences; API model for the bounds).
const (
	defaultMinHealthy      = 90
	defaultCheckpointDelay = 3600
	maxCheckpointDelay     = 172_800
	maxAlarms              = 10
)

// preferences holds the preferences of one refresh, with every default filled in when it started.
type preferences struct {
	minHealthy int
	maxHealthy int
	// maxExplicit distinguishes a requested maximum from the default: an explicit 100 launches
	// before it terminates where both bounds cannot be kept, the default terminates and launches
	// (SDK RefreshPreferences.MaxHealthyPercentage).
	maxExplicit      bool
	warmup           int // seconds
	checkpoints      []int
	checkpointDelay  int // seconds
	bakeTime         int // seconds
	skipMatching     bool
	autoRollback     bool
	alarms           []string
	scaleInProtected types.ScaleInProtectedInstances
	standby          types.StandbyInstances
	// asked has what answers show only if it was asked for.
	asked types.RefreshPreferences
}

// groupDefaults are the group's settings that preferences fall back to (UG
// understand-instance-refresh-default-values).
type groupDefaults struct {
	policy          *types.InstanceMaintenancePolicy
	warmup          *int32
	healthCheckWait int32
}

// resolvePreferences checks what the caller asked for and fills in the defaults.
func resolvePreferences(asked *types.RefreshPreferences, group groupDefaults) (preferences, error) {
	if asked == nil {
		asked = &types.RefreshPreferences{}
	}
	if err := validatePreferences(asked); err != nil {
		return preferences{}, err
	}
	p := preferences{
		minHealthy:       defaultMinHealthy,
		maxHealthy:       100,
		warmup:           int(group.healthCheckWait),
		bakeTime:         int(val(asked.BakeTime)),
		skipMatching:     val(asked.SkipMatching),
		autoRollback:     val(asked.AutoRollback),
		scaleInProtected: asked.ScaleInProtectedInstances,
		standby:          asked.StandbyInstances,
		asked:            *asked,
	}
	if group.policy != nil {
		p.minHealthy, p.maxHealthy = int(val(group.policy.MinHealthyPercentage)), int(val(group.policy.MaxHealthyPercentage))
		p.maxExplicit = true
	}
	if asked.MinHealthyPercentage != nil {
		p.minHealthy = int(*asked.MinHealthyPercentage)
		if asked.MaxHealthyPercentage == nil {
			// A minimum alone overrides the policy's pair: its maximum might be more than 100
			// points away (inference).
			p.maxHealthy, p.maxExplicit = 100, false
		}
	}
	if asked.MaxHealthyPercentage != nil {
		p.maxHealthy, p.maxExplicit = int(*asked.MaxHealthyPercentage), true
	}
	if group.warmup != nil {
		p.warmup = int(*group.warmup)
	}
	if asked.InstanceWarmup != nil && *asked.InstanceWarmup >= 0 {
		p.warmup = int(*asked.InstanceWarmup)
	}
	for _, c := range asked.CheckpointPercentages {
		p.checkpoints = append(p.checkpoints, int(c))
	}
	if len(p.checkpoints) > 0 {
		p.checkpointDelay = int(valOr(asked.CheckpointDelay, defaultCheckpointDelay))
	}
	if asked.AlarmSpecification != nil {
		p.alarms = slices.Clone(asked.AlarmSpecification.Alarms)
	}
	if p.scaleInProtected == "" {
		p.scaleInProtected = types.ScaleInProtectedInstancesWait
	}
	if p.standby == "" {
		p.standby = types.StandbyInstancesWait
	}
	return p, nil
}

// validatePreferences refuses what the API refuses whatever the group is.
func validatePreferences(a *types.RefreshPreferences) error {
	if err := validateHealthyRange(a.MinHealthyPercentage, a.MaxHealthyPercentage); err != nil {
		return err
	}
	if w := a.InstanceWarmup; w != nil && *w < -1 {
		return invalid("Instance warmup must be greater than or equal to 0.")
	}
	if b := a.BakeTime; b != nil && (*b < 0 || *b > maxCheckpointDelay) {
		return invalid("BakeTime must be between 0 and %d seconds.", maxCheckpointDelay)
	}
	if err := validateCheckpoints(a); err != nil {
		return err
	}
	if s := a.AlarmSpecification; s != nil && len(s.Alarms) > maxAlarms {
		return invalid("You can specify a maximum of %d alarms.", maxAlarms)
	}
	if v := a.ScaleInProtectedInstances; v != "" && !slices.Contains(v.Values(), v) {
		return notInEnum("preferences.scaleInProtectedInstances", v, v.Values())
	}
	if v := a.StandbyInstances; v != "" && !slices.Contains(v.Values(), v) {
		return notInEnum("preferences.standbyInstances", v, v.Values())
	}
	return nil
}

// validateHealthyRange checks the pair of percentages of a refresh (SDK RefreshPreferences).
func validateHealthyRange(low, high *int32) error {
	if low != nil && (*low < 0 || *low > 100) {
		return invalid("MinHealthyPercentage must be between 0 and 100.")
	}
	if high == nil {
		return nil
	}
	if *high < 100 || *high > 200 {
		return invalid("MaxHealthyPercentage must be between 100 and 200.")
	}
	if low == nil {
		return invalid("MinHealthyPercentage must be specified when MaxHealthyPercentage is specified.")
	}
	if *high-*low > 100 {
		return invalid("The difference between MaxHealthyPercentage and MinHealthyPercentage cannot be greater than 100.")
	}
	return nil
}

func validateCheckpoints(a *types.RefreshPreferences) error {
	if len(a.CheckpointPercentages) == 0 {
		if a.CheckpointDelay != nil {
			return invalid("CheckpointDelay cannot be specified without CheckpointPercentages.")
		}
		return nil
	}
	last := int32(0)
	for _, c := range a.CheckpointPercentages {
		if c < 1 || c > 100 {
			return invalid("CheckpointPercentages must be between 1 and 100.")
		}
		if c <= last {
			return invalid("CheckpointPercentages must be unique and in ascending order.")
		}
		last = c
	}
	if d := a.CheckpointDelay; d != nil && (*d < 0 || *d > maxCheckpointDelay) {
		return invalid("CheckpointDelay must be between 0 and %d seconds.", maxCheckpointDelay)
	}
	return nil
}

// describe returns the preferences as DescribeInstanceRefreshes shows them: with the defaults (UG
// check-status-instance-refresh), but for what becomes of instances that are protected or in
// standby (recorded in 2026, gnosia93/get-started-eks).
func (p preferences) describe() *types.RefreshPreferences {
	out := &types.RefreshPreferences{
		MinHealthyPercentage:      number(p.minHealthy),
		InstanceWarmup:            number(p.warmup),
		SkipMatching:              ptr(p.skipMatching),
		AutoRollback:              ptr(p.autoRollback),
		ScaleInProtectedInstances: p.asked.ScaleInProtectedInstances,
		StandbyInstances:          p.asked.StandbyInstances,
		BakeTime:                  optional(*number(p.bakeTime)),
	}
	if p.maxExplicit {
		out.MaxHealthyPercentage = number(p.maxHealthy)
	}
	for _, c := range p.checkpoints {
		out.CheckpointPercentages = append(out.CheckpointPercentages, *number(c))
	}
	if len(p.checkpoints) > 0 {
		out.CheckpointDelay = number(p.checkpointDelay)
	}
	if len(p.alarms) > 0 {
		out.AlarmSpecification = &types.AlarmSpecification{Alarms: slices.Clone(p.alarms)}
	}
	return out
}
