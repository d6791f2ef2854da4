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
	// visibleAfter is how long after a write by this process descriptions may still return the template as it was before
	// (AWS: eventual-consistency).
	visibleAfter = time.Minute
	// lookAgain is how soon a template that EC2 does not return is described again.
	lookAgain = 5 * time.Second
)

// observe sees the template and its versions. The template is known from the sweeps; versions are read again only when the template is not as this
// process left it, or as status says that another left it.
func (r *Reconciler) observe(ctx context.Context, p *pass) reconciling.Outcome {
	p.lost = p.config.Status.LastLostTemplateID
	found, err := p.cloud.SeenTemplates.Get(ctx, p.key(), candidates(p.config), false)
	template, taken := choose(p.config, found)
	if err == nil && template == nil {
		if template, err = r.adoptable(ctx, p, found); template != nil {
			p.adopt = template.ID
		}
	}
	if err != nil {
		return outcome.Of(p.config, infrav1.LaunchTemplateReadyCondition, reasonOfRefusal(err, infrav1.LaunchTemplateReconcileFailedReason), err)
	}
	p.swept = template
	if template == nil {
		var end *reconciling.Outcome
		if template, end = r.observeMissing(ctx, p, taken); end != nil {
			return *end
		}
	}
	r.unseen.Reset(p.key())
	return r.observeVersions(ctx, p, *template, taken)
}

// observeVersions reads the versions of a template that is not as this process left it, or as status says that another left it.
func (r *Reconciler) observeVersions(ctx context.Context, p *pass, template launchtemplate.Template, taken []string) reconciling.Outcome {
	if remembered, _ := r.memory.seen.Get(p.key()); remembered.IsOf(template) {
		remembered.Template, remembered.Taken = &template, taken
		p.seen = remembered
		return reconciling.Continue()
	}
	if versions := recordedVersions(&p.config.Status, template); len(versions) > 0 {
		p.seen = launchtemplate.Observation{Template: &template, Versions: versions, Taken: taken, Recorded: true}
		return reconciling.Continue()
	}
	p.seen = launchtemplate.Observation{Template: &template, Taken: taken}
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
	p.deleted = deletedVersions(&p.config.Status, p.seen)
	r.memory.seen.Put(p.key(), p.seen)
	return nil
}

// deletedVersions returns the versions that status lists with the configuration that was wanted last, and that the template does not have. Status
// drops what Slipway prunes in the pass that prunes it.
func deletedVersions(status *infrav1.AWSLaunchConfigStatus, seen launchtemplate.Observation) []int64 {
	if status.LaunchTemplateID != seen.Template.ID || len(seen.Versions) == 0 {
		return nil
	}
	var deleted []int64
	for _, version := range status.Versions {
		if _, exists := versionOf(seen, version.Number); !exists && version.ConfigFingerprint == status.ConfigFingerprint {
			deleted = append(deleted, version.Number)
		}
	}
	return deleted
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

// observeMissing distinguishes a template that was deleted from one that EC2 does not return yet, and from one that lost its owner tag. It returns the
// outcome that ends the step, or the template if status names it. EC2's creation times decide nothing, because EC2's clock and the manager's differ.
func (r *Reconciler) observeMissing(ctx context.Context, p *pass, taken []string) (*launchtemplate.Template, *reconciling.Outcome) {
	end := func(o reconciling.Outcome) (*launchtemplate.Template, *reconciling.Outcome) { return nil, &o }
	p.seen = launchtemplate.Observation{Taken: taken}
	known := p.config.Status.LaunchTemplateID
	if known == "" {
		return end(reconciling.Continue())
	}
	present, err := p.cloud.Templates.One(ctx, known, "")
	switch {
	case err != nil:
		return end(outcome.Of(p.config, infrav1.LaunchTemplateReadyCondition, infrav1.LaunchTemplateReconcileFailedReason, err))
	case present != nil && present.OwnedBy(owner(p.config)):
		return present, nil
	case r.recentlyChanged(p):
		return end(reconciling.ComeBack(lookAgain, fmt.Sprintf("launch template %s was written recently and is not visible yet", known)))
	case present != nil:
		return end(r.ownerTagMissing(p, known))
	}
	// A process before this one may have created it just before it ended.
	if wait := lookAgain - r.unseen.Elapsed(p.key(), r.Clock.Now()); wait > 0 {
		return end(reconciling.ComeBack(wait, fmt.Sprintf("EC2 does not return launch template %s; it is described again before another is created", known)))
	}
	p.lost = known
	message := fmt.Sprintf("launch template %s was deleted outside Slipway; it is created again", known)
	if p.config.Status.LastLostTemplateID != known {
		r.Report.Warn(ctx, p.config, "LaunchTemplateLost", "%s", message)
	}
	p.config.Status.LastLostTemplateID = known
	reconciling.False(p.config, infrav1.LaunchTemplateReadyCondition, infrav1.LaunchTemplateNotFoundReason, message)
	return end(reconciling.Continue())
}

// recentlyChanged reports whether EC2 may still return the template as it was before this process changed it.
func (r *Reconciler) recentlyChanged(p *pass) bool {
	changed, known := r.memory.changed.Get(p.key())
	return known && r.Clock.Since(changed) < visibleAfter
}

// ownerTagMissing reports that the template in status exists and no longer has the config's owner tag. Status is no proof of ownership, so
// the template is not touched; no second one is created, because it would replace every instance. The sweeps wake the config when the tag is back.
func (r *Reconciler) ownerTagMissing(p *pass, id string) reconciling.Outcome {
	r.memory.forgetTemplate(p.key())
	missing := &launchtemplate.OwnerTagMissingError{ID: id, Owner: owner(p.config)}
	return outcome.Of(p.config, infrav1.LaunchTemplateReadyCondition, infrav1.OwnerTagMissingReason, missing)
}
