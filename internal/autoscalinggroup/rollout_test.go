package autoscalinggroup

import (
	"fmt"
	"testing"
	"time"

	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

var now = time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC)

func running(template string, version int64, state string) Instance {
	return Instance{ID: fmt.Sprintf("i-%s-%d", template, version), LaunchTemplateID: template, Version: version, LifecycleState: state}
}

// wanted is version 4 of lt-1; version 3 differs by its token alone, version 2 is another config.
func wanted() Wanted {
	return Wanted{TemplateID: "lt-1", Config: "c", Versions: []int64{3, 4}, Version: 4, ImageID: "ami-1",
		Accepted: []infrav1.AcceptedVersions{{LaunchTemplateID: "lt-capa", First: 1, Last: 7}}}
}

// pastRefresh is a refresh, and how long ago it was seen to have finished.
type pastRefresh struct {
	Refresh
	ago time.Duration
}

func ended(status string, ago time.Duration) pastRefresh {
	return pastRefresh{Refresh{ID: "r", Status: status}, ago}
}

func active(status string) []pastRefresh { return []pastRefresh{ended(status, 0)} }

// withHistory gives a roll-out its refreshes, newest first.
func (r Rollout) withHistory(history []pastRefresh) Rollout {
	for _, past := range history {
		r.History = append(r.History, past.Refresh)
	}
	if len(history) > 0 {
		r.EndSeen = r.Now.Add(-history[0].ago)
	}
	return r
}

