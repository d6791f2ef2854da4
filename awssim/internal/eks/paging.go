package eks

import (
	"slices"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// pageOfNames returns a page of names, in order.
func pageOfNames(names []string, token *string, size *int32) (page []string, next *string, err error) {
	slices.Sort(names)
	return paginate(names, token, size)
}

// paginate returns a page of names.
func paginate(names []string, token *string, size *int32) (page []string, next *string, err error) {
	return pageOf(names, token, size, func(s string) string { return s })
}

// pageOf returns a page of a list. A page has at most 100 items, which is also the default (SDK
// ListNodegroupsInput.MaxResults).
func pageOf[V any](items []V, token *string, size *int32, key func(V) string) (page []V, next *string, err error) {
	n := 100
	if size != nil {
		if n = int(*size); n < 1 || n > 100 {
			return nil, nil, invalid("maxResults must be between 1 and 100, not %d", n)
		}
	}
	page, next, ok := sim.Page(items, token, n, key)
	if !ok {
		return nil, nil, invalid("Invalid pagination token.")
	}
	return page, next, nil
}
