package ec2

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// filterTable holds, per filter name that an action documents, how to read the values of a
// resource. A resource passes a filter when any of its values matches any of the filter's, and
// passes the request when it passes every filter (User Guide, "List and filter your resources":
// values of one filter are joined by OR, filters by AND).
type filterTable[V any] map[string]func(V) []string

// Limits of one request (User Guide, "List and filter your resources").
const (
	maxFilters      = 50
	maxFilterValues = 200
)

// with returns the table with the filters of another one as well.
func (t filterTable[V]) with(other filterTable[V]) filterTable[V] {
	joined := maps.Clone(t)
	maps.Copy(joined, other)
	return joined
}

// lacking returns the table with filters that are documented for what no resource of the simulator
// ever has: they match nothing.
func (t filterTable[V]) lacking(names ...string) filterTable[V] {
	joined := maps.Clone(t)
	for _, name := range names {
		joined[name] = func(V) []string { return nil }
	}
	return joined
}

// apply returns the items that pass all filters. With tags it also knows the filters tag:<key> and
// tag-key, which every taggable resource has. It refuses a filter that the action does not document
// even when there is nothing to filter.
func (t filterTable[V]) apply(filters []types.Filter, items []V, tags func(V) []types.Tag) ([]V, error) {
	readers := make([]func(V) []string, 0, len(filters))
	if len(filters) > maxFilters {
		return nil, sim.Errorf("FilterLimitExceeded", "The maximum number of filters per request is %d", maxFilters)
	}
	for _, f := range filters {
		read := t.reader(val(f.Name), tags)
		if read == nil {
			return nil, sim.Errorf("InvalidParameterValue", "The filter '%s' is invalid", val(f.Name))
		}
		if len(f.Values) == 0 {
			return nil, sim.Errorf("InvalidParameterValue", "The filter '%s' has no values", val(f.Name))
		}
		if len(f.Values) > maxFilterValues {
			return nil, sim.Errorf("FilterLimitExceeded", "The maximum number of filter values specified on a single call is %d", maxFilterValues)
		}
		readers = append(readers, read)
	}
	var passed []V
	for _, item := range items {
		if passes(filters, readers, item) {
			passed = append(passed, item)
		}
	}
	return passed, nil
}

func (t filterTable[V]) reader(name string, tags func(V) []types.Tag) func(V) []string {
	if tags != nil {
		if key, found := strings.CutPrefix(name, "tag:"); found {
			return func(v V) []string { return tagValues(tags(v), key) }
		}
		if name == "tag-key" {
			return func(v V) []string { return tagKeys(tags(v)) }
		}
	}
	return t[name]
}

func passes[V any](filters []types.Filter, readers []func(V) []string, item V) bool {
	for i, f := range filters {
		if !matchesAny(f.Values, readers[i](item)) {
			return false
		}
	}
	return true
}

func matchesAny(patterns, values []string) bool {
	for _, p := range patterns {
		for _, v := range values {
			if wildcardMatch(p, v) {
				return true
			}
		}
	}
	return false
}

// wildcardMatch compares a filter value with a resource's: * stands for any characters, ? for none
// or one, a backslash takes the next character literally, and letters' case counts (User Guide,
// "List and filter your resources", wildcards). It takes time in proportion to both lengths,
// whatever the pattern.
func wildcardMatch(pattern, value string) bool {
	literal := pattern
	if special := strings.IndexAny(pattern, `*?\`); special >= 0 {
		literal = pattern[:special]
	}
	value, begins := strings.CutPrefix(value, literal)
	if !begins {
		return false // as most values do
	}
	pattern = pattern[len(literal):]
	reached := make([]bool, len(value)+1) // at n: the pattern so far matches the first n characters
	next := make([]bool, len(value)+1)
	reached[0] = true
	for i := 0; i < len(pattern); i++ {
		next[0] = false
		switch c := pattern[i]; c {
		case '*':
			next[0] = reached[0]
			for n := range len(value) {
				next[n+1] = reached[n+1] || next[n]
			}
		case '?':
			next[0] = reached[0]
			for n := range len(value) {
				next[n+1] = reached[n+1] || reached[n]
			}
		default:
			if c == '\\' && i+1 < len(pattern) {
				i++
				c = pattern[i]
			}
			for n := range len(value) {
				next[n+1] = reached[n] && value[n] == c
			}
		}
		reached, next = next, reached
	}
	return reached[len(value)]
}

func tagValues(tags []types.Tag, key string) []string {
	for _, tag := range tags {
		if val(tag.Key) == key {
			return []string{val(tag.Value)}
		}
	}
	return nil
}

func tagKeys(tags []types.Tag) []string {
	keys := make([]string, len(tags))
	for i, tag := range tags {
		keys[i] = val(tag.Key)
	}
	return keys
}

// The readers below make the tables read like the documentation's lists.

// text is the value of an optional string; an absent one matches no filter.
func text(p *string) []string {
	if p == nil {
		return nil
	}
	return []string{*p}
}

func enum[E ~string](e E) []string {
	if e == "" {
		return nil
	}
	return []string{string(e)}
}

func boolean(p *bool) []string { return []string{strconv.FormatBool(val(p))} }

func number[N ~int32 | ~int64](p *N) []string {
	if p == nil {
		return nil
	}
	return []string{strconv.FormatInt(int64(*p), 10)}
}

// instant is a time as filters write it, for example 2010-08-02T19:52:10.000Z.
func instant(p *time.Time) []string {
	if p == nil {
		return nil
	}
	return []string{p.UTC().Format("2006-01-02T15:04:05.000Z"), p.UTC().Format(time.RFC3339)}
}
