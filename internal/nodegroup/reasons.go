package nodegroup

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// settingsDiffer says what would change of the settings, an entry for each thing that differs.
func settingsDiffer(desired, seen Settings) []string {
	desired = desired.Sorted()
	reasons := mapDiffers("label", desired.Labels, seen.Labels)
	reasons = append(reasons, taintsDiffer(desired.Taints, seen.Taints)...)
	for _, pair := range []struct{ what, seen, desired string }{
		{"update config", seen.Update.text(), desired.Update.text()},
		{"node repair", seen.Repair.text(), desired.Repair.text()},
		{"warm pool", seen.WarmPool.text(), desired.WarmPool.text()},
	} {
		if pair.seen != pair.desired {
			reasons = append(reasons, fmt.Sprintf("%s %s → %s", pair.what, pair.seen, pair.desired))
		}
	}
	return reasons
}

func mapDiffers(what string, desired, seen map[string]string) []string {
	var reasons []string
	for _, key := range slices.Sorted(maps.Keys(desired)) {
		switch before, there := seen[key]; {
		case !there:
			reasons = append(reasons, fmt.Sprintf("%s %s=%s added", what, key, desired[key]))
		case before != desired[key]:
			reasons = append(reasons, fmt.Sprintf("%s %s=%s → %s", what, key, before, desired[key]))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(seen)) {
		if _, kept := desired[key]; !kept {
			reasons = append(reasons, fmt.Sprintf("%s %s removed", what, key))
		}
	}
	return reasons
}

func taintsDiffer(desired, seen []Taint) []string {
	var reasons []string
	for _, taint := range desired {
		if !slices.Contains(seen, taint) {
			reasons = append(reasons, fmt.Sprintf("taint %s set", taint))
		}
	}
	for _, taint := range seen {
		replaced := slices.ContainsFunc(desired, func(other Taint) bool { return other.Key == taint.Key && other.Effect == taint.Effect })
		if !replaced {
			reasons = append(reasons, fmt.Sprintf("taint %s removed", taint))
		}
	}
	return reasons
}

// String returns the taint as kubectl writes it.
func (t Taint) String() string { return fmt.Sprintf("%s=%s:%s", t.Key, t.Value, t.Effect) }

func (u UpdateConfig) text() string {
	if u.MaxUnavailablePercentage != 0 {
		return fmt.Sprintf("%d%% unavailable, %s", u.MaxUnavailablePercentage, u.Strategy)
	}
	return fmt.Sprintf("%d unavailable, %s", u.MaxUnavailable, u.Strategy)
}

func (r Repair) text() string {
	if !r.Enabled {
		return "off"
	}
	parts := []string{"on"}
	for _, limit := range []struct {
		what  string
		value int32
	}{
		{"at most %d at once", r.MaxParallelCount},
		{"at most %d%% at once", r.MaxParallelPercentage},
		{"none above %d unhealthy", r.UnhealthyThresholdCount},
		{"none above %d%% unhealthy", r.UnhealthyThresholdPercentage},
	} {
		if limit.value != 0 {
			parts = append(parts, fmt.Sprintf(limit.what, limit.value))
		}
	}
	for _, override := range r.Overrides {
		parts = append(parts, fmt.Sprintf("%s/%s: %s after %d min", override.Condition, override.Reason, override.Action, override.WaitMinutes))
	}
	return strings.Join(parts, ", ")
}

func (w WarmPool) text() string {
	if !w.Enabled {
		return "none"
	}
	text := fmt.Sprintf("%s, at least %d", strings.ToLower(w.State), w.Min)
	if w.Prepared != noPrepared {
		text += fmt.Sprintf(", %d prepared", w.Prepared)
	}
	if w.Reuse {
		text += ", reused on scale-in"
	}
	return text
}
