package scheduler

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
)

const (
	// mostNominated bounds how many nominations one pass writes: the pass launches nothing
	// meanwhile.
	mostNominated = 100
	// nominationPause is the time for which a nomination that the scheduler removed is left alone,
	// the first time. Each further time it is twice as long.
	nominationPause = 10 * time.Second
	// mostPauses bounds how often the pause doubles.
	mostPauses = 5
	// cacheLag is the time after which a Node is checked again that the cache does not show as its
	// ProvisionedNode describes it.
	cacheLag = 2 * time.Second
)

// nomination holds the last nomination that was written for a pod.
type nomination struct {
	node  string
	at    time.Time
	times int
}

// until returns the time before which the same nomination is not written again.
func (n nomination) until() time.Time {
	if n.times == 0 {
		return time.Time{}
	}
	return n.at.Add(nominationPause << min(n.times-1, mostPauses))
}

// nominationOf is a Node to nominate for a pod; none if empty.
type nominationOf struct {
	Pod  *corev1.Pod
	Node string
}

// nominatePods points the scheduler to the Nodes that were launched for pods, once they are there.
// The scheduler then gives the room to no pod of the same or a lower priority. The written value is
// remembered, so that it is not written again and again where the scheduler removes it. A value
// that the scheduler wrote is never replaced: such a pod does not wait.
func nominatePods(in Input, plan *Plan) {
	if !in.Seen.HeedsNominations {
		return
	}
	nominable, lagging := in.Seen.Cluster.Nominable()
	written := map[types.UID]nomination{}
	var writes []nominationOf
	for _, pod := range in.Seen.Cluster.Waiting() {
		if pod.Spec.NodeName != "" || pod.Status.NominatedNodeName != "" && !clusterstate.Nominated(pod) {
			continue // it runs elsewhere still, or the scheduler nominated a Node, which may be gone
		}
		last, has := in.Memory.Nominated[pod.UID]
		if has {
			written[pod.UID] = last
		}
		promise, _ := in.Seen.Cluster.Promise(pod.UID)
		node := nominable[promise]
		if node == pod.Status.NominatedNodeName {
			continue
		}
		if last.node != node {
			last = nomination{node: node}
		}
		switch left := last.until().Sub(in.Now); {
		case left > 0:
			plan.comeBack(left, "the scheduler removed a nomination")
		case len(writes) == mostNominated:
			plan.comeBack(time.Second, "further pods are to be nominated")
		default:
			writes = append(writes, nominationOf{pod, node})
			written[pod.UID] = nomination{node: node, at: in.Now, times: last.times + 1}
		}
	}
	plan.Memory.Nominated = written
	if len(writes) > 0 {
		plan.Do(nominate{writes}, "the Nodes that were launched for pods have registered")
	}
	if lagging {
		plan.comeBack(cacheLag, "the cache does not show a Node as registered yet")
	}
}
