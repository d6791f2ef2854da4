package autoscaling

import "strconv"

func ptr[T any](v T) *T { return &v }

// val returns what p points at, or the zero value.
func val[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// valOr returns what p points at, or the default.
func valOr[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}

// optional returns nil for the zero value, so that an unset member stays absent in an answer.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// set copies an optional member of an update into the state, if it is there.
func set[T any](dst *T, src *T) {
	if src != nil {
		*dst = *src
	}
}

// number returns a count as the SDK has it.
func number(n int) *int32 {
	return ptr(int32(n)) //nolint:gosec // counts here come from int32 members or from lists of instances
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// percentUp and percentDown take a share of n and round it; Auto Scaling rounds minimums up and
// maximums down (API RefreshPreferences, 2020 edition: "rounded up to the nearest integer"; maximum
// by symmetry, inference).
func percentUp(n, percent int) int   { return ceilDiv(n*percent, 100) }
func percentDown(n, percent int) int { return n * percent / 100 }

func itoa(n int) string { return strconv.Itoa(n) }
