package awsmanagedmachinepool

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// tellDeprecated says which fields of the spec will go away, as the upgrade strategy of the proposal for launch templates of managed pools asks: in a condition,
// and in one log line for each pool and process.
func (r *Reconciler) tellDeprecated(ctx context.Context, p *pass) reconciling.Outcome {
	message := deprecated(&p.pool.Spec)
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

// deprecated says which of a pool's fields will go away, and what to use; empty for none.
func deprecated(spec *infrav1.AWSManagedMachinePoolSpec) string {
	var used []string
	for _, field := range []struct {
		name, instead string
		used          bool
	}{
		{"instanceType", "awsLaunchTemplate.instanceType, or instanceTypes", ptr.Deref(spec.InstanceType, "") != ""},
		{"diskSize", "awsLaunchTemplate.rootVolume", spec.DiskSize != nil},
	} {
		if field.used {
			used = append(used, fmt.Sprintf("%s (use %s)", field.name, field.instead))
		}
	}
	if len(used) == 0 {
		return ""
	}
	return "deprecated: " + strings.Join(used, ", ")
}
