package launchconfig

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// Act implements reconcile.Kind.
func (k *kind) Act(ctx context.Context, pass pass, action reconcile.Action) ([]reconcile.Event, error) {
	cloud := pass.Memory.cloud
	if operation, why, waits := operationOf(action); operation != nil {
		return k.operate(ctx, pass, operation, why, waits)
	}
	switch action := action.(type) {
	case storeBootstrap:
		return k.storeBootstrap(ctx, pass, action)
	case dryRun:
		return nil, tryVersion(ctx, pass, action)
	case prune:
		return nil, pruneVersions(ctx, pass, action)
	case sweepStorage:
		deleted, err := cloud.Storage.Sweep(ctx, action.Place, action.Owner, action.Keep, action.Also)
		if err != nil || deleted == 0 || !action.Tell {
			return nil, err
		}
		return []reconcile.Event{reconcile.Eventf(infrav1.BootstrapDataDeletedEvent, "Deleted the bootstrap data in %s", action.Place)}, nil
	case releaseVersion:
		_, after, err := cloud.Templates.Release(ctx, action.Owner, action.Input, pass.Seen.Template.Observation)
		return nil, fold(pass, after, err)
	case disownTemplate:
		if err := cloud.Templates.Disown(ctx, action.Owner, action.Template); err != nil {
			return nil, err
		}
		noteEnded(pass, action.Template.Name)
		return []reconcile.Event{reconcile.Eventf(infrav1.LaunchTemplateReleasedEvent, "Released launch template %s to Cluster API Provider AWS", action.Template.Name)}, nil
	case deleteTemplate:
		if err := cloud.Templates.Delete(ctx, action.Owner, action.Template); err != nil {
			return nil, err
		}
		noteEnded(pass, action.Template.Name)
		return []reconcile.Event{reconcile.Eventf(infrav1.LaunchTemplateDeletedEvent, "Deleted launch template %s (%s)", action.Template.Name, action.Template.ID)}, nil
	}
	return nil, fmt.Errorf("unknown action %T", action)
}

// operationOf returns the operation on the template that an action is, with the reason of the
// version that it makes, and whether that waits for approval.
func operationOf(action reconcile.Action) (operation launchtemplate.Operation, why string, waits bool) {
	switch action := action.(type) {
	case createTemplate:
		return action.CreateTemplate, action.Why, false
	case createVersion:
		return action.CreateVersion, action.Why, action.Waits
	case setDefault:
		return action.SetDefault, "", false
	case setTags:
		return action.SetTags, "", false
	case removeTags:
		return action.RemoveTags, "", false
	}
	return nil, "", false
}

// causes are the words that metrics have for the reasons of versions. Whatever else is a
// configuration that changed.
var causes = map[string]string{reasonFirst: "first", reasonToken: "token", reasonDelivery: "delivery", reasonLost: "lost", reasonAdopted: "adopted"}

// operate does an operation on the template. Why is the reason of a version.
func (k *kind) operate(ctx context.Context, pass pass, operation launchtemplate.Operation, why string, waits bool) ([]reconcile.Event, error) {
	before := pass.Seen.Template.Template
	answer, after, err := pass.Memory.cloud.Templates.Do(ctx, operation, pass.Seen.Template.Observation)
	if err := fold(pass, after, err); err != nil {
		return nil, err
	}
	var events []reconcile.Event
	template, number := pass.Seen.Template.Template, answer.Version.Number
	switch operation := operation.(type) {
	case launchtemplate.CreateTemplate:
		k.versionCreated(pass, cmp.Or(causes[why], "config"))
		events = append(events, reconcile.Eventf(infrav1.LaunchTemplateCreatedEvent, "Created launch template %s (%s): %s", template.Name, template.ID, why))
	case launchtemplate.CreateVersion:
		for from, data := range pass.Memory.data {
			if data.TemplateID() != template.ID {
				continue
			}
			// Pools say what differs when they roll the version out.
			pass.Memory.cloud.Discovery.KnowTemplateChanges(ctx, template.ID, from, number, launchtemplate.Changes(data, operation.Input))
		}
		if answer.Repeated {
			break // EC2 answered with a version that it had created before
		}
		reason, what := infrav1.LaunchTemplateVersionCreatedEvent, ""
		if waits {
			reason, what = infrav1.LaunchTemplateVersionPendingEvent, ", which waits for approval"
		}
		if operation.Beside {
			k.Report.Progress.VersionCreated("config")
		} else {
			k.versionCreated(pass, cmp.Or(causes[why], "config"))
		}
		events = append(events, reconcile.Eventf(reason, "Created version %d of launch template %s%s: %s", number, template.Name, what, why))
	case launchtemplate.SetTags:
		if operation.Adopt && before != nil {
			events = append(events, reconcile.Eventf(infrav1.LaunchTemplateAdoptedEvent, "Adopted launch template %s, which "+
				"Cluster API Provider AWS created", before.Name))
		}
	}
	if answer.Warning != "" {
		if pass.Seen.Warnings == nil {
			pass.Seen.Warnings = map[int64]string{}
		}
		pass.Seen.Warnings[number] = answer.Warning
		events = append(events, reconcile.Warningf(infrav1.LaunchTemplateDataInvalidEvent, "EC2 stored version %d with a warning: %s", number, answer.Warning))
	}
	return events, nil
}

