package launchconfig

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// decideVersion makes the wanted version exist and the default, and the version exist that is held
// back, and shows all in status. It returns the wanted version, and false while something is due or
// in the way.
func decideVersion(in Input, asked asked, launch steered, plan *reconcile.Plan) (launchtemplate.Version, bool) {
	seen, input := in.Seen.Template, launch.input
	present, exists := seen.Newest(input.Fingerprints)
	if seen.Recorded && (!exists || !present.Default) {
		plan.Need(needVersions)
		return launchtemplate.Version{}, false
	}
	tags, accepted := in.Seen.Access.Facts.AskedTags(in.Object.Spec.AdditionalTags), acceptedFor(in, input)
	given := asGiven(in, input, tags)
	why, known := versionReason(in, input, given, plan)
	if !known {
		return launchtemplate.Version{}, false
	}
	wanted := launchtemplate.Wanted{
		Owner: owner(in.Object), UID: string(in.Object.UID), Names: freeNames(in), Input: input, Lost: in.Object.Status.LastLostTemplateID, Adopt: seen.Adopt,
		Tags: templateTags(in, asked, accepted), RetiredTags: retiredTags(in, tags),
	}
	err := operationFailure(in)
	var operations []launchtemplate.Operation
	if err == nil {
		operations, err = wanted.Plan(seen.Observation)
	}
	if err != nil {
		versionFailed(in, input, plan, err)
		return launchtemplate.Version{}, false
	}
	if len(operations) > 0 {
		annotateTags(in, plan, func(config *infrav1.AWSLaunchConfig) { ownership.AnnounceTags(config, tags) })
		for _, operation := range operations {
			if _, creates := operation.(launchtemplate.CreateTemplate); creates {
				// It was meant for a version of an earlier template, and the versions of this one are numbered from 1.
				pool.RemoveApproval(in.Object, plan)
			}
			planOperation(plan, operation, why, given)
		}
		return launchtemplate.Version{}, false
	}
	if repaired := repairs(in); repaired != "" {
		plan.Tell(reconcile.Warningf(infrav1.LaunchTemplateChangedOutsideEvent, "Launch template %s was changed outside Slipway: %s. Slipway changed it back", seen.Template.Name, repaired))
	}
	showReady(in, present)
	number, pendingWhy, made := decidePending(in, launch, plan)
	changed := changedAt(in, present)
	if lacksVersions(in) {
		reconciling.Unknown(in.Object, infrav1.VersionsPrunedCondition, infrav1.VersionsNotVisibleReason, "EC2 does not yet return all versions of "+
			"the launch template. Slipway retries")
	}
	writeStatus(in, present, input.Fingerprints, accepted, reasons(in, map[int64]string{present.Number: why, number: pendingWhy}))
	in.Object.Status.LaunchTemplateChanged = changed
	recorded := recordLaunch(in, present, func(from int64) (string, bool) { return changesFrom(in, from, input, plan) })
	if !made || !recorded {
		return launchtemplate.Version{}, false
	}
	if err := reportAdoption(in, input, accepted); err != nil {
		plan.Fail(err)
		return launchtemplate.Version{}, false
	}
	annotateTags(in, plan, func(config *infrav1.AWSLaunchConfig) { ownership.ConfirmTags(config, tags) })
	return present, true
}

// retiredTags returns the keys of the tags that the template was given and that the spec no longer
// requests, none if they were removed in this pass.
func retiredTags(in Input, tags map[string]string) []string {
	if reconcile.Succeeded[removeTags](in.Done) {
		return nil
	}
	return ownership.RetiredTags(in.Object, tags)
}

// planOperation adds an operation on the template, with the reason for it. Given is true if the
// template was in the wanted state before, and was changed outside Slipway.
func planOperation(plan *reconcile.Plan, operation launchtemplate.Operation, why string, given bool) {
	switch operation := operation.(type) {
	case launchtemplate.CreateTemplate:
		plan.Do(createTemplate{CreateTemplate: operation, Why: why}, "%s", why)
	case launchtemplate.CreateVersion:
		plan.Do(createVersion{CreateVersion: operation, Why: why}, "%s", why)
	case launchtemplate.SetDefault:
		if given {
			plan.Do(setDefault{SetDefault: operation, Given: true}, "version %d was made the default outside Slipway", operation.From)
		} else {
			plan.Do(setDefault{SetDefault: operation, Why: why}, "%s", why)
		}
	case launchtemplate.SetTags:
		reason := "the spec requests them"
		switch {
		case operation.Adopt:
			reason = reasonAdopted
		case given:
			reason = "they were changed outside Slipway"
		}
		plan.Do(setTags{SetTags: operation, Given: given}, "%s", reason)
	case launchtemplate.RemoveTags:
		plan.Do(removeTags{operation}, "the spec no longer requests them")
	}
}

