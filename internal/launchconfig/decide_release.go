package launchconfig

import (
	"errors"
	"fmt"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"

	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// decideRelease leaves a newest version from which CAPA reads what the pool asks for, so that it
// has nothing to replace, if the pool goes back to CAPA. Deleting the config then leaves the
// template to CAPA. It reports whether the config stays Slipway's.
func decideRelease(in Input, launch steered, plan *reconcile.Plan) bool {
	config, seen := in.Object, in.Seen.Template
	if !pool.Releasing(config) {
		reconciling.Remove(config, infrav1.ReleasedCondition)
		return true
	}
	if seen.Template == nil {
		reconciling.False(config, infrav1.ReleasedCondition, infrav1.ReleasingReason, "there is no launch template to release")
		plan.LookAgain(describeAgain)
		return false
	}
	if launch.pending != nil || config.Spec.PinnedVersion != nil {
		reconciling.False(config, infrav1.ReleasedCondition, infrav1.ReleasingReason,
			"the configuration in the spec differs from the one that nodes run, and Cluster API Provider AWS "+
				"would roll it out. Approve it, correct the problem that its dry run found, or remove "+
				"pinnedVersion")
		return false
	}
	input, err := capaInput(in, launch.input)
	if err != nil {
		plan.Fail(err)
		return false
	}
	number, released, err := seen.Released(input)
	if failed := failure(in, func(releaseVersion) bool { return true }); failed != nil {
		err = failed
	}
	switch {
	case err != nil:
		pool.ShowFailure(config, plan, infrav1.ReleasedCondition, infrav1.ReleasingReason, err)
	case !released:
		plan.Do(releaseVersion{TemplateID: seen.Template.ID, Owner: owner(config), Input: input}, "annotation %s requests it", infrav1.ReleaseAnnotation)
	default:
		reconciling.True(config, infrav1.ReleasedCondition, infrav1.ReleasedReason,
			fmt.Sprintf("version %d of launch template %s is in the format that Cluster API Provider AWS expects", number, seen.Template.Name))
	}
	return false
}

// capaInput returns what is launched as CAPA would write it.
func capaInput(in Input, input launchtemplate.Input) (launchtemplate.Input, error) {
	config, owning := in.Object, in.Seen.Owner
	form := launchtemplate.CAPAForm{InstanceType: config.Spec.InstanceType}
	if bootstrap := config.Spec.Bootstrap; bootstrap != nil {
		form.Secret = config.Namespace + "/" + bootstrap.DataSecretName
	}
	if config.Spec.Nodegroup != nil {
		form.UserData, _ = nodegroupData(in)
	}
	if owning.Kind == kindSelfManaged {
		if !owning.Exists {
			return launchtemplate.Input{}, errors.New("the pool that is being released to Cluster API Provider " +
				"AWS does not exist")
		}
		if owning.InstanceType != nil {
			form.InstanceType = *owning.InstanceType
		}
	}
	return input.ForCAPA(form)
}
