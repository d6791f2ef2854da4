package awssim

import (
	"fmt"
	"net/http"

	"github.com/slipway-project/slipway/awssim/internal/eks"
	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

type (
	// Cluster is an EKS cluster.
	Cluster = world.Cluster
	// NodeRule says how the nodes of managed node groups behave.
	NodeRule = sim.NodeRule
	// NodeState is the state of an instance's node as set by the code that runs nodes.
	NodeState = eks.NodeState
)

// States of events of kind "node", whose id is the instance's: EKS has marked it as unschedulable,
// evicts its pods, or lets pods in again.
const (
	EventCordoned   = eks.EventCordoned
	EventDraining   = eks.EventDraining
	EventUncordoned = eks.EventUncordoned
)

// SetCluster creates an EKS cluster of an account in a region, ACTIVE at once, or changes the one
// of that name: its Kubernetes version, for example. It fails if the world has no such region, or
// if the cluster has no name, no version such as 1.30, or no subnets of one VPC.
func (r Region) SetCluster(cluster Cluster) error {
	if err := r.do(func(held *sim.Region) error { return eks.SetCluster(held, cluster) }); err != nil {
		return fmt.Errorf("setting an EKS cluster: %w", err)
	}
	return nil
}

// SetNode sets whether the node of an instance is Ready, and whether it is drained; nil values stay
// as they were. It fails if the world has no such region.
func (r Region) SetNode(instance string, state NodeState) error {
	if err := r.do(func(held *sim.Region) error { eks.SetNode(held, instance, state); return nil }); err != nil {
		return fmt.Errorf("setting the node of instance %q: %w", instance, err)
	}
	return nil
}

// ManagedNode describes the node of an instance of a managed node group, as EKS configures it: its
// labels and taints.
type ManagedNode = eks.ManagedNode

// ManagedNode returns EKS's configuration of an instance's node, as it is now and without a call,
// and false if the instance does not belong to a managed node group.
func (r Region) ManagedNode(instance string) (node ManagedNode, ok bool) {
	r.look(func(held *sim.Region) { node, ok = eks.LookupNode(held, instance) })
	return node, ok
}

// Nodegroup describes a managed node group, with its updates, the oldest first.
type Nodegroup = eks.Nodegroup

// Nodegroups returns all managed node groups, in the order of their creation, as they are now, like
// AutoScalingGroups.
func (r Region) Nodegroups() (groups []Nodegroup) {
	r.look(func(held *sim.Region) { groups = eks.Nodegroups(held) })
	return groups
}

func (c control) postClusters(r *http.Request) (any, error) {
	type request struct {
		Account string `json:"account"`
		Region  string `json:"region"`
		Cluster
	}
	in, err := readJSON[request](r)
	if err != nil {
		return nil, err
	}
	region := c.region(in.Account, in.Region)
	return nil, region.SetCluster(in.Cluster)
}

func (c control) postNodes(r *http.Request) (any, error) {
	type request struct {
		Account  string `json:"account"`
		Region   string `json:"region"`
		Instance string `json:"instance"`
		Ready    *bool  `json:"ready"`
		Drained  *bool  `json:"drained"`
	}
	in, err := readJSON[request](r)
	if err != nil {
		return nil, err
	}
	region := c.region(in.Account, in.Region)
	return nil, region.SetNode(in.Instance, NodeState{Ready: in.Ready, Drained: in.Drained})
}