func TestDecide(t *testing.T) {
	t.Parallel()
	old, current, token := running("lt-1", 2, "InService"), running("lt-1", 4, "InService"), running("lt-1", 3, "InService")
	protected := old
	protected.Protected = true
	disabled := &infrav1.RefreshPreferences{Disable: true}
	const one = "1 of 1 instances run version 2"
	for _, row := range []struct {
		reason      string
		instances   []Instance
		history     []pastRefresh
		preferences *infrav1.RefreshPreferences
		want        Verdict
		words       string
		wait        time.Duration
	}{
		{"no instance at all", nil, nil, nil, RolledOut, "", 0},
		{"all run the wanted version", []Instance{current, current}, nil, nil, RolledOut, "", 0},
		{"a version that differs by its token is as good", []Instance{current, token}, nil, nil, RolledOut, "", 0},
		{"an old one is due", []Instance{current, old}, nil, nil, Start, "1 of 2 instances run version 2", 0},
		{"one of another template is due", []Instance{current, running("lt-0", 4, "InService")}, nil, nil, Start, "1 of 2 instances run launch template lt-0", 0},
		{"accepted versions are as good", []Instance{running("lt-capa", 1, "InService"), running("lt-capa", 7, "InService")}, nil, nil, RolledOut, "", 0},
		{"later versions of the same template are due", []Instance{running("lt-capa", 8, "InService")}, nil, nil, Start, "1 of 1 instances run launch template lt-capa", 0},
		{"one without a template is due", []Instance{running("", 0, "InService")}, nil, nil, Start, "1 of 1 instances run no launch template", 0},
		{"they are counted by what they run", []Instance{old, old, running("lt-1", 1, "InService"), current, running("", 0, "Pending")}, nil, nil, Start,
			"1 of 5 instances run no launch template, 1 of 5 instances run version 1, 2 of 5 instances run version 2", 0},
		{"one on its way out is not due", []Instance{current, running("lt-1", 2, "Terminating:Wait"), running("lt-1", 2, "Detaching")}, nil, nil, RolledOut, "", 0},
		{"nor does it count", []Instance{old, running("lt-1", 2, "Terminating:Wait")}, nil, nil, Start, one, 0},
		{"one that is just coming is due", []Instance{running("lt-1", 2, "Pending")}, nil, nil, Start, one, 0},
		{"one in standby is due", []Instance{running("lt-1", 2, "Standby")}, nil, nil, Start, one, 0},
		{"the user wants none", []Instance{old}, nil, disabled, Disabled, one, 0},
		{"the user wants none, and none is due", []Instance{current}, nil, disabled, RolledOut, "", 0},
		{"one is under way", []Instance{old}, active("InProgress"), nil, Rolling, one, 0},
		{"one is under way that the user does not want", []Instance{old}, active("InProgress"), disabled, Rolling, one, 0},
		{"the last are replaced, it bakes", []Instance{current}, active("Baking"), nil, Rolling, "", 0},
		{"one is being cancelled", []Instance{old}, active("Cancelling"), nil, Rolling, one, 0},
		{"one is being rolled back", []Instance{old}, active("RollbackInProgress"), nil, Rolling, one, 0},
		{"one failed a moment ago", []Instance{old}, []pastRefresh{ended("Failed", time.Minute)}, nil, Later, one, 4 * time.Minute},
		{"one was cancelled a moment ago", []Instance{old}, []pastRefresh{ended("Cancelled", 0)}, nil, Later, one, 5 * time.Minute},
		{"one was rolled back a moment ago", []Instance{old}, []pastRefresh{ended("RollbackSuccessful", time.Second)}, nil, Later, one, 5*time.Minute - time.Second},
		{"one failed a while ago", []Instance{old}, []pastRefresh{ended("Failed", 5*time.Minute)}, nil, Start, one, 0},
		{"the second wait is twice the first", []Instance{old}, []pastRefresh{ended("Failed", 5*time.Minute), ended("Cancelled", 20*time.Minute)}, nil, Later, one, 5 * time.Minute},
		{"a success between breaks the row", []Instance{old}, []pastRefresh{ended("Failed", 5*time.Minute), ended("Successful", 10*time.Minute), ended("Failed", 20*time.Minute)}, nil, Start, one, 0},
		{"one failed, and nothing is due", []Instance{current}, []pastRefresh{ended("Failed", 0)}, nil, RolledOut, "", 0},
		{"one succeeded and left an instance: the next waits as after a failure", []Instance{old}, []pastRefresh{ended("Successful", 0)}, nil, Later, one, 5 * time.Minute},
		{"it stopped where the user has it stop", []Instance{old}, []pastRefresh{ended("Successful", time.Hour)}, &infrav1.RefreshPreferences{CheckpointPercentages: []int32{50}},
			Left, one + "; the refresh finished at its last checkpoint, which is 50. Add 100 to " +
				"refreshPreferences.checkpointPercentages to replace the remaining instances", 0},
		{"it stopped there, and now is to go on", []Instance{old}, []pastRefresh{ended("Successful", time.Hour)}, &infrav1.RefreshPreferences{CheckpointPercentages: []int32{50, 100}}, Start, one, 0},
		{"the user has protected ones ignored", []Instance{protected}, nil, &infrav1.RefreshPreferences{ScaleInProtectedInstances: "Ignore"}, Left,
			one + "; they are protected from scale in: remove the protection, or set " +
				"refreshPreferences.scaleInProtectedInstances to Refresh", 0},
		{"one of two is not protected", []Instance{protected, old}, nil, &infrav1.RefreshPreferences{ScaleInProtectedInstances: "Ignore"}, Start, "2 of 2 instances run version 2", 0},
		{"AWS waits for protected ones, and fails", []Instance{protected}, nil, nil, Start, one, 0},
		{"the user has ones in standby ignored", []Instance{running("lt-1", 2, "Standby")}, nil, &infrav1.RefreshPreferences{StandbyInstances: "Ignore"}, Left,
			one + "; they are in standby: return them to service, or set refreshPreferences.standbyInstances to Terminate", 0},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			decision := Rollout{Wanted: wanted(), Instances: row.instances, Preferences: row.preferences, Now: now}.withHistory(row.history).Decide()
			if decision.Verdict != row.want || decision.Reason != row.words || decision.Wait != row.wait {
				t.Errorf("%s, %q, wait %s; want %s, %q, wait %s", decision.Verdict, decision.Reason, decision.Wait, row.want, row.words, row.wait)
			}
		})
	}
}

