package packing

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// relation says how a pod relates to the pods that a topology counts.
type relation int

const (
	spread   relation = iota // not many more of them where it is than elsewhere
	together                 // some of them where it is
	apart                    // none of them where it is, nor it where they are
)

var relationNames = [...]string{spread: "spread", together: "together", apart: "apart"}

// axis says by which domains a topology counts.
type axis int

const (
	byNode axis = iota
	byZone
	byCapacityType
)

// axes are the labels that new nodes' domains are known by.
var axes = map[string]axis{
	corev1.LabelHostname: byNode, corev1.LabelTopologyZone: byZone, corev1.LabelFailureDomainBetaZone: byZone,
	provisioningv1.LabelCapacityType: byCapacityType, provisioningv1.KarpenterLabelCapacityType: byCapacityType,
}

// axesInWords lists the same labels, for users.
const axesInWords = corev1.LabelTopologyZone + ", " + corev1.LabelHostname + " and " + provisioningv1.LabelCapacityType

// topology counts the pods that some selectors match, by node, zone or capacity type.
type topology struct {
	relation   relation
	axis       axis
	namespaces map[string]bool // nil: all
	selectors  []labels.Selector
	maxSkew    int64
	minDomains int
	nodes      []constraints.Requirements // of a spread: the nodes that it is over; all if there are none
	// of a spread that is over nodes whose taints its pods tolerate: one of them
	tolerating *corev1.PodSpec
	// of a spread: the axes of all spreads of its pods. Nodes without such a domain are in none
	beside []axis

	// of a spread, but for one over nodes: those with such nodes, or that such nodes may come to
	domains uint64
	total   int64
	counts  []int64 // matching pods by domain. Those on a node are counted there
	owners  []int64 // pods that keep apart, by domain
}

// knows reports whether a node has a domain.
func (t *topology) knows(n *node) bool {
	return t.axis == byZone && n.zones != 0 || t.axis == byCapacityType && n.kinds != 0
}

// over reports whether a spread counts nodes with some taints.
func (t *topology) over(taints []corev1.Taint) bool {
	if t.tolerating == nil {
		return true
	}
	tolerated, _ := constraints.Tolerates(t.tolerating, taints)
	return tolerated
}

// selects reports whether the topology counts pods with some labels.
func (t *topology) selects(namespace string, of labels.Set) bool {
	if t.namespaces != nil && !t.namespaces[namespace] {
		return false
	}
	for _, selector := range t.selectors {
		if !selector.Matches(of) {
			return false
		}
	}
	return true
}

// topologies are all that some pod wants something of, each once.
type topologies struct {
	all   []*topology
	byKey map[digest]int32
	// byPair finds the topologies whose selector needs a label with a value, by both; others are
	// general.
	byPair  map[string][]int32
	general []int32
	names   map[string]map[string]string
	// catalog gives the labels of new nodes.
	catalog *catalog
}

func newTopologies(namespaces map[string]map[string]string) *topologies {
	return &topologies{byKey: map[digest]int32{}, byPair: map[string][]int32{}, names: namespaces}
}

// wanted are the topologies that one pod has a relation to, at one level of its preferences, by their places.
type wanted struct {
	spread, together, apart []int32
}

// add finds or creates a topology. It returns false for keys that are no axis: new nodes' domains
// are not known.
func (s *topologies) add(t topology, key, description string) (int32, bool) {
	var known bool
	if t.axis, known = axes[key]; !known {
		return 0, false
	}
	id := digestOf(strconv.Itoa(int(t.axis)) + "\x00" + description)
	if place, known := s.byKey[id]; known {
		return place, true
	}
	place := int32(len(s.all)) //nolint:gosec // there are no more topologies than terms of pods
	s.byKey[id] = place
	s.all = append(s.all, &t)
	pair, found := neededPair(t.selectors)
	if !found {
		s.general = append(s.general, place)
		return place, true
	}
	s.byPair[pair] = append(s.byPair[pair], place)
	return place, true
}

// neededPair returns a label with its value that every pod that the selectors match has.
func neededPair(selectors []labels.Selector) (string, bool) {
	for _, selector := range selectors {
		requirements, _ := selector.Requirements()
		for _, r := range requirements {
			if values := r.ValuesUnsorted(); len(values) == 1 && (r.Operator() == "in" || r.Operator() == "=" || r.Operator() == "==") {
				return r.Key() + "=" + values[0], true
			}
		}
	}
	return "", false
}

// matching returns the topologies that count a pod, in their order.
func (s *topologies) matching(namespace string, of labels.Set) []int32 {
	var matched []int32
	try := func(places []int32) {
		for _, place := range places {
			if s.all[place].selects(namespace, of) {
				matched = append(matched, place)
			}
		}
	}
	try(s.general)
	for key, value := range of {
		try(s.byPair[key+"="+value])
	}
	slices.Sort(matched)
	return matched
}