// operationFailure returns the error of an operation that failed in this pass, nil if none did. It
// ignores a version that is created next to the wanted one.
func operationFailure(in Input) error {
	for _, done := range in.Done {
		_, is := done.Action.(launchtemplate.Operation)
		if version, creates := done.Action.(createVersion); creates && version.Beside {
			continue
		}
		if is && done.Err != nil {
			return done.Err
		}
	}
	return nil
}

// versionFailed says what is in the way of the wanted version.
func versionFailed(in Input, input launchtemplate.Input, plan *reconcile.Plan, err error) {
	if present, exists := in.Seen.Template.Newest(input.Fingerprints); exists && in.Seen.Warnings[present.Number] != "" {
		// EC2 warns once: it must not be forgotten because a call after it failed.
		in.Object.Status.Version = present.Number
		reconciling.False(in.Object, infrav1.LaunchTemplateReadyCondition, infrav1.LaunchTemplateDataInvalidReason, in.Seen.Warnings[present.Number])
		plan.Fail(err)
		return
	}
	versionRefused(in, plan, err)
}

func failureReason(in Input, err error) string {
	var taken *launchtemplate.NamesTakenError
	if errors.As(err, &taken) {
		return infrav1.NameTakenReason
	}
	if in.Seen.Template.Template == nil {
		return infrav1.LaunchTemplateCreateFailedReason
	}
	return infrav1.LaunchTemplateReconcileFailedReason
}

// annotateTags records which tags were asked for last, as a function of package common does it.
func annotateTags(in Input, plan *reconcile.Plan, record func(*infrav1.AWSLaunchConfig)) {
	recorded := &infrav1.AWSLaunchConfig{}
	recorded.Annotations = maps.Clone(in.Object.Annotations)
	record(recorded)
	if text := recorded.Annotations[ownership.LastAppliedTagsAnnotation]; text != in.Object.Annotations[ownership.LastAppliedTagsAnnotation] {
		plan.Annotate(ownership.LastAppliedTagsAnnotation, text)
	}
}

// mostTags limits the number of tags of a resource (AWS: Using_Tags, tag restrictions).
const mostTags = 50

// templateTags returns the tags of the template itself: the tags of its instances, and Slipway's
// own tags, such as the owner tag.
func templateTags(in Input, asked asked, accepted launchtemplate.Accepted) map[string]string {
	tags := maps.Clone(asked.resolved.Tags)
	tags[infrav1.TagLaunchConfig] = owner(in.Object)
	if text := accepted.Text(); text != "" {
		tags[infrav1.TagAccepted] = text
	}
	// Users may set 44 tags. Of Slipway's own tags, only this one can be derived from status too.
	if asked.resolved.TokensRequired && len(tags) < mostTags {
		tags[infrav1.TagTokens] = string(infrav1.HTTPTokensRequired)
	}
	return tags
}

// asGiven reports whether the wanted version was the default before, with the same tags. If the
// template differs now, it was changed outside Slipway. Status describes the last pass; a change
// that it no longer shows cannot be distinguished from an edit.
func asGiven(in Input, input launchtemplate.Input, tags map[string]string) bool {
	status, seen := &in.Object.Status, in.Seen.Template
	if seen.Template == nil || status.LaunchTemplateID != seen.Template.ID || !ownership.TagsApplied(in.Object, tags) || recentlyChanged(in) {
		return false
	}
	if made, exists := seen.Version(seen.Template.DefaultVersion); exists && !made.Foreign && status.FindVersion(made.Number) == nil {
		return false // a pass made it whose status was not written
	}
	present, exists := seen.Newest(input.Fingerprints)
	return exists && status.Version == present.Number && status.DefaultVersion == present.Number
}

// repairs describes the changes made outside Slipway that this pass reverted.
func repairs(in Input) string {
	var found []string
	for _, done := range in.Done {
		switch action := done.Action.(type) {
		case setDefault:
			if action.Given {
				found = append(found, action.Repair())
			}
		case setTags:
			if repair := action.Repair(); action.Given && repair != "" {
				found = append(found, repair)
			}
		}
	}
	return strings.Join(found, "; ")
}

// Human-readable reasons for creating a version.
const (
	reasonFirst    = "first version"
	reasonToken    = "join token rotated"
	reasonDelivery = "bootstrap data is stored in another place"
	reasonLost     = "the launch template was deleted outside Slipway"
	reasonAdopted  = "adopted from Cluster API Provider AWS"
)