// TestDecideByTheRecord holds what follows from knowing which refresh was ours and what it was for.
func TestDecideByTheRecord(t *testing.T) {
	t.Parallel()
	old, brought, current := running("lt-1", 1, "InService"), running("lt-1", 2, "InService"), running("lt-1", 4, "InService")
	rollback := &infrav1.RefreshPreferences{Rollback: true}
	for _, row := range []struct {
		reason      string
		instances   []Instance
		history     []pastRefresh
		id, purpose string
		preferences *infrav1.RefreshPreferences
		want        Verdict
	}{
		{"ours has launched instances that are no longer wanted", []Instance{old, brought}, active("InProgress"), "r", "b", nil, Supersede},
		{"while it bakes too", []Instance{brought}, active("Baking"), "r", "b", nil, Supersede},
		{"and before it began, if it left some alone", []Instance{brought, old}, active("Pending"), "r", "b", nil, Supersede},
		{"it has replaced none yet: what it replaces from now on is right", []Instance{old, old}, active("InProgress"), "r", "b", nil, Rolling},
		{"the user went back: it would replace what runs what is wanted", []Instance{current, current}, active("InProgress"), "r", "b", nil, Supersede},
		{"another client's is never cancelled", []Instance{old, brought}, active("InProgress"), "ours", "b", nil, Rolling},
		{"nor one that was not recorded", []Instance{old, brought}, active("InProgress"), "", "", nil, Rolling},
		{"nor any where the user wants none", []Instance{old, brought}, active("InProgress"), "r", "b", &infrav1.RefreshPreferences{Disable: true}, Rolling},
		{"nor one that is being cancelled", []Instance{old, brought}, active("Cancelling"), "r", "b", nil, Rolling},
		{"nor one that AWS rolls back", []Instance{old, brought}, active("RollbackInProgress"), "r", "b", nil, Rolling},
		{"nor ours for what is wanted: a token rotated", []Instance{old, brought}, active("InProgress"), "r", "c", nil, Rolling},
		{"ours failed: back", []Instance{old, current}, []pastRefresh{ended("Failed", 0)}, "r", "c", rollback, GoBack},
		{"ours failed after the last instance: back", []Instance{current}, []pastRefresh{ended("Failed", 0)}, "r", "c", rollback, GoBack},
		{"ours was cancelled: not back", []Instance{old}, []pastRefresh{ended("Cancelled", 0)}, "r", "c", rollback, Later},
		{"another client's failed: not back", []Instance{old}, []pastRefresh{ended("Failed", 0)}, "other", "c", rollback, Later},
		{"ours failed for something else: not back", []Instance{old}, []pastRefresh{ended("Failed", 0)}, "r", "b", rollback, Later},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			rollout := Rollout{
				Wanted: wanted(), Instances: row.instances, StartedID: row.id, StartedFor: row.purpose,
				Configs: map[int64]string{1: "a", 2: "b", 3: "c", 4: "c"}, CanGoBack: true, Preferences: row.preferences, Now: now,
			}.withHistory(row.history)
			if decision := rollout.Decide(); decision.Verdict != row.want {
				t.Errorf("%s, want %s", decision.Verdict, row.want)
			}
			rollout.CanGoBack = false
			if decision := rollout.Decide(); decision.Verdict == GoBack {
				t.Error("it goes back where there is nothing to go back to")
			}
		})
	}
}

// TestPaused holds that a pause stops our refresh, starts no other, and does not go back.
func TestPaused(t *testing.T) {
	t.Parallel()
	old, current := running("lt-1", 1, "InService"), running("lt-1", 4, "InService")
	for _, row := range []struct {
		reason    string
		instances []Instance
		history   []pastRefresh
		id        string
		want      Verdict
	}{
		{"ours is under way", []Instance{old, current}, active("InProgress"), "r", Supersede},
		{"ours bakes", []Instance{current}, active("Baking"), "r", Supersede},
		{"ours is being cancelled", []Instance{old, current}, active("Cancelling"), "r", Rolling},
		{"another client's is under way", []Instance{old}, active("InProgress"), "other", Rolling},
		{"ours was cancelled", []Instance{old}, []pastRefresh{ended("Cancelled", 0)}, "r", Disabled},
		{"ours failed", []Instance{old}, []pastRefresh{ended("Failed", 0)}, "r", Disabled},
		{"an edit is due", []Instance{old}, nil, "", Disabled},
		{"nothing is due", []Instance{current}, nil, "", RolledOut},
	} {
		rollout := Rollout{
			Wanted: wanted(), Instances: row.instances, StartedID: row.id, StartedFor: "c", CanGoBack: true, Paused: true,
			Preferences: &infrav1.RefreshPreferences{Rollback: true}, Now: now,
		}.withHistory(row.history)
		if decision := rollout.Decide(); decision.Verdict != row.want {
			t.Errorf("%s: %s, want %s", row.reason, decision.Verdict, row.want)
		}
	}
}

