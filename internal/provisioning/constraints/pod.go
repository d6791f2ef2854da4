package constraints

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// maxAlternatives bounds how many ways of one pod have preferences.
const maxAlternatives = 64

// PodRequirements returns the ways in which a pod's node selector and node affinity can be met, the
// preferred one first: every term of the required affinity, with all preferences; then with the
// lightest preferences given up one by one. If there are none, the reason says why, with the pod as
// its subject. A pod that exceeds a limit (Excess) has none. A pod for an operating system needs a Node
// that runs it: the scheduler ignores spec.os, and the kubelet of any other Node rejects the pod
// (Kubernetes: kubelet/lifecycle, predicate.go).
//
// There are at most maxAlternatives ways with preferences, so that a pod with very many of them
// gives up several at once in the end. Of more preferences than that, the lightest do not count.
func PodRequirements(pod *corev1.PodSpec) ([]Requirements, string) {
	if reason := Excess(pod); reason != "" {
		return nil, reason
	}
	selected := Requirements{}
	for key, value := range pod.NodeSelector {
		selected[key] = In(value)
	}
	if pod.OS != nil {
		selected.Narrow(corev1.LabelOSStable, In(string(pod.OS.Name)))
		if _, empty := selected.Empty(); empty {
			return nil, fmt.Sprintf("is for %s (spec.os.name), but its node selector requires %s: %s", pod.OS.Name, corev1.LabelOSStable, pod.NodeSelector[corev1.LabelOSStable])
		}
	}
	required, reason := requiredTerms(pod, selected)
	if len(required) == 0 {
		return nil, reason
	}
	preferred := preferredTerms(pod)
	var alternatives []Requirements
	seen := map[string]bool{}
	for kept := len(preferred); kept >= 0; kept-- {
		for _, term := range required {
			if kept > 0 && len(alternatives)+len(required) >= maxAlternatives {
				continue
			}
			with := preferring(term, preferred[:kept])
			if described := with.String(); !seen[described] {
				seen[described] = true
				alternatives = append(alternatives, with)
			}
		}
	}
	return alternatives, ""
}

// preferring adds those preferences that do not contradict what is there already.
func preferring(term Requirements, preferences []Requirements) Requirements {
	with := maps.Clone(term)
	for _, preference := range preferences {
		if !with.contradict(preference) {
			with.narrowAll(preference)
		}
	}
	return with
}

func requiredTerms(pod *corev1.PodSpec, selected Requirements) ([]Requirements, string) {
	if pod.Affinity == nil || pod.Affinity.NodeAffinity == nil || pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return []Requirements{selected}, ""
	}
	var terms []Requirements
	first := "has a required node affinity without terms, which matches no node"
	for i, term := range pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		requirements, reason := ofTerm(term)
		if reason == "" {
			requirements = requirements.And(selected)
			if key, empty := requirements.Empty(); empty {
				reason = fmt.Sprintf("has a node selector and a node affinity that contradict each other for "+
					"the label %s", key)
			}
		}
		if reason == "" {
			terms = append(terms, requirements)
		} else if i == 0 {
			first = reason
		}
	}
	return terms, first
}

// preferredTerms returns the heaviest preferences, at most maxAlternatives with maxPreferred requirements, without
// any that nothing satisfies. Tenants choose how many there are.
func preferredTerms(pod *corev1.PodSpec) []Requirements {
	if pod.Affinity == nil || pod.Affinity.NodeAffinity == nil {
		return nil
	}
	weighted := slices.Clone(pod.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	slices.SortStableFunc(weighted, func(a, b corev1.PreferredSchedulingTerm) int { return cmp.Compare(b.Weight, a.Weight) })
	var preferred []Requirements
	size := terms{}
	for _, term := range weighted {
		if size.addNodes(&term.Preference); len(preferred) == maxAlternatives || size.requirements > maxPreferred || size.values > maxValues {
			break
		}
		if requirements, reason := ofTerm(term.Preference); reason == "" {
			preferred = append(preferred, requirements)
		}
	}
	return preferred
}
