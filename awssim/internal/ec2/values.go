package ec2

import "math"

const service = "ec2"

// ptr returns a pointer to v, as the SDK's optional members want.
func ptr[T any](v T) *T { return &v }

// val returns what p points at, or the zero value.
func val[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
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

// count32 is a small number as the SDK wants it.
func count32(n int) *int32 {
	if n < 0 || n > math.MaxInt32 {
		n = math.MaxInt32
	}
	return ptr(int32(n))
}
