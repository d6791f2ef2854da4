package pool

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// TestFailingActionIsNamed holds what the condition says about an action that AWS throttles or fails.
func TestFailingActionIsNamed(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		throttled bool
		want      string
	}{
		{true, "EC2 in eu-central-1 has throttled every call of CreateFleet since 2026-11-21T10:00:00Z. Running nodes keep running."},
		{false, "EC2 in eu-central-1 has failed every call of CreateFleet since 2026-11-21T10:00:00Z. Running nodes keep running."},
	} {
		pool := &infrav1.AWSMachinePool{}
		ShowOutage(pool, Outage{&aws.Outage{Service: "EC2", Action: "CreateFleet", Throttled: row.throttled, Since: began}, true}, "eu-central-1")
		condition := meta.FindStatusCondition(pool.Status.Conditions, infrav1.AWSReachableCondition)
		if condition == nil || condition.Reason != infrav1.AWSUnavailableReason || !strings.HasPrefix(condition.Message, row.want) {
			t.Errorf("AWSReachable is %+v, want %q", condition, row.want)
		}
	}
}

// TestOutagesAreNamedInReady follows a pool through an outage, with a restart in the middle of it.
func TestOutagesAreNamedInReady(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC)
	outage, later := &aws.Outage{Service: "Auto Scaling", Since: began}, &aws.Outage{Service: "EC2", Since: began.Add(time.Hour)}
	const since = "Auto Scaling in eu-central-1 has not answered since 2026-11-21T10:00:00Z"
	pool := &infrav1.AWSMachinePool{}
	ready := reconciling.Summary{Target: infrav1.ReadyCondition, Of: []string{infrav1.ASGReadyCondition}, Reason: infrav1.ReadyReason, Unless: infrav1.AWSReachableCondition}
	for _, pass := range []struct {
		reason  string
		seen    Outage
		asg     metav1.ConditionStatus
		want    metav1.ConditionStatus
		says    string
		written bool
	}{
		{"all is well", Outage{nil, true}, "True", "True", "", true},
		{"an outage", Outage{outage, true}, "True", "Unknown", since, true},
		{"it goes on", Outage{outage, true}, "True", "Unknown", since, false},
		{"the process is started anew", Outage{nil, false}, "True", "Unknown", since, false},
		{"and finds out by itself", Outage{later, false}, "True", "Unknown", since, false},
		{"the spec is wrong too", Outage{later, false}, "False", "False", "a key pair does not exist. " + since, true},
		{"it is over", Outage{nil, true}, "False", "False", "a key pair does not exist", true},
		{"the spec is right", Outage{nil, true}, "True", "True", "", true},
	} {
		before := pool.DeepCopy()
		ShowOutage(pool, pass.seen, "eu-central-1")
		if pass.asg == metav1.ConditionTrue {
			reconciling.True(pool, infrav1.ASGReadyCondition, infrav1.ReadyReason, "")
		} else {
			reconciling.False(pool, infrav1.ASGReadyCondition, infrav1.ASGUpdateFailedReason, "a key pair does not exist")
		}
		ready.Summarize(pool)
		condition := meta.FindStatusCondition(pool.Status.Conditions, infrav1.ReadyCondition)
		if condition.Status != pass.want || !strings.Contains(condition.Message, pass.says) || strings.Contains(condition.Message, "not answered") != strings.Contains(pass.says, "not answered") {
			t.Errorf("%s: Ready is %+v", pass.reason, condition)
		}
		if changed := !equalConditions(before.Status.Conditions, pool.Status.Conditions); changed != pass.written {
			t.Errorf("%s: the status changed: %t\n%+v\n%+v", pass.reason, changed, before.Status.Conditions, pool.Status.Conditions)
		}
		if outage := meta.FindStatusCondition(pool.Status.Conditions, infrav1.AWSReachableCondition); outage != nil && !outage.LastTransitionTime.Time.Equal(began) {
			t.Errorf("%s: the outage began %s", pass.reason, outage.LastTransitionTime)
		}
	}
}

func equalConditions(a, b []metav1.Condition) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
