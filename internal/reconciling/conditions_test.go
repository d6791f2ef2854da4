package reconciling_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/reconciling"
)

var ignoreTime = cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime")

func TestConditions(t *testing.T) {
	t.Parallel()
	config := &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
	reconciling.False(config, "A", "Why", "because")
	reconciling.Unknown(config, "B", "Pending", "wait")
	before := config.DeepCopy()
	shared := config.Status.Conditions
	config.Generation = 4
	reconciling.True(config, "A", "Ready", "")
	if difference := cmp.Diff(before.Status.Conditions, shared); difference != "" {
		t.Errorf("conditions that may be shared with the stored object changed:\n%s", difference)
	}
	want := []metav1.Condition{
		{Type: "A", Status: metav1.ConditionTrue, Reason: "Ready", ObservedGeneration: 4},
		{Type: "B", Status: metav1.ConditionUnknown, Reason: "Pending", Message: "wait", ObservedGeneration: 3},
	}
	if difference := cmp.Diff(want, config.Status.Conditions, ignoreTime); difference != "" {
		t.Errorf("conditions (-want +got):\n%s", difference)
	}
	again := config.DeepCopy()
	reconciling.True(again, "A", "Ready", "")
	if difference := cmp.Diff(config, again); difference != "" {
		t.Errorf("the same condition once more is a change:\n%s", difference)
	}
	reconciling.Remove(config, "A")
	reconciling.Remove(config, "none")
	if difference := cmp.Diff(want[1:], config.Status.Conditions, ignoreTime); difference != "" {
		t.Errorf("conditions after A was removed (-want +got):\n%s", difference)
	}
}

// TestHostileMessages holds that a condition takes any text that a tenant or a server of theirs wrote: the API
// server accepts its message, no terminal interprets it, and finding the same again is no change.
func TestHostileMessages(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ reason, message, want string }{
		{"plain text stays", "Subnet \"ü\" → 日本", "Subnet \"ü\" → 日本"},
		{"escape sequences", "a\x1b[2Jb\u009b31mc\ad", "a [2Jb 31mc d"},
		{"lines that imitate others", "refused\r\nStatus:  True", "refused  Status:  True"},
		{"directions and what is not visible", "\u202eabc\u2066d\u200be", " abc d e"},
		{"text that is not UTF-8", "a\xffb", "a\ufffdb"},
		{"as long as possible", strings.Repeat("é", 32768), strings.Repeat("é", 32768)},
		{"too long", strings.Repeat("é", 1<<20), strings.Repeat("é", 32767) + "…"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			config := &infrav1.AWSLaunchConfig{}
			reconciling.False(config, "A", "Why", row.message)
			if got := config.Status.Conditions[0].Message; got != row.want {
				t.Errorf("got %.200q, want %.200q", got, row.want)
			}
			again := config.DeepCopy()
			reconciling.False(again, "A", "Why", row.message)
			if difference := cmp.Diff(config, again); difference != "" {
				t.Errorf("the same condition once more is a change:\n%.500s", difference)
			}
		})
	}
}

// TestStamp holds when a condition last changed, also for one that was removed and set again.
func TestStamp(t *testing.T) {
	t.Parallel()
	then, now := time.Unix(1000, 0), time.Unix(2000, 0)
	for _, row := range []struct {
		reason string
		change func(config *infrav1.AWSLaunchConfig)
		want   time.Time
	}{
		{"nothing changes", func(*infrav1.AWSLaunchConfig) {}, then},
		{"another message is no transition", func(config *infrav1.AWSLaunchConfig) { reconciling.True(config, "A", "Ready", "by alice") }, then},
		{"another status is one", func(config *infrav1.AWSLaunchConfig) { reconciling.False(config, "A", "Why", "because") }, now},
		{"removed and set again", func(config *infrav1.AWSLaunchConfig) {
			reconciling.Remove(config, "A")
			reconciling.True(config, "A", "Ready", "")
		}, then},
		{"removed and set to another status", func(config *infrav1.AWSLaunchConfig) {
			reconciling.Remove(config, "A")
			reconciling.Unknown(config, "A", "Pending", "wait")
		}, now},
	} {
		stored := &infrav1.AWSLaunchConfig{}
		reconciling.True(stored, "A", "Ready", "")
		reconciling.Stamp(stored, &infrav1.AWSLaunchConfig{}, then)
		config := stored.DeepCopy()
		row.change(config)
		reconciling.Stamp(config, stored, now)
		if got := meta.FindStatusCondition(config.Status.Conditions, "A").LastTransitionTime.Time; !got.Equal(row.want) {
			t.Errorf("%s: the last transition is at %v, want %v", row.reason, got, row.want)
		}
	}
}