// TestRetried holds that a failed refresh counts for nothing once a user asks for another attempt: the
// pool neither waits nor goes back.
func TestRetried(t *testing.T) {
	t.Parallel()
	rollout := Rollout{
		Wanted: wanted(), Instances: []Instance{running("lt-1", 1, "InService")}, StartedID: "r", StartedFor: "c", CanGoBack: true,
		Preferences: &infrav1.RefreshPreferences{Rollback: true}, Now: now,
	}.withHistory([]pastRefresh{ended("Failed", 0)})
	if decision := rollout.Decide(); decision.Verdict != GoBack {
		t.Errorf("before the retry: %s, want %s", decision.Verdict, GoBack)
	}
	rollout.After = "r"
	if decision := rollout.Decide(); decision.Verdict != Start || decision.Attempts != 0 {
		t.Errorf("after the retry: %s with %d attempts, want %s with none", decision.Verdict, decision.Attempts, Start)
	}
}

// TestAttempts holds which refreshes count as attempts to bring what is wanted now: the refreshes
// that AWS lists before the one that was newest when it came to be wanted, whatever the clocks of
// AWS and of the manager say.
func TestAttempts(t *testing.T) {
	t.Parallel()
	old := running("lt-1", 1, "InService")
	past := func(id, status string) Refresh { return Refresh{ID: id, Status: status, Started: now.Add(time.Hour)} }
	for _, row := range []struct {
		reason   string
		history  []Refresh
		after    string
		attempts int
		want     Verdict
	}{
		{"an edit was taken back, and our refresh for it was cancelled", []Refresh{past("r1", "Cancelled")}, "r1", 0, Start},
		{"the refresh for the edit before succeeded before it saw the newer one", []Refresh{past("r1", "Successful")}, "r1", 0, Start},
		{"the refresh for what was wanted before failed", []Refresh{past("r1", "Failed"), past("r0", "Failed")}, "r1", 0, Start},
		{"one failed since", []Refresh{past("r2", "Failed"), past("r1", "Cancelled")}, "r1", 1, Later},
		{"one succeeded since and left an instance", []Refresh{past("r2", "Successful"), past("r1", "Cancelled")}, "r1", 1, Later},
		{"two failed since", []Refresh{past("r3", "Failed"), past("r2", "Failed"), past("r1", "Failed")}, "r1", 2, Later},
		{"there was none before", []Refresh{past("r1", "Failed")}, "", 1, Later},
		{"the one before is too old to be listed", []Refresh{past("r3", "Failed"), past("r2", "Failed")}, "r1", 2, Later},
	} {
		rollout := Rollout{Wanted: wanted(), After: row.after, Instances: []Instance{old}, History: row.history, EndSeen: now, Now: now}
		if decision := rollout.Decide(); decision.Attempts != row.attempts || decision.Verdict != row.want {
			t.Errorf("%s: %d attempts, %s; want %d, %s", row.reason, decision.Attempts, decision.Verdict, row.attempts, row.want)
		}
	}
}