// spreadOf returns the topology of a spread constraint of a pod that may be on some nodes, or why
// there is none.
func (s *topologies) spreadOf(pod *corev1.Pod, c *corev1.TopologySpreadConstraint, ways []constraints.Requirements) (int32, string) {
	if _, known := axes[c.TopologyKey]; !known {
		return 0, "has a topology spread constraint over " + c.TopologyKey + ", but for new nodes Slipway supports only " + axesInWords + " alone"
	}
	selector, err := metav1.LabelSelectorAsSelector(withLabelKeys(c.LabelSelector, c.MatchLabelKeys, nil, pod.Labels))
	if err != nil {
		return 0, "has a topology spread constraint with an invalid selector: " + err.Error()
	}
	t := topology{
		relation: spread, namespaces: map[string]bool{pod.Namespace: true}, selectors: []labels.Selector{selector}, maxSkew: int64(c.MaxSkew),
	}
	if c.MinDomains != nil {
		t.minDomains = int(*c.MinDomains)
	}
	if c.WhenUnsatisfiable != corev1.ScheduleAnyway {
		t.beside = requiredAxes(&pod.Spec)
	}
	if c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor {
		t.nodes = slices.DeleteFunc(slices.Clone(ways), func(way constraints.Requirements) bool { return len(way) == 0 })
		if len(t.nodes) < len(ways) {
			t.nodes = nil // one way leads to any node
		}
	}
	var tolerations []corev1.Toleration
	if c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor {
		t.tolerating, tolerations = &pod.Spec, pod.Spec.Tolerations
	}
	described, err := json.Marshal([]any{relationNames[spread], pod.Namespace, selector.String(), c.MaxSkew, t.minDomains, fmt.Sprint(t.nodes), t.tolerating != nil, tolerations, t.beside})
	if err != nil {
		return 0, "has an invalid topology spread constraint: " + err.Error()
	}
	place, _ := s.add(t, c.TopologyKey, string(described))
	return place, ""
}

// requiredAxes returns the axes that a pod must be spread over.
func requiredAxes(spec *corev1.PodSpec) []axis {
	var all []axis
	for i := range spec.TopologySpreadConstraints {
		c := &spec.TopologySpreadConstraints[i]
		if over, known := axes[c.TopologyKey]; known && c.WhenUnsatisfiable != corev1.ScheduleAnyway && !slices.Contains(all, over) {
			all = append(all, over)
		}
	}
	slices.Sort(all)
	return all
}

// termsOf returns the topology of terms of (anti-)affinity with one key: it counts the pods that
// all terms match, as the scheduler does for affinity.
func (s *topologies) termsOf(pod *corev1.Pod, r relation, key string, terms []corev1.PodAffinityTerm) (int32, string) {
	t := topology{relation: r}
	var words []string
	for i := range terms {
		term := &terms[i]
		selector, err := metav1.LabelSelectorAsSelector(withLabelKeys(term.LabelSelector, term.MatchLabelKeys, term.MismatchLabelKeys, pod.Labels))
		if err != nil {
			return 0, "has an affinity with an invalid selector: " + err.Error()
		}
		spaces, err := s.namespacesOf(pod, term)
		if err != nil {
			return 0, "has an affinity with an invalid namespace selector: " + err.Error()
		}
		t.namespaces = both(t.namespaces, spaces)
		t.selectors = append(t.selectors, selector)
		words = append(words, selector.String()+" in "+strings.Join(sortedKeys(spaces), ","))
	}
	slices.Sort(words)
	place, known := s.add(t, key, relationNames[r]+strings.Join(words, "\x00"))
	if !known {
		return 0, "has an affinity over " + key + ", but for new nodes Slipway supports only " + axesInWords + " alone"
	}
	return place, ""
}

// namespacesOf returns the namespaces of a term's pods; nil means all.
func (s *topologies) namespacesOf(pod *corev1.Pod, term *corev1.PodAffinityTerm) (map[string]bool, error) {
	if term.NamespaceSelector == nil && len(term.Namespaces) == 0 {
		return map[string]bool{pod.Namespace: true}, nil
	}
	spaces := map[string]bool{}
	for _, name := range term.Namespaces {
		spaces[name] = true
	}
	if term.NamespaceSelector == nil {
		return spaces, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(term.NamespaceSelector)
	if err != nil {
		return nil, err
	}
	if selector.Empty() {
		return nil, nil
	}
	for name, of := range s.names {
		if selector.Matches(labels.Set(of)) {
			spaces[name] = true
		}
	}
	return spaces, nil
}

// both returns the namespaces that are in both sets; nil is the set of all.
func both(a, b map[string]bool) map[string]bool {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	common := map[string]bool{}
	for name := range a {
		if b[name] {
			common[name] = true
		}
	}
	return common
}

// sortedKeys returns the names of a set; * stands for the set of all.
func sortedKeys(of map[string]bool) []string {
	if of == nil {
		return []string{"*"}
	}
	return slices.Sorted(maps.Keys(of))
}

// withLabelKeys returns the selector with the pod's own values of the match keys, and without its
// values of the mismatch keys. A nil selector matches nothing, and stays nil.
func withLabelKeys(selector *metav1.LabelSelector, match, mismatch []string, of map[string]string) *metav1.LabelSelector {
	if selector == nil || len(match)+len(mismatch) == 0 {
		return selector
	}
	with := selector.DeepCopy()
	for operator, keys := range map[metav1.LabelSelectorOperator][]string{metav1.LabelSelectorOpIn: match, metav1.LabelSelectorOpNotIn: mismatch} {
		for _, key := range keys {
			if value, present := of[key]; present {
				with.MatchExpressions = append(with.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: []string{value}})
			}
		}
	}
	return with
}
