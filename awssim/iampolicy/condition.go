package iampolicy

import (
	"fmt"
	"slices"
	"strings"
)

// Prefixes and the suffix of operators (AWS: "Set operators for multivalued context keys",
// "...IfExists condition operators").
const (
	forAllValues = "ForAllValues:"
	forAnyValue  = "ForAnyValue:"
	ifExists     = "IfExists"
	null         = "Null"
)

// operator compares one value of a request with one of a policy. One that is negated is met if no
// value of the policy compares.
type operator struct {
	compare func(value, pattern string) bool
	negated bool
}

// operators are the known operators (AWS: "IAM JSON policy elements: Condition operators"). An ARN
// is compared segment by segment, by ArnEquals as by ArnLike.
var operators = map[string]operator{
	"StringEquals":              {compare: equal},
	"StringNotEquals":           {compare: equal, negated: true},
	"StringEqualsIgnoreCase":    {compare: strings.EqualFold},
	"StringNotEqualsIgnoreCase": {compare: strings.EqualFold, negated: true},
	"StringLike":                {compare: like},
	"StringNotLike":             {compare: like, negated: true},
	"ArnEquals":                 {compare: likeARN},
	"ArnLike":                   {compare: likeARN},
	"ArnNotEquals":              {compare: likeARN, negated: true},
	"ArnNotLike":                {compare: likeARN, negated: true},
	"Bool":                      {compare: strings.EqualFold},
}

func equal(value, pattern string) bool { return value == pattern }

// quantified is an operator with what stands before and behind it.
type quantified struct {
	operator
	all, any, optional bool
}

func operatorOf(name string) (quantified, bool) {
	q := quantified{}
	if name, q.all = strings.CutPrefix(name, forAllValues); !q.all {
		name, q.any = strings.CutPrefix(name, forAnyValue)
	}
	name, q.optional = strings.CutSuffix(name, ifExists)
	var known bool
	q.operator, known = operators[name]
	return q, known
}

// Check returns an error if the condition has an operator, a key, or a value that this package cannot
// decide by.
func (c Condition) Check() error {
	for name, keys := range c {
		if _, known := operatorOf(name); !known && name != null {
			return fmt.Errorf("condition operator %q is not simulated", name)
		}
		for key, values := range keys {
			if len(values) == 0 || !strings.Contains(key, ":") {
				return fmt.Errorf("condition key %q of %s must begin with a prefix and have a value", key, name)
			}
			for _, value := range values {
				if strings.Contains(value, "${") {
					return fmt.Errorf("value %q of condition key %q has a policy variable, which is not simulated", value, key)
				}
				if name == null && value != "true" && value != "false" {
					return fmt.Errorf("value %q of condition key %q is neither true nor false", value, key)
				}
			}
		}
	}
	return nil
}

// Met reports whether all of a condition is met.
func (c Condition) Met(context Context) bool {
	for name, keys := range c {
		for key, patterns := range keys {
			if !meets(name, context.values(key), patterns) {
				return false
			}
		}
	}
	return true
}

// meets decides one key. One that the request does not have meets a negated operator, and
// ForAllValues, and no other (AWS: "Condition operators", and "If the key that you specify in a
// policy condition is not present in the request context").
func meets(name string, values, patterns []string) bool {
	if name == null { // the key must be absent, or present, as the policy says
		return slices.Contains(patterns, fmt.Sprint(len(values) == 0))
	}
	q, _ := operatorOf(name)
	one := func(value string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool { return q.compare(value, pattern) }) != q.negated
	}
	switch {
	case q.all:
		return !slices.ContainsFunc(values, func(value string) bool { return !one(value) })
	case len(values) == 0:
		return q.optional || q.negated && !q.any
	case q.negated && !q.any:
		return !slices.ContainsFunc(values, func(value string) bool { return !one(value) })
	default:
		return slices.ContainsFunc(values, one)
	}
}