// TestLostTemplateSupersedes holds that our refresh is cancelled at once when its launch template
// was replaced by another.
func TestLostTemplateSupersedes(t *testing.T) {
	t.Parallel()
	accepted, outdated, current := running("lt-capa", 7, "InService"), running("lt-capa", 8, "InService"), running("lt-1", 4, "InService")
	for _, row := range []struct {
		reason            string
		instances         []Instance
		template, purpose string
		want              Verdict
	}{
		{"it brought what is outdated now, for another configuration", []Instance{outdated, accepted}, "lt-capa", "b", Supersede},
		{"for the same configuration", []Instance{outdated, accepted}, "lt-capa", "c", Supersede},
		{"all that it brought counts as what is wanted: nothing is gained", []Instance{accepted, accepted}, "lt-capa", "c", Rolling},
		{"the template is the one that it was started with", []Instance{outdated, current}, "lt-1", "c", Rolling},
		{"the template was not recorded", []Instance{outdated, current}, "", "c", Rolling},
	} {
		rollout := Rollout{
			Wanted: wanted(), Instances: row.instances, StartedID: "r", StartedFor: row.purpose, StartedTemplate: row.template, Now: now,
		}.withHistory(active("InProgress"))
		if decision := rollout.Decide(); decision.Verdict != row.want {
			t.Errorf("%s: %s, want %s", row.reason, decision.Verdict, row.want)
		}
	}
}

// TestNextAfter holds how a refresh whose answer was lost is found: it is the first after the
// newest that there was before.
func TestNextAfter(t *testing.T) {
	t.Parallel()
	history := []Refresh{{ID: "r3"}, {ID: "r2"}, {ID: "r1"}}
	full := make([]Refresh, refreshesRead)
	for _, row := range []struct {
		reason  string
		history []Refresh
		after   string
		want    string
	}{
		{"the next", history, "r1", "r2"},
		{"the newest", history, "r2", "r3"},
		{"none was started", history, "r3", ""},
		{"there was none before: the first of all", history, "", "r1"},
		{"there was none before, and there is none", nil, "", ""},
		{"the list may not go back to the first", full, "", ""},
		{"the one before is not listed any more", history, "r0", ""},
	} {
		got := ""
		if next := NextAfter(row.history, row.after); next != nil {
			got = next.ID
		}
		if got != row.want {
			t.Errorf("%s: %q, want %q", row.reason, got, row.want)
		}
	}
}

// TestShield holds which instances a refresh has to be kept from.
func TestShield(t *testing.T) {
	t.Parallel()
	old, current, token := running("lt-1", 2, "InService"), running("lt-1", 4, "InService"), running("lt-1", 3, "InService")
	protected := old
	protected.Protected = true
	leaving, coming := running("lt-1", 3, "Terminating"), running("lt-1", 4, "Pending")
	attributes := []infrav1.Overrides{{InstanceRequirements: &infrav1.InstanceRequirements{}}}
	for _, row := range []struct {
		reason      string
		instances   []Instance
		overrides   []infrav1.Overrides
		preferences infrav1.RefreshPreferences
		skips       bool
		want        []Instance
	}{
		{"a token that rotates meanwhile has AWS replace those of the group's version", []Instance{old, current}, nil, infrav1.RefreshPreferences{}, true, []Instance{current}},
		{"AWS skips those that come, and cannot protect them yet", []Instance{old, coming}, nil, infrav1.RefreshPreferences{}, true, nil},
		{"the user has the refresh wait for protected ones", []Instance{old, current}, nil, infrav1.RefreshPreferences{ScaleInProtectedInstances: "Wait"}, true, nil},
		{"a shield would keep it from what the user protects", []Instance{protected, current}, nil, infrav1.RefreshPreferences{}, true, nil},
		{"it would replace those that differ by their token", []Instance{old, current, token, leaving}, nil, infrav1.RefreshPreferences{}, true, []Instance{current, token}},
		{"nothing is due", []Instance{token}, nil, infrav1.RefreshPreferences{}, true, nil},
		{"with attributes it skips none", []Instance{old, current, token}, attributes, infrav1.RefreshPreferences{}, false, []Instance{current, token}},
		{"the user has all replaced", []Instance{old, current, token}, nil, infrav1.RefreshPreferences{SkipMatching: ptr.To(false)}, false, nil},
		{"the user insists on what AWS refuses: it says so", []Instance{old}, attributes, infrav1.RefreshPreferences{SkipMatching: ptr.To(true)}, true, nil},
		{"protection shields where protected ones are refreshed too", []Instance{old, token}, nil, infrav1.RefreshPreferences{ScaleInProtectedInstances: "Refresh"}, true, []Instance{token}},
		{"but not from what replaces protected ones", []Instance{protected, token}, nil, infrav1.RefreshPreferences{ScaleInProtectedInstances: "Refresh"}, true, nil},
	} {
		want := wanted()
		want.Overrides = row.overrides
		rollout := Rollout{Wanted: want, Instances: row.instances, Preferences: &row.preferences, Now: now}
		decision := rollout.Decide()
		if diff := cmp.Diff(row.want, decision.Shield, cmpopts.EquateEmpty()); diff != "" || rollout.SkipsMatching() != row.skips {
			t.Errorf("%s: skips matching %t; shield (-want +got):\n%s", row.reason, rollout.SkipsMatching(), diff)
		}
	}
}

