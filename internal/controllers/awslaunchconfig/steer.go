package awslaunchconfig

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// pin puts the config of the version that spec.pinnedVersion names in the place of the spec's.
func (r *Reconciler) pin(ctx context.Context, p *pass, number int64) reconciling.Outcome {
	if err := r.verify(ctx, p); err != nil {
		return outcome.Of(p.config, infrav1.LaunchTemplateReadyCondition, infrav1.LaunchTemplateReconcileFailedReason, err)
	}
	if _, exists := versionOf(p.seen, number); !exists {
		var present []int64
		for _, version := range p.seen.NewestFirst() {
			present = append(present, version.Number)
		}
		message := fmt.Sprintf("version %d, which spec.pinnedVersion names, does not exist: the launch template has %v", number, present)
		reconciling.False(p.config, infrav1.LaunchTemplateReadyCondition, infrav1.VersionNotFoundReason, message)
		return reconciling.Stop(message)
	}
	return r.launch(ctx, p, number)
}

// launch puts the config of a version, with the bootstrap data of today, in the place of what is asked for.
func (r *Reconciler) launch(ctx context.Context, p *pass, number int64) reconciling.Outcome {
	if err := r.putBack(ctx, p, number); err != nil {
		return outcome.Of(p.config, infrav1.LaunchTemplateReadyCondition, infrav1.LaunchTemplateReconcileFailedReason, err)
	}
	return reconciling.Continue()
}

func (r *Reconciler) putBack(ctx context.Context, p *pass, number int64) error {
	data, err := r.data(ctx, p, number)
	if err != nil {
		return err
	}
	earlier, err := data.WithBootstrap(p.resolved)
	if err == nil {
		p.input = earlier
	}
	return err
}

// awaitApproval holds back what the spec newly asks for, where spec.rollout is Manual, until its version is approved. What was launched before is launched on, with
// the bootstrap data of today. It waits neither for the first version, nor for a rollback, nor for a template that is being taken over.
func (r *Reconciler) awaitApproval(ctx context.Context, p *pass) reconciling.Outcome {
	config := p.config
	config.Status.PendingVersion = 0
	if pinned := config.Spec.PinnedVersion; pinned != nil {
		reconciling.False(config, infrav1.RolloutApprovedCondition, infrav1.PinnedReason,
			fmt.Sprintf("the configuration of version %d is launched, which pinnedVersion names, whatever else the spec asks for", *pinned))
		return reconciling.Continue()
	}
	if config.Spec.Rollout != infrav1.LaunchConfigRolloutManual {
		reconciling.Remove(config, infrav1.RolloutApprovedCondition)
		return reconciling.Continue()
	}
	asked := p.input.Fingerprints.Config
	launched, exists := launchedVersion(p)
	if !exists || launched.Fingerprints.Config == asked || config.Status.RolledBackFrom != "" || p.seen.Untouched() || approved(p, asked) {
		reconciling.True(config, infrav1.RolloutApprovedCondition, infrav1.ApprovedReason, "")
		return reconciling.Continue()
	}
	pending := p.input
	p.pending, p.unapproved = &pending, true
	reconciling.False(config, infrav1.RolloutApprovedCondition, infrav1.WaitingForApprovalReason, "the version that is to be approved is being made")
	return r.launch(ctx, p, launched.Number)
}

// launchedVersion is the version that was launched before: status says it, and if that was lost the default version does, which follows it.
func launchedVersion(p *pass) (launchtemplate.Version, bool) {
	if p.seen.Template == nil {
		return launchtemplate.Version{}, false
	}
	if p.config.Status.LaunchTemplateID == p.seen.Template.ID {
		if version, exists := versionOf(p.seen, p.config.Status.Version); exists {
			return version, true
		}
	}
	return versionOf(p.seen, p.seen.Template.DefaultVersion)
}

