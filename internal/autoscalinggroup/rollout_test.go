package autoscalinggroup

import (
	"fmt"
	"testing"
	"time"

	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

var now = time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC)

func running(template string, version int64, state string) Instance {
	return Instance{ID: fmt.Sprintf("i-%s-%d", template, version), LaunchTemplateID: template, Version: version, LifecycleState: state}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	old, current, token := running("lt-1", 2, "InService"), running("lt-1", 4, "InService"), running("lt-1", 3, "InService")
	accepted := []infrav1.AcceptedVersions{{LaunchTemplateID: "lt-capa", First: 1, Last: 7}}
	ended := func(status string, ago time.Duration) *Refresh {
		return &Refresh{ID: "r", Status: status, Started: now.Add(-time.Hour), Ended: now.Add(-ago)}
	}
	for _, row := range []struct {
		reason    string
		instances []Instance
		latest    *Refresh
		disabled  bool
		want      Verdict
		words     string
		wait      time.Duration
	}{
		{"no instance at all", nil, nil, false, RolledOut, "", 0},
		{"all run the wanted version", []Instance{current, current}, nil, false, RolledOut, "", 0},
		{"a version that differs by its token is as good", []Instance{current, token}, nil, false, RolledOut, "", 0},
		{"an old one is due", []Instance{current, old}, nil, false, Start, "1 of 2 instances run version 2", 0},
		{"one of another template is due", []Instance{current, running("lt-0", 4, "InService")}, nil, false, Start, "1 of 2 instances run launch template lt-0", 0},
		{"accepted versions are as good", []Instance{running("lt-capa", 1, "InService"), running("lt-capa", 7, "InService")}, nil, false, RolledOut, "", 0},
		{"later versions of the same template are due", []Instance{running("lt-capa", 8, "InService")}, nil, false, Start, "1 of 1 instances run launch template lt-capa", 0},
		{"one without a template is due", []Instance{running("", 0, "InService")}, nil, false, Start, "1 of 1 instances run no launch template", 0},
		{"they are counted by what they run", []Instance{old, old, running("lt-1", 1, "InService"), current, running("", 0, "Pending")}, nil, false, Start,
			"1 of 5 instances run no launch template, 1 of 5 instances run version 1, 2 of 5 instances run version 2", 0},
		{"one on its way out is not due", []Instance{current, running("lt-1", 2, "Terminating:Wait"), running("lt-1", 2, "Detaching")}, nil, false, RolledOut, "", 0},
		{"nor does it count", []Instance{old, running("lt-1", 2, "Terminating:Wait")}, nil, false, Start, "1 of 1 instances run version 2", 0},
		{"one that is just coming is due", []Instance{running("lt-1", 2, "Pending")}, nil, false, Start, "1 of 1 instances run version 2", 0},
		{"one in standby is due", []Instance{running("lt-1", 2, "Standby")}, nil, false, Start, "1 of 1 instances run version 2", 0},
		{"the user wants none", []Instance{old}, nil, true, Disabled, "1 of 1 instances run version 2", 0},
		{"the user wants none, and none is due", []Instance{current}, nil, true, RolledOut, "", 0},
		{"one is under way", []Instance{old}, &Refresh{Status: "InProgress"}, false, Rolling, "1 of 1 instances run version 2", 0},
		{"one is under way that the user does not want", []Instance{old}, &Refresh{Status: "InProgress"}, true, Rolling, "1 of 1 instances run version 2", 0},
		{"the last are replaced, it bakes", []Instance{current}, &Refresh{Status: "Baking"}, false, Rolling, "", 0},
		{"one is being cancelled", []Instance{old}, &Refresh{Status: "Cancelling"}, false, Rolling, "1 of 1 instances run version 2", 0},
		{"one is being rolled back", []Instance{old}, &Refresh{Status: "RollbackInProgress"}, false, Rolling, "1 of 1 instances run version 2", 0},
		{"one failed a moment ago", []Instance{old}, ended("Failed", time.Minute), false, Later, "1 of 1 instances run version 2", 4 * time.Minute},
		{"one was cancelled a moment ago", []Instance{old}, ended("Cancelled", 0), false, Later, "1 of 1 instances run version 2", 5 * time.Minute},
		{"one was rolled back a moment ago", []Instance{old}, ended("RollbackSuccessful", time.Second), false, Later, "1 of 1 instances run version 2", 5*time.Minute - time.Second},
		{"one failed a while ago", []Instance{old}, ended("Failed", 5*time.Minute), false, Start, "1 of 1 instances run version 2", 0},
		{"one failed, and nothing is due", []Instance{current}, ended("Failed", 0), false, RolledOut, "", 0},
		{"one succeeded a moment ago, the config changed since", []Instance{old}, ended("Successful", 0), false, Start, "1 of 1 instances run version 2", 0},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			decision := Rollout{TemplateID: "lt-1", Current: []int64{3, 4}, Accepted: accepted, Instances: row.instances, Latest: row.latest, Disabled: row.disabled, Now: now}.Decide()
			if decision.Verdict != row.want || decision.Reason != row.words || decision.Wait != row.wait {
				t.Errorf("%s, %q, wait %s; want %s, %q, wait %s", decision.Verdict, decision.Reason, decision.Wait, row.want, row.words, row.wait)
			}
		})
	}
}

