package eks

import "github.com/slipway-project/slipway/awssim/internal/sim"

// paginate cuts a page of names out of a list.
func paginate(names []string, token *string, size *int32) (page []string, next *string, err error) {
	return pageOf(names, token, size, func(s string) string { return s })
}

// pageOf cuts a page out of a list (SDK ListNodegroupsInput.MaxResults: up to 100, which is also
// what comes without it).
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
