package launchconfig

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/inspection"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// A config with spec.existing follows a launch template that Slipway does not own. Slipway does not
// write to the template, tag it, change its default version, or delete it. The object has no
// finalizer, because there is nothing in AWS to clean up. The sweeps observe the template like all
// others, and wake the config when the newest or default version changes, and when the template is
// created or deleted.

// decideFollowing shows in status which version the spec refers to, and what that version lacks.
func decideFollowing(in Input) (plan reconcile.Plan) {
	if !in.Seen.Access.Show(in.Object, &plan) {
		return plan
	}
	version, known := decideFollowed(in, &plan)
	if !known {
		return plan
	}
	number := version.Number
	seen, exists := in.Seen.Template.Version(number)
	if !exists {
		plan.LookAgain(describeAgain) // EC2 does not list the version of the launch template yet
		return plan
	}
	in.Object.Status.Resolved = resolvedStatus(&version.Resolved)
	showColumns(in.Object)
	if !showFollowed(in, seen, &plan) {
		return plan
	}
	reconciling.True(in.Object, infrav1.LaunchTemplateReadyCondition, infrav1.ReadyReason, "")
	if member, message := inspection.UnusableByAll(version.Gaps); message != "" {
		pool.ShowFailure(in.Object, &plan, infrav1.ResolvedCondition, lackReasons[member], &unusableVersionError{version: number, message: message})
		return plan
	}
	reconciling.True(in.Object, infrav1.ResolvedCondition, infrav1.ReadyReason, "")
	plan.LookAgain(in.Seen.Interval)
	return plan
}

// decideFollowed returns the version that the spec names, and reports whether it is known.
func decideFollowed(in Input, plan *reconcile.Plan) (inspection.Version, bool) {
	followed := in.Seen.Followed
	if followed == nil {
		plan.Fail(missingFacts("the launch template that spec.existing names"))
		return inspection.Version{}, false
	}
	name := followed.Name
	switch {
	case followed.Err != nil && name == "":
		fail(in, plan, reasonOr(followed.Err, infrav1.LaunchTemplateNotFoundReason), followed.Err)
		return inspection.Version{}, false
	case followed.Err != nil:
		fail(in, plan, infrav1.LaunchTemplateReconcileFailedReason, followed.Err)
		return inspection.Version{}, false
	case followed.Template == nil:
		showLostExisting(in, name, plan)
		return inspection.Version{}, false
	}
	if other := followed.Template.OtherOwner(in.Object.Namespace); other != "" {
		// Its versions hold user data with that cluster's join tokens, so they are not read, and
		// pools launch nothing from it.
		reconciling.False(in.Object, infrav1.LaunchTemplateReadyCondition, infrav1.ExistingNotAllowedReason, fmt.Sprintf(
			"launch template %s, which spec.existing names, is owned by %s according to its tags. Slipway does "+
				"not read it, and no node is launched from it. Name a launch template that no other object "+
				"owns", name, other))
		return inspection.Version{}, false
	}
	if err := in.Seen.Template.VersionsErr; err != nil {
		fail(in, plan, infrav1.LaunchTemplateReconcileFailedReason, err)
		return inspection.Version{}, false
	}
	number, err := followedNumber(in)
	if err != nil {
		fail(in, plan, infrav1.VersionNotFoundReason, err)
		return inspection.Version{}, false
	}
	if followed.Version == nil {
		plan.Need(needFollowed)
		return inspection.Version{}, false
	}
	if err := followed.Version.Err; err != nil {
		fail(in, plan, reasonOr(err, infrav1.VersionNotFoundReason), err)
		return inspection.Version{}, false
	}
	version := followed.Version.Value
	version.Number = number
	return version, profileAllowed(in, plan, followed.ProfileErr)
}

// followedNumber returns the number of the version that the spec names. The error says that it is
// none, or that it was deleted.
func followedNumber(in Input) (int64, error) {
	seen := in.Seen.Template
	number, err := inspection.NumberOf(*seen.Template, in.Object.Spec.Existing.Version)
	if err != nil {
		return 0, err
	}
	if _, exists := seen.Version(number); !exists && number <= seen.NewestSeen() {
		return 0, &discovery.NotFoundError{Kind: "version", What: fmt.Sprintf("%d of launch template %s", number, seen.Template.Name), Advice: "it was deleted"}
	}
	return number, nil
}