func versionOf(seen launchtemplate.Observation, number int64) (launchtemplate.Version, bool) {
	i := slices.IndexFunc(seen.Versions, func(version launchtemplate.Version) bool { return version.Number == number })
	if i < 0 {
		return launchtemplate.Version{}, false
	}
	return seen.Versions[i], true
}

// approved is true if the version that the annotation names has the config. An annotation that was meant for another edit approves nothing.
func approved(p *pass, config string) bool {
	number, err := strconv.ParseInt(p.config.Annotations[infrav1.ApprovedVersionAnnotation], 10, 64)
	if err != nil {
		return false
	}
	version, exists := versionOf(p.seen, number)
	return exists && version.Fingerprints.Config == config
}

// added is a version of what is not launched yet.
type added struct {
	number int64
	// change is what differs from what is launched, in words, warning what EC2 said when the version was made in this pass.
	change, warning string
}

// addVersion makes a version of what is not launched yet, unless there is one, and tells people.
func (r *Reconciler) addVersion(ctx context.Context, p *pass, input launchtemplate.Input) (added, error) {
	if err := r.verify(ctx, p); err != nil {
		return added{}, err
	}
	version, seen, change, err := p.cloud.Templates.Add(ctx, launchtemplate.Wanted{Owner: owner(p.config), Input: input}, p.seen)
	if err != nil {
		if !aws.IsHeldBack(err) {
			r.memory.forgetTemplate(p.key())
		}
		return added{}, err
	}
	p.seen = seen
	r.remember(p)
	made := added{number: version.Number, change: r.pendingChange(ctx, p, version.Number, input), warning: change.Warning}
	if change.VersionCreated != 0 {
		event, waits := "LaunchTemplateVersionCreated", ""
		if p.unapproved {
			event, waits = "LaunchTemplateVersionPending", ", which waits for approval"
		}
		r.Report.Progress.VersionCreated("config")
		r.Report.Done(ctx, p.config, event, "Created version %d of launch template %s%s: %s", version.Number, p.seen.Template.Name, waits, made.change)
	}
	if change.Warning != "" {
		r.Report.Warn(ctx, p.config, "LaunchTemplateDataInvalid", "EC2 stored version %d with a warning: %s", version.Number, change.Warning)
	}
	return made, nil
}

// ensurePending makes the version that is held back, and says in words what it would change.
func (r *Reconciler) ensurePending(ctx context.Context, p *pass) error {
	if p.pending == nil {
		return nil
	}
	made, err := r.addVersion(ctx, p, *p.pending)
	if err != nil {
		return err
	}
	p.config.Status.PendingVersion = made.number
	if !p.unapproved {
		return nil
	}
	what := made.change
	if made.warning != "" {
		what += "; EC2 warns of it: " + made.warning
	}
	reconciling.False(p.config, infrav1.RolloutApprovedCondition, infrav1.WaitingForApprovalReason,
		fmt.Sprintf("version %d waits for annotation %s: %q: %s", made.number, infrav1.ApprovedVersionAnnotation, strconv.FormatInt(made.number, 10), what))
	return nil
}

// pendingChange says what a version that is held back would change. It was found out when the version was made, and is kept with the version's reason.
func (r *Reconciler) pendingChange(ctx context.Context, p *pass, number int64, input launchtemplate.Input) string {
	if why := r.reasons(p, "")[number]; why != "" {
		return why
	}
	data, err := p.cloud.Templates.Data(ctx, p.seen.Template.ID, p.seen.Template.DefaultVersion)
	why := configurationChanged
	if err == nil {
		why = inWords(launchtemplate.Changes(data, input))
	}
	r.noteReason(p, number, why)
	return why
}

// keepSteered counts the versions as used that are held back, or that the spec names.
func keepSteered(p *pass, inUse map[int64]bool) {
	if p.config.Spec.PinnedVersion != nil {
		inUse[*p.config.Spec.PinnedVersion] = true
	}
	if pending := p.config.Status.PendingVersion; pending != 0 {
		inUse[pending] = true
	}
}
