package launchconfig

import (
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

const (
	// visibleAfter is the time after a change during which descriptions may still return the
	// template as it was before (AWS: eventual-consistency).
	visibleAfter = time.Minute
	// describeAgain is the time until Slipway describes a template again that EC2 did not return.
	describeAgain = 5 * time.Second
)

// decideMissing distinguishes a template that was deleted from one that EC2 does not return yet,
// and from one that lost its owner tag. It reports whether the template is known, or known not to
// exist. EC2's creation times decide nothing, because EC2's clock and the manager's differ.
func decideMissing(in Input, plan *reconcile.Plan) bool {
	status, seen := &in.Object.Status, &in.Seen.Template
	since := status.LaunchTemplateMissingSince
	status.LaunchTemplateMissingSince = nil
	switch named := seen.Named; {
	case seen.Err != nil:
		status.LaunchTemplateMissingSince = since
		fail(in, plan, refusalReason(seen.Err, infrav1.LaunchTemplateReconcileFailedReason), seen.Err)
		return false
	case seen.VersionsErr != nil:
		fail(in, plan, infrav1.LaunchTemplateReconcileFailedReason, seen.VersionsErr)
		return false
	case named == nil:
		return true
	case named.Err != nil:
		status.LaunchTemplateMissingSince = since
		fail(in, plan, infrav1.LaunchTemplateReconcileFailedReason, named.Err)
		return false
	case seen.Template != nil && !isLost(in, since):
		return true
	case seen.Template == nil && recentlyChanged(in):
		// It was written recently and is not visible yet.
		plan.LookAgain(describeAgain)
		return false
	case seen.Template == nil && named.Value != nil:
		// Status is no proof of ownership, so the template is not touched. No second one is
		// created, because it would replace every instance. The sweeps wake the config when the tag
		// is back.
		fail(in, plan, infrav1.OwnerTagMissingReason, &launchtemplate.OwnerTagMissingError{ID: status.LaunchTemplateID, Owner: owner(in.Object)})
		return false
	case !isLost(in, since):
		// A previous process may have created it just before it exited.
		if since == nil {
			since = &metav1.Time{Time: ceiling(in.Now)}
		}
		status.LaunchTemplateMissingSince = since
		plan.LookAgain(describeAgain - in.Now.Sub(since.Time))
		return false
	}
	message := fmt.Sprintf("launch template %s was deleted outside Slipway. Slipway recreates it. Running nodes "+
		"are kept", status.LaunchTemplateID)
	if status.LastLostTemplateID != status.LaunchTemplateID {
		plan.Tell(reconcile.Warningf(infrav1.LaunchTemplateLostEvent, "%s", message))
	}
	status.LastLostTemplateID = status.LaunchTemplateID
	if seen.Template == nil {
		status.LaunchTemplateMissingSince = since
	}
	reconciling.False(in.Object, infrav1.LaunchTemplateReadyCondition, infrav1.LaunchTemplateNotFoundReason, message)
	return true
}

// isLost reports whether the template that status names counts as deleted, given since when EC2 has
// not returned it.
func isLost(in Input, since *metav1.Time) bool {
	named := in.Seen.Template.Named
	return named != nil && named.Err == nil && named.Value == nil && since != nil && in.Now.Sub(since.Time) >= describeAgain && !recentlyChanged(in)
}

// recentlyChanged reports whether EC2 may still return the template as it was before this
// controller changed it in an earlier pass.
func recentlyChanged(in Input) bool {
	changed := in.Object.Status.LaunchTemplateChanged
	return changed != nil && in.Now.Sub(changed.Time) < visibleAfter
}

// names returns the names that the template may have.
func names(config *infrav1.AWSLaunchConfig) []string {
	wanted := config.Spec.LaunchTemplateName
	if wanted == "" {
		wanted = config.Name
	}
	return ownership.Names(wanted, config.Spec.ClusterName, config, shortestName, longestName)
}

// freeNames returns the names that a new template may have. A name that the user asks for is the
// only one: another would be a surprise.
func freeNames(in Input) []string {
	all, wanted := names(in.Object), in.Object.Spec.LaunchTemplateName
	asked := wanted != "" && metav1.GetControllerOf(in.Object) == nil ||
		slices.ContainsFunc(in.Seen.Usages, func(used usage) bool { return used.named != "" && used.named == wanted })
	if asked {
		return all[:1]
	}
	return all
}

// TemplateNames returns the names by which the controller describes the template of a launch config. A
// template that CAPA created has the name of the pool, whatever the spec says, because CAPA ignored it.
func TemplateNames(config *infrav1.AWSLaunchConfig) []string {
	all := names(config)
	if !slices.Contains(all, config.Name) && len(config.Name) >= shortestName && len(config.Name) <= longestName {
		all = append(all, config.Name)
	}
	return all
}

// choose picks the template with the config's owner tag.
func choose(config *infrav1.AWSLaunchConfig, found map[string]launchtemplate.Template) (template *launchtemplate.Template, taken []string) {
	return launchtemplate.Choose(owner(config), TemplateNames(config), found)
}

// refusalReason returns the condition reason of a refused adoption, or the given one for any other error.
func refusalReason(err error, reason string) string {
	var refused *notAdoptableError
	if errors.As(err, &refused) {
		return refused.reason
	}
	return reason
}

// recordedVersions returns the versions that status lists, if the template is as status says: a
// manager that starts with a thousand existing launch configs reads none of their versions.
// Versions never change, a newer one would show in the template, and the wanted one, being the
// default, cannot have been deleted (AWS: API_DeleteLaunchTemplateVersions). The deletion of an
// older one goes unnoticed, as it does while a process runs.
func recordedVersions(status *infrav1.AWSLaunchConfigStatus, template launchtemplate.Template) []launchtemplate.Version {
	recorded := status.Versions
	if status.LaunchTemplateID != template.ID || status.Version != template.DefaultVersion || status.DefaultVersion != template.DefaultVersion ||
		len(recorded) == 0 || len(recorded) >= infrav1.MaxLaunchConfigStatusVersions || recorded[0].Number != template.LatestVersion {
		return nil
	}
	versions := make([]launchtemplate.Version, 0, len(recorded))
	for _, version := range recorded {
		versions = append(versions, launchtemplate.Version{
			Number: version.Number, Created: version.Created.Time, ImageID: version.ImageID, Market: version.Market, Default: version.Number == template.DefaultVersion,
			Fingerprints: launchtemplate.Fingerprints{Config: version.ConfigFingerprint, Bootstrap: version.BootstrapFingerprint},
		})
	}
	return versions
}

// deletedVersions returns the versions that status lists with the configuration that was wanted
// last, and that the template does not have. Status drops what Slipway prunes in the pass that
// prunes it.
func deletedVersions(status *infrav1.AWSLaunchConfigStatus, seen launchtemplate.Observation) []int64 {
	if status.LaunchTemplateID != seen.Template.ID || len(seen.Versions) == 0 {
		return nil
	}
	var deleted []int64
	for _, version := range status.Versions {
		if _, exists := seen.Version(version.Number); !exists && version.ConfigFingerprint == status.ConfigFingerprint {
			deleted = append(deleted, version.Number)
		}
	}
	return deleted
}
