package provisionerstatus

import (
	"context"
	"slices"
	"strings"
	"time"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// reportStarts says whether launches are held back because the last nodes failed to start.
func (r *Reconciler) reportStarts(_ context.Context, p *pass) reconciling.Outcome {
	message, next := startsOf(p.provisioner, p.nodes, r.Clock.Now())
	if message == "" {
		reconciling.True(p.provisioner, provisioningv1.NodesStartCondition, provisioningv1.ReadyReason, "")
		return reconciling.Continue()
	}
	reconciling.False(p.provisioner, provisioningv1.NodesStartCondition, provisioningv1.StartTimeoutReason, bounded(message))
	if next > 0 {
		return reconciling.ContinueAndComeBack(next, "nodes may be launched again then")
	}
	return reconciling.Continue()
}

// startsOf returns what holds launches back, "" if nothing, and how long it is until the first of
// it does no longer; zero if it does for good. The message is the same until then.
func startsOf(provisioner *provisioningv1.Provisioner, nodes []provisioningv1.ProvisionedNode, now time.Time) (message string, next time.Duration) {
	var parts []string
	for i := range provisioner.Status.FailedStarts {
		entry := &provisioner.Status.FailedStarts[i]
		left, held := clusterstate.Wait(provisioner, nodes, entry, now)
		if !held || !launchesFrom(provisioner, entry) {
			continue
		}
		parts = append(parts, clusterstate.Explain(provisioner, entry))
		if left > 0 && (next == 0 || left < next) {
			next = left
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ". "), next
}

// launchesFrom reports whether nodes may be launched from an entry's version: status does not say
// that another one of its launch template took its place.
func launchesFrom(provisioner *provisioningv1.Provisioner, entry *provisioningv1.FailedStart) bool {
	replaced := false
	for _, known := range provisioner.Status.LaunchTemplates {
		if known.ID == entry.LaunchTemplateID && known.Version == entry.LaunchTemplateVersion {
			return true
		}
		replaced = replaced || known.ID == entry.LaunchTemplateID
	}
	return !replaced
}
