package packing

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// wish is one relation to other pods, required or with a weight.
type wish struct {
	relation relation
	topology int32
	weight   int32 // 0: required
}

// wishes reads what of a pod's spec decides about nodes and neighbors.
func (k *classifier) wishes(pod *corev1.Pod) *wishes {
	w := &wishes{}
	if w.ways, w.reason = constraints.PodRequirements(&pod.Spec); w.reason != "" {
		return w
	}
	all, reason := k.relations(pod, w.ways)
	if reason != "" {
		w.reason = reason
		return w
	}
	for _, one := range all {
		if one.relation == apart && one.weight == 0 {
			w.reserved = append(w.reserved, one.topology)
		}
	}
	w.levels = levelsOf(all)
	return w
}

// reservedOf returns the topologies that a pod on a node keeps others apart by. Terms that cannot
// be read have no effect, and neither do terms beyond the limit for pods that need a node.
func (k *classifier) reservedOf(pod *corev1.Pod) []int32 {
	var reserved []int32
	terms := requiredAntiAffinity(&pod.Spec)
	for i := range terms[:min(len(terms), constraints.MaxTerms)] {
		if place, reason := k.topologies.termsOf(pod, apart, terms[i].TopologyKey, terms[i:i+1]); reason == "" {
			reserved = append(reserved, place)
		}
	}
	return reserved
}

// levelsOf gives up the lightest wish at each level, and all that are left at the last.
func levelsOf(all []wish) []wanted {
	slices.SortStableFunc(all, func(a, b wish) int { return cmp.Compare(heaviness(b), heaviness(a)) })
	required := 0
	for required < len(all) && all[required].weight == 0 {
		required++
	}
	var levels []wanted
	for kept := len(all); kept > required && len(levels) < maxLevels-1; kept-- {
		levels = append(levels, wantedOf(all[:kept]))
	}
	return append(levels, wantedOf(all[:required]))
}

func heaviness(w wish) int32 {
	if w.weight == 0 {
		return 101 // weights are at most 100
	}
	return w.weight
}

func wantedOf(wishes []wish) wanted {
	var w wanted
	for _, one := range wishes {
		switch one.relation {
		case spread:
			w.spread = append(w.spread, one.topology)
		case together:
			w.together = append(w.together, one.topology)
		case apart:
			w.apart = append(w.apart, one.topology)
		}
	}
	return w
}

// relations returns all relations of a pod. Preferences that new nodes cannot meet anyway are left
// out; such a requirement is returned as the reason.
func (k *classifier) relations(pod *corev1.Pod, ways []constraints.Requirements) ([]wish, string) {
	var all []wish
	for i := range pod.Spec.TopologySpreadConstraints {
		c := &pod.Spec.TopologySpreadConstraints[i]
		place, reason := k.topologies.spreadOf(pod, c, ways)
		switch {
		case reason == "" && c.WhenUnsatisfiable == corev1.ScheduleAnyway:
			all = append(all, wish{spread, place, 1})
		case reason == "":
			all = append(all, wish{spread, place, 0})
		case c.WhenUnsatisfiable != corev1.ScheduleAnyway:
			return nil, reason
		}
	}
	required, reason := k.requiredRelations(pod)
	if reason != "" {
		return nil, reason
	}
	return append(append(all, required...), k.preferredRelations(pod)...), ""
}

func (k *classifier) requiredRelations(pod *corev1.Pod) ([]wish, string) {
	var all []wish
	terms := requiredAffinity(&pod.Spec)
	keys := map[string]bool{}
	for i := range terms {
		keys[terms[i].TopologyKey] = true
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		place, reason := k.topologies.termsOf(pod, together, key, terms)
		if reason != "" {
			return nil, reason
		}
		all = append(all, wish{together, place, 0})
	}
	terms = requiredAntiAffinity(&pod.Spec)
	for i := range terms {
		place, reason := k.topologies.termsOf(pod, apart, terms[i].TopologyKey, terms[i:i+1])
		if reason != "" {
			return nil, reason
		}
		all = append(all, wish{apart, place, 0})
	}
	return all, ""
}

func (k *classifier) preferredRelations(pod *corev1.Pod) []wish {
	affinity := pod.Spec.Affinity
	if affinity == nil {
		return nil
	}
	var all []wish
	gather := func(r relation, terms []corev1.WeightedPodAffinityTerm) {
		for i := range terms {
			place, reason := k.topologies.termsOf(pod, r, terms[i].PodAffinityTerm.TopologyKey, []corev1.PodAffinityTerm{terms[i].PodAffinityTerm})
			if reason == "" {
				all = append(all, wish{r, place, max(terms[i].Weight, 1)})
			}
		}
	}
	if affinity.PodAffinity != nil {
		gather(together, affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if affinity.PodAntiAffinity != nil {
		gather(apart, affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return all
}

func requiredAffinity(spec *corev1.PodSpec) []corev1.PodAffinityTerm {
	if spec.Affinity == nil || spec.Affinity.PodAffinity == nil {
		return nil
	}
	return spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

func requiredAntiAffinity(spec *corev1.PodSpec) []corev1.PodAffinityTerm {
	if spec.Affinity == nil || spec.Affinity.PodAntiAffinity == nil {
		return nil
	}
	return spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

// preferredOf returns the terms of all preferences between pods.
func preferredOf(spec *corev1.PodSpec) []corev1.PodAffinityTerm {
	if spec.Affinity == nil {
		return nil
	}
	var weighted []corev1.WeightedPodAffinityTerm
	if spec.Affinity.PodAffinity != nil {
		weighted = append(weighted, spec.Affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	if spec.Affinity.PodAntiAffinity != nil {
		weighted = append(weighted, spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	terms := make([]corev1.PodAffinityTerm, 0, len(weighted))
	for i := range weighted {
		terms = append(terms, weighted[i].PodAffinityTerm)
	}
	return terms
}
