package autoscaling

import "strconv"

// serviceName is the name by which requests to the service are signed.
const serviceName = "autoscaling"

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

func itoa(n int) string { return strconv.Itoa(n) }
