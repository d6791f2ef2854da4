package watches

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Index is an index of the cache, by which objects are looked up without listing all of them.
type Index struct {
	Object client.Object
	Name   string
	// Values of an object.
	Values client.IndexerFunc
}

// AddIndexes adds indexes to the cache of a manager, before that starts.
func AddIndexes(ctx context.Context, manager ctrl.Manager, indexes []Index) error {
	for _, index := range indexes {
		if err := manager.GetFieldIndexer().IndexField(ctx, index.Object, index.Name, index.Values); err != nil {
			return fmt.Errorf("indexing %T by %s: %w", index.Object, index.Name, err)
		}
	}
	return nil
}
