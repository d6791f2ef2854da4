package awslaunchconfig

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/inspection"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// A config with spec.existing follows a launch template of somebody else's. Nothing of it is written, tagged, made the default or deleted, and the
// object has no finalizer: there is nothing in AWS to clean up. The sweeps look at the template as at all others, and wake the config when its
// newest or default version moves, and when it comes or goes.

// followed are the steps for such a config.
func (r *Reconciler) followed() []reconciling.Step[*pass] {
	return []reconciling.Step[*pass]{
		{Name: "learning about the cluster", Run: r.learnCluster},
		{Name: "reaching AWS", Run: r.reachCloud},
		{Name: "seeing the launch template", Run: r.seeExisting},
		{Name: "inspecting the version", Run: r.inspectExisting},
	}
}

// seeExisting sees the template, and which versions it has.
func (r *Reconciler) seeExisting(ctx context.Context, p *pass) reconciling.Outcome {
	existing, status := p.config.Spec.Existing, &p.config.Status
	name := existing.Name
	if name == "" && status.LaunchTemplateID == existing.ID {
		name = status.LaunchTemplateName // the sweeps look by name
	}
	if name == "" {
		template, err := p.cloud.Discovery.LaunchTemplate(ctx, existing.ID, "")
		if err != nil {
			return outcome.Of(p.config, infrav1.LaunchTemplateReadyCondition, reasonOr(err, infrav1.LaunchTemplateNotFoundReason), err)
		}
		name = template.Name
	}
	found, err := p.cloud.SeenTemplates.Get(ctx, p.key(), []string{name}, false)
	if err != nil {
		return outcome.Of(p.config, infrav1.LaunchTemplateReadyCondition, infrav1.LaunchTemplateReconcileFailedReason, err)
	}
	template, exists := found[name]
	if !exists || existing.ID != "" && template.ID != existing.ID {
		return r.lostExisting(ctx, p, name)
	}
	if other := template.OtherOwner(p.config.Namespace); other != "" {
		return r.refuseExisting(p, name, other)
	}
	if remembered, _ := r.memory.seen.Get(p.key()); remembered.IsOf(template) {
		p.seen = remembered
		return reconciling.Continue()
	}
	p.seen = launchtemplate.Observation{Template: &template}
	if err := r.readVersions(ctx, p); err != nil {
		return outcome.Of(p.config, infrav1.LaunchTemplateReadyCondition, infrav1.LaunchTemplateReconcileFailedReason, err)
	}
	return reconciling.Continue()
}

// refuseExisting reports that the template belongs to another namespace or cluster. Its versions hold user data with that cluster's join
// tokens, so they are not read, and pools launch nothing from it.
func (r *Reconciler) refuseExisting(p *pass, name, other string) reconciling.Outcome {
	message := fmt.Sprintf("launch template %s, which spec.existing names, belongs to %s by its tags. It is not read, and no node is launched from it: "+
		"name a launch template of your own", name, other)
	r.memory.forgetTemplate(p.key())
	reconciling.False(p.config, infrav1.LaunchTemplateReadyCondition, infrav1.ExistingNotAllowedReason, message)
	return reconciling.Stop(message)
}

// lostExisting says that the template is not there. What status says of it stays: pools go on with it. The sweeps wake the config when it is there again.
func (r *Reconciler) lostExisting(ctx context.Context, p *pass, name string) reconciling.Outcome {
	message := fmt.Sprintf("launch template %s, which spec.existing names, does not exist in this region, or was deleted by its owner", name)
	shown := meta.FindStatusCondition(p.config.Status.Conditions, infrav1.LaunchTemplateReadyCondition)
	if shown == nil || shown.Reason != infrav1.LaunchTemplateNotFoundReason {
		r.Report.Warn(ctx, p.config, "LaunchTemplateLost", "%s", message)
	}
	r.memory.forgetTemplate(p.key())
	reconciling.False(p.config, infrav1.LaunchTemplateReadyCondition, infrav1.LaunchTemplateNotFoundReason, message)
	return reconciling.Stop(message)
}

// inspectExisting says what the version is that the spec names, and what of it is missing.
func (r *Reconciler) inspectExisting(ctx context.Context, p *pass) reconciling.Outcome {
	number, err := inspection.NumberOf(*p.seen.Template, p.config.Spec.Existing.Version)
	if err != nil {
		return outcome.Of(p.config, infrav1.LaunchTemplateReadyCondition, infrav1.VersionNotFoundReason, err)
	}
	seen, exists := versionOf(p.seen, number)
	if !exists && number <= p.seen.NewestSeen() {
		err = &discovery.NotFoundError{Kind: "version", What: fmt.Sprintf("%d of launch template %s", number, p.seen.Template.Name), Advice: "it was deleted"}
		return outcome.Of(p.config, infrav1.LaunchTemplateReadyCondition, infrav1.VersionNotFoundReason, err)
	}
	version, err := r.inspected(ctx, p, number)
	if err != nil {
		return outcome.Of(p.config, infrav1.LaunchTemplateReadyCondition, reasonOr(err, infrav1.VersionNotFoundReason), err)
	}
	if end := r.checkProfile(ctx, p, version.InstanceProfile); end != nil {
		return *end
	}
	if !exists {
		r.memory.forgetTemplate(p.key())
		return reconciling.ComeBack(lookAgain, "the version is not among those of its launch template yet")
	}
	p.version, p.config.Status.Resolved = seen, resolvedStatus(&version.Resolved)
	showColumns(p.config)
	r.showExisting(ctx, p)
	reconciling.True(p.config, infrav1.LaunchTemplateReadyCondition, infrav1.ReadyReason, "")
	r.Report.Progress.Versioned(p.config, false, r.Clock.Now())
	if member, message := inspection.ForNobody(version.Gaps); message != "" {
		return outcome.Of(p.config, infrav1.ResolvedCondition, lackReasons[member], &unusableVersionError{version: number, message: message})
	}
	reconciling.True(p.config, infrav1.ResolvedCondition, infrav1.ReadyReason, "")
	return r.scheduleCheck(ctx, p)
}

