package constraints

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Set is the set of values that a label of a node may have, and whether the node may be without the
// label. The zero Set holds nothing.
type Set struct {
	values       []string // sorted: those in the set, or with all those out of it
	all          bool
	above, below *int64 // with all: the value has to be an integer between them
	absent       bool
}

// In returns the set of some values.
func In(values ...string) Set { return Set{values: ordered(values)} }

// NotIn returns the set of all other values, and of a node without the label.
func NotIn(values ...string) Set { return Set{values: ordered(values), all: true, absent: true} }

// Exists returns the set of all values.
func Exists() Set { return Set{all: true} }

// DoesNotExist returns the set that only a node without the label satisfies.
func DoesNotExist() Set { return Set{absent: true} }

// Anything returns the set that excludes nothing.
func Anything() Set { return NotIn() }

// GreaterThan returns the set of integers above a bound.
func GreaterThan(bound int64) Set { return Set{all: true, above: &bound} }

// LessThan returns the set of integers below a bound.
func LessThan(bound int64) Set { return Set{all: true, below: &bound} }

// SetOf returns the set of a requirement of a node selector. It fails for requirements that the API
// server refuses.
func SetOf(r corev1.NodeSelectorRequirement) (Set, error) {
	switch r.Operator {
	case corev1.NodeSelectorOpIn:
		return In(r.Values...), nil
	case corev1.NodeSelectorOpNotIn:
		return NotIn(r.Values...), nil
	case corev1.NodeSelectorOpExists:
		return Exists(), nil
	case corev1.NodeSelectorOpDoesNotExist:
		return DoesNotExist(), nil
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if len(r.Values) != 1 {
			return Set{}, fmt.Errorf("label %q: operator %s requires exactly one value", r.Key, r.Operator)
		}
		bound, err := strconv.ParseInt(r.Values[0], 10, 64)
		if err != nil || bound < 0 { // the scheduler takes bounds that could be values of labels alone
			return Set{}, fmt.Errorf("label %q: operator %s requires a non-negative integer, not %q", r.Key, r.Operator, r.Values[0])
		}
		if r.Operator == corev1.NodeSelectorOpGt {
			return GreaterThan(bound), nil
		}
		return LessThan(bound), nil
	}
	return Set{}, fmt.Errorf("label %q: operator %q does not exist", r.Key, r.Operator)
}

func ordered(values []string) []string {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// Has reports whether the label may have a value.
func (s Set) Has(value string) bool {
	_, found := slices.BinarySearch(s.values, value)
	if found != s.all {
		return s.between(value)
	}
	return false
}

// HasAbsence reports whether a node may be without the label.
func (s Set) HasAbsence() bool { return s.absent }

// Admits reports whether a node's value of the label, or its absence, is in the set.
func (s Set) Admits(value string, present bool) bool {
	if !present {
		return s.absent
	}
	return s.Has(value)
}

func (s Set) between(value string) bool {
	if s.above == nil && s.below == nil {
		return true
	}
	number, err := strconv.ParseInt(value, 10, 64)
	return err == nil && (s.above == nil || number > *s.above) && (s.below == nil || number < *s.below)
}

// Values returns the values, if the set names them one by one.
func (s Set) Values() ([]string, bool) {
	if s.all {
		return nil, false
	}
	return s.values, true
}

// Names reports whether a set says what a label must be, rather than what it must not be: some
// values, or none at all.
func (s Set) Names() bool { return !s.all && (len(s.values) > 0) != s.absent }

// Empty reports whether no label of a node could be in the set. Values of labels have no sign, so
// that integers begin at 0. They can be written in more than one way (7 and 07), so that excluding
// values never exhausts a range of them.
func (s Set) Empty() bool {
	if s.absent {
		return false
	}
	if !s.all {
		return len(s.values) == 0
	}
	first := int64(0)
	if s.above != nil && *s.above >= 0 {
		if *s.above == math.MaxInt64 {
			return true
		}
		first = *s.above + 1
	}
	return s.below != nil && *s.below <= first
}

// Intersect returns the values that both sets hold.
func (s Set) Intersect(other Set) Set {
	both := Set{absent: s.absent && other.absent}
	switch {
	case !s.all:
		both.values = s.kept(other)
	case !other.all:
		both.values = other.kept(s)
	default:
		both.all = true
		both.values = ordered(slices.Concat(s.values, other.values))
		both.above = larger(s.above, other.above)
		both.below = smaller(s.below, other.below)
	}
	return both
}

// kept returns the values of a finite set that the other holds too.
func (s Set) kept(other Set) []string {
	var values []string
	for _, value := range s.values {
		if other.Has(value) {
			values = append(values, value)
		}
	}
	return values
}

func larger(a, b *int64) *int64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

func smaller(a, b *int64) *int64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

// String describes the set for a user; equal sets have equal descriptions.
func (s Set) String() string {
	if !s.all {
		words := s.values
		if s.absent {
			words = append(slices.Clone(words), "the label to be absent")
		}
		return cmp.Or(strings.Join(words, " or "), "nothing")
	}
	words := "anything"
	switch {
	case s.absent && len(s.values) > 0:
		words = "not " + strings.Join(s.values, ", ")
	case s.absent:
		words = "any value or no label"
	case len(s.values) > 0:
		words = "anything but " + strings.Join(s.values, ", ")
	}
	if s.above != nil {
		words += " above " + strconv.FormatInt(*s.above, 10)
	}
	if s.below != nil {
		words += " below " + strconv.FormatInt(*s.below, 10)
	}
	return words
}
