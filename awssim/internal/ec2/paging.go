package ec2

import (
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// pageLimits holds the page sizes that one action allows, and its default (API reference,
// MaxResults of the action).
type pageLimits struct {
	min, max int
	// unpaged is the size of a page when MaxResults is not given; 0 means that everything comes at once.
	unpaged int
}

// page cuts one page out of items and returns the token of the next one, nil at the end.
func page[V any](items []V, maxResults *int32, token *string, limits pageLimits, key func(V) string) ([]V, *string, error) {
	size := limits.unpaged
	if maxResults != nil {
		size = int(*maxResults)
		if size < limits.min {
			return nil, nil, sim.Errorf("InvalidParameterValue", "Value ( %d ) for parameter maxResults is invalid. Expecting a value greater than or equal to %d.", size, limits.min)
		}
		if size > limits.max {
			return nil, nil, sim.Errorf("InvalidParameterValue", "Value ( %d ) for parameter maxResults is invalid. Expecting a value less than or equal to %d.", size, limits.max)
		}
	}
	found, next, ok := sim.Page(items, token, size, key)
	if !ok {
		return nil, nil, sim.Errorf("InvalidNextToken", "The specified NextToken is not valid.")
	}
	return found, next, nil
}
