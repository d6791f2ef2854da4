package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/reconciling"
)

const (
	// mostNominated bounds how many nominations one pass writes, and writers how many of them at a
	// time: the pass launches nothing meanwhile.
	mostNominated, writers = 100, 10
	// nominationPause is the time for which a nomination that the scheduler removed is left alone,
	// the first time. Each further time it is twice as long.
	nominationPause = 10 * time.Second
	// mostPauses bounds how often the pause doubles.
	mostPauses = 5
	// versionKept is the time for which the version of the API server is remembered.
	versionKept = 10 * time.Minute
	// cacheLag is the time after which a Node is checked again that the cache does not show as its
	// ProvisionedNode describes it.
	cacheLag = 2 * time.Second
)

// heeded is the first version of Kubernetes whose scheduler keeps the room of a Node for the pods
// that another component nominated it for (Kubernetes: feature gate
// NominatedNodeNameForExpectation, on by default from 1.35).
var heeded = version.MustParseGeneric("1.35")

// nominate points the scheduler to the Nodes that were launched for pods, once they are there: it
// writes status.nominatedNodeName. The scheduler then gives the room to no pod of the same or a
// lower priority. A value that the scheduler wrote is never replaced: such a pod does not wait.
// Nothing depends on a nomination, so a failure is only logged.
func (r *Reconciler) nominate(ctx context.Context, p *pass) reconciling.Outcome {
	heeds, err := r.nominations.heeded(ctx, r.Defaults.Cluster, r.Clock.Now())
	if err != nil {
		log.FromContext(ctx).Error(err, "Nominating no Nodes for pods")
	}
	if !heeds {
		return reconciling.Continue()
	}
	nominable, lagging := p.cluster.Nominable()
	writes, wait := r.nominations.next(p.cluster, nominable, r.Clock.Now())
	failures := make([]error, len(writes))
	workqueue.ParallelizeUntil(ctx, writers, len(writes), func(i int) {
		failures[i] = writes[i].write(ctx, r.Client)
	})
	if err := errors.Join(failures...); err != nil {
		log.FromContext(ctx).Error(err, "Nominating Nodes for pods failed")
	}
	if lagging && (wait == 0 || wait > cacheLag) {
		wait = cacheLag
	}
	if wait > 0 {
		return reconciling.ContinueAndComeBack(wait, "the scheduler is to be pointed to Nodes")
	}
	return reconciling.Continue()
}

// nominations remember what was written, so that it is not written again and again where the
// scheduler removes it, and whether the scheduler heeds it.
type nominations struct {
	written map[types.UID]nomination
	heeds   bool
	asked   time.Time
	// recovered is set once the nominations that an earlier process wrote were read.
	recovered bool
}

// recover remembers the places of pods that an earlier process nominated Nodes for, once.
func (n *nominations) recover(cluster *clusterstate.Cluster, promises *launcher.Promises) {
	if !n.recovered {
		promises.Add(cluster.Nominations())
		n.recovered = true
	}
}

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

// versioned is a cluster that has a version.
type versioned interface {
	Version(ctx context.Context) (string, error)
}

// heeded reports whether the scheduler of a cluster takes account of nominations by others.
func (n *nominations) heeded(ctx context.Context, cluster versioned, now time.Time) (bool, error) {
	if !n.asked.IsZero() && now.Sub(n.asked) < versionKept {
		return n.heeds, nil
	}
	text, err := cluster.Version(ctx)
	if err != nil {
		return n.heeds, fmt.Errorf("asking for the version of Kubernetes: %w", err)
	}
	parsed, err := version.ParseGeneric(text)
	if err != nil {
		return n.heeds, fmt.Errorf("reading the version of Kubernetes: %w", err)
	}
	n.heeds, n.asked = parsed.AtLeast(heeded), now
	return n.heeds, nil
}

// next returns what to write now, and when to check again if something is left; zero if nothing is.
// Nominable are the Nodes that pods can be nominated to, by ProvisionedNode.
func (n *nominations) next(cluster *clusterstate.Cluster, nominable map[string]string, now time.Time) ([]nominationOf, time.Duration) {
	before := n.written
	n.written = map[types.UID]nomination{}
	var writes []nominationOf
	var wait time.Duration
	soon := func(d time.Duration) {
		if wait == 0 || d < wait {
			wait = d
		}
	}
	for _, pod := range cluster.Waiting() {
		if pod.Spec.NodeName != "" || pod.Status.NominatedNodeName != "" && !clusterstate.Nominated(pod) {
			continue // it runs elsewhere still, or the scheduler nominated a Node, which may be gone
		}
		last, has := before[pod.UID]
		if has {
			n.written[pod.UID] = last
		}
		promise, _ := cluster.Promise(pod.UID)
		node := nominable[promise]
		if node == pod.Status.NominatedNodeName {
			continue
		}
		if last.node != node {
			last = nomination{node: node}
		}
		switch left := last.until().Sub(now); {
		case left > 0:
			soon(left)
			continue
		case len(writes) == mostNominated:
			soon(time.Second)
			continue
		}
		writes = append(writes, nominationOf{pod, node})
		n.written[pod.UID] = nomination{node: node, at: now, times: last.times + 1}
	}
	return writes, wait
}

// nominationOf is a Node to nominate for a pod; none if empty.
type nominationOf struct {
	pod  *corev1.Pod
	node string
}

// write writes the nomination, unless the pod has changed since it was read: the scheduler may have
// bound it, or have nominated a Node itself.
func (n nominationOf) write(ctx context.Context, c client.Client) error {
	var name any
	if n.node != "" {
		name = n.node
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": n.pod.UID, "resourceVersion": n.pod.ResourceVersion}, "status": map[string]any{"nominatedNodeName": name},
	})
	if err != nil {
		return fmt.Errorf("encoding the nomination of pod %s/%s: %w", n.pod.Namespace, n.pod.Name, err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: n.pod.Namespace, Name: n.pod.Name}}
	err = c.Status().Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(clusterstate.NominationManager))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsInvalid(err) {
		return nil // it is gone, changed, or bound: its event brings the next pass
	}
	if err != nil {
		return fmt.Errorf("nominating Node %q for pod %s/%s: %w", n.node, n.pod.Namespace, n.pod.Name, err)
	}
	return nil
}