func TestDecideLaws(t *testing.T) {
	t.Parallel()
	states := []string{"Pending", "InService", "Standby", "Terminating", "Terminating:Wait", "Detached"}
	rapid.Check(t, func(t *rapid.T) {
		rollout := Rollout{TemplateID: "lt-1", Current: []int64{2, 4}, Now: now, Disabled: rapid.Bool().Draw(t, "disabled")}
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
			rollout.Latest = &Refresh{Status: string(status), Ended: now.Add(-time.Duration(rapid.Int64Range(0, 600).Draw(t, "ago")) * time.Second)}
		}
		decision := rollout.Decide()
		if len(decision.Outdated) != due {
			t.Fatalf("%d are outdated, want %d", len(decision.Outdated), due)
		}
		if (decision.Reason == "") != (due == 0) {
			t.Errorf("%d outdated, said as %q", due, decision.Reason)
		}
		active := rollout.Latest.Active()
		if active != (decision.Verdict == Rolling) {
			t.Errorf("refresh active %t, and the verdict is %s", active, decision.Verdict)
		}
		if !active && (decision.Verdict == RolledOut) != (due == 0) {
			t.Errorf("%d outdated, and the verdict is %s", due, decision.Verdict)
		}
		if decision.Verdict == Start && (active || rollout.Disabled || due == 0) {
			t.Error("a refresh would start that can not, should not or need not")
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

// A status that AWS adds must be placed: one that is wrongly taken for an end makes us start refreshes that AWS refuses.
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
	skip := asgtypes.RefreshPreferences{SkipMatching: ptr.To(true)}
	full := skip
	full.InstanceWarmup, full.MinHealthyPercentage, full.MaxHealthyPercentage = ptr.To[int32](0), ptr.To[int32](100), ptr.To[int32](150)
	for _, row := range []struct {
		reason string
		wanted *infrav1.RefreshPreferences
		want   asgtypes.RefreshPreferences
	}{
		{"AWS's defaults, and skipping what matches", nil, skip},
		{"nothing set is the same", &infrav1.RefreshPreferences{Disable: true, Strategy: ptr.To("Rolling")}, skip},
		{"all that can be set, 0 among it", &infrav1.RefreshPreferences{
			InstanceWarmup: ptr.To[int64](0), MinHealthyPercentage: ptr.To[int64](100), MaxHealthyPercentage: ptr.To[int64](150),
		}, full},
	} {
		if difference := cmp.Diff(row.want, *refreshPreferences(row.wanted), ignoreSerde); difference != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, difference)
		}
	}
}
