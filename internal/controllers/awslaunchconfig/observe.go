package awslaunchconfig

import (
	"context"
	"fmt"
	"time"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/reconciling"
)

const (
	// visibleAfter is how long after a write to EC2 a template that can not be seen is taken for one that can not be seen yet
	// (AWS: eventual-consistency).
	visibleAfter = time.Minute
	// lookAgain is when it is looked for again.
	lookAgain = 5 * time.Second
)

// observe sees the template and its versions. The template is known from the sweeps; versions are read again only when the template is not as this
// process left it, or as status says that another left it.
func (r *Reconciler) observe(ctx context.Context, p *pass) reconciling.Outcome {
	p.lost = p.config.Status.LastLostTemplateID
	found, err := p.cloud.SeenTemplates.Get(ctx, p.key(), candidates(p.config), false)
	template, taken := choose(p.config, found)
	if err == nil && template != nil && !template.OwnedBy(owner(p.config)) {
		// What is taken over is looked at anew: somebody else may have done so meanwhile.
		found, err = p.cloud.SeenTemplates.Get(ctx, p.key(), candidates(p.config), true)
		template, taken = choose(p.config, found)
	}
	if err == nil {
		err = refuseAdoption(p.config, found)
	}
	if err != nil {
		return outcome.Of(p.config, infrav1.LaunchTemplateReadyCondition, nameTakenOr(err, infrav1.LaunchTemplateReconcileFailedReason), err)
	}
	if template == nil {
		return r.observeMissing(ctx, p, taken)
	}
	if remembered, _ := r.memory.seen.Get(p.key()); remembered.IsOf(*template) {
		remembered.Template, remembered.Taken = template, taken
		p.seen = remembered
		return reconciling.Continue()
	}
	if versions := recordedVersions(&p.config.Status, *template); len(versions) > 0 {
		p.seen = launchtemplate.Observation{Template: template, Versions: versions, Taken: taken, Recorded: true}
		return reconciling.Continue()
	}
	p.seen = launchtemplate.Observation{Template: template, Taken: taken}
	if err := r.readVersions(ctx, p); err != nil {
		return outcome.Of(p.config, infrav1.LaunchTemplateReadyCondition, infrav1.LaunchTemplateReconcileFailedReason, err)
	}
	return reconciling.Continue()
}

// readVersions asks AWS for the versions of the template.
func (r *Reconciler) readVersions(ctx context.Context, p *pass) error {
	versions, err := p.cloud.Templates.Versions(ctx, p.seen.Template.ID)
	if err != nil {
		return err
	}
	p.seen.Versions, p.seen.Recorded = versions, false
	r.memory.seen.Put(p.key(), p.seen)
	return nil
}

// verify asks AWS for versions that are known from status alone, before anything is decided from them but that all is as it should be.
func (r *Reconciler) verify(ctx context.Context, p *pass) error {
	if !p.seen.Recorded {
		return nil
	}
	return r.readVersions(ctx, p)
}

// recordedVersions are the versions that status lists, if the template is as status says: a manager that starts beside a thousand launch configs
// reads none of their versions. Versions never change, a newer one would show in the template, and the wanted one, being the default, can not have
// been deleted (AWS: API_DeleteLaunchTemplateVersions). That an older one was deleted is not noticed, here no more than during a process's life.
func recordedVersions(status *infrav1.AWSLaunchConfigStatus, template launchtemplate.Template) []launchtemplate.Version {
	recorded := status.Versions
	if status.LaunchTemplateID != template.ID || status.Version != template.DefaultVersion || status.DefaultVersion != template.DefaultVersion ||
		len(recorded) == 0 || len(recorded) >= infrav1.MaxLaunchConfigStatusVersions || recorded[0].Number != template.LatestVersion {
		return nil
	}
	versions := make([]launchtemplate.Version, 0, len(recorded))
	for _, version := range recorded {
		versions = append(versions, launchtemplate.Version{
			Number: version.Number, Created: version.Created.Time, ImageID: version.ImageID, Default: version.Number == template.DefaultVersion,
			Fingerprints: launchtemplate.Fingerprints{Config: version.ConfigFingerprint, Bootstrap: version.BootstrapFingerprint},
		})
	}
	return versions
}

// observeMissing tells a template that was deleted from one that can not be seen yet.
func (r *Reconciler) observeMissing(ctx context.Context, p *pass, taken []string) reconciling.Outcome {
	p.seen = launchtemplate.Observation{Taken: taken}
	known := p.config.Status.LaunchTemplateID
	if known == "" {
		return reconciling.Continue()
	}
	if versions := p.config.Status.Versions; len(versions) > 0 && r.Clock.Since(versions[0].Created.Time) < visibleAfter {
		p.cloud.SeenTemplates.Invalidate(candidates(p.config)[0])
		return reconciling.ComeBack(lookAgain, fmt.Sprintf("launch template %s was written a moment ago and can not be seen yet", known))
	}
	p.lost = known
	message := fmt.Sprintf("launch template %s was deleted outside Slipway; it is made again", known)
	if p.config.Status.LastLostTemplateID != known {
		r.Report.Warn(ctx, p.config, "LaunchTemplateLost", "%s", message)
	}
	p.config.Status.LastLostTemplateID = known
	reconciling.False(p.config, infrav1.LaunchTemplateReadyCondition, infrav1.LaunchTemplateNotFoundReason, message)
	return reconciling.Continue()
}
