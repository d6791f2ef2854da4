package launchconfig

import (
	"fmt"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/userdata"
)

// The keys of a bootstrap data Secret (Cluster API: contract of bootstrap providers).
const (
	secretValue  = "value"
	secretFormat = "format"
)

// decideBootstrap turns the Secret that the spec names into user data. A config without one
// launches instances without user data. For a node group, decide_nodegroup.go builds the user data
// once the image is known.
func decideBootstrap(in Input, plan *reconcile.Plan) (delivery, bool) {
	bootstrap := in.Object.Spec.Bootstrap
	secret := in.Seen.Bootstrap
	switch {
	case secret == nil:
		plan.Need(needBootstrap)
		return delivery{}, false
	case bootstrap == nil && in.Object.Spec.Nodegroup != nil:
		return delivery{}, true // an image of the template's gets complete user data without any
	case bootstrap == nil:
		reconciling.True(in.Object, infrav1.BootstrapDataReadyCondition, infrav1.ReadyReason, "the spec does not reference bootstrap "+
			"data")
		return delivery{}, true
	case !secret.Exists:
		notBootstrapped(in, infrav1.BootstrapDataSecretNotFoundReason, fmt.Sprintf("Secret %q does not exist", bootstrap.DataSecretName))
		return delivery{}, false
	}
	format, err := userdata.ParseFormat(secret.Format)
	if err == nil {
		err = userdata.CheckBounds(secret.Value)
	}
	if err != nil {
		notBootstrapped(in, infrav1.BootstrapDataInvalidReason, fmt.Sprintf("Secret %q: %v", bootstrap.DataSecretName, err))
		return delivery{}, false
	}
	if in.Object.Spec.Nodegroup != nil {
		return delivery{}, true
	}
	delivered, problem := deliver(in, secret.Value, format)
	if problem != nil {
		notBootstrapped(in, problem.reason, problem.message)
		return delivery{}, false
	}
	if delivered.item == nil {
		reconciling.True(in.Object, infrav1.BootstrapDataReadyCondition, infrav1.ReadyReason, spaceLeft(len(delivered.userData)))
	}
	return delivered, true
}

// spaceLeft returns a message about user data that will soon be too large. The message does not
// contain the size, which changes with each token.
func spaceLeft(size int) string {
	if size <= userdata.NearLimit {
		return ""
	}
	return fmt.Sprintf("the user data takes more than 90%% of the %d bytes that EC2 allows. No node is affected "+
		"yet. Shorten it, or set bootstrapStorage to SSM or S3", userdata.Limit)
}

// notBootstrapped says why there is no bootstrap data. The watch on the Secret wakes the config
// when it changes.
func notBootstrapped(in Input, reason, message string) {
	reconciling.False(in.Object, infrav1.BootstrapDataReadyCondition, reason, message)
}
