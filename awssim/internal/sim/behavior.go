package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Behavior says how the simulated AWS departs from the ideal one, in which everything happens at
// once and never fails. The zero value is the ideal one.
type Behavior struct {
	InstanceTimes InstanceTimes
	ClusterTimes  ClusterTimes
	// ReadLag is how far reads (Describe…) lag behind writes.
	ReadLag time.Duration
	// ForgetTokens lets EC2 forget the client token of a launch template or version once that is
	// deleted, so that a repeated request creates another one. EC2 is not documented to do so, nor
	// to remember the token, which it does otherwise: clients have to be right with either.
	ForgetTokens bool
	// Throttling turns on the token buckets that AWS documents.
	Throttling bool
	// Capacity lists where EC2 runs out of instances.
	Capacity []CapacityRule
	// SpotPrices are the present Spot prices where they differ from the world's. The first rule
	// that covers an offering counts.
	SpotPrices []SpotPriceRule
	// Nodes decides about nodes of managed node groups what AWS does not: whether they join and
	// drain. Without a rule a node is Ready when its instance has booted, and drained at once.
	Nodes []NodeRule
	// NodesReport leaves both to who runs the nodes: without a report (Simulator.SetNode) no node
	// is Ready, and none drained.
	NodesReport bool
}

// InstanceTimes holds how long an instance stays in its states.
type InstanceTimes struct {
	// Pending is the time from launch to running.
	Pending time.Duration
	// Boot is the time from running until the node in it is up.
	Boot time.Duration
	// ShuttingDown is the time from the call to terminate until terminated.
	ShuttingDown time.Duration
}

// ClusterTimes holds how long EKS takes for a cluster and its add-ons; a second if it is zero.
type ClusterTimes struct {
	// Creating, Updating and Deleting are the times that a cluster has these statuses.
	Creating, Updating, Deleting time.Duration
	// Addon is the time that an add-on is CREATING, UPDATING or DELETING.
	Addon time.Duration
}

// CapacityRule bounds how many instances of a type an account may have in a zone at a time. An
// empty type, zone or market stands for every one; what a rule counts are all instances it covers.
type CapacityRule struct {
	InstanceType string
	Zone         string
	Market       string // spot or on-demand
	Available    int
}

// Covers reports whether the rule is about that type in that zone and market.
func (r CapacityRule) Covers(instanceType, zone, market string) bool {
	return (r.InstanceType == "" || r.InstanceType == instanceType) && (r.Zone == "" || r.Zone == zone) && (r.Market == "" || r.Market == market)
}

// SpotPriceRule is the price of a Spot Instance of a type in a zone, in US dollars per hour. An
// empty type or zone stands for every one.
type SpotPriceRule struct {
	InstanceType string
	Zone         string
	USD          float64
}

// SpotPrice returns what a type costs as a Spot Instance in a zone, or otherwise if no rule covers it.
func (b Behavior) SpotPrice(instanceType, zone string, otherwise float64) float64 {
	for _, r := range b.SpotPrices {
		if (r.InstanceType == "" || r.InstanceType == instanceType) && (r.Zone == "" || r.Zone == zone) {
			return r.USD
		}
	}
	return otherwise
}

// Check reports what is wrong with a behavior.
func (b Behavior) Check() error {
	times, clusters := b.InstanceTimes, b.ClusterTimes
	if min(times.Pending, times.Boot, times.ShuttingDown, clusters.Creating, clusters.Updating, clusters.Deleting, clusters.Addon, b.ReadLag) < 0 {
		return errors.New("a duration of the behavior is negative")
	}
	for _, r := range b.Capacity {
		if r.Available < 0 {
			return fmt.Errorf("the capacity of instance type %q in zone %q is negative", r.InstanceType, r.Zone)
		}
		if r.Market != "" && r.Market != "spot" && r.Market != "on-demand" {
			return fmt.Errorf("the market %q of a capacity rule is neither spot nor on-demand", r.Market)
		}
	}
	for _, r := range b.SpotPrices {
		if r.USD <= 0 {
			return fmt.Errorf("the Spot price of instance type %q in zone %q is not positive", r.InstanceType, r.Zone)
		}
	}
	for _, r := range b.Nodes {
		if r.DrainTime < 0 {
			return fmt.Errorf("the drain time of nodes of node group %q is negative", r.Nodegroup)
		}
	}
	return nil
}

func (b Behavior) clone() Behavior {
	b.Capacity, b.SpotPrices, b.Nodes = slices.Clone(b.Capacity), slices.Clone(b.SpotPrices), slices.Clone(b.Nodes)
	return b
}

// Behavior returns the present behavior. Only for code under the lock.
func (k *Kernel) Behavior() Behavior { return k.behavior }

// BehaviorSince returns when the present behavior was set. Only for code under the lock.
func (k *Kernel) BehaviorSince() time.Time { return k.behaviorSince }

// SetBehavior replaces the behavior from now on. Scheduled events keep their time.
func (k *Kernel) SetBehavior(b Behavior) {
	k.Locked(func() {
		k.behavior, k.behaviorSince = b.clone(), k.now
		k.buckets = map[string]*bucket{}
	})
}

// NodeRule says how the nodes of managed node groups behave. It covers the nodes that have all the
// values that it names. The first rule that covers a node counts.
type NodeRule struct {
	Cluster   string
	Nodegroup string
	ImageID   string
	// UserData is a text that the user data of the instance, decoded, contains.
	UserData string

	// NeverReady keeps nodes from ever being Ready.
	NeverReady bool
	// DrainTime is how long it takes until a node that was cordoned has no pods left. NeverDrained
	// keeps pods on it, as a PodDisruptionBudget can.
	DrainTime    time.Duration
	NeverDrained bool
}

// NodeFacts holds the values that a NodeRule decides by.
type NodeFacts struct{ Cluster, Nodegroup, ImageID, UserData string }

// Covers reports whether the rule is about a node.
func (r NodeRule) Covers(n NodeFacts) bool {
	return (r.Cluster == "" || r.Cluster == n.Cluster) && (r.Nodegroup == "" || r.Nodegroup == n.Nodegroup) &&
		(r.ImageID == "" || r.ImageID == n.ImageID) && strings.Contains(n.UserData, r.UserData)
}