// inspected returns what the version and the things that it names are. The version never changes, and is read once. One that nothing can launch from is read in
// each pass, because what it names may be mended, and one whose image is gone is read again: the owner can deregister the image, which no event tells.
func (r *Reconciler) inspected(ctx context.Context, p *pass, number int64) (inspection.Version, error) {
	known, remembered := r.memory.inspected.Get(p.key())
	_, lack := inspection.ForNobody(known.Gaps)
	if remembered && known.Template.ID == p.seen.Template.ID && known.Number == number && lack == "" {
		gone, err := r.imageGone(ctx, p, known.ImageID)
		if err != nil || !gone {
			return known, err
		}
	}
	version, err := inspection.NewReader(p.cloud.Discovery).ReadVersion(ctx, *p.seen.Template, number)
	if err == nil {
		r.memory.inspected.Put(p.key(), version)
	}
	return version, err
}

// imageGone reports whether an image does not exist any longer. No image is never gone.
func (r *Reconciler) imageGone(ctx context.Context, p *pass, id string) (bool, error) {
	if id == "" {
		return false, nil
	}
	_, err := p.cloud.Discovery.ImageByID(ctx, id)
	var missing *discovery.NotFoundError
	if errors.As(err, &missing) {
		return true, nil
	}
	return false, err
}

// showExisting shows the version in status, and tells people when another one takes its place.
func (r *Reconciler) showExisting(ctx context.Context, p *pass) {
	status, template := &p.config.Status, p.seen.Template
	reason := ""
	switch {
	case status.LaunchTemplateID != template.ID:
		r.Report.Done(ctx, p.config, "LaunchTemplateFollowed", "Following launch template %s (%s), version %d", template.Name, template.ID, p.version.Number)
	case status.Version != p.version.Number:
		reason = r.whatMoved(ctx, p, status.Version)
		r.Report.Done(ctx, p.config, "LaunchTemplateVersionFollowed", "Version %d of launch template %s takes the place of version %d: %s",
			p.version.Number, template.Name, status.Version, reason)
	}
	p.input.Fingerprints = p.version.Fingerprints
	writeStatus(p, r.reasons(p, reason))
	r.recordLaunch(p, func(from int64) string { return r.whatMoved(ctx, p, from) })
	if !slices.ContainsFunc(status.Versions, func(listed infrav1.LaunchTemplateVersionStatus) bool { return listed.Number == p.version.Number }) {
		// An old one of many: pools look for what they launch among those that are listed.
		status.Versions = append(status.Versions[:infrav1.MaxLaunchConfigStatusVersions-1], versionStatus(p.version, reason))
	}
}

// whatMoved says how the version differs from the one that was followed before, on a best effort.
func (r *Reconciler) whatMoved(ctx context.Context, p *pass, before int64) string {
	if was, exists := versionOf(p.seen, before); exists && was.Fingerprints.Config == p.version.Fingerprints.Config {
		return reasonToken
	}
	old, err := p.cloud.Discovery.TemplateVersion(ctx, p.seen.Template.ID, before)
	if err != nil {
		return configurationChanged
	}
	present, err := p.cloud.Discovery.TemplateVersion(ctx, p.seen.Template.ID, p.version.Number)
	if err != nil {
		return configurationChanged
	}
	return inWords(launchtemplate.ChangesBetween(old, present))
}

// lackReasons are the reasons of the condition Resolved for what a version names and nobody can launch with, by EC2's name of the member.
var lackReasons = map[string]string{
	"ImageId": infrav1.ImageNotFoundReason, "InstanceType": infrav1.InstanceTypeNotFoundReason, "SecurityGroupIds": infrav1.SecurityGroupNotFoundReason,
	"NetworkInterfaces": infrav1.SubnetsNotFoundReason,
}

// unusableVersionError says that nobody can launch from a version.
type unusableVersionError struct {
	version int64
	message string
}

// Error implements error.
func (e *unusableVersionError) Error() string {
	return fmt.Sprintf("nothing can be launched from version %d: %s", e.version, e.message)
}

// WaitsForUser says that the owner of the template has to mend it.
func (*unusableVersionError) WaitsForUser() bool { return true }
