package awslaunchconfig

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/reconciling"
)

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

// tryVersion has EC2 say whether it would launch an instance from the wanted version, if the spec asks for that: once for each configuration, and again for
// as long as the answer is no. The config is not ready until it is yes, so that no pool uses the version.
func (r *Reconciler) tryVersion(ctx context.Context, p *pass) reconciling.Outcome {
	status := &p.config.Status
	if p.config.Spec.Verify == "" {
		meta.RemoveStatusCondition(&status.Conditions, infrav1.VerifiedCondition)
		status.VerifiedFingerprint = ""
		return reconciling.Continue()
	}
	if status.VerifiedFingerprint != p.input.Fingerprints.Config {
		if meta.IsStatusConditionTrue(status.Conditions, infrav1.VerifiedCondition) {
			// What was said of another configuration must not stand while EC2 can not be asked.
			reconciling.Unknown(p.config, infrav1.VerifiedCondition, infrav1.VerifyingReason, "")
		}
		if err := r.dryRun(ctx, p); err != nil {
			return outcome.Of(p.config, infrav1.VerifiedCondition, infrav1.DryRunFailedReason, err)
		}
		status.VerifiedFingerprint = p.input.Fingerprints.Config
	}
	reconciling.True(p.config, infrav1.VerifiedCondition, infrav1.ReadyReason, "")
	return reconciling.Continue()
}

// dryRun tries the wanted version in the first private subnet of the cluster, in the zone of the spec's placement if it names one.
func (r *Reconciler) dryRun(ctx context.Context, p *pass) error {
	query := discovery.SubnetQuery{VPCID: p.facts.VPCID, ClusterSubnets: p.facts.Subnets}
	if placement := p.config.Spec.Placement; placement != nil && placement.AvailabilityZone != "" {
		query.AvailabilityZones = []string{placement.AvailabilityZone}
	}
	subnets, err := p.cloud.Discovery.SubnetIDs(ctx, query)
	if err != nil {
		return err
	}
	return p.cloud.Templates.DryRun(ctx, p.seen.Template.ID, p.version.Number, p.input, subnets[0].ID)
}