// Why a configuration came back, as the beginning of a reason.
const (
	rolledBackPrefix = "rolled back: "
	pinnedPrefix     = "pinned: "
)

// versionReason describes why a config is wanted: how its data differs from the data that was
// launched before. The reason is therefore correct after any sequence of edits, after a crash, and
// after a restart. It stays for as long as the version is wanted, and is "" once it can no longer
// be determined. Given is true if the version was wanted before, and the default was changed
// outside Slipway.
func versionReason(in Input, input launchtemplate.Input, given bool, plan *reconcile.Plan) (string, bool) {
	status, seen := &in.Object.Status, in.Seen.Template
	if why := reasonDone(in); why != "" {
		return why, true
	}
	present, exists := seen.Newest(input.Fingerprints)
	same := seen.Template != nil && status.LaunchTemplateID == seen.Template.ID
	if why := reasons(in, nil)[present.Number]; exists && same && status.Version == present.Number && (present.Default || given) && why != "" {
		return why, true
	}
	if why := beginning(in, present, exists); why != "" {
		return why, true
	}
	return changeOf(in, input, plan)
}

// changeOf returns a human-readable difference between a config and what was launched before it
// came to be wanted, "" if it is not known what was.
func changeOf(in Input, input launchtemplate.Input, plan *reconcile.Plan) (string, bool) {
	wanted := input.Fingerprints
	before, known := launchedBefore(in, wanted)
	switch {
	case !known:
		return "", true
	case before.Fingerprints.Config == wanted.Config && (wanted.Data != "" || before.Fingerprints.Data != ""):
		return reasonDelivery, true
	case before.Fingerprints.Config == wanted.Config:
		return reasonToken, true
	}
	why, read := changesFrom(in, before.Number, input, plan)
	if !read {
		return "", false
	}
	if in.Object.Status.RolledBackFrom != "" {
		why = rolledBackPrefix + why
	}
	if in.Object.Spec.PinnedVersion != nil {
		why = pinnedPrefix + why
	}
	return bounded(why), true
}

// reasonDone returns the reason that the wanted version was made for in this pass, "" if it was not.
func reasonDone(in Input) (why string) {
	for _, done := range in.Done {
		switch action := done.Action.(type) {
		case createTemplate:
			why = action.Why
		case createVersion:
			if !action.Beside {
				why = action.Why
			}
		case setDefault:
			if !action.Given {
				why = action.Why
			}
		}
	}
	return why
}

// beginning returns the reason of the version that is the first of Slipway's in its template, ""
// for any other. The version exists, or is about to be made.
func beginning(in Input, present launchtemplate.Version, exists bool) string {
	seen, status := in.Seen.Template, &in.Object.Status
	lost := status.LastLostTemplateID != "" && (seen.Template == nil || status.LastLostTemplateID == status.LaunchTemplateID && status.LaunchTemplateID != seen.Template.ID)
	others := slices.DeleteFunc(slices.Clone(seen.Versions), func(version launchtemplate.Version) bool { return exists && version.Number == present.Number })
	ours := slices.ContainsFunc(others, func(version launchtemplate.Version) bool { return !version.Foreign })
	switch {
	case ours || len(seen.Versions) == 0 && seen.Template != nil || seen.Recorded || exists && present.Foreign:
		return ""
	case lost:
		return reasonLost
	case len(others) > 0:
		return reasonAdopted
	}
	return reasonFirst
}

// launchedBefore returns the version that was launched before a config came to be wanted, as status
// says it, or the default version, which follows what is wanted.
func launchedBefore(in Input, wanted launchtemplate.Fingerprints) (launchtemplate.Version, bool) {
	seen, status := in.Seen.Template, &in.Object.Status
	if seen.Template == nil {
		return launchtemplate.Version{}, false
	}
	numbers := []int64{seen.Template.DefaultVersion}
	if status.LaunchTemplateID == seen.Template.ID {
		numbers = []int64{status.Version, seen.Template.DefaultVersion}
	}
	for _, number := range numbers {
		version, exists := seen.Version(number)
		if exists && (version.Fingerprints.Config != wanted.Config || version.Fingerprints.Bootstrap != wanted.Bootstrap) {
			return version, true
		}
	}
	return launchtemplate.Version{}, false
}

