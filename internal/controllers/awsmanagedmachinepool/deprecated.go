package awsmanagedmachinepool

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/log"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// tellDeprecated says which fields of the spec will go away, as the upgrade strategy of the
// proposal for launch templates of managed pools asks: in a condition, and in one log line for each
// pool and process.
func (r *Reconciler) tellDeprecated(ctx context.Context, p *pass) reconciling.Outcome {
	message := p.pool.Spec.DeprecationMessage()
	if message == "" {
		r.deprecations.Forget(p.key())
		reconciling.Remove(p.pool, infrav1.DeprecatedFieldsCondition)
		return reconciling.Continue()
	}
	if logged, _ := r.deprecations.Get(p.key()); logged != message {
		log.FromContext(ctx).Info("The pool uses fields that will go away", "fields", message)
		r.deprecations.Put(p.key(), message)
	}
	reconciling.True(p.pool, infrav1.DeprecatedFieldsCondition, infrav1.DeprecatedFieldsReason, message)
	return reconciling.Continue()
}
