package awslaunchconfig

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/userdata"
)

// The keys of a bootstrap data Secret (Cluster API: contract of bootstrap providers).
const (
	secretValue  = "value"
	secretFormat = "format"
)

// readBootstrap turns the Secret that the spec names into user data. A config without one launches instances without user data.
func (r *Reconciler) readBootstrap(ctx context.Context, p *pass) reconciling.Outcome {
	bootstrap := p.config.Spec.Bootstrap
	if bootstrap == nil {
		r.Watches.Forget(p.key())
		if p.config.Spec.Nodegroup != nil {
			return reconciling.Continue() // an image of the template's gets complete user data without any
		}
		reconciling.True(p.config, infrav1.BootstrapDataReadyCondition, infrav1.ReadyReason, "the spec names no bootstrap data")
		return reconciling.Continue()
	}
	key := types.NamespacedName{Namespace: p.config.Namespace, Name: bootstrap.DataSecretName}
	r.Watches.Watch(p.key(), key)
	secret := &corev1.Secret{}
	if err := r.Live.Get(ctx, key, secret); err != nil {
		if !apierrors.IsNotFound(err) {
			return reconciling.Fail(fmt.Errorf("reading Secret %q: %w", key.Name, err))
		}
		return notBootstrapped(p, infrav1.BootstrapDataSecretNotFoundReason, fmt.Sprintf("Secret %q does not exist", key.Name))
	}
	r.Watches.Read(p.key(), secret.ResourceVersion)
	format, err := userdata.ParseFormat(string(secret.Data[secretFormat]))
	if err == nil {
		err = userdata.CheckBounds(secret.Data[secretValue])
	}
	if err != nil {
		return notBootstrapped(p, infrav1.BootstrapDataInvalidReason, fmt.Sprintf("Secret %q: %v", key.Name, err))
	}
	if p.config.Spec.Nodegroup != nil {
		// What user data is made of it depends on the image's family, which is known once the image is.
		p.nodegroupData, p.nodegroupFormat = secret.Data[secretValue], format
		return reconciling.Continue()
	}
	delivery, problem := deliver(p, secret.Data[secretValue], format)
	if problem != nil {
		return notBootstrapped(p, problem.reason, problem.message)
	}
	p.delivery = delivery
	if delivery.item == nil {
		reconciling.True(p.config, infrav1.BootstrapDataReadyCondition, infrav1.ReadyReason, spaceLeft(len(delivery.userData)))
	}
	return reconciling.Continue()
}

// spaceLeft tells people of user data that will soon be too large. There is no size in it: that changes with each token.
func spaceLeft(size int) string {
	if size <= userdata.NearLimit {
		return ""
	}
	return fmt.Sprintf("the user data takes more than nine tenths of the %d bytes that EC2 allows: shorten it, or set bootstrapStorage to SSM or S3", userdata.Limit)
}

// notBootstrapped ends the pass; the watch on the Secret wakes the config when it changes.
func notBootstrapped(p *pass, reason, message string) reconciling.Outcome {
	reconciling.False(p.config, infrav1.BootstrapDataReadyCondition, reason, message)
	return reconciling.Stop(message)
}
