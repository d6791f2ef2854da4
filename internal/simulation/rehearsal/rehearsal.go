// Package rehearsal performs an edit of a pool on a copy of the pool, in a simulated AWS and
// in simulated time, and reports what happens: which versions are created, which instances are
// replaced in which order, and what becomes of the roll-out if new instances fail.
//
// A copy (plan.Copy) is run by the real controllers. It reads the management cluster, and keeps what
// it writes to itself. AWS is package awssim, which starts with the images, subnets, security groups,
// and names that the controllers found in the real AWS when they planned the edit (facts.go). The
// nodes of the copy are in nodes.go. One loop runs the controllers, and lets time pass (run.go). EKS, which
// replaces and drains the nodes of an AWSManagedMachinePool, is told about its nodes in managed.go.
//
// A copy lacks the launch template of its original, so that its versions begin with 1. It has no pods
// of the workload cluster, so that no PodDisruptionBudget holds a drain. The simulated EC2 has
// capacity for every instance.
package rehearsal

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/plan"
)

// Options choose what happens in a simulation.
type Options struct {
	// NodeStart is the time from the launch of an instance until its node is ready, and DrainTime the
	// time that the pods of a node take to end.
	NodeStart, DrainTime time.Duration
	// FailAt has instances with a new configuration fail once so many percent of the nodes are
	// replaced; nil for never.
	FailAt *int
	// Limit bounds the simulated time after the edit.
	Limit time.Duration
}

// Outcome says how a simulation ended.
type Outcome string

// The outcomes of a simulation.
const (
	// RolledOut means that all instances run the edited spec.
	RolledOut Outcome = "RolledOut"
	// RolledBack means that the roll-out failed, and that all instances run the configuration of
	// before again.
	RolledBack Outcome = "RolledBack"
	// Degraded means that the roll-out counts as complete, and that new instances fail all the same.
	Degraded Outcome = "Degraded"
	// Stopped means that the roll-out does not go on by itself, or failed and is retried.
	Stopped Outcome = "Stopped"
	// Unfinished means that the limit of time was reached.
	Unfinished Outcome = "Unfinished"
)

// Event is something that happened.
type Event struct {
	// After is the time since the edit.
	After plan.Duration `json:"after"`
	// NodesUp is the number of nodes that are ready, and are not being drained.
	NodesUp int `json:"nodesUp"`
	// Source is who or what did it: Slipway, AWS, Node, or Condition.
	Source string `json:"source"`
	// What describes the event: what happened to the instances, or to the pool if there are none.
	What      string   `json:"what"`
	Instances []string `json:"instances,omitempty"`
	// Detail is the reason of an action, or the message of a condition.
	Detail string `json:"detail,omitempty"`
}

// Condition is a condition of the pool at the end.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
}

// Pool reports what happened to the copy of a pool.
type Pool struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Instances is the number of instances before the edit.
	Instances int           `json:"instances"`
	Events    []Event       `json:"events"`
	Outcome   Outcome       `json:"outcome"`
	Took      plan.Duration `json:"took"`
	// Versions is the number of versions that were created.
	Versions int `json:"versions"`
	// Replaced is the number of instances of before the edit that were terminated, and Failed the
	// number of new instances that failed.
	Replaced int `json:"replaced"`
	Failed   int `json:"failed"`
	// FewestUp is the smallest number of nodes that were up at a time after the edit, and FewestAfter when
	// that was first so.
	FewestUp    int           `json:"fewestUp"`
	FewestAfter plan.Duration `json:"fewestAfter"`
	Conditions  []Condition   `json:"conditions"`
}

// Succeeded reports whether the pool came to rest with nodes that work.
func (p Pool) Succeeded() bool { return p.Outcome == RolledOut || p.Outcome == RolledBack }

// Result reports what an edit did in a simulation.
type Result struct {
	// Plan is the plan of the edit.
	Plan plan.Plan `json:"-"`
	// Changes are the fields that the edit changes.
	Changes []plan.Change `json:"changes"`
	// Pools are in the order of the plan. They are empty if nothing changes in AWS.
	Pools []Pool `json:"pools"`
}

// Failed reports whether a pool did not come to rest with nodes that work.
func (r Result) Failed() bool {
	for _, pool := range r.Pools {
		if !pool.Succeeded() {
			return true
		}
	}
	return false
}

// Run plans an edit, and simulates it for each pool that it affects. It changes neither the
// management cluster nor AWS. An edit whose plan changes nothing, or fails, is not simulated.
func Run(ctx context.Context, planner *plan.Planner, options Options, edited ...client.Object) (Result, error) {
	facts, noting := newFacts(planner.Cluster), *planner
	noting.Cluster = facts
	noting.AWS = planner.AWS.Copy()
	noting.AWS.APIOptions = append(noting.AWS.APIOptions, facts.install)
	copies, err := noting.Copies(ctx, edited...)
	if err != nil {
		return Result{}, err
	}
	planned, err := noting.Plan(ctx, edited...)
	if err != nil {
		return Result{}, err
	}
	result := Result{Plan: planned, Changes: planned.Changes, Pools: []Pool{}}
	if planned.Empty() || planned.Failed() {
		return result, nil
	}
	for _, one := range copies {
		if !one.Created {
			if _, err := one.PlanUnedited(ctx); err != nil {
				return Result{}, fmt.Errorf("reading what pool %s is made of: %w", one.Name, err)
			}
		}
		pool, err := simulate(ctx, one, facts, planner.Clock.Now(), options)
		if err != nil {
			return Result{}, fmt.Errorf("simulating pool %s: %w", one.Name, err)
		}
		result.Pools = append(result.Pools, pool)
	}
	return result, nil
}