func TestDecideLaws(t *testing.T) {
	t.Parallel()
	states := []string{"Pending", "InService", "Standby", "Terminating", "Terminating:Wait", "Detached"}
	rapid.Check(t, func(t *rapid.T) {
		rollout := Rollout{
			Wanted: Wanted{TemplateID: "lt-1", Config: "c", Versions: []int64{2, 4}, Version: 4}, Now: now,
			Preferences: &infrav1.RefreshPreferences{Disable: rapid.Bool().Draw(t, "disabled"), Rollback: rapid.Bool().Draw(t, "rollback")},
			CanGoBack:   rapid.Bool().Draw(t, "can go back"), Configs: map[int64]string{1: "a", 2: "c", 3: "b", 4: "c"},
			StartedID: rapid.SampledFrom([]string{"", "r"}).Draw(t, "started"), StartedFor: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "for"),
		}
		due := 0
		for range rapid.IntRange(0, 5).Draw(t, "instances") {
			instance := running(rapid.SampledFrom([]string{"lt-1", "lt-2", ""}).Draw(t, "template"), rapid.Int64Range(0, 5).Draw(t, "version"), rapid.SampledFrom(states).Draw(t, "state"))
			rollout.Instances = append(rollout.Instances, instance)
			staying := instance.LifecycleState == "Pending" || instance.LifecycleState == "InService" || instance.LifecycleState == "Standby"
			if staying && (instance.LaunchTemplateID != "lt-1" || instance.Version != 2 && instance.Version != 4) {
				due++
			}
		}
		status := rapid.SampledFrom(append(asgtypes.InstanceRefreshStatus("").Values(), "")).Draw(t, "status")
		if status != "" {
			rollout = rollout.withHistory([]pastRefresh{ended(string(status), time.Duration(rapid.Int64Range(0, 600).Draw(t, "ago"))*time.Second)})
		}
		decision := rollout.Decide()
		if len(decision.Outdated) != due {
			t.Fatalf("%d are outdated, want %d", len(decision.Outdated), due)
		}
		if (decision.Reason == "") != (due == 0) {
			t.Errorf("%d outdated, said as %q", due, decision.Reason)
		}
		active := rollout.latest().Active()
		if active != (decision.Verdict == Rolling || decision.Verdict == Supersede) {
			t.Errorf("refresh active %t, and the verdict is %s", active, decision.Verdict)
		}
		if decision.Verdict == Supersede && (rollout.Preferences.Disable || rollout.StartedID == "" || rollout.StartedFor == "c") {
			t.Error("a refresh would be cancelled that is not ours, or is right")
		}
		if !active && decision.Verdict != GoBack && (decision.Verdict == RolledOut) != (due == 0) {
			t.Errorf("%d outdated, and the verdict is %s", due, decision.Verdict)
		}
		if decision.Verdict == Start && (active || rollout.Preferences.Disable || due == 0) {
			t.Error("a refresh would start that cannot, should not or need not")
		}
		if (decision.Verdict == Later) != (decision.Wait > 0) || decision.Wait > RetryAfter {
			t.Errorf("verdict %s, wait %s", decision.Verdict, decision.Wait)
		}
		if decision.Verdict == Later {
			rollout.Now = now.Add(decision.Wait)
			if then := rollout.Decide().Verdict; then != Start {
				t.Errorf("after the wait the verdict is %s", then)
			}
		}
	})
}

