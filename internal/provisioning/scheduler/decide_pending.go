package scheduler

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

// Reasons for which pods wait, in addition to the causes of package packing.
const (
	// nodeComing is the reason of pods that have a place on a node, which may still be coming.
	nodeComing = "node_coming"
	// notConsidered is the reason of pods that one pass does not come to.
	notConsidered = "not_considered"
	// ofOneNode is the reason of pods with a volume that is part of one Node.
	ofOneNode = "local_volume"
)

// pending holds when this process first saw each pod pending. Metrics and rejected offerings
// depend on it.
type pending map[types.UID]time.Time

// keep notes pods that wait, and forgets the others.
func (p *pending) keep(waiting []*corev1.Pod, now time.Time) {
	before := *p
	*p = make(pending, len(waiting))
	for _, pod := range waiting {
		if pod.Spec.NodeName != "" {
			continue // it runs, and moves
		}
		since, known := before[pod.UID]
		if !known {
			since = now
		}
		(*p)[pod.UID] = since
	}
}

// mark notes on the nodes of a launch since when the first of their pods is pending.
func (p pending) mark(launch launcher.Launch) {
	first := map[string]time.Time{}
	for pod, node := range launch.Places() {
		since, known := p[pod]
		if earliest, some := first[node]; known && (!some || since.Before(earliest)) {
			first[node] = since
		}
	}
	for _, node := range launch.Nodes {
		if since, known := first[node.Name]; known {
			if node.Annotations == nil {
				node.Annotations = map[string]string{}
			}
			node.Annotations[provisioningv1.PendingSinceAnnotation] = since.UTC().Format(time.RFC3339Nano)
		}
	}
}

// showPending shows in the metrics how many pods wait after nodes were chosen, by why.
func (p *Plan) showPending(in Input) {
	result, waits := &p.Draft.Result, p.Draft.Waits
	counts := waits.placed(len(in.Seen.Cluster.Waiting()) - len(result.Unplaced) - len(result.Deferred))
	for i := range result.Unplaced {
		counts[string(result.Unplaced[i].Cause)]++
	}
	if deferred := len(result.Deferred); deferred > 0 {
		counts[notConsidered] = deferred
	}
	p.Do(showPending{waits.with(counts)}, "nodes were chosen")
}

// placed returns the counts of pods that have a place: their node is coming, unless its launch fails.
func (w Waits) placed(pods int) map[string]int {
	counts := map[string]int{}
	if w.Failing > 0 {
		counts[string(packing.CauseLaunch)] = w.Failing
	}
	if pods > w.Failing {
		counts[nodeComing] = pods - w.Failing
	}
	return counts
}

// with adds the pods that wait for one Node alone, and the pods that wait for a volume.
func (w Waits) with(counts map[string]int) map[string]int {
	if w.Tied > 0 {
		counts[ofOneNode] = w.Tied
	}
	if w.Stuck > 0 {
		counts[string(packing.CauseVolume)] += w.Stuck
	}
	return counts
}
