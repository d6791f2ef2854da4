package nodelifecycle

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws/cause"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
)

// Collector terminates instances that no ProvisionedNode knows: the answer to their launch was lost
// together with the object. It touches only instances that have the mark of its cluster. It also
// frees Nodes that wait for a ProvisionedNode which is gone. It is a manager's Runnable.
type Collector struct {
	Client client.Client
	// Live reads past the cache.
	Live   client.Reader
	Fleets *fleet.Fleets
	Clock  clock.WithTicker
	// ClusterUID is the mark of the cluster's instances.
	ClusterUID string
	// Interval between two passes.
	Interval time.Duration

	// suspects are instances that no ProvisionedNode knew in the last pass.
	suspects map[string]bool
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (c *Collector) NeedLeaderElection() bool { return true }

// Start collects until the context is done.
func (c *Collector) Start(ctx context.Context) error {
	ticker := c.Clock.NewTicker(c.Interval)
	defer ticker.Stop()
	for {
		if err := c.Collect(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "Collecting instances that no ProvisionedNode knows")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// Collect runs one pass: it terminates the instances that no ProvisionedNode knew in the previous
// pass either. Between the two, the controller that launched them has recorded them. It leaves
// instances of a launch that waits for its answer alone.
func (c *Collector) Collect(ctx context.Context) error {
	var nodes provisioningv1.ProvisionedNodeList
	if err := c.Client.List(ctx, &nodes); err != nil {
		return fmt.Errorf("listing %T: %w", &nodes, err)
	}
	// By the mark alone: what nothing claims may be left when no Provisioner is.
	instances, err := c.Fleets.MarkedFor(ctx, c.ClusterUID)
	if err != nil {
		return err
	}
	unknown := map[string]bool{}
	for _, instance := range unclaimed(instances, nodes.Items, c.ClusterUID) {
		unknown[instance.ID] = true
		if !c.suspects[instance.ID] {
			continue
		}
		if err := c.terminate(ctx, instance); err != nil {
			return err
		}
	}
	c.suspects = unknown
	return c.freeNodes(ctx, nodes.Items)
}

// unclaimed returns the instances with this cluster's mark that no ProvisionedNode knows, or waits for.
func unclaimed(instances map[string]fleet.Instance, nodes []provisioningv1.ProvisionedNode, clusterUID string) []fleet.Instance {
	known, waiting := map[string]bool{}, map[string]bool{}
	for i := range nodes {
		known[nodes[i].Status.InstanceID] = true
		if nodes[i].Status.InstanceID == "" {
			waiting[nodes[i].Spec.Launch.Name] = true
		}
	}
	var found []fleet.Instance
	for _, id := range slices.Sorted(maps.Keys(instances)) {
		instance := instances[id]
		launch := instance.Tags[fleet.TagLaunch]
		if instance.MarkedFor(clusterUID) && launch != "" && !known[id] && !waiting[launch] {
			found = append(found, instance)
		}
	}
	return found
}

// terminate terminates an instance that nothing claims, unless the API server knows better than the cache.
func (c *Collector) terminate(ctx context.Context, instance fleet.Instance) error {
	var nodes provisioningv1.ProvisionedNodeList
	if err := c.Live.List(ctx, &nodes); err != nil {
		return fmt.Errorf("listing ProvisionedNodes: %w", err)
	}
	if len(unclaimed(map[string]fleet.Instance{instance.ID: instance}, nodes.Items, c.ClusterUID)) == 0 {
		return nil
	}
	launch := instance.Tags[fleet.TagLaunch]
	log.FromContext(ctx).Info("Terminating an instance that no ProvisionedNode knows", "instance", instance.ID, "launch", launch)
	ctx = cause.Because(ctx, "no ProvisionedNode knows the instance of launch "+launch)
	return c.Fleets.Terminate(ctx, instance, fleet.Claim{ClusterUID: c.ClusterUID, Cluster: instance.Tags[fleet.TagCluster], Launch: launch})
}

// freeNodes removes the finalizer from Nodes that are deleted and have no ProvisionedNode any
// longer: nothing else would. The API server is asked for the ProvisionedNodes, because the cache
// may not show the newest: a Node that is freed too early leaves its instance running.
func (c *Collector) freeNodes(ctx context.Context, cached []provisioningv1.ProvisionedNode) error {
	var members corev1.NodeList
	if err := c.Client.List(ctx, &members); err != nil {
		return fmt.Errorf("listing Nodes: %w", err)
	}
	if len(freed(members.Items, cached)) == 0 {
		return nil
	}
	var nodes provisioningv1.ProvisionedNodeList
	if err := c.Live.List(ctx, &nodes); err != nil {
		return fmt.Errorf("listing ProvisionedNodes: %w", err)
	}
	for _, member := range freed(members.Items, nodes.Items) {
		if err := freeMember(ctx, c.Client, member); err != nil {
			return err
		}
	}
	return nil
}

// freed returns the deleted Nodes that have this controller's finalizer and no ProvisionedNode. A
// ProvisionedNode has one Node alone, which its status names once that is known.
func freed(members []corev1.Node, nodes []provisioningv1.ProvisionedNode) []*corev1.Node {
	names := map[string]string{}
	for i := range nodes {
		names[nodes[i].Status.InstanceID] = nodes[i].Status.NodeName
	}
	var found []*corev1.Node
	for i := range members {
		member := &members[i]
		name, launched := names[clusterstate.InstanceOf(member.Spec.ProviderID)]
		held := launched && (name == "" || name == member.Name)
		if member.DeletionTimestamp != nil && controllerutil.ContainsFinalizer(member, provisioningv1.NodeFinalizer) && !held {
			found = append(found, member)
		}
	}
	return found
}
