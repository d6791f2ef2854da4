package packing

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// rank is what decides whether a pod is looked at, in little memory: there may be many more pods than are.
type rank struct {
	Pod
	priority    int32
	cpu, memory int64
}

// sliced are the pods to look at, in the order of their names, and those to defer: of those that
// were tried before, less important or smaller.
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
