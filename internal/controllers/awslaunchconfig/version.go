package awslaunchconfig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// ensureVersion makes the wanted version exist, the default, and known in status.
func (r *Reconciler) ensureVersion(ctx context.Context, p *pass) reconciling.Outcome {
	asked, accepted := p.facts.AskedTags(p.config.Spec.AdditionalTags), acceptedFor(p)
	given := r.asGiven(p, asked)
	wanted := launchtemplate.Wanted{
		Owner: owner(p.config), UID: string(p.config.UID), Names: freeNames(p), Input: p.input, Lost: p.lost, Adopt: p.adopt,
		Tags:        templateTags(p, accepted),
		RetiredTags: common.RetiredTags(p.config, asked),
	}
	if err := reconciling.Patch(ctx, r.Client, p.config, func(config *infrav1.AWSLaunchConfig) { common.AnnounceTags(config, asked) }); err != nil {
		return reconciling.Fail(err)
	}
	if present, exists := p.seen.Newest(p.input.Fingerprints); !exists || !present.Default {
		if err := r.verify(ctx, p); err != nil {
			return outcome.Of(p.config, infrav1.LaunchTemplateReadyCondition, infrav1.LaunchTemplateReconcileFailedReason, err)
		}
	}
	reason := ""
	if !given {
		reason = r.reason(ctx, p)
	}
	version, seen, change, err := p.cloud.Templates.Ensure(ctx, wanted, p.seen)
	if aws.IsHeldBack(err) && change == (launchtemplate.Change{}) {
		// Nothing was sent: AWS has what was seen.
		return outcome.Of(p.config, infrav1.LaunchTemplateReadyCondition, failureReason(p, err), err)
	}
	if !reflect.DeepEqual(p.seen.Template, seen.Template) {
		r.memory.changed.Put(p.key(), r.Clock.Now())
	}
	if err != nil {
		return r.versionFailed(ctx, p, wanted.Names, change, reason, err)
	}
	p.version, p.seen, p.accepted = version, seen, accepted
	r.remember(p)
	r.Report.Progress.Versioned(p.config, change.VersionCreated != 0, r.Clock.Now())
	r.report(ctx, p, change, reason)
	if given && change.Repaired != "" {
		r.Report.Warn(ctx, p.config, "LaunchTemplateChangedOutside", "Launch template %s was changed outside Slipway: %s; it is set back",
			p.seen.Template.Name, change.Repaired)
	}
	if end := r.showVersion(ctx, p, reason); end != nil {
		return *end
	}
	if err := reconciling.Patch(ctx, r.Client, p.config, func(config *infrav1.AWSLaunchConfig) { common.ConfirmTags(config, asked) }); err != nil {
		return reconciling.Fail(err)
	}
	return reconciling.Continue()
}

// versionFailed reports what was done before a call failed. What AWS has now is not known, so that the next pass describes it.
func (r *Reconciler) versionFailed(ctx context.Context, p *pass, names []string, change launchtemplate.Change, reason string, err error) reconciling.Outcome {
	r.reportChange(ctx, p, names[0], change, reason)
	r.memory.forgetTemplate(p.key())
	for _, name := range names {
		p.cloud.SeenTemplates.Invalidate(name)
	}
	if change.Warning != "" {
		// EC2 warns once: it must not be forgotten because a call after it failed.
		p.config.Status.Version = change.VersionCreated
		reconciling.False(p.config, infrav1.LaunchTemplateReadyCondition, infrav1.LaunchTemplateDataInvalidReason, change.Warning)
		return reconciling.Fail(err)
	}
	return outcome.Of(p.config, infrav1.LaunchTemplateReadyCondition, failureReason(p, err), err)
}

// showVersion makes the version that is held back, if one is, and shows all in status. The outcome ends the step, if it is not nil.
func (r *Reconciler) showVersion(ctx context.Context, p *pass, reason string) *reconciling.Outcome {
	err := r.ensurePending(ctx, p)
	writeStatus(p, r.reasons(p, reason))
	r.recordLaunch(p, func(from int64) string {
		data, err := p.cloud.Templates.Data(ctx, p.seen.Template.ID, from)
		if err != nil {
			return configurationChanged
		}
		return inWords(launchtemplate.Changes(data, p.input))
	})
	if err != nil {
		end := outcome.Of(p.config, infrav1.LaunchTemplateReadyCondition, infrav1.LaunchTemplateReconcileFailedReason, err)
		return &end
	}
	if err := reportAdoption(p); err != nil {
		end := reconciling.Fail(err)
		return &end
	}
	return nil
}

