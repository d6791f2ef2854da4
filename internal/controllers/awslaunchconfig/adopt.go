package awslaunchconfig

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// runningImage is that of the newest version that CAPA made, or the one that is looked up if that can not have been meant.
func (r *Reconciler) runningImage(
	ctx context.Context, p *pass, key, architecture string, lookUp func() (discovery.Image, error),
) (discovery.Image, string, error) {
	running, _ := p.seen.NewestForeign(math.MaxInt64)
	if running.ImageID != "" {
		image, err := p.cloud.Discovery.ImageByID(ctx, running.ImageID)
		var missing *discovery.NotFoundError
		if err != nil && !errors.As(err, &missing) {
			return image, key, err
		}
		if err == nil && discovery.Suits(imageQuery(&p.config.Spec, p.facts, architecture), image) {
			return image, key, nil
		}
	}
	image, err := lookUp()
	return image, key, err
}

// acceptedFor are the versions that count as the wanted config although no fingerprint of theirs says so. They are read from the template's tag, or
// from status if somebody took the tag away. Versions that are being taken over, and those of a template that was lost, are added once: as what the
// spec asks for now.
func acceptedFor(p *pass) launchtemplate.Accepted {
	accepted := acceptedBefore(p)
	if config := p.input.Fingerprints.Config; len(p.deleted) > 0 && p.config.Status.ConfigFingerprint == config {
		return accepted.WithDeleted(p.seen.Template.ID, config, p.deleted)
	}
	return accepted
}

// acceptedBefore is acceptedFor without the versions that were found deleted in this pass.
func acceptedBefore(p *pass) launchtemplate.Accepted {
	status := &p.config.Status
	accepted := launchtemplate.Accepted{Config: status.ConfigFingerprint, Versions: status.AcceptedVersions}
	switch {
	case p.seen.Template == nil && p.lost != "":
		accepted = launchtemplate.Lost(p.lost, status.ConfigFingerprint, status.Versions, accepted)
	case p.seen.Template != nil:
		if tagged, ok := launchtemplate.ParseAccepted(p.seen.Template.Tags[infrav1.TagAccepted]); ok {
			accepted = tagged
		}
	}
	adopt := p.config.Annotations[infrav1.AdoptTemplateAnnotation]
	if adopt == "" || slices.ContainsFunc(accepted.Versions, func(versions infrav1.AcceptedVersions) bool { return versions.LaunchTemplateID == adopt }) {
		return accepted
	}
	// Of a template that is gone, whose instances are taken over, nobody knows how many versions there were.
	taken := infrav1.AcceptedVersions{LaunchTemplateID: adopt, First: 1, Last: math.MaxInt32}
	if p.seen.Template != nil && p.seen.Template.ID == adopt {
		taken.Last = p.seen.NewestSeen()
	}
	config := p.input.Fingerprints.Config
	return launchtemplate.Accepted{Config: config, Versions: append([]infrav1.AcceptedVersions{taken}, accepted.Of(config)...)}
}

// mostDifferences is how many are named in a condition.
const mostDifferences = 12

// reportAdoption says of a template that was taken over what its instances run otherwise than the spec asks for.
func reportAdoption(p *pass) error {
	own := slices.IndexFunc(p.accepted.Versions, func(versions infrav1.AcceptedVersions) bool {
		return versions.LaunchTemplateID == p.seen.Template.ID
	})
	if own < 0 {
		reconciling.Remove(p.config, infrav1.AdoptedCondition)
		return nil
	}
	said := meta.FindStatusCondition(p.config.Status.Conditions, infrav1.AdoptedCondition)
	if p.seen.Recorded && said != nil && p.accepted.Config == p.input.Fingerprints.Config {
		reconciling.True(p.config, infrav1.AdoptedCondition, said.Reason, said.Message) // what is written down of versions does not say what is in them
		return nil
	}
	through := p.accepted.Versions[own].Last
	message := fmt.Sprintf("versions up to %d of launch template %s are Cluster API Provider AWS's", through, p.seen.Template.Name)
	foreign, exists := p.seen.NewestForeign(through)
	if !exists && said == nil {
		return nil // versions of Slipway's that were deleted by hand
	}
	if !exists || p.accepted.Config != p.input.Fingerprints.Config {
		reconciling.True(p.config, infrav1.AdoptedCondition, infrav1.AdoptedReason, message)
		return nil
	}
	wanted, err := p.input.Settings()
	if err != nil {
		return err
	}
	differences := foreign.Settings.Differences(wanted)
	if len(differences) == 0 {
		reconciling.True(p.config, infrav1.AdoptedCondition, infrav1.AdoptedReason, message+", and are what the spec asks for")
		return nil
	}
	if more := len(differences) - mostDifferences; more > 0 {
		differences = append(differences[:mostDifferences], fmt.Sprintf("and %d more", more))
	}
	reconciling.True(p.config, infrav1.AdoptedCondition, infrav1.AdoptedWithDifferencesReason, fmt.Sprintf(
		"%s. The spec asks for something else: %s. Instances of theirs are kept until the next edit of what a node is, or until the pool has annotation %s: \"true\"",
		message, strings.Join(differences, "; "), infrav1.RollAdoptedAnnotation))
	return nil
}
