package awsmachinepool

import (
	"context"
	"strings"
	"time"

	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/controllers/common"
)

// visibleAfter is how long after a change of ours what is seen may be from before it.
const visibleAfter = time.Minute

// asGiven is true if the pool asks for what its group was given last: if the group is another now, somebody else changed it.
func (r *Reconciler) asGiven(p *pass, desired autoscalinggroup.Desired) bool {
	if written, known := r.changed.Get(p.key()); known && r.Clock.Since(written) < visibleAfter {
		return false
	}
	applied := common.AppliedOf(p.pool)
	settings, launches := desired.Digests()
	return applied.Settings == settings && (launches == "" || applied.Launches == launches)
}

// reportUpdate tells what of the group was changed, and whether that is what somebody else had changed.
func (r *Reconciler) reportUpdate(ctx context.Context, p *pass, done []string, outside bool) {
	if len(done) == 0 {
		return
	}
	r.changed.Put(p.key(), r.Clock.Now())
	if !outside {
		r.Report.Done(ctx, p.pool, "ASGUpdated", "Updated Auto Scaling group %s: %s", p.group.Name, strings.Join(done, "; "))
		return
	}
	r.reportOutside(ctx, p, done)
	// Who changed one thing may have changed what is looked at more rarely.
	if !p.hooksChecked {
		r.hookLooks.Put(p.key(), hookLook{at: r.Clock.Now(), now: true})
	}
}

func (r *Reconciler) reportOutside(ctx context.Context, p *pass, done []string) {
	r.Report.Warn(ctx, p.pool, "ASGChangedOutside", "Auto Scaling group %s was changed outside Slipway: %s; it is set back", p.group.Name, strings.Join(done, "; "))
}