// asGiven reports whether what is wanted was the default version before, with the same tags: if the template differs now, somebody else changed it.
// Status is of the last pass; what it no longer says cannot be distinguished from an edit.
func (r *Reconciler) asGiven(p *pass, asked map[string]string) bool {
	status := &p.config.Status
	if p.seen.Template == nil || status.LaunchTemplateID != p.seen.Template.ID || !common.TagsApplied(p.config, asked) {
		return false
	}
	if r.recentlyChanged(p) {
		return false
	}
	present, exists := p.seen.Newest(p.input.Fingerprints)
	return exists && status.Version == present.Number && status.DefaultVersion == present.Number
}

// mostTags is how many tags a resource can have (AWS: Using_Tags, tag restrictions).
const mostTags = 50

// templateTags are the tags of the template itself: those of its instances, and whose it is.
func templateTags(p *pass, accepted launchtemplate.Accepted) map[string]string {
	tags := maps.Clone(p.resolved.Tags)
	tags[infrav1.TagLaunchConfig] = owner(p.config)
	if text := accepted.Text(); text != "" {
		tags[infrav1.TagAccepted] = text
	}
	// Users may give 44 tags, and of those that are ours this is the one that can be told from status too.
	if p.resolved.TokensRequired && len(tags) < mostTags {
		tags[infrav1.TagTokens] = string(infrav1.HTTPTokensRequired)
	}
	return tags
}

func failureReason(p *pass, err error) string {
	var taken *launchtemplate.NamesTakenError
	if errors.As(err, &taken) {
		return infrav1.NameTakenReason
	}
	if p.seen.Template == nil {
		return infrav1.LaunchTemplateCreateFailedReason
	}
	return infrav1.LaunchTemplateReconcileFailedReason
}

// remember keeps the template as the calls of this pass left it, so that nothing describes it again. A template that the pass did not change stays as the
// sweeps saw it last.
func (r *Reconciler) remember(p *pass) {
	if !p.seen.Recorded {
		r.memory.seen.Put(p.key(), p.seen)
	}
	if p.swept == nil || !reflect.DeepEqual(*p.swept, *p.seen.Template) {
		p.cloud.SeenTemplates.Replace(p.seen.Template.Name, p.swept, *p.seen.Template)
		p.swept = p.seen.Template
	}
}

// Why a version is made, in words.
const (
	reasonFirst    = "first version"
	reasonToken    = "join token rotated"
	reasonDelivery = "bootstrap data reaches instances in another way"
	reasonLost     = "the launch template was deleted by somebody else"
	reasonAdopted  = "taken over from Cluster API Provider AWS"
	// configurationChanged is said where what differs is not known.
	configurationChanged = "configuration changed"
)

// causes are the words that metrics have for them. Whatever else is a configuration that changed.
var causes = map[string]string{reasonFirst: "first", reasonToken: "token", reasonDelivery: "delivery", reasonLost: "lost", reasonAdopted: "adopted"}

// reason says in words why the wanted version came to be wanted, "" if it was wanted before.
func (r *Reconciler) reason(ctx context.Context, p *pass) string {
	wanted := p.input.Fingerprints
	present, exists := p.seen.Newest(wanted)
	switch {
	case p.seen.Template == nil && p.lost != "":
		return reasonLost
	case p.seen.Template != nil && p.seen.Untouched():
		return reasonAdopted
	case p.seen.Template == nil:
		return reasonFirst
	case exists && present.Default || len(p.seen.Versions) == 0:
		return ""
	}
	if why := sameNode(p.seen.Versions, wanted); why != "" {
		return why
	}
	why := r.whatDiffers(ctx, p)
	if p.config.Status.RolledBackFrom != "" {
		why = rolledBackPrefix + why
	}
	if p.config.Spec.PinnedVersion != nil {
		why = pinnedPrefix + why
	}
	return why
}

// sameNode says what else changed where a node from the wanted version is what it was, "" where it is another. The default version follows what
// is wanted, so it is what was wanted before; status may have been lost.
func sameNode(versions []launchtemplate.Version, wanted launchtemplate.Fingerprints) string {
	for _, version := range versions {
		switch {
		case !version.Default || version.Fingerprints.Config != wanted.Config:
		case wanted.Data != "" || version.Fingerprints.Data != "":
			return reasonDelivery
		default:
			return reasonToken
		}
	}
	return ""
}

