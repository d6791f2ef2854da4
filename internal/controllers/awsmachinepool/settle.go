package awsmachinepool

import (
	"context"

	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// settle holds the group back from what is newly wanted until that has not changed for a while, so that a batch of edits makes one roll-out. It holds
// nothing back that replaces no instance: a rotated token reaches the group at once.
func (r *Reconciler) settle(ctx context.Context, p *pass) reconciling.Outcome {
	if p.config == nil {
		return reconciling.Continue()
	}
	p.wanted = wantedOf(p)
	r.noteWanted(p)
	if p.group == nil || p.group.Deleting || p.wanted.Launches(*p.group) {
		return reconciling.Continue()
	}
	// A group whose template is gone launches nothing.
	lost := p.config.Status.LastLostTemplateID != "" && p.config.Status.LastLostTemplateID == p.group.LaunchTemplateID
	wait := common.SettleWait(p.pool.Status.WantedSince, r.SettleWindow, r.Clock)
	if lost || wait <= 0 {
		setCause(ctx, p)
		return reconciling.Continue()
	}
	p.settling, p.cause = true, causeOf(ctx, p.cloud.Discovery, p)
	return reconciling.ContinueAndComeBack(wait, "the spec changed a moment ago")
}

// wantedOf is what the pool's instances should run.
func wantedOf(p *pass) *autoscalinggroup.Wanted {
	status := p.config.Status
	wanted := &autoscalinggroup.Wanted{
		TemplateID: status.LaunchTemplateID, Config: status.ConfigFingerprint, Versions: status.CurrentVersions, Version: status.Version,
		Accepted: status.AcceptedVersions,
	}
	for _, version := range status.Versions {
		if version.Number == status.Version {
			wanted.ImageID = version.ImageID
		}
	}
	if policy := p.pool.Spec.MixedInstancesPolicy; policy != nil {
		wanted.Overrides = policy.Overrides
	}
	return wanted
}

// noteWanted records since when this is wanted.
func (r *Reconciler) noteWanted(p *pass) {
	status := &p.pool.Status
	status.WantedVersion = p.wanted.Version
	key := p.wanted.Key()
	if status.WantedConfig == key && status.WantedSince != nil {
		return
	}
	status.WantedConfig, status.WantedSince = key, common.SettleFrom(r.Clock)
}