// showLostExisting reports that the template does not exist. Its details stay in status, because
// pools continue to use it. The sweeps wake the config when the template exists again.
func showLostExisting(in Input, name string, plan *reconcile.Plan) {
	message := fmt.Sprintf("launch template %s, which spec.existing names, does not exist in this region, or "+
		"its owner deleted it. No node is launched from it. Correct spec.existing, or create the launch "+
		"template", name)
	shown := meta.FindStatusCondition(in.Object.Status.Conditions, infrav1.LaunchTemplateReadyCondition)
	if shown == nil || shown.Reason != infrav1.LaunchTemplateNotFoundReason {
		plan.Tell(reconcile.Warningf(infrav1.LaunchTemplateLostEvent, "%s", message))
	}
	reconciling.False(in.Object, infrav1.LaunchTemplateReadyCondition, infrav1.LaunchTemplateNotFoundReason, message)
}

// showFollowed shows the version in status, and reports an event when another version replaces it.
// It returns false if versions must be read first.
func showFollowed(in Input, version launchtemplate.Version, plan *reconcile.Plan) bool {
	status, template := &in.Object.Status, in.Seen.Template.Template
	moved := func(before int64) (string, bool) { return whatMoved(in, before, version, plan) }
	reason := ""
	switch {
	case status.LaunchTemplateID != template.ID:
		plan.Tell(reconcile.Eventf(infrav1.LaunchTemplateFollowedEvent, "Tracking launch template %s (%s), version %d", template.Name, template.ID, version.Number))
	case status.Version != version.Number:
		var known bool
		if reason, known = moved(status.Version); !known {
			return false
		}
		plan.Tell(reconcile.Eventf(infrav1.LaunchTemplateVersionFollowedEvent, "Version %d of launch template %s "+
			"replaces version %d: %s",
			version.Number, template.Name, status.Version, reason))
	}
	status.LastLostTemplateID = ""
	why := reasons(in, map[int64]string{version.Number: reason})
	writeStatus(in, version, version.Fingerprints, launchtemplate.Accepted{}, why)
	if !recordLaunch(in, version, moved) {
		return false
	}
	if status.FindVersion(version.Number) == nil {
		// An old one of many: pools search the listed versions for the version that they launch.
		status.Versions = append(status.Versions[:infrav1.MaxLaunchConfigStatusVersions-1], versionStatus(version, why[version.Number]))
	}
	return true
}

// whatMoved says how a version differs from the one that was followed before, as far as that is
// known. It reports false if versions have to be read first.
func whatMoved(in Input, before int64, version launchtemplate.Version, plan *reconcile.Plan) (string, bool) {
	if was, exists := in.Seen.Template.Version(before); exists && was.Fingerprints.Config == version.Fingerprints.Config {
		return reasonToken, true
	}
	old, err, known := versionData(in, plan, before)
	if known && err != nil {
		return configurationChanged, true
	}
	present, err, read := versionData(in, plan, version.Number)
	if !known || !read {
		return "", false
	}
	if err != nil {
		return configurationChanged, true
	}
	return inWords(launchtemplate.ChangesBetween(old, present)), true
}

// lackReasons contains the reasons of the condition Resolved for members of a version that prevent
// every launch, by EC2's name of the member.
var lackReasons = map[string]string{
	"ImageId": infrav1.ImageNotFoundReason, "InstanceType": infrav1.InstanceTypeNotFoundReason, "SecurityGroupIds": infrav1.SecurityGroupNotFoundReason,
	"NetworkInterfaces": infrav1.SubnetsNotFoundReason,
}

// unusableVersionError reports that no consumer can launch from a version.
type unusableVersionError struct {
	version int64
	message string
}

// Error implements error.
func (e *unusableVersionError) Error() string {
	return fmt.Sprintf("version %d cannot be launched: %s", e.version, e.message)
}

// WaitsForUser says that the owner of the template has to mend it.
func (*unusableVersionError) WaitsForUser() bool { return true }