// report tells people what was done, and whether the version is good.
func (r *Reconciler) report(ctx context.Context, p *pass, change launchtemplate.Change, reason string) {
	r.reportChange(ctx, p, p.seen.Template.Name, change, reason)
	switch {
	case change.Warning != "":
		reconciling.False(p.config, infrav1.LaunchTemplateReadyCondition, infrav1.LaunchTemplateDataInvalidReason, change.Warning)
	case change.VersionCreated == 0 && warned(p):
		// EC2 warns once, when the version is made; it stays true until another version is wanted.
	default:
		reconciling.True(p.config, infrav1.LaunchTemplateReadyCondition, infrav1.ReadyReason, "")
	}
}

// reportChange tells people what was made, also when a call after that failed.
func (r *Reconciler) reportChange(ctx context.Context, p *pass, name string, change launchtemplate.Change, reason string) {
	if change.Adopted {
		r.Report.Done(ctx, p.config, "LaunchTemplateAdopted", "Took over launch template %s, which Cluster API Provider AWS made", name)
	}
	if change.VersionCreated != 0 {
		r.Report.Progress.VersionCreated(cmp.Or(causes[reason], "config"))
	}
	switch {
	case change.TemplateCreated != "":
		r.Report.Done(ctx, p.config, "LaunchTemplateCreated", "Created launch template %s (%s): %s", name, change.TemplateCreated, reason)
	case change.VersionCreated != 0:
		r.Report.Done(ctx, p.config, "LaunchTemplateVersionCreated", "Created version %d of launch template %s: %s", change.VersionCreated, name, reason)
	}
	if change.Warning != "" {
		r.Report.Warn(ctx, p.config, "LaunchTemplateDataInvalid", "EC2 stored version %d with a warning: %s", change.VersionCreated, change.Warning)
	}
}

// warned is true if EC2 warned of the version that is still the wanted one.
func warned(p *pass) bool {
	for _, condition := range p.config.Status.Conditions {
		if condition.Type == infrav1.LaunchTemplateReadyCondition {
			return condition.Reason == infrav1.LaunchTemplateDataInvalidReason && p.config.Status.Version == p.version.Number
		}
	}
	return false
}

// reasons say by number why versions came to be wanted: the given one for the wanted version unless empty, and those that were given before. Status has them,
// unless the config was edited between the call to EC2 and the status patch, which then failed: what has been told is remembered until the version goes.
func (r *Reconciler) reasons(p *pass, reason string) map[int64]string {
	reasons := map[int64]string{}
	for _, version := range p.config.Status.Versions {
		reasons[version.Number] = version.Reason
	}
	remembered, _ := r.memory.reasons.Get(p.key())
	for _, version := range p.seen.Versions {
		if why, known := remembered[version.Number]; known {
			reasons[version.Number] = why
		}
	}
	if reason != "" {
		reasons[p.version.Number] = reason
		r.memory.reasons.Put(p.key(), reasons)
	}
	return reasons
}

// noteReason remembers why a version that is not wanted yet was made.
func (r *Reconciler) noteReason(p *pass, number int64, why string) {
	reasons := r.reasons(p, "")
	reasons[number] = why
	r.memory.reasons.Put(p.key(), reasons)
}

// writeStatus says which version is wanted and which exist, and by number why.
func writeStatus(p *pass, reasons map[int64]string) {
	status := &p.config.Status
	status.LaunchTemplateID, status.LaunchTemplateName = p.seen.Template.ID, p.seen.Template.Name
	status.LastLostTemplateID = p.lost
	status.Version, status.DefaultVersion = p.version.Number, p.seen.Template.DefaultVersion
	status.ConfigFingerprint, status.BootstrapFingerprint = p.input.Fingerprints.Config, p.input.Fingerprints.Bootstrap
	status.Versions = versionStatuses(p, reasons)
	status.UsedBy, status.Users = users(p.usages)
	status.CurrentVersions = nil
	for _, version := range p.seen.Versions {
		if version.Fingerprints.Config == p.input.Fingerprints.Config {
			status.CurrentVersions = append(status.CurrentVersions, version.Number)
		}
	}
	slices.Sort(status.CurrentVersions)
	status.AcceptedVersions = nil
	if p.config.Annotations[infrav1.RollAdoptedAnnotation] != "true" {
		status.AcceptedVersions = p.accepted.Of(p.input.Fingerprints.Config)
	}
	status.History = withUsers(p.config, p.seen, p.usages)
}

// versionStatuses are the newest versions, with their reasons; an earlier version that is wanted again has a new one.
func versionStatuses(p *pass, reasons map[int64]string) []infrav1.LaunchTemplateVersionStatus {
	var statuses []infrav1.LaunchTemplateVersionStatus
	for _, version := range p.seen.NewestFirst() {
		if len(statuses) == infrav1.MaxLaunchConfigStatusVersions {
			break
		}
		statuses = append(statuses, versionStatus(version, reasons[version.Number]))
	}
	return statuses
}

