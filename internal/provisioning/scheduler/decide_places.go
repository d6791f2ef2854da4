package scheduler

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

// keepPromises forgets promises to pods that no longer wait, promises of nodes that go, and
// promises that the scheduler did not keep: at once where it gave their room to other pods.
func keepPromises(in Input, plan *Plan) {
	waiting := map[types.UID]*corev1.Pod{}
	for _, pod := range in.Seen.Cluster.Waiting() {
		waiting[pod.UID] = pod
	}
	memory, cluster := &plan.Memory, *in.Seen.Cluster
	promised := maps.Clone(cluster.Promised)
	if promised == nil {
		promised = map[types.UID]string{}
	}
	cluster.Promised = promised
	if !memory.Recovered {
		maps.Copy(promised, cluster.Nominations())
		memory.Recovered = true
	}
	memory.Ready.note(&cluster, in.Now)
	maps.Copy(promised, cluster.Renamed(promised))
	memory.Movers.note(&cluster, waiting, in.Now)
	for before, heir := range memory.Movers.heirs(&cluster, waiting) {
		if place, has := promised[before]; has {
			delete(promised, before)
			promised[heir] = place
		}
	}
	overfull := cluster.Overfull()
	maps.DeleteFunc(promised, func(uid types.UID, name string) bool {
		pod := waiting[uid]
		if _, kept := cluster.Promise(uid); !kept {
			return true
		}
		if pod == nil {
			return !memory.Movers.keeps(uid, in.Now)
		}
		if overfull[name] {
			return true // it is packed anew, onto the same node if there is room after all
		}
		// One that still runs elsewhere is bound when it has been evicted, and that may take its time.
		return pod.Spec.NodeName == "" && memory.Ready.longerThan(name, bindingTime, in.Now)
	})
	if !maps.Equal(promised, in.Seen.Cluster.Promised) {
		plan.Do(setPromises{promised}, "pods were bound, left or lost their places")
	}
}

// readySince holds when nodes were first seen ready, by name.
type readySince map[string]time.Time

func (s *readySince) note(cluster *clusterstate.Cluster, now time.Time) {
	before := *s
	*s = readySince{}
	for i := range cluster.Provisioned {
		node := &cluster.Provisioned[i]
		if !clusterstate.IsTrue(node, provisioningv1.ReadyCondition) {
			continue
		}
		(*s)[node.Name] = now
		if at, known := before[node.Name]; known {
			(*s)[node.Name] = at
		}
	}
}

func (s readySince) known(name string) bool {
	_, ready := s[name]
	return ready
}

func (s readySince) longerThan(name string, duration time.Duration, now time.Time) bool {
	at, ready := s[name]
	return ready && now.Sub(at) >= duration
}

// existing returns the places that pods were found on nodes that are on their way. For pods whose
// node leaves, it includes places on any node: their node leaves once they have places.
func existing(cluster *clusterstate.Cluster, result *packing.Result) map[types.UID]string {
	places := map[types.UID]string{}
	byNode := map[string]string{}
	for i := range cluster.Provisioned {
		node := &cluster.Provisioned[i]
		byNode[node.Name] = node.Name
		if node.Status.NodeName != "" {
			byNode[node.Status.NodeName] = node.Name
		}
	}
	for name, pods := range result.Existing {
		for _, pod := range pods {
			if provisioned := byNode[name]; provisioned != "" {
				places[pod.UID] = provisioned
			} else if pod.Spec.NodeName != "" {
				places[pod.UID] = name
			}
		}
	}
	return places
}

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
