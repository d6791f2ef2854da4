package constraints

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Requirements holds the values that the labels of a node must have, by key. A label without a
// requirement may be anything.
type Requirements map[string]Set

// Get returns the set of a label's values.
func (r Requirements) Get(key string) Set {
	if set, ok := r[key]; ok {
		return set
	}
	return Anything()
}

// Narrow restricts a label's values to the values of the set.
func (r Requirements) Narrow(key string, to Set) { r[key] = r.Get(key).Intersect(to) }

// And returns what both require.
func (r Requirements) And(other Requirements) Requirements {
	both := maps.Clone(r)
	if both == nil {
		both = Requirements{}
	}
	both.narrowAll(other)
	return both
}

// narrowAll restricts the labels to what the other requirements admit too.
func (r Requirements) narrowAll(other Requirements) {
	for key, set := range other {
		r.Narrow(key, set)
	}
}

// contradict reports whether nothing can satisfy one of the other requirements in addition.
func (r Requirements) contradict(other Requirements) bool {
	for key, set := range other {
		if r.Get(key).Intersect(set).Empty() {
			return true
		}
	}
	return false
}

// Empty returns the first label, in alphabetical order, that nothing can satisfy, if there is one.
func (r Requirements) Empty() (string, bool) {
	for _, key := range slices.Sorted(maps.Keys(r)) {
		if r[key].Empty() {
			return key, true
		}
	}
	return "", false
}

// Admit reports whether a node with the labels satisfies all requirements.
func (r Requirements) Admit(labels map[string]string) bool {
	for key, set := range r {
		if value, present := labels[key]; !set.Admits(value, present) {
			return false
		}
	}
	return true
}

// String returns one line. Equal requirements have equal lines.
func (r Requirements) String() string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(r)) {
		words = append(words, key+": "+r[key].String())
	}
	return strings.Join(words, "; ")
}

// ofTerm returns the requirements of one term of a node selector. It returns a reason for terms
// that no new node matches: a term without expressions matches nothing, and the field of a node's
// name does not match a node that does not exist yet.
func ofTerm(term corev1.NodeSelectorTerm) (Requirements, string) {
	if len(term.MatchFields) > 0 {
		return nil, "requires a node by its name, which no new node has"
	}
	if len(term.MatchExpressions) == 0 {
		return nil, "has a node selector term without expressions, which matches no node"
	}
	requirements := Requirements{}
	for _, expression := range term.MatchExpressions {
		set, err := SetOf(expression)
		if err != nil {
			return nil, "has an invalid node selector: " + err.Error()
		}
		requirements.Narrow(expression.Key, set)
	}
	if key, empty := requirements.Empty(); empty {
		return nil, "has contradictory requirements for the label " + key
	}
	return requirements, ""
}
