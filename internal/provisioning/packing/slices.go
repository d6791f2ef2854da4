package packing

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// rank holds what decides whether a pod is considered. It is small, because there may be many more
// pods than are considered.
type rank struct {
	Pod
	priority    int32
	cpu, memory int64
}

// sliced returns the pods to consider, in the order of their names, and the pods to defer: pods
// that were tried before, less important ones, or smaller ones.
func sliced(all []Pod, bound int) (looked []Pod, deferred []*corev1.Pod) {
	looked = slices.Clone(all)
	if bound > 0 && len(all) > bound {
		looked, deferred = byRank(all, bound)
	}
	slices.SortFunc(looked, func(a, b Pod) int { return comparePods(a.Pod, b.Pod) })
	return looked, deferred
}

func byRank(all []Pod, bound int) (looked []Pod, deferred []*corev1.Pod) {
	ranks, request := make([]rank, len(all)), corev1.ResourceList{}
	for i := range all {
		request = podRequests(all[i].Pod, request)
		ranks[i] = rank{all[i], priority(all[i].Pod), request.Cpu().MilliValue(), request.Memory().Value()}
	}
	slices.SortFunc(ranks, func(a, b rank) int {
		return cmp.Or(compareBool(a.Tried, b.Tried), cmp.Compare(b.priority, a.priority), cmp.Compare(b.cpu, a.cpu), cmp.Compare(b.memory, a.memory),
			comparePods(a.Pod.Pod, b.Pod.Pod))
	})
	for i := range ranks {
		if i < bound {
			looked = append(looked, ranks[i].Pod)
		} else {
			deferred = append(deferred, ranks[i].Pod.Pod)
		}
	}
	return looked, deferred
}
