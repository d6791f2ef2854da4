package watches

import (
	"context"
	"fmt"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Index is an index of the cache, by which objects are looked up without listing all of them.
type Index struct {
	Object client.Object
	Name   string
	// Values of an object.
	Values client.IndexerFunc
}

// Indexing is a source of a controller that adds indexes to the cache when the controller starts, before
// its first pass. An index reads all objects of its kind, and a manager that waits for the lease should
// read none.
func Indexing(indexer client.FieldIndexer, indexes []Index) source.Source {
	return source.Func(func(ctx context.Context, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		return AddIndexes(ctx, indexer, indexes)
	})
}

// AddIndexes adds indexes to a cache.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer, indexes []Index) error {
	for _, index := range indexes {
		if err := indexer.IndexField(ctx, index.Object, index.Name, index.Values); err != nil {
			return fmt.Errorf("indexing %T by %s: %w", index.Object, index.Name, err)
		}
	}
	return nil
}