func TestSummarize(t *testing.T) {
	t.Parallel()
	summary := reconciling.Summary{Target: "Ready", Of: []string{"A", "B"}, Reason: "AllGood"}
	condition := func(name string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: name, Status: status, Reason: reason, Message: message}
	}
	good := condition("A", metav1.ConditionTrue, "Fine", "")
	for _, row := range []struct {
		reason     string
		conditions []metav1.Condition
		want       metav1.Condition
	}{
		{"nothing is known", nil, condition("Ready", metav1.ConditionUnknown, "Pending", "A is not known yet")},
		{"all are true", []metav1.Condition{condition("B", metav1.ConditionTrue, "Fine", "much said"), good}, condition("Ready", metav1.ConditionTrue, "AllGood", "")},
		{"one is not known", []metav1.Condition{good}, condition("Ready", metav1.ConditionUnknown, "Pending", "B is not known yet")},
		{"one is false", []metav1.Condition{good, condition("B", metav1.ConditionFalse, "Broken", "no network")},
			condition("Ready", metav1.ConditionFalse, "Broken", "B: no network")},
		{"one is unknown, without words", []metav1.Condition{good, condition("B", metav1.ConditionUnknown, "Asking", "")},
			condition("Ready", metav1.ConditionUnknown, "Asking", "B")},
		{"the first in order explains", []metav1.Condition{condition("B", metav1.ConditionFalse, "Broken", "b"), condition("A", metav1.ConditionFalse, "Missing", "a")},
			condition("Ready", metav1.ConditionFalse, "Missing", "A: a")},
		{"others do not matter", []metav1.Condition{good, condition("B", metav1.ConditionTrue, "Fine", ""), condition("C", metav1.ConditionFalse, "Broken", "")},
			condition("Ready", metav1.ConditionTrue, "AllGood", "")},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			config := &infrav1.AWSLaunchConfig{}
			config.Status.Conditions = row.conditions
			summary.Summarize(config)
			got := meta.FindStatusCondition(config.Status.Conditions, "Ready")
			if difference := cmp.Diff(&row.want, got, ignoreTime); difference != "" {
				t.Errorf("Ready (-want +got):\n%s", difference)
			}
		})
	}
}

// TestOverview holds which of several conditions an overview shows.
func TestOverview(t *testing.T) {
	t.Parallel()
	overview := reconciling.Overview{Target: "Converged", Of: []string{"Ready", "Capacity", "RolledOut"}, Reason: "AllGood"}
	set := map[metav1.ConditionStatus]func(reconciling.Conditioned, string, string, string){
		metav1.ConditionTrue: reconciling.True, metav1.ConditionFalse: reconciling.False, metav1.ConditionUnknown: reconciling.Unknown,
	}
	for _, row := range []struct {
		reason     string
		conditions map[string]metav1.ConditionStatus
		want       metav1.ConditionStatus
		shown      string
	}{
		{"nothing is known", map[string]metav1.ConditionStatus{"RolledOut": "False"}, "", ""},
		{"all are well, and one does not apply", map[string]metav1.ConditionStatus{"Ready": "True", "RolledOut": "True"}, "True", "AllGood"},
		{"one is not", map[string]metav1.ConditionStatus{"Ready": "True", "Capacity": "True", "RolledOut": "False"}, "False", "WhyRolledOut"},
		{"the first counts", map[string]metav1.ConditionStatus{"Ready": "False", "Capacity": "False", "RolledOut": "False"}, "False", "WhyReady"},
		{"what is known to be wrong counts more than what is not known", map[string]metav1.ConditionStatus{"Ready": "True", "Capacity": "Unknown", "RolledOut": "False"}, "False", "WhyRolledOut"},
		{"something is not known", map[string]metav1.ConditionStatus{"Ready": "True", "Capacity": "Unknown", "RolledOut": "True"}, "Unknown", "WhyCapacity"},
	} {
		config := &infrav1.AWSLaunchConfig{}
		for kind, status := range row.conditions {
			set[status](config, kind, "Why"+kind, "because")
		}
		overview.Summarize(config)
		got := meta.FindStatusCondition(config.Status.Conditions, "Converged")
		if row.want == "" && got != nil || row.want != "" && (got == nil || got.Status != row.want || got.Reason != row.shown) {
			t.Errorf("%s: %+v, want %s, %s", row.reason, got, row.want, row.shown)
		}
	}
}
