package managedmachinepool

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// settle holds back what is newly wanted of the node group until that has not changed for a while,
// so that a batch of edits makes one update. Sizes are not held back.
func settle(in input, plan *reconcile.Plan) bool {
	if wantedUnknown(in) {
		return true
	}
	status := &in.Object.Status
	if config := launchable(in); config != nil {
		status.WantedVersion = config.Status.Version
	}
	key := desiredNodegroup(in).Key()
	since := wantedSince(in, key)
	status.WantedConfig, status.WantedSince = key, &since
	if wait := settleWait(in, key); exists(in) && wait > 0 {
		plan.LookAgain(wait)
	}
	return true
}

// wantedUnknown reports whether it is not known what nodes should be launched from: the launch
// config is not ready.
func wantedUnknown(in input) bool { return in.Object.Spec.Templated() && launchable(in) == nil }

// held reports whether what is wanted, which a key identifies, is held back: edits settle, roll-outs
// are paused, or the launch config is not ready.
func held(in input, key string) bool {
	return wantedUnknown(in) || exists(in) && (paused(in) || settleWait(in, key) > 0)
}

// paused reports whether the user pauses roll-outs.
func paused(in input) bool { return infrav1.RolloutPaused(in.Object.Annotations) }

// wantedSince returns since when this is wanted.
func wantedSince(in input, key string) metav1.Time {
	if status := in.Object.Status; status.WantedConfig == key && status.WantedSince != nil {
		return *status.WantedSince
	}
	return pool.RoundedUp(in.Now)
}

// settleWait returns for how long this must still be wanted before it is rolled out.
func settleWait(in input, key string) time.Duration {
	return in.Seen.Settings.SettleWindow - in.Now.Sub(wantedSince(in, key).Time)
}
