package autoscaling

import "github.com/slipway-project/slipway/awssim/internal/sim"

// paginate returns the page that follows the token, and the token of the next page.
func paginate[T any](items []T, token *string, records *int32, standard, most int32, key func(T) string) ([]T, *string, error) {
	size := valOr(records, standard)
	if size < 1 || size > most {
		return nil, nil, constraint(itoa(int(size)), "maxRecords", "Member must have value between 1 and "+itoa(int(most)))
	}
	page, next, ok := sim.Page(items, token, int(size), key)
	if !ok {
		return nil, nil, sim.Errorf(codeInvalidNextToken, "The token '%s' is invalid.", *token)
	}
	return page, next, nil
}
