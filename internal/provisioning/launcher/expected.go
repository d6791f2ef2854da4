package launcher

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

// expectedPrefix begins the names of pods that are expected. No name of a pod begins so, and it
// sorts behind all of them: of equal pods the expected ones are placed last.
const expectedPrefix = "\U0010ffff"

// expect returns the pods, and copies of the expected ones. The copies stand for future pods: nodes
// that are packed for all of them together are larger, and have room for pods that come later. It
// copies only pods that do not depend on where other pods are, so that copies keep no pod from its
// place.
func expect(pods, expected []packing.Pod) []packing.Pod {
	all := slices.Clone(pods)
	for i := range expected {
		if !independent(&expected[i]) {
			continue
		}
		name := fmt.Sprintf("%s%d", expectedPrefix, i)
		pod := &corev1.Pod{Spec: expected[i].Spec}
		pod.Namespace, pod.Name, pod.UID = expected[i].Namespace, name, types.UID(name)
		// behind all others where the number is bounded
		all = append(all, packing.Pod{Pod: pod, Tried: true, Expected: true})
	}
	return all
}

// roomWorth is the worth of room for a future pod, relative to a place that a pod takes at once:
// future pods do not fill it evenly. It was measured: see TestStreamsCostLittleMore.
const roomWorth = 0.9

// Pack chooses nodes for the pods of a problem. It tries room for all pods that are expected, for
// the first half of them, for the first quarter, and for none, and takes what costs least by the
// pods and the room. Room that takes a place from a new pod, because of limits for example, is not
// taken. While pods are deferred no room is tried: those to come are here already, and each try
// packs the whole backlog again.
func Pack(problem *packing.Problem, expected []packing.Pod, isNew func(*corev1.Pod) bool) *packing.Result {
	best := packing.Pack(problem)
	if len(expected) == 0 || len(best.New) == 0 || len(best.Deferred) > 0 {
		return best
	}
	least := best.Price() / float64(podsOfNew(best))
	for _, number := range []int{len(expected) / 4, len(expected) / 2, len(expected)} {
		if number == 0 {
			continue
		}
		generous := *problem
		generous.Pods = expect(problem.Pods, expected[:number])
		roomy := packing.Pack(&generous)
		room := dropExpected(roomy)
		lacking := slices.ContainsFunc(roomy.Unplaced, func(unplaced packing.Unplaced) bool { return isNew(unplaced.Pod) })
		if each := roomy.Price() / (float64(podsOfNew(roomy)) + roomWorth*float64(room)); each < least && !lacking {
			best, least = roomy, each
		}
	}
	return best
}

// podsOfNew returns how many pods new nodes are for.
func podsOfNew(result *packing.Result) int {
	number := 0
	for i := range result.New {
		number += len(result.New[i].Pods)
	}
	return number
}

// independent reports whether a pod can be anywhere that has room for it.
func independent(pod *packing.Pod) bool {
	spec := &pod.Spec
	alone := spec.Affinity == nil || spec.Affinity.PodAffinity == nil && spec.Affinity.PodAntiAffinity == nil
	return alone && len(spec.TopologySpreadConstraints) == 0 && len(pod.Volumes) == 0 && pod.Zones == nil && !packing.BindsHostPort(pod.Pod)
}

// dropExpected takes expected pods out of a result, and nodes that are for nothing else. It returns
// for how many of them new nodes now have room.
func dropExpected(result *packing.Result) int {
	is := func(pod *corev1.Pod) bool { return strings.HasPrefix(pod.Name, expectedPrefix) }
	result.New = slices.DeleteFunc(result.New, func(node packing.NewNode) bool {
		return !slices.ContainsFunc(node.Pods, func(pod *corev1.Pod) bool { return !is(pod) })
	})
	before := podsOfNew(result)
	for i := range result.New {
		result.New[i].Pods = slices.DeleteFunc(result.New[i].Pods, is)
	}
	for name, pods := range result.Existing {
		if result.Existing[name] = slices.DeleteFunc(pods, is); len(result.Existing[name]) == 0 {
			delete(result.Existing, name)
		}
	}
	result.Unplaced = slices.DeleteFunc(result.Unplaced, func(unplaced packing.Unplaced) bool { return is(unplaced.Pod) })
	result.Deferred = slices.DeleteFunc(result.Deferred, is)
	return before - podsOfNew(result)
}
