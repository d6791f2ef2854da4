package simulation

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/machinepool"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
)

// The invariants of drains.
const (
	BudgetRespected = "no eviction leaves more pods missing than the PodDisruptionBudget allows"
	CordonedFirst   = "pods are evicted from cordoned nodes only"
	OnlyLeaving     = "a node is drained only if its instance is on its way out"
	DrainedFirst    = "an instance ends only once its node is drained, or the time limit has passed"
	DrainsEnd       = "once faults stop, a drain ends within its time limit"
	ReadyAreInGroup = "an instance on its way out counts neither as a replica nor as ready"
)

const (
	// drainSlack bounds how long a drain may take beyond its time limit: until a failed call is
	// tried again, or a new process has taken over.
	drainSlack = 8 * time.Minute
	// sinceWhole bounds how much earlier a drain may be recorded to begin than it did: times are
	// recorded in whole seconds.
	sinceWhole = time.Second
)

// cordoned checks a node that a process cordons.
func (w *World) cordoned(id string) {
	w.drainBegan(id, w.clock.Now())
	if w.facts.deleting {
		return
	}
	if w.lifecycleState(id) == "InService" {
		w.violate(OnlyLeaving, "the node of instance %s is cordoned, and the instance is in service", id)
	}
}

// drainBegan notes when the drain of an instance's node began, or was recorded to have begun.
func (w *World) drainBegan(id string, at time.Time) {
	if known, is := w.facts.drains[id]; !is || at.Before(known) {
		w.facts.drains[id] = at
	}
}

// evicted checks an eviction. Before is how many pods were missing before it.
func (w *World) evicted(one *pod, before int) {
	if missing := w.workload.missing(); missing > max(before, w.workload.spare) {
		w.violate(BudgetRespected, "pod %s was evicted, after which %d pods are missing, and the budget allows %d", one.Name, missing, w.workload.spare)
	}
	if node := w.workload.nodes[one.Spec.NodeName]; node != nil && !node.Spec.Unschedulable {
		w.violate(CordonedFirst, "pod %s was evicted from node %s, which is not cordoned", one.Name, node.Name)
	}
}

// released notes that a process completed the drain hook of an instance.
func (w *World) released(id string) {
	if one := w.facts.instances[id]; one != nil {
		one.released = true
	}
}

// undrained checks the node of an instance that ends.
func (w *World) undrained(id string, ended *instance) {
	limit := w.workload.timeout
	if ended.excused || ended.late || limit == 0 {
		return
	}
	now, pods := w.clock.Now(), w.workload.on(id)
	began, draining := w.facts.drains[id]
	if len(pods) > 0 && (!draining || now.Before(began.Add(limit-sinceWhole))) {
		w.violate(DrainedFirst, "instance %s ended with %d pods on its node", id, len(pods))
	}
	if over := w.overdue(id); draining && over > 0 {
		w.violate(DrainsEnd, "instance %s ended %s after the time limit of its drain", id, over)
	}
}

// overdue returns for how long the drain of an instance's node has been overdue, without faults.
func (w *World) overdue(id string) time.Duration {
	if w.faultless.IsZero() {
		return 0
	}
	until := w.facts.drains[id].Add(w.workload.timeout)
	if until.Before(w.faultless) {
		until = w.faultless
	}
	return w.clock.Since(until.Add(drainSlack))
}

// drainsRecorded notes the drains that a pool records.
func (w *World) drainsRecorded(pool *infrav1.AWSMachinePool) {
	var since map[string]time.Time
	if text := pool.Annotations[machinepool.DrainingAnnotation]; text != "" && json.Unmarshal([]byte(text), &since) != nil {
		w.violate(NoPanic, "annotation %s cannot be read: %s", machinepool.DrainingAnnotation, text)
	}
	for id, at := range since {
		if _, known := w.facts.drains[id]; !known && w.clock.Since(at) > sinceWhole {
			w.violate(DrainedFirst, "the drain of instance %s is recorded to have begun %s ago", id, w.clock.Since(at))
		}
		w.drainBegan(id, at)
	}
}

// countsLeaving checks how many instances a pool reports.
func (w *World) countsLeaving(pool *infrav1.AWSMachinePool) {
	var inService, staying int32
	for _, one := range pool.Status.Instances {
		if one.LifecycleState == "InService" {
			inService++
		}
		if !strings.HasPrefix(one.LifecycleState, "Terminating") {
			staying++
		}
	}
	if ready := pool.Status.ReadyReplicas; ready != nil && *ready > inService {
		w.violate(ReadyAreInGroup, "status counts %d instances as ready, and shows %d in service", *ready, inService)
	}
	if pool.Status.Replicas > staying {
		w.violate(ReadyAreInGroup, "status counts %d instances, and shows %d that stay", pool.Status.Replicas, staying)
	}
}

// objectChanged notes what a change of an object says.
func (w *World) objectChanged(change apiserver.Change) {
	if change.After == nil || change.After.GetKind() != "AWSMachinePool" {
		return
	}
	pool := &infrav1.AWSMachinePool{}
	if err := w.server.Into(change.After, pool); err != nil {
		w.violate(NoPanic, "%w", fmt.Errorf("reading the pool: %w", err))
		return
	}
	w.facts.specChanged(pool)
	w.drainsRecorded(pool)
	w.countsLeaving(pool)
}
