package ec2

import (
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// listing describes how a Describe action reads one kind of resource.
type listing[V any] struct {
	kind    idKind
	id      func(V) string
	filters filterTable[V]
	tags    func(V) []types.Tag // nil: the resource has no tags
	pages   pageLimits
}

// query holds the parameters that all Describe actions share.
type query struct {
	ids        []string
	filters    []types.Filter
	maxResults *int32
	nextToken  *string
	dryRun     *bool
}

// commonPages holds the page limits of most actions (API reference: MaxResults "between 5 and
// 1000").
var commonPages = pageLimits{min: 5, max: 1000}

// read picks by id, filters and cuts a page, in this order: an id that names nothing is an error
// even when a filter would leave it out.
func (l listing[V]) read(items []V, q query) ([]V, *string, error) {
	if len(q.ids) > 0 && q.maxResults != nil {
		// SDK, MaxResults of these actions: "you cannot specify this parameter and the IDs
		// parameter in the same request".
		return nil, nil, invalidCombination("The parameter %sIds cannot be used with the parameter maxResults", l.kind.prefix)
	}
	found, err := selectByID(l.kind, items, l.id, q.ids)
	if err != nil {
		return nil, nil, err
	}
	found, err = l.filters.apply(q.filters, found, l.tags)
	if err != nil {
		return nil, nil, err
	}
	found, next, err := page(found, q.maxResults, q.nextToken, l.pages, l.id)
	if err != nil {
		return nil, nil, err
	}
	if val(q.dryRun) {
		return nil, nil, dryRun()
	}
	return found, next, nil
}