func TestBackOff(t *testing.T) {
	t.Parallel()
	for attempts, want := range map[int]time.Duration{1: 5 * time.Minute, 2: 10 * time.Minute, 5: 80 * time.Minute, 6: 2 * time.Hour, 100: 2 * time.Hour} {
		if got := backOff(attempts); got != want {
			t.Errorf("after %d attempts the wait is %s, want %s", attempts, got, want)
		}
	}
}

// TestRefreshStatuses fails for a status of AWS that is not classified: if one is wrongly taken for
// final, we start refreshes that AWS refuses.
func TestRefreshStatuses(t *testing.T) {
	t.Parallel()
	active := map[asgtypes.InstanceRefreshStatus]bool{
		"Pending": true, "InProgress": true, "Cancelling": true, "RollbackInProgress": true, "Baking": true,
		"Successful": false, "Failed": false, "Cancelled": false, "RollbackFailed": false, "RollbackSuccessful": false,
	}
	for _, status := range asgtypes.InstanceRefreshStatus("").Values() {
		want, known := active[status]
		refresh := &Refresh{Status: string(status)}
		if !known || refresh.Active() != want || refresh.Succeeded() != (status == "Successful") {
			t.Errorf("%s: known %t, active %t, succeeded %t", status, known, refresh.Active(), refresh.Succeeded())
		}
	}
	var none *Refresh
	if none.Active() || none.Succeeded() {
		t.Error("no refresh is active or succeeded")
	}
}

func TestRefreshPreferences(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason    string
		replacing Replacing
		want      asgtypes.RefreshPreferences
	}{
		{"AWS's defaults, and skipping what matches", Replacing{SkipMatching: true}, asgtypes.RefreshPreferences{SkipMatching: ptr.To(true)}},
		{"nothing set is the same", Replacing{Preferences: &infrav1.RefreshPreferences{Disable: true, Strategy: ptr.To("Rolling"), Rollback: true}},
			asgtypes.RefreshPreferences{SkipMatching: ptr.To(false)}},
		{"all that can be set, 0 among it", Replacing{SkipMatching: true, Preferences: &infrav1.RefreshPreferences{
			InstanceWarmup: ptr.To[int64](0), MinHealthyPercentage: ptr.To[int64](100), MaxHealthyPercentage: ptr.To[int64](150),
			CheckpointPercentages: []int32{50, 100}, CheckpointDelay: &metav1.Duration{Duration: 90 * time.Minute}, BakeTime: &metav1.Duration{Duration: 1500 * time.Millisecond},
			Alarms: []string{"errors"}, ScaleInProtectedInstances: "Refresh", StandbyInstances: "Terminate",
		}}, asgtypes.RefreshPreferences{
			SkipMatching: ptr.To(true), InstanceWarmup: ptr.To[int32](0), MinHealthyPercentage: ptr.To[int32](100), MaxHealthyPercentage: ptr.To[int32](150),
			CheckpointPercentages: []int32{50, 100}, CheckpointDelay: ptr.To[int32](5400), BakeTime: ptr.To[int32](2),
			AlarmSpecification: &asgtypes.AlarmSpecification{Alarms: []string{"errors"}}, ScaleInProtectedInstances: "Refresh", StandbyInstances: "Terminate",
		}},
		{"a shield is protection that counts", Replacing{SkipMatching: true, Shielded: true, Preferences: &infrav1.RefreshPreferences{ScaleInProtectedInstances: "Wait"}},
			asgtypes.RefreshPreferences{SkipMatching: ptr.To(true), ScaleInProtectedInstances: "Ignore"}},
	} {
		if difference := cmp.Diff(row.want, *refreshPreferences(row.replacing), cmpopts.IgnoreUnexported(asgtypes.RefreshPreferences{}, asgtypes.AlarmSpecification{})); difference != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, difference)
		}
	}
}
