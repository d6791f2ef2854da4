// Package reconciletest helps to test the Decide function of a kind.
package reconciletest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/dump"

	"github.com/slipway-project/slipway/internal/reconcile"
)

// Decide returns what a Decide function plans, and the object with the status that it wrote. It fails
// the test if the function is not pure: if it changes what was observed or done, or plans something
// else when it is asked again.
func Decide[T reconcile.Object, S any](t *testing.T, decide func(reconcile.Input[T, S]) reconcile.Plan, in reconcile.Input[T, S]) (T, reconcile.Plan) {
	t.Helper()
	before := dump.ForHash([]any{in.Seen, in.Done})
	once := func() (T, reconcile.Plan) {
		asked := in
		asked.Object, asked.Done = in.Object.DeepCopyObject().(T), slices.Clone(in.Done)
		return asked.Object, decide(asked)
	}
	object, plan := once()
	if difference := cmp.Diff(before, dump.ForHash([]any{in.Seen, in.Done})); difference != "" {
		t.Errorf("the decision changes what was observed:\n%s", difference)
	}
	other, again := once()
	if difference := cmp.Diff(dump.ForHash([]any{object, plan}), dump.ForHash([]any{other, again})); difference != "" {
		t.Errorf("asked again, the decision is another:\n%s", difference)
	}
	return object, plan
}
