package scheduler

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/reconcile"
)

const (
	// lookAgain is the interval at which waiting pods are considered again although nothing
	// happened: capacity that was short may be available again.
	lookAgain = time.Minute
	// bindingTime is the time that the scheduler may take to bind a pod to a node that is ready.
	// After that the pod is packed anew.
	bindingTime = time.Minute
)

// Input holds what a decision is made from.
type Input struct {
	Seen   *Observed
	Memory Memory
	// Draft is what the earlier decisions of the pass came to.
	Draft Draft
	Now   time.Time
}

// Plan is the result of a decision. Its actions are performed, then its needs are observed, and
// then the next decision is made. It uses the Needs, Actions, Again and Err of reconcile.Plan.
type Plan struct {
	reconcile.Plan
	// Why is the human-readable reason why the pass stops, or comes back.
	Why string
	// Memory is remembered from now on, and Draft is passed to the next decision.
	Memory Memory
	Draft  Draft
	// Then is the next decision; nil if the pass is finished.
	Then decision
	// Packs is how many pods the next decision packs; 0 if it packs none. It may take seconds.
	Packs int
}

// decision is one decision of a pass, a pure function.
type decision func(Input) Plan

// Draft holds what the decisions of a pass came to so far. A decision changes its own copy.
type Draft struct {
	// Waits counts the pods that a further node does not help.
	Waits Waits
	// Provisioners may launch. Set by decideRegion, and completed by decideCatalog.
	Provisioners []usable
	// Asked are the launch templates that pods name, by Provisioner. Set by decideRegion.
	Asked named
	// Problem is what is packed, Fresh the pods of it that no pass has considered before, and
	// Repacked how often it was packed without pods that are held back. Set by decideCatalog.
	Problem  *packing.Problem
	Fresh    []packing.Pod
	Repacked int
	// Result is the last choice of nodes. Set by decideChoice.
	Result packing.Result
	// Withheld are pods that were left out of the last choice.
	Withheld []packing.Unplaced
	// Over is how many of the chosen nodes may not be launched this minute.
	Over int
	// Sources are what the chosen nodes are launched from.
	Sources []source
	// Planned are launches that EC2 may refuse. Set by decideLaunches.
	Planned []planned
	// Launched is whether something is launched, and Refused whether EC2 refuses a launch template
	// that nodes had been chosen of. Set by decideTrials.
	Launched, Refused bool
	// Places are the places of pods on nodes that exist. Set by decideTrials.
	Places map[types.UID]string
}

// Waits counts pods that wait, and that a further node does not help.
type Waits struct {
	// Tied wait for one Node alone, Stuck for a volume, and Failing have a place on a node whose
	// launch fails.
	Tied, Stuck, Failing int
}

// plan returns a plan that changes neither what is remembered nor the draft.
func (in Input) plan() Plan { return Plan{Memory: in.Memory, Draft: in.Draft} }

// comeBack has another pass after a time, for a reason.
func (p *Plan) comeBack(after time.Duration, why string) {
	if p.Again == 0 || after < p.Again {
		p.Why = why
	}
	p.LookAgain(after)
}

// Decide returns the first plan of a pass. It keeps the promises of places for pods.
func Decide(in Input) Plan {
	plan := in.plan()
	if in.Seen.Behind {
		// The event of the node brings the next pass: a pass that launched without seeing it would
		// launch twice, and beyond limits.
		plan.Why = "the cache does not show the nodes that were launched last"
		return plan
	}
	keepPromises(in, &plan)
	plan.Then = decidePods
	return plan
}

// decidePods nominates Nodes for pods, reports pods that wait for something else than a further
// node, and waits for further pods while many come.
func decidePods(in Input) Plan {
	plan := in.plan()
	events := teller{in.Seen.Events}
	nominatePods(in, &plan)
	reportTied(in, &plan, &events)
	reportStuck(in, &plan, &events)
	reportComing(in, &plan, &events)
	decideBatch(in, &plan)
	return plan
}

// decideBatch waits while many pods come, so that they are packed together. A pod that comes alone
// is served at once.
func decideBatch(in Input, plan *Plan) {
	cluster, memory := in.Seen.Cluster, &plan.Memory
	waiting := cluster.Waiting()
	memory.Pending.keep(waiting, in.Now)
	if len(waiting) == 0 {
		memory.Told.keep(nil, nil)
		plan.Do(askTemplates{}, "no pod waits for a node")
		plan.Do(showPending{plan.Draft.Waits.with(map[string]int{})}, "no pod waits for a node")
		plan.Why = "no pod waits for a node"
		recordRejected(in, plan)
		if cluster.Preempting() {
			plan.comeBack(lookAgain, "a Node may go that the scheduler makes room on")
		}
		return
	}
	fresh := 0
	for _, pod := range waiting {
		if _, promised := cluster.Promise(pod.UID); !promised {
			fresh++
		}
	}
	if fresh == 0 {
		memory.Told.keep(nil, nil)
		plan.Do(showPending{plan.Draft.Waits.with(plan.Draft.Waits.placed(len(waiting)))}, "all pods have places")
		recordRejected(in, plan)
		plan.comeBack(bindingTime, "all pods have places, and the scheduler is yet to put them there")
		return
	}
	if wait := memory.Window.Wait(in.Now, fresh); wait > 0 {
		plan.comeBack(wait, "more pods are coming")
		return
	}
	plan.Do(showBatchWait{memory.Window.Waited(in.Now)}, "the batch of pods is complete")
	plan.Need(needRegion)
	plan.Then = decideRegion
}

// isNew reports whether no pass has considered a pod yet.
func (m *Memory) isNew(pod *corev1.Pod) bool {
	_, told := m.Told[pod.UID]
	return !told
}

// planned are launches from one source.
type planned struct {
	source       source
	surroundings launcher.Surroundings
	launches     []launcher.Launch
}
