package nodelifecycle

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/metrics"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/report"
)

// reporter reports events, and measures the stages of a node's start by how its status changes.
type reporter struct {
	report.Reporter
	clock clock.PassiveClock
}

// PatchStatus implements reconcile.Reporter. It warns of no condition: what a user should know about
// a node is reported on its Provisioner.
func (r reporter) PatchStatus(ctx context.Context, c client.Client, object, before reconciling.Conditioned) error {
	if err := reconciling.PatchStatus(ctx, c, object, before); err != nil {
		return err
	}
	node, isNode := object.(*provisioningv1.ProvisionedNode)
	stored, wasNode := before.(*provisioningv1.ProvisionedNode)
	if !isNode || !wasNode || node.DeletionTimestamp != nil {
		return nil
	}
	for _, stage := range stagesReached(node, stored) {
		r.Progress.NodeStarted(node, stage, r.clock.Now())
	}
	replacing := meta.FindStatusCondition(node.Status.Conditions, provisioningv1.ReplacingCondition)
	if replacing != nil && replacing.Status == metav1.ConditionTrue {
		r.Progress.NodeReplacing(node, replacing.Reason)
	}
	return nil
}

// stagesReached returns the stages of its start that a node has reached since it was stored.
func stagesReached(node, stored *provisioningv1.ProvisionedNode) []string {
	var stages []string
	if stored.Status.InstanceID == "" && node.Status.InstanceID != "" {
		stages = append(stages, metrics.StageLaunched)
	}
	registered := func(node *provisioningv1.ProvisionedNode) bool {
		return clusterstate.IsTrue(node, provisioningv1.RegisteredCondition)
	}
	if stored.Status.ReadyTime == nil && !registered(stored) && registered(node) {
		stages = append(stages, metrics.StageRegistered)
	}
	if stored.Status.ReadyTime == nil && node.Status.ReadyTime != nil {
		stages = append(stages, metrics.StageReady)
	}
	return stages
}