func (k *kind) versionCreated(pass pass, cause string) {
	k.Report.Progress.VersionCreated(cause)
	k.Report.Progress.Versioned(pass.Object, true, k.Clock.Now())
}

// fold takes an observation for what is there after a call, unless the call failed: what AWS has
// then is not known, so that the next pass describes it.
func fold(pass pass, after launchtemplate.Observation, err error) error {
	seen, memory := &pass.Seen.Template, pass.Memory
	if err != nil {
		if !aws.IsHeldBack(err) {
			memory.forgetTemplate()
			for _, name := range names(pass.Object) {
				memory.cloud.SeenTemplates.Invalidate(name)
			}
		}
		return err
	}
	seen.Observation = after
	remember(pass)
	return nil
}

// remember keeps the template as the calls of this pass left it, so that nothing describes it
// again. A template that the pass did not change stays as the sweeps saw it last.
func remember(pass pass) {
	seen, memory := &pass.Seen.Template, pass.Memory
	if !seen.Recorded {
		memory.seen = seen.Settled()
	}
	if seen.swept == nil || !reflect.DeepEqual(*seen.swept, *seen.Template) {
		memory.cloud.SeenTemplates.Replace(seen.Template.Name, seen.swept, *seen.Template)
		seen.swept = seen.Template
	}
}

// storeBootstrap puts bootstrap data where user data points to.
func (k *kind) storeBootstrap(ctx context.Context, pass pass, action storeBootstrap) ([]reconcile.Event, error) {
	written, err := pass.Memory.cloud.Storage.Put(ctx, action.Item, action.Known)
	if err != nil {
		// It is unknown what the write left there, so the next pass reads it.
		pass.Memory.stored, pass.Seen.Stored = storedItem{}, storedItem{}
		return nil, err
	}
	pass.Seen.Stored = storedItem{Location: action.Item.Location, Digest: action.Item.Digest(), Seen: k.Clock.Now()}
	pass.Memory.stored = pass.Seen.Stored
	if !written || !action.Told {
		return nil, nil
	}
	return []reconcile.Event{reconcile.Eventf(infrav1.BootstrapDataStoredEvent, "Wrote the bootstrap data to %s", action.Item.Location.URL(action.Item.Owner))}, nil
}

// tryVersion tries a version in the first private subnet of the cluster, in the zone of the spec's
// placement if it names one.
func tryVersion(ctx context.Context, pass pass, action dryRun) error {
	facts, cloud := pass.Seen.Access.Facts, pass.Memory.cloud
	query := discovery.SubnetQuery{VPCID: facts.VPCID, ClusterSubnets: facts.Subnets}
	if placement := pass.Object.Spec.Placement; placement != nil && placement.AvailabilityZone != "" {
		query.AvailabilityZones = []string{placement.AvailabilityZone}
	}
	subnets, err := cloud.Discovery.SubnetIDs(ctx, query)
	if err != nil {
		return err
	}
	if err := cloud.Templates.DryRun(ctx, action.TemplateID, action.Number, action.Input, subnets[0].ID); err != nil {
		return err
	}
	pass.Seen.Verified = append(slices.Clone(pass.Seen.Verified), action.Input.Fingerprints.Config)
	return nil
}

// pruneVersions deletes versions.
func pruneVersions(ctx context.Context, pass pass, action prune) error {
	after, refused, err := pass.Memory.cloud.Templates.Prune(ctx, owner(pass.Object), pass.Seen.Template.Observation, action.Numbers)
	if err := fold(pass, after, err); err != nil {
		return err
	}
	pass.Seen.Refused = refused
	if len(refused) == 0 {
		pass.Memory.lastAsked = time.Time{}
	}
	return nil
}

// noteEnded records that the config no longer has a template.
func noteEnded(pass pass, name string) {
	pass.Seen.Template.Template, pass.Seen.Template.Ended = nil, true
	pass.Memory.forgetTemplate()
	pass.Memory.cloud.SeenTemplates.Invalidate(name)
}
