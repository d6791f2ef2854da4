package scheduler

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
)

// successionTime is the time for which the place of an evicted pod is kept for its successor. The
// controller of the pod creates the successor immediately, and the scheduler considers it soon
// after.
const successionTime = 30 * time.Second

// movers are pods that were found a place while they ran on a node that leaves, by their ids.
type movers map[types.UID]mover

type mover struct {
	controller types.UID
	// gone is when the pod was first missing; zero while it is there.
	gone time.Time
}

// note adds the pods that move now, and sees which are gone. Those without a promise are forgotten.
func (m *movers) note(cluster *clusterstate.Cluster, waiting map[types.UID]*corev1.Pod, now time.Time) {
	before := *m
	*m = movers{}
	for uid, pod := range waiting {
		if pod.Spec.NodeName != "" {
			(*m)[uid] = mover{controller: controllerOf(pod)}
		}
	}
	there := map[types.UID]bool{}
	for _, pod := range cluster.Pods {
		if _, moves := before[pod.UID]; moves {
			there[pod.UID] = true
		}
	}
	for uid, was := range before {
		if _, promised := cluster.Promised[uid]; !promised || waiting[uid] != nil {
			continue
		}
		if !there[uid] && was.gone.IsZero() {
			was.gone = now
		}
		(*m)[uid] = was
	}
}

// keeps reports whether a pod's place is kept although it no longer waits: it is being deleted, or
// its successor may still come.
func (m movers) keeps(uid types.UID, now time.Time) bool {
	was, moved := m[uid]
	return moved && (was.gone.IsZero() || now.Sub(was.gone) < successionTime)
}

// heirs returns the pods that take the places of pods that left, by their predecessors: pods of one
// controller are alike.
func (m movers) heirs(cluster *clusterstate.Cluster, waiting map[types.UID]*corev1.Pod) map[types.UID]types.UID {
	vacant := map[types.UID][]types.UID{}
	for _, uid := range slices.Sorted(maps.Keys(m)) {
		if controller := m[uid].controller; waiting[uid] == nil {
			vacant[controller] = append(vacant[controller], uid)
		}
	}
	heirs := map[types.UID]types.UID{}
	for _, uid := range slices.Sorted(maps.Keys(waiting)) {
		pod := waiting[uid]
		left := vacant[controllerOf(pod)]
		if _, promised := cluster.Promise(uid); promised || pod.Spec.NodeName != "" || len(left) == 0 {
			continue
		}
		heirs[left[0]], vacant[controllerOf(pod)] = uid, left[1:]
	}
	return heirs
}

func controllerOf(pod *corev1.Pod) types.UID {
	if controller := metav1.GetControllerOf(pod); controller != nil {
		return controller.UID
	}
	return ""
}
