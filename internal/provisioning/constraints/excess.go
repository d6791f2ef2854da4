package constraints

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Limits on the requests of one pod. Tenants choose how much their pods ask for, and Kubernetes
// bounds only the size of a pod. A pod of 1 MB would otherwise take the time of thousands of pods, which
// wait for their nodes meanwhile.
const (
	// MaxTerms bounds the terms of the required node affinity, the terms of affinity and anti-affinity
	// between pods, and the topology spread constraints. Each is counted separately.
	MaxTerms = 64
	// maxRequirements bounds the requirements of labels: of nodes, and of other pods.
	maxRequirements = 256
	// maxPreferred bounds the requirements of labels in preferences: each is part of many ways. Lighter
	// preferences do not count.
	maxPreferred = 128
	// maxValues bounds the values in all requirements, and the namespaces in all terms. There are some
	// 900 instance types to list.
	maxValues = 2000
	// maxTolerations bounds the tolerations.
	maxTolerations = 256
)

// amount holds a number that is bounded, and the bound.
type amount struct {
	has, most int
	of        string
}

// Excess returns which limit a pod exceeds, with the pod as the subject, or "" if it is within all limits.
func Excess(pod *corev1.PodSpec) string {
	required, others := requiredNodeTerms(pod), podTerms(pod)
	labels := terms{requirements: len(pod.NodeSelector), values: len(pod.NodeSelector)}
	for i := range required {
		labels.addNodes(&required[i])
	}
	between := terms{}
	for i := range others {
		between.addPods(&others[i])
	}
	for i := range pod.TopologySpreadConstraints {
		one := &pod.TopologySpreadConstraints[i]
		between.addSelector(one.LabelSelector)
		between.requirements += len(one.MatchLabelKeys)
	}
	for _, one := range []amount{
		{len(required), MaxTerms, "required node affinity terms"},
		{labels.requirements, maxRequirements, "label requirements in its node selector and required node affinity"},
		{labels.values, maxValues, "label values in its node selector and required node affinity"},
		{len(others), MaxTerms, "terms of affinity and anti-affinity to other pods"},
		{len(pod.TopologySpreadConstraints), MaxTerms, "topology spread constraints"},
		{between.requirements, maxRequirements, "label requirements in its affinities to other pods and its topology spread constraints"},
		{between.values, maxValues, "label values and namespaces in its affinities to other pods and its topology spread constraints"},
		{len(pod.Tolerations), maxTolerations, "tolerations"},
	} {
		if one.has > one.most {
			return fmt.Sprintf("has %d %s, more than the limit of %d for pods that need a new node", one.has, one.of, one.most)
		}
	}
	return ""
}

// Choices returns at least the number of ways in which a pod may be placed, plus its number of terms of
// affinity and anti-affinity to other pods. A pod without any of them has one.
func Choices(pod *corev1.PodSpec) int {
	ways, preferences := max(len(requiredNodeTerms(pod)), 1), 0
	if pod.Affinity != nil && pod.Affinity.NodeAffinity != nil {
		preferences = len(pod.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if ways *= 1 + min(preferences, maxAlternatives); ways > maxAlternatives {
		ways = maxAlternatives
	}
	return ways + min(len(podTerms(pod)), MaxTerms)
}

// terms counts what is in the terms of a pod.
type terms struct{ requirements, values int }

func (t *terms) addNodes(term *corev1.NodeSelectorTerm) {
	t.requirements += len(term.MatchExpressions) + len(term.MatchFields)
	for i := range term.MatchExpressions {
		t.values += len(term.MatchExpressions[i].Values)
	}
}

func (t *terms) addPods(term *corev1.PodAffinityTerm) {
	t.addSelector(term.LabelSelector)
	t.addSelector(term.NamespaceSelector)
	t.requirements += len(term.MatchLabelKeys) + len(term.MismatchLabelKeys)
	t.values += len(term.Namespaces)
}

func (t *terms) addSelector(selector *metav1.LabelSelector) {
	if selector == nil {
		return
	}
	t.requirements += len(selector.MatchLabels) + len(selector.MatchExpressions)
	t.values += len(selector.MatchLabels)
	for i := range selector.MatchExpressions {
		t.values += len(selector.MatchExpressions[i].Values)
	}
}

// requiredNodeTerms returns the terms of the required node affinity.
func requiredNodeTerms(pod *corev1.PodSpec) []corev1.NodeSelectorTerm {
	if pod.Affinity == nil || pod.Affinity.NodeAffinity == nil || pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	return pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
}

// podTerms returns the terms of affinity and anti-affinity to other pods, with the preferences.
func podTerms(pod *corev1.PodSpec) []corev1.PodAffinityTerm {
	if pod.Affinity == nil {
		return nil
	}
	var all []corev1.PodAffinityTerm
	gather := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		all = append(all, required...)
		for i := range preferred {
			all = append(all, preferred[i].PodAffinityTerm)
		}
	}
	if affinity := pod.Affinity.PodAffinity; affinity != nil {
		gather(affinity.RequiredDuringSchedulingIgnoredDuringExecution, affinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if affinity := pod.Affinity.PodAntiAffinity; affinity != nil {
		gather(affinity.RequiredDuringSchedulingIgnoredDuringExecution, affinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return all
}
