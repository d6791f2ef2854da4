package scheduler

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// begin learns what an earlier process launched, once. The cache may have begun with a list from
// before its last launches, so it asks the API server: passes go on when the cache shows everything
// that was there then. Launches of the last minute count against the budget.
func (r *Reconciler) begin(ctx context.Context, _ *pass) reconciling.Outcome {
	if r.begun {
		return reconciling.Continue()
	}
	var nodes provisioningv1.ProvisionedNodeList
	if err := r.Live.List(ctx, &nodes); err != nil {
		return reconciling.Fail(fmt.Errorf("listing ProvisionedNodes: %w", err))
	}
	if len(nodes.Items) > 0 {
		now, err := serverTime(ctx, r.Client)
		if err != nil {
			return reconciling.Fail(err)
		}
		r.Budget.Recover(ages(nodes.Items, now))
	}
	for i := range nodes.Items {
		r.created.add(nodes.Items[i].Name)
	}
	r.begun = true
	return reconciling.Continue()
}

// ages returns how old objects are at least, by the API server's clock, which counts seconds.
func ages(nodes []provisioningv1.ProvisionedNode, now metav1.Time) []time.Duration {
	old := make([]time.Duration, 0, len(nodes))
	for i := range nodes {
		old = append(old, max(now.Sub(nodes[i].CreationTimestamp.Time)-time.Second, 0))
	}
	return old
}

// serverTime returns the time of the API server's clock: the one that it gives to an object which
// it does not store. Creation times are compared with it alone, because the clock of this machine
// may go otherwise.
func serverTime(ctx context.Context, c client.Client) (metav1.Time, error) {
	probe := &provisioningv1.ProvisionedNode{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "time-"},
		Spec: provisioningv1.ProvisionedNodeSpec{
			Provisioner: "none", Cluster: "none", Launch: provisioningv1.NodeLaunch{Name: "none", Nodes: 1},
			LaunchTemplate: provisioningv1.LaunchTemplateVersion{ID: "none", Version: 1}, Architecture: provisioningv1.ArchitectureAMD64,
			CapacityType: provisioningv1.CapacityTypeOnDemand, Offerings: []provisioningv1.NodeOffering{{InstanceType: "none", Zone: "none"}},
		},
	}
	if err := c.Create(ctx, probe, client.DryRunAll); err != nil {
		return metav1.Time{}, fmt.Errorf("asking the API server for its time: %w", err)
	}
	return probe.CreationTimestamp, nil
}