func versionStatus(version launchtemplate.Version, reason string) infrav1.LaunchTemplateVersionStatus {
	return infrav1.LaunchTemplateVersionStatus{
		Number: version.Number, ConfigFingerprint: version.Fingerprints.Config, BootstrapFingerprint: version.Fingerprints.Bootstrap,
		Created: metav1.NewTime(version.Created), ImageID: version.ImageID, Reason: reason,
	}
}

// usersVisibleAfter is when groups and instances that were created from a version while it was wanted are certain to be described.
const usersVisibleAfter = 30 * time.Second

// recentlyWanted returns for how long versions that were wanted before are not pruned. A pool may have created its group, or AWS an instance, from
// one of them right before the wanted version changed, and descriptions lag behind.
func (r *Reconciler) recentlyWanted(p *pass) time.Duration {
	changed, _ := r.memory.changed.Get(p.key())
	// After a restart, the newest version tells.
	for _, version := range p.seen.NewestFirst()[:1] {
		if version.Created.After(changed) {
			changed = version.Created
		}
	}
	return usersVisibleAfter - r.Clock.Since(changed)
}

// prune deletes versions beyond spec.versionsToKeep that nobody uses. It never keeps the config from being ready.
func (r *Reconciler) prune(ctx context.Context, p *pass) reconciling.Outcome {
	keep := int(ptr.Deref(p.config.Spec.VersionsToKeep, infrav1.DefaultVersionsToKeep))
	if !launchtemplate.PruneDue(p.seen.Versions, keep, p.version.Number) {
		reconciling.True(p.config, infrav1.VersionsPrunedCondition, infrav1.ReadyReason, "")
		return reconciling.Continue()
	}
	if until, _ := r.memory.idle.Get(p.key()); r.Clock.Now().Before(until) {
		return reconciling.ContinueAndComeBack(until.Sub(r.Clock.Now()), "versions are in use")
	}
	if wait := r.recentlyWanted(p); wait > 0 {
		return reconciling.ContinueAndComeBack(wait, "AWS may not show yet who uses the versions that were wanted before")
	}
	// What is remembered may lack a version that was created right before the others, when reads lagged behind it. No other read would ever find it.
	if err := r.readVersions(ctx, p); err != nil {
		return outcome.Of(p.config, infrav1.VersionsPrunedCondition, infrav1.PruneFailedReason, err)
	}
	known := make([]int64, 0, len(p.seen.Versions))
	for _, version := range p.seen.Versions {
		known = append(known, version.Number)
	}
	inUse, err := r.inUse(ctx, p.cloud, p.config, p.seen.Template.ID, known)
	if err != nil {
		return outcome.Of(p.config, infrav1.VersionsPrunedCondition, infrav1.PruneFailedReason, err)
	}
	if err := r.keepGood(ctx, p, inUse); err != nil {
		return reconciling.Fail(err)
	}
	plan := launchtemplate.PrunePlan(p.seen.Versions, keep, p.version.Number, inUse)
	if len(plan) == 0 {
		r.memory.idle.Put(p.key(), r.Clock.Now().Add(pruneAgain))
		reconciling.True(p.config, infrav1.VersionsPrunedCondition, infrav1.ReadyReason, "versions above versionsToKeep are in use")
		return reconciling.ContinueAndComeBack(pruneAgain, "versions are in use")
	}
	seen, refused, err := p.cloud.Templates.Prune(ctx, owner(p.config), p.seen, plan)
	if err != nil {
		r.memory.forgetTemplate(p.key())
		return outcome.Of(p.config, infrav1.VersionsPrunedCondition, infrav1.PruneFailedReason, err)
	}
	p.seen = seen
	r.remember(p)
	writeStatus(p, r.reasons(p, ""))
	if len(refused) > 0 {
		message := fmt.Sprintf("EC2 refused to delete versions: %v", refused)
		reconciling.False(p.config, infrav1.VersionsPrunedCondition, infrav1.PruneFailedReason, message)
		return reconciling.ContinueAndComeBack(pruneAgain, message)
	}
	if err := r.sweepStored(ctx, p); err != nil {
		// What is left is found by the next sweep, or when the config is deleted.
		return outcome.Of(p.config, infrav1.VersionsPrunedCondition, infrav1.PruneFailedReason, err)
	}
	r.Report.Done(ctx, p.config, "LaunchTemplateVersionsPruned", "Deleted versions %v of launch template %s", plan, p.seen.Template.Name)
	reconciling.True(p.config, infrav1.VersionsPrunedCondition, infrav1.ReadyReason, "")
	return reconciling.Continue()
}
