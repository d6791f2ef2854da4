package awslaunchconfig

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// A config with spec.verify launches nothing of which EC2 has not said that it would launch it. What the spec newly asks for is made a version beside what is
// launched, and tried, before it becomes the default and pools see it (ADR 0061).

// summary is how the Ready condition follows from the others, Verified among them where it is asked for.
func summary(config *infrav1.AWSLaunchConfig) reconciling.Summary {
	all := ready
	if config.Spec.Existing != nil {
		all.Of = []string{infrav1.ClusterInfrastructureReadyCondition, infrav1.LaunchTemplateReadyCondition, infrav1.ResolvedCondition}
	}
	if config.Spec.Verify != "" {
		all.Of = append(slices.Clone(ready.Of), infrav1.VerifiedCondition)
	}
	return all
}

// tryAsked has EC2 try what the spec newly asks for, whether that is to be approved too or not, and holds it back for as long as the answer is no.
func (r *Reconciler) tryAsked(ctx context.Context, p *pass) reconciling.Outcome {
	status := &p.config.Status
	if p.config.Spec.Verify == "" {
		reconciling.Remove(p.config, infrav1.VerifiedCondition)
		status.VerifiedFingerprint = ""
		return reconciling.Continue()
	}
	asked := p.input
	if p.pending != nil {
		asked = *p.pending
	}
	launched, exists := launchedVersion(p)
	if !exists || launched.Fingerprints.Config == asked.Fingerprints.Config || p.seen.Untouched() {
		return reconciling.Continue() // nothing else could be launched meanwhile
	}
	if status.VerifiedFingerprint == asked.Fingerprints.Config {
		reconciling.True(p.config, infrav1.VerifiedCondition, infrav1.ReadyReason, "")
		return reconciling.Continue()
	}
	made, err := r.addVersion(ctx, p, asked)
	if err != nil {
		return outcome.Of(p.config, infrav1.LaunchTemplateReadyCondition, failureReason(p, err), err)
	}
	refused := r.try(ctx, p, made, asked)
	if status.VerifiedFingerprint == asked.Fingerprints.Config {
		return refused
	}
	if p.pending == nil {
		p.pending = &asked
		if err := r.putBack(ctx, p, launched.Number); err != nil {
			return outcome.Of(p.config, infrav1.LaunchTemplateReadyCondition, infrav1.LaunchTemplateReconcileFailedReason, err)
		}
	}
	r.tryLaunched(ctx, p, launched.Number)
	return refused.AndGoOn()
}

// tryLaunched finds out whether pools can go on with what is launched, if that is not known: status was lost, or something else was found good after it.
func (r *Reconciler) tryLaunched(ctx context.Context, p *pass, number int64) {
	refused := meta.FindStatusCondition(p.config.Status.Conditions, infrav1.VerifiedCondition)
	if refused.Status != metav1.ConditionFalse || p.config.Status.VerifiedFingerprint == p.input.Fingerprints.Config {
		return
	}
	if err := r.dryRun(ctx, p, number, p.input); err != nil {
		reconciling.False(p.config, infrav1.VerifiedCondition, refused.Reason,
			fmt.Sprintf("%s; nor can pools go on with what is launched: %s", refused.Message, aws.UserMessage(err)))
		return
	}
	p.config.Status.VerifiedFingerprint = p.input.Fingerprints.Config
}

// tryLaunch has EC2 try what is launched, where nothing is held back: a first version, which is its template's default from the start, and one that was launched
// before anybody asked for a try. The config is not ready until the answer is yes, so that no pool uses it.
func (r *Reconciler) tryLaunch(ctx context.Context, p *pass) reconciling.Outcome {
	if p.config.Spec.Verify == "" || p.pending != nil {
		return reconciling.Continue()
	}
	if p.config.Status.VerifiedFingerprint == p.input.Fingerprints.Config {
		reconciling.True(p.config, infrav1.VerifiedCondition, infrav1.ReadyReason, "")
		return reconciling.Continue()
	}
	return r.try(ctx, p, added{number: p.version.Number}, p.input)
}

// try asks EC2 whether it would launch an instance from a version, and shows the answer. It asks once for a configuration that it would launch, and again for as long
// as the answer is no. A version that EC2 stored with a warning is not launched, whatever a dry run says.
func (r *Reconciler) try(ctx context.Context, p *pass, version added, input launchtemplate.Input) reconciling.Outcome {
	status := &p.config.Status
	shown := meta.FindStatusCondition(status.Conditions, infrav1.VerifiedCondition)
	switch {
	case version.warning != "":
		message := fmt.Sprintf("EC2 stored version %d with a warning: %s", version.number, version.warning)
		reconciling.False(p.config, infrav1.VerifiedCondition, infrav1.LaunchTemplateDataInvalidReason, message)
		return reconciling.Stop(message)
	case shown != nil && shown.Reason == infrav1.LaunchTemplateDataInvalidReason && shown.ObservedGeneration == p.config.Generation:
		return reconciling.Stop(shown.Message) // EC2 warns once, when the version is made
	case shown == nil || shown.Status == metav1.ConditionTrue:
		// What was said of another configuration must not stand while EC2 can not be asked.
		reconciling.Unknown(p.config, infrav1.VerifiedCondition, infrav1.VerifyingReason, "")
	}
	if err := r.dryRun(ctx, p, version.number, input); err != nil {
		return outcome.Of(p.config, infrav1.VerifiedCondition, infrav1.DryRunFailedReason, err)
	}
	status.VerifiedFingerprint = input.Fingerprints.Config
	reconciling.True(p.config, infrav1.VerifiedCondition, infrav1.ReadyReason, "")
	return reconciling.Continue()
}

// dryRun tries a version in the first private subnet of the cluster, in the zone of the spec's placement if it names one.
func (r *Reconciler) dryRun(ctx context.Context, p *pass, number int64, input launchtemplate.Input) error {
	query := discovery.SubnetQuery{VPCID: p.facts.VPCID, ClusterSubnets: p.facts.Subnets}
	if placement := p.config.Spec.Placement; placement != nil && placement.AvailabilityZone != "" {
		query.AvailabilityZones = []string{placement.AvailabilityZone}
	}
	subnets, err := p.cloud.Discovery.SubnetIDs(ctx, query)
	if err != nil {
		return err
	}
	return p.cloud.Templates.DryRun(ctx, p.seen.Template.ID, number, input, subnets[0].ID)
}
