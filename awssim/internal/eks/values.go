package eks

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

func ptr[T any](v T) *T { return &v }

func val[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

func itoa[N int | int32 | int64](n N) string { return strconv.FormatInt(int64(n), 10) }

// number returns a number as it was written; invalid text is 0.
func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// optional returns nil for an empty string.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// minor returns the minor version of Kubernetes, as a number to count by: 1.30 is 30. It is -1 for
// an invalid version.
func minor(version string) int {
	major, rest, found := strings.Cut(version, ".")
	n, err := strconv.Atoi(rest)
	if !found || major != "1" || err != nil || n < 0 {
		return -1
	}
	return n
}

func merged(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// replaceMinor puts a version of Kubernetes into a text that has a place for it.
func replaceMinor(text, version string) string { return strings.ReplaceAll(text, "{minor}", version) }