// reasons returns, by number, why versions came to be wanted: the given reasons, and the ones that
// status remembers.
func reasons(in Input, given map[int64]string) map[int64]string {
	all := map[int64]string{}
	status, template := &in.Object.Status, in.Seen.Template.Template
	if template != nil && status.LaunchTemplateID == template.ID {
		for _, version := range status.Versions {
			all[version.Number] = version.Reason
		}
	}
	for number, why := range given {
		if why != "" {
			all[number] = why
		}
	}
	return all
}

// showReady says whether the wanted version is good.
func showReady(in Input, present launchtemplate.Version) {
	created := wasDone(in, func(action createVersion) bool { return !action.Beside }) || wasDone(in, func(createTemplate) bool { return true })
	shown := meta.FindStatusCondition(in.Object.Status.Conditions, infrav1.LaunchTemplateReadyCondition)
	warned := shown != nil && shown.Reason == infrav1.LaunchTemplateDataInvalidReason && in.Object.Status.Version == present.Number
	switch warning := in.Seen.Warnings[present.Number]; {
	case warning != "":
		reconciling.False(in.Object, infrav1.LaunchTemplateReadyCondition, infrav1.LaunchTemplateDataInvalidReason, warning)
	case !created && warned:
		// EC2 warns once, when the version is made; it stays true until another version is wanted.
	default:
		reconciling.True(in.Object, infrav1.LaunchTemplateReadyCondition, infrav1.ReadyReason, "")
	}
}

// changedAt returns when the template was last changed by this controller: now, if this pass
// changed it, or if status does not know yet of a change.
func changedAt(in Input, present launchtemplate.Version) *metav1.Time {
	status, template := &in.Object.Status, in.Seen.Template.Template
	changed := status.LaunchTemplateID != template.ID || status.Version != present.Number || status.DefaultVersion != template.DefaultVersion
	for _, done := range in.Done {
		_, is := done.Action.(launchtemplate.Operation)
		version, creates := done.Action.(createVersion)
		changed = changed || is && done.Err == nil && (!creates || !version.Beside)
	}
	if changed {
		return &metav1.Time{Time: ceiling(in.Now)}
	}
	return status.LaunchTemplateChanged
}

// writeStatus says which version is wanted and which exist, and by number why.
func writeStatus(in Input, wanted launchtemplate.Version, fingerprints launchtemplate.Fingerprints, accepted launchtemplate.Accepted, reasons map[int64]string) {
	status, seen := &in.Object.Status, in.Seen.Template
	status.LaunchTemplateID, status.LaunchTemplateName = seen.Template.ID, seen.Template.Name
	status.Version, status.DefaultVersion = wanted.Number, seen.Template.DefaultVersion
	status.ConfigFingerprint, status.BootstrapFingerprint = fingerprints.Config, fingerprints.Bootstrap
	status.CurrentVersions = unseenVersions(in, fingerprints.Config)
	status.Versions = versionStatuses(seen.Observation, reasons)
	status.UsedBy, status.Users = users(in.Seen.Usages)
	for _, version := range seen.Versions {
		if version.Fingerprints.Config == fingerprints.Config {
			status.CurrentVersions = append(status.CurrentVersions, version.Number)
		}
	}
	slices.Sort(status.CurrentVersions)
	status.AcceptedVersions = nil
	if in.Object.Annotations[infrav1.RollAdoptedAnnotation] != "true" {
		status.AcceptedVersions = accepted.Of(fingerprints.Config)
	}
	status.History = withUsers(in.Object, seen.Observation, in.Seen.Usages)
}

// unseenVersions returns the numbers of versions that may have a configuration and that EC2 does not
// return yet: reads skip them, and status does not record another configuration for them. A pass that
// could not write its status may have created one. Instances that run it are not replaced before
// EC2 returns it.
func unseenVersions(in Input, config string) (numbers []int64) {
	if !mayLackVersions(in) {
		return nil
	}
	status, seen := &in.Object.Status, in.Seen.Template
	newest := seen.NewestSeen()
	for number := max(1, newest-infrav1.MaxLaunchConfigStatusVersions+1); number < newest; number++ {
		known := status.FindVersion(number)
		if _, exists := seen.Version(number); !exists && (known == nil || known.ConfigFingerprint == config) {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// versionStatuses are the newest versions, with their reasons; an earlier version that is wanted
// again has a new one.
func versionStatuses(seen launchtemplate.Observation, reasons map[int64]string) []infrav1.LaunchTemplateVersionStatus {
	var statuses []infrav1.LaunchTemplateVersionStatus
	for _, version := range seen.NewestFirst() {
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
		Created: metav1.NewTime(version.Created), ImageID: version.ImageID, Market: version.Market, Reason: reason,
	}
}
