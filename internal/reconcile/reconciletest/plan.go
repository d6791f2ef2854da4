package reconciletest

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// First describes what a plan begins with: what must be observed, or the first action and why, or nothing.
func First(plan reconcile.Plan) string {
	switch {
	case len(plan.Needs) > 0:
		var needs []string
		for _, need := range plan.Needs {
			needs = append(needs, string(need))
		}
		return "needs " + strings.Join(needs, ", ")
	case len(plan.Actions) > 0:
		return fmt.Sprintf("%s, because %s", plan.Actions[0].Action, plan.Actions[0].Reason)
	case plan.Release:
		return "let the pool go"
	}
	return "nothing"
}

// Shows fails the test unless an object has a condition, given as type=status/reason, with a part of its
// message after ": " if there is one. The status and reason of a condition that must not exist are "absent".
func Shows(t *testing.T, object reconciling.Conditioned, want string) {
	t.Helper()
	what, message, _ := strings.Cut(want, ": ")
	kind, rest, _ := strings.Cut(what, "=")
	condition := meta.FindStatusCondition(object.GetConditions(), kind)
	if condition == nil {
		if rest != "absent" {
			t.Errorf("there is no condition %s", kind)
		}
		return
	}
	if got := string(condition.Status) + "/" + condition.Reason; got != rest || !strings.Contains(condition.Message, message) {
		t.Errorf("condition %s is %s: %s; want %s", kind, got, condition.Message, want)
	}
}

// Told returns the reasons of the events of a plan, separated by spaces.
func Told(plan reconcile.Plan) string {
	var reasons []string
	for _, event := range plan.Events {
		reasons = append(reasons, event.Reason)
	}
	return strings.Join(reasons, " ")
}
