package bootstrapstorage

import (
	"context"
	"fmt"
	"slices"
)

// Store keeps items in one account and region.
type Store struct {
	parameters parameterStore
	objects    objectStore
}

// New returns the store that the clients reach.
func New(parameters SSM, objects S3) *Store {
	return &Store{parameters: parameterStore{parameters}, objects: objectStore{objects}}
}

// keeper is one kind of place. Names are full names of parameters, or keys of objects.
type keeper interface {
	// find returns the owner of the item with a name and the digest of its content; owner is empty
	// if Slipway did not create it. It returns false if there is none.
	find(ctx context.Context, name string) (owner, digest string, exists bool, err error)
	// create writes an item that does not exist, replace one that does.
	create(ctx context.Context, name string, item Item) error
	replace(ctx context.Context, name string, item Item) error
	// list returns the names under a prefix that are the owner's.
	list(ctx context.Context, prefix, owner string) ([]string, error)
	remove(ctx context.Context, names []string) error
}

func (s *Store) keeper(place Place) keeper {
	if place.Bucket == "" {
		return s.parameters
	}
	return s.objects.in(place.Bucket)
}

// TakenError reports that the name of the data is in use by another owner.
type TakenError struct{ URL string }

// Error implements error.
func (e *TakenError) Error() string {
	return fmt.Sprintf("%s exists but was not written for this object. Slipway does not overwrite it, and "+
		"running nodes are kept. Delete it", e.URL)
}

// WaitsForUser says that only a person can free the name.
func (*TakenError) WaitsForUser() bool { return true }

// Put writes an item. Known says that this process has written it or seen it before, as the
// owner's: then it is one call. Else it is looked for first, and not written if it is as it should
// be. It returns whether it was written. The error may be a *TakenError.
func (s *Store) Put(ctx context.Context, item Item, known bool) (written bool, err error) {
	keeper, name := s.keeper(item.Location.Place), item.Location.Name(item.Owner)
	if known {
		return true, keeper.replace(ctx, name, item)
	}
	owner, found, exists, err := keeper.find(ctx, name)
	switch {
	case err != nil:
		return false, err
	case !exists:
		return true, keeper.create(ctx, name, item)
	case owner != item.Owner:
		return false, &TakenError{URL: item.Location.URL(item.Owner)}
	case found == item.Digest():
		return false, nil
	}
	return true, keeper.replace(ctx, name, item)
}

// Sweep deletes the owner's items in a place, but those to keep. It returns how many it deleted.
// Also are items that are not seen yet because reads lag behind writes; one of these that does not
// exist is no error.
func (s *Store) Sweep(ctx context.Context, place Place, owner string, keep, also []Location) (deleted int, err error) {
	keeper := s.keeper(place)
	names, err := keeper.list(ctx, place.prefix(owner), owner)
	if err != nil {
		return 0, err
	}
	for _, location := range also {
		if location.Place == place && !slices.Contains(names, location.Name(owner)) {
			names = append(names, location.Name(owner))
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(keep, func(kept Location) bool { return kept.Place == place && kept.Name(owner) == name })
	})
	if len(names) == 0 {
		return 0, nil
	}
	return len(names), keeper.remove(ctx, names)
}
