package autoscalinggroup

import (
	"testing"
	"time"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// TestDecideWarm holds what is decided about a group that has warm instances.
func TestDecideWarm(t *testing.T) {
	t.Parallel()
	old, current := running("lt-1", 2, "InService"), running("lt-1", 4, "InService")
	oldWarm, warm, leaving := running("lt-1", 2, "Warmed:Stopped"), running("lt-1", 3, "Warmed:Running"), running("lt-1", 2, "Warmed:Terminating:Wait")
	const one = "1 of 1 warm instances run version 2"
	for _, row := range []struct {
		reason          string
		instances, warm []Instance
		history         []pastRefresh
		started         string
		preferences     *infrav1.RefreshPreferences
		want            Verdict
		words           string
	}{
		{"the warm pool runs what is wanted", []Instance{current}, []Instance{warm}, nil, "", nil, RolledOut, ""},
		{"only a warm instance is outdated", []Instance{current}, []Instance{oldWarm}, nil, "", nil, Start, one},
		{"they are counted apart", []Instance{old, current}, []Instance{oldWarm, warm}, nil, "", nil, Start, "1 of 2 instances run version 2, 1 of 2 warm instances run version 2"},
		{"one on its way out is not due", nil, []Instance{leaving}, nil, "", nil, RolledOut, ""},
		{"the user wants none", nil, []Instance{oldWarm}, nil, "", &infrav1.RefreshPreferences{Disable: true}, Disabled, one},
		{"the refresh was cancelled", nil, []Instance{oldWarm}, []pastRefresh{ended("Cancelled", time.Minute)}, "", nil, Later, one},
		{"the refresh left it", []Instance{current}, []Instance{oldWarm}, []pastRefresh{ended("Successful", time.Hour)}, "", nil, Left,
			one + "; instance refresh r finished without replacing them. Terminate them, or retry the roll-out with `slipway rollout retry`"},
		{"the refresh under way takes it for done", nil, []Instance{oldWarm}, active("InProgress"), configuration("b"), nil, Supersede, one},
	} {
		rollout := Rollout{Wanted: wanted(), Instances: row.instances, Warm: row.warm, Preferences: row.preferences, Now: now,
			StartedID: "r", StartedFor: row.started, Configs: map[int64]string{2: "b", 3: "c", 4: "c"}}.withHistory(row.history)
		if got := rollout.Decide(); got.Verdict != row.want || got.Reason != row.words {
			t.Errorf("%s: %s, %q, want %s, %q", row.reason, got.Verdict, got.Reason, row.want, row.words)
		}
	}
}

// configuration returns the key of wanted with another configuration.
func configuration(fingerprint string) string {
	other := wanted()
	other.Config = fingerprint
	return other.Key()
}
