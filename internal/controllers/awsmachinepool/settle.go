package awsmachinepool

import (
	"context"
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// settle holds the group back from what is newly wanted until that has not changed for a while, so that a batch of edits makes one roll-out. It holds
// nothing back that replaces no instance: a rotated token reaches the group at once.
func (r *Reconciler) settle(_ context.Context, p *pass) reconciling.Outcome {
	if p.config == nil {
		return reconciling.Continue()
	}
	p.wanted = wantedOf(p)
	r.noteWanted(p)
	if p.group == nil || p.group.Deleting || p.wanted.Launches(*p.group) {
		return reconciling.Continue()
	}
	if p.pool.Spec.LaunchConfigRef != nil && p.group.LaunchTemplateID != p.wanted.TemplateID {
		rolloutStatus(p.pool).Cause = fmt.Sprintf("AWSLaunchConfig %s, with launch template %s", p.config.Name, p.wanted.TemplateID)
	} else if number, err := strconv.ParseInt(p.group.Version, 10, 64); err == nil {
		rolloutStatus(p.pool).Cause = common.Shortened(reasonsBetween(p, number))
	}
	// A group whose template is gone launches nothing.
	lost := p.config.Status.LastLostTemplateID != "" && p.config.Status.LastLostTemplateID == p.group.LaunchTemplateID
	wait := r.SettleWindow - r.Clock.Since(p.pool.Status.WantedSince.Time)
	if lost || wait <= 0 {
		return reconciling.Continue()
	}
	p.settling = true
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

// noteWanted writes down since when this is wanted. Where status was lost, the age of the versions tells.
func (r *Reconciler) noteWanted(p *pass) {
	status := &p.pool.Status
	status.WantedVersion = p.wanted.Version
	key := p.wanted.Key()
	if status.WantedConfig == key && status.WantedSince != nil {
		return
	}
	since := r.Clock.Now()
	if status.WantedConfig == "" {
		since = madeAt(p.config, since)
	}
	status.WantedConfig, status.WantedSince = key, ptr.To(metav1.NewTime(since))
}

// madeAt is when the first of the versions with the wanted config was made, or the given time.
func madeAt(config *infrav1.AWSLaunchConfig, otherwise time.Time) time.Time {
	for _, version := range config.Status.Versions { // newest first
		if version.ConfigFingerprint == config.Status.ConfigFingerprint && !version.Created.IsZero() {
			otherwise = version.Created.Time
		}
	}
	return otherwise
}

// reasonsBetween says what differs between an earlier version and the wanted one.
func reasonsBetween(p *pass, from int64) string {
	if configs(p.config)[from] == p.wanted.Config {
		return "images or templates of overrides changed"
	}
	return common.ReasonsBetween(&p.config.Status, from)
}

// cause is why instances are replaced, in words.
func cause(p *pass) string {
	if record := p.pool.Status.Rollout; record != nil {
		return record.Cause
	}
	return ""
}

// withCause puts the cause before a message, if it is known.
func withCause(p *pass, message string) string {
	if why := cause(p); why != "" {
		return fmt.Sprintf("%s; %s", why, message)
	}
	return message
}
