package provisionednode

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/fleet"
)

// Collector ends instances that no ProvisionedNode knows: what a launch made of which the answer was lost together with the object. It is a manager's Runnable.
type Collector struct {
	Client client.Client
	Fleets *fleet.Fleets
	Clock  clock.WithTicker
	// Interval between two looks.
	Interval time.Duration

	// suspects are instances that nobody knew at the last look.
	suspects map[string]bool
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (c *Collector) NeedLeaderElection() bool { return true }

// Start looks until the context ends.
func (c *Collector) Start(ctx context.Context) error {
	ticker := c.Clock.NewTicker(c.Interval)
	defer ticker.Stop()
	for {
		if err := c.look(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "Looking for instances that nobody knows")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// look ends what nobody knew at the last look either: between the two, whoever launched it has written it down. Instances of a launch that waits for its answer are left alone.
func (c *Collector) look(ctx context.Context) error {
	var nodes provisioningv1.ProvisionedNodeList
	var provisioners provisioningv1.ProvisionerList
	for _, list := range []client.ObjectList{&nodes, &provisioners} {
		if err := c.Client.List(ctx, list); err != nil {
			return fmt.Errorf("listing %T: %w", list, err)
		}
	}
	clusters := map[string]bool{}
	for i := range provisioners.Items {
		clusters[provisioners.Items[i].Spec.Cluster.Name] = true
	}
	known, waiting := map[string]bool{}, map[string]bool{}
	for i := range nodes.Items {
		clusters[nodes.Items[i].Spec.Cluster] = true
		known[nodes.Items[i].Status.InstanceID] = true
		if nodes.Items[i].Status.InstanceID == "" {
			waiting[nodes.Items[i].Spec.Launch.Name] = true
		}
	}
	unknown := map[string]bool{}
	for cluster := range clusters {
		instances, err := c.Fleets.OfCluster(ctx, cluster)
		if err != nil {
			return err
		}
		for id, instance := range instances {
			launch := instance.Tags[fleet.TagLaunch]
			if known[id] || launch == "" || waiting[launch] {
				continue
			}
			unknown[id] = true
			if !c.suspects[id] {
				continue
			}
			log.FromContext(ctx).Info("Ending an instance that no ProvisionedNode knows", "instance", id, "launch", launch)
			if err := c.Fleets.Terminate(ctx, id); err != nil {
				return err
			}
		}
	}
	c.suspects = unknown
	return nil
}
