package packing

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

const (
	// maxChoices bounds how many choices of different pods one call of Pack considers, in addition to
	// pods that have few. The namespaces whose pods have more share them equally, so that pods of one
	// namespace do not delay the nodes of another. A thousand take half a second.
	maxChoices = 4096
	// fewChoices bounds the choices of pods that need no share.
	fewChoices = 2
)

// withinShares returns the pods to consider, and the pods to defer because their namespace's share is used up.
// Pods that were not tried before come first, and then important ones. Pods with the same wishes count once.
func (k *classifier) withinShares(all []Pod) (looked []Pod, deferred []*corev1.Pod) {
	choosy := map[string][]int{} // by namespace
	total, counted := 0, map[string]bool{}
	for i := range all {
		choices := constraints.Choices(&all[i].Spec)
		if choices <= fewChoices {
			continue
		}
		choosy[all[i].Namespace] = append(choosy[all[i].Namespace], i)
		if key := k.wishKey(all[i].Pod); !counted[string(key)] {
			counted[string(key)] = true
			total += choices
		}
	}
	if total <= maxChoices {
		return all, nil
	}
	beyond := map[int]bool{}
	for _, places := range choosy {
		k.share(all, places, maxChoices/len(choosy), beyond)
	}
	for i := range all {
		if beyond[i] {
			deferred = append(deferred, all[i].Pod)
		} else {
			looked = append(looked, all[i])
		}
	}
	return looked, deferred
}

// share finds the pods of one namespace that are beyond its share, by their places. At least one pod is
// within it.
func (k *classifier) share(all []Pod, places []int, share int, beyond map[int]bool) {
	slices.SortStableFunc(places, func(a, b int) int {
		return cmp.Or(compareBool(all[a].Tried, all[b].Tried), cmp.Compare(priority(all[b].Pod), priority(all[a].Pod)), comparePods(all[a].Pod, all[b].Pod))
	})
	left, considered := share, map[string]bool{}
	for _, place := range places {
		key, choices := string(k.wishKey(all[place].Pod)), constraints.Choices(&all[place].Spec)
		switch {
		case considered[key]:
		case choices <= left || left == share:
			considered[key] = true
			left -= choices
		default:
			beyond[place] = true
		}
	}
}
