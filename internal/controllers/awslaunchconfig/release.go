package awslaunchconfig

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// releasing is true for a config whose pool goes back to CAPA. The pool's controller says so.
func releasing(config *infrav1.AWSLaunchConfig) bool { return common.Releasing(config) }

// releaseTemplate leaves a newest version from which CAPA reads what the pool asks for, so that it has nothing to replace. Deleting the config then
// leaves the template to CAPA.
func (r *Reconciler) releaseTemplate(ctx context.Context, p *pass) reconciling.Outcome {
	if !releasing(p.config) {
		reconciling.Remove(p.config, infrav1.ReleasedCondition)
		return reconciling.Continue()
	}
	if p.seen.Template == nil {
		const message = "there is no launch template to release"
		reconciling.False(p.config, infrav1.ReleasedCondition, infrav1.ReleasingReason, message)
		return reconciling.ComeBack(lookAgain, message)
	}
	if p.pending != nil || p.config.Spec.PinnedVersion != nil {
		const message = "what the spec asks for is not what is launched, and Cluster API Provider AWS would launch it: approve it, mend what its dry run found, or take pinnedVersion away"
		reconciling.False(p.config, infrav1.ReleasedCondition, infrav1.ReleasingReason, message)
		return reconciling.Stop(message)
	}
	form := launchtemplate.CAPAForm{InstanceType: p.config.Spec.InstanceType}
	if bootstrap := p.config.Spec.Bootstrap; bootstrap != nil {
		form.Secret = p.config.Namespace + "/" + bootstrap.DataSecretName
	}
	if p.config.Spec.Nodegroup != nil {
		form.UserData = p.nodegroupData
	}
	if reference := metav1.GetControllerOf(p.config); reference != nil && reference.Kind == "AWSMachinePool" {
		pool := &infrav1.AWSMachinePool{}
		if err := r.Client.Get(ctx, client.ObjectKey{Namespace: p.config.Namespace, Name: reference.Name}, pool); err != nil {
			return reconciling.Fail(fmt.Errorf("reading AWSMachinePool %q: %w", reference.Name, err))
		}
		if pool.Spec.AWSLaunchTemplate != nil {
			form.InstanceType = pool.Spec.AWSLaunchTemplate.InstanceType
		}
	}
	input, err := p.input.ForCAPA(form)
	if err != nil {
		return reconciling.Fail(err)
	}
	number, seen, err := p.cloud.Templates.Release(ctx, owner(p.config), input, p.seen)
	if err != nil {
		r.memory.forgetTemplate(p.key())
		return outcome.Of(p.config, infrav1.ReleasedCondition, infrav1.ReleasingReason, err)
	}
	p.seen = seen
	r.remember(p)
	message := fmt.Sprintf("version %d of launch template %s is as Cluster API Provider AWS would have it", number, p.seen.Template.Name)
	reconciling.True(p.config, infrav1.ReleasedCondition, infrav1.ReleasedReason, message)
	return reconciling.Stop(message)
}

// disown leaves the template of a released config to CAPA.
func (r *Reconciler) disown(ctx context.Context, p *pass) reconciling.Outcome {
	found, err := p.cloud.SeenTemplates.Get(ctx, p.key(), candidates(p.config), true)
	if err != nil {
		return outcome.Of(p.config, infrav1.DeletingCondition, infrav1.LaunchTemplateReconcileFailedReason, err)
	}
	if template, _ := choose(p.config, found); template != nil {
		if err := p.cloud.Templates.Disown(ctx, owner(p.config), *template); err != nil {
			return outcome.Of(p.config, infrav1.DeletingCondition, infrav1.LaunchTemplateReconcileFailedReason, err)
		}
		p.cloud.SeenTemplates.Invalidate(template.Name)
		r.Report.Done(ctx, p.config, "LaunchTemplateReleased", "Left launch template %s to Cluster API Provider AWS", template.Name)
	}
	return r.release(ctx, p)
}
