package simulation

import (
	"encoding/json"
	"strings"
	"time"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/machinepool"
)

// The invariants of drains.
const (
	BudgetRespected = "no eviction leaves more pods missing than the PodDisruptionBudget allows"
	CordonedFirst   = "pods are evicted from cordoned nodes only"
	OnlyLeaving     = "a node is drained only if its instance is on its way out"
	DrainedFirst    = "an instance terminates only once its node is drained, or the time limit has passed"
	DrainsEnd       = "once faults stop, a drain finishes within its time limit"
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
func (o *observer) cordoned(id string) {
	o.drainBegan(id, o.clock.Now())
	if o.facts.deleting {
		return
	}
	if o.aws.lifecycleState(id) == "InService" {
		o.violate(OnlyLeaving, "the node of instance %s is cordoned, and the instance is in service", id)
	}
}

// drainBegan notes when the drain of an instance's node began, or was recorded to have begun.
func (o *observer) drainBegan(id string, at time.Time) {
	if known, is := o.facts.drains[id]; !is || at.Before(known) {
		o.facts.drains[id] = at
	}
}

// evicted checks an eviction. Before is how many pods were missing before it.
func (o *observer) evicted(one *pod, before int) {
	if missing := o.workload.missing(); missing > max(before, o.workload.spare) {
		o.violate(BudgetRespected, "pod %s was evicted, after which %d pods are missing, and the budget allows %d", one.Name, missing, o.workload.spare)
	}
	if node := o.workload.nodes[one.Spec.NodeName]; node != nil && !node.Spec.Unschedulable {
		o.violate(CordonedFirst, "pod %s was evicted from node %s, which is not cordoned", one.Name, node.Name)
	}
}

// released notes that a process completed the drain hook of an instance.
func (o *observer) released(id string) {
	if one := o.facts.instances[id]; one != nil {
		one.released = true
	}
}

// undrained checks the node of an instance that ends.
func (o *observer) undrained(id string, ended *instance) {
	limit := o.workload.timeout
	if ended.excused || ended.late || limit == 0 {
		return
	}
	now, pods := o.clock.Now(), o.workload.on(id)
	began, draining := o.facts.drains[id]
	if len(pods) > 0 && (!draining || now.Before(began.Add(limit-sinceWhole))) {
		o.violate(DrainedFirst, "instance %s ended with %d pods on its node", id, len(pods))
	}
	if over := o.overdue(id); draining && over > 0 {
		o.violate(DrainsEnd, "instance %s ended %s after the time limit of its drain", id, over)
	}
}

// overdue returns for how long the drain of an instance's node has been overdue, without faults.
func (o *observer) overdue(id string) time.Duration {
	if o.faultless.IsZero() {
		return 0
	}
	until := o.facts.drains[id].Add(o.workload.timeout)
	if until.Before(o.faultless) {
		until = o.faultless
	}
	return o.clock.Since(until.Add(drainSlack))
}

// drainsRecorded notes the drains that a pool records.
func (o *observer) drainsRecorded(pool *infrav1.AWSMachinePool) {
	var since map[string]time.Time
	if text := pool.Annotations[machinepool.DrainingAnnotation]; text != "" && json.Unmarshal([]byte(text), &since) != nil {
		o.violate(NoPanic, "annotation %s cannot be read: %s", machinepool.DrainingAnnotation, text)
	}
	for id, at := range since {
		if _, known := o.facts.drains[id]; !known && o.clock.Since(at) > sinceWhole {
			o.violate(DrainedFirst, "the drain of instance %s is recorded to have begun %s ago", id, o.clock.Since(at))
		}
		o.drainBegan(id, at)
	}
}

// countsLeaving checks how many instances a pool reports, in total and as ready.
func (o *observer) countsLeaving(instances []infrav1.AWSMachinePoolInstanceStatus, replicas int32, ready *int32) {
	var inService, staying int32
	for _, one := range instances {
		if one.LifecycleState == "InService" {
			inService++
		}
		if !strings.HasPrefix(one.LifecycleState, "Terminating") {
			staying++
		}
	}
	if ready != nil && *ready > inService {
		o.violate(ReadyAreInGroup, "status counts %d instances as ready, and shows %d in service", *ready, inService)
	}
	if replicas > staying {
		o.violate(ReadyAreInGroup, "status counts %d instances, and shows %d that stay", replicas, staying)
	}
}
