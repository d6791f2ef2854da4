package common

import (
	"context"
	"fmt"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// ProveTemplate checks that a pool may launch from the template that its launch config's status
// names, before its group is first pointed at it. Status is no proof: whoever may write it could
// name the template of another cluster, with that cluster's user data. Present is the template that
// the group launches from already, empty for none. It returns the outcome that ends the step, nil
// if the pool may.
func ProveTemplate(ctx context.Context, cloud *clouds.Cloud, pool reconciling.Conditioned, config *infrav1.AWSLaunchConfig, present string,
) *reconciling.Outcome {
	status := &config.Status
	if status.LaunchTemplateID == present {
		return nil
	}
	template, known := cloud.SeenTemplates.Peek(status.LaunchTemplateName)
	if !known || template.ID != status.LaunchTemplateID {
		read, err := cloud.Templates.One(ctx, status.LaunchTemplateID, "")
		if err != nil {
			return ending(outcome.Of(pool, infrav1.LaunchTemplateReadyCondition, infrav1.LaunchTemplateReconcileFailedReason, err))
		}
		if read == nil {
			return nil // it was deleted, or is not visible yet: AWS refuses to launch from it
		}
		template = *read
	}
	message := ForeignTemplate(config, template)
	if message == "" {
		return nil
	}
	reconciling.False(pool, infrav1.LaunchTemplateReadyCondition, infrav1.OwnerTagMissingReason, message)
	return ending(reconciling.ComeBack(unseenAtMost, message).AndGoOn())
}

// ForeignTemplate returns why no pool may launch from the launch template that a launch config
// names, "" if pools may: its tags say whose it is.
func ForeignTemplate(config *infrav1.AWSLaunchConfig, template launchtemplate.Template) string {
	wanted := ownership.OwnerNamed(config.Namespace, config.Spec.ClusterName, config.Name)
	switch other := template.OtherOwner(config.Namespace); {
	case config.Spec.Existing != nil && other != "":
		return fmt.Sprintf("launch template %s, which AWSLaunchConfig %s names, belongs to %s by its tags: no node is launched from it", template.ID, config.Name, other)
	case config.Spec.Existing == nil && !template.OwnedBy(wanted):
		return fmt.Sprintf("launch template %s, which status of AWSLaunchConfig %s names, does not have tag %s with value %q: no node is launched from it",
			template.ID, config.Name, infrav1.TagLaunchConfig, wanted)
	}
	return ""
}
