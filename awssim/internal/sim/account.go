package sim

import (
	"reflect"
	"slices"
	"strings"

	"github.com/slipway-project/slipway/awssim/world"
)

// DefaultAccount is the account of credentials that do not name one.
const DefaultAccount = "123456789012"

// Anonymous is the principal of requests without a signature.
const Anonymous = "anonymous"

// Account is one AWS account. It is created from the world on first use.
type Account struct {
	ID string

	kernel  *Kernel
	regions map[string]*Region
	stores  map[reflect.Type]any
}

// Region is one account's view of one region.
type Region struct {
	Name    string
	Account *Account

	world  *world.Region
	stores map[reflect.Type]any
}

// Kernel returns the kernel that the account belongs to.
func (a *Account) Kernel() *Kernel { return a.kernel }

// Kernel returns the kernel that the region belongs to.
func (r *Region) Kernel() *Kernel { return r.Account.kernel }

// World returns what the region looks like in every new account. It must not be changed.
func (r *Region) World() *world.Region { return r.world }

// Region returns the account's region of that name, or an error if the world has none.
func (a *Account) Region(name string) (*Region, error) {
	if r, ok := a.regions[name]; ok {
		return r, nil
	}
	w := a.kernel.world.Region(name)
	if w == nil {
		return nil, Errorf("InvalidClientTokenId", "The simulated world has no region %q; it has %s.",
			name, strings.Join(a.kernel.world.RegionNames(), ", ")).WithStatus(403)
	}
	r := &Region{Name: name, Account: a, world: w.Complete(), stores: map[reflect.Type]any{}}
	a.regions[name] = r
	return r, nil
}

// Account returns the account with an ID and creates it if it is new. Only for code under the lock.
func (k *Kernel) Account(id string) *Account {
	if a, ok := k.accounts[id]; ok {
		return a
	}
	a := &Account{ID: id, kernel: k, regions: map[string]*Region{}, stores: map[reflect.Type]any{}}
	k.accounts[id] = a
	return a
}

// Accounts returns the ids of all accounts that have been used, sorted.
func (k *Kernel) Accounts() []string {
	ids := make([]string, 0, len(k.accounts))
	for id := range k.accounts {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// AccountOfKey returns the account that an access key id stands for: its last twelve characters if
// they are digits, so that a test gets an account of its own by its credentials alone.
func AccountOfKey(accessKeyID string) string {
	if len(accessKeyID) < 12 {
		return DefaultAccount
	}
	id := accessKeyID[len(accessKeyID)-12:]
	if strings.Trim(id, "0123456789") != "" {
		return DefaultAccount
	}
	return id
}

// Store returns the state that a service keeps per region, T being the service's own type. build
// creates it from the world on first use; what it puts into tables is visible at once, whatever the
// read lag. Only for code under the lock.
func Store[T any](r *Region, build func(*Region) *T) *T {
	return store(r.stores, r.Account, func() *T { return build(r) })
}

// AccountStore does the same as Store, for a service that is global, as IAM is.
func AccountStore[T any](a *Account, build func(*Account) *T) *T {
	return store(a.stores, a, func() *T { return build(a) })
}

// GlobalStore returns the state that a service keeps for all accounts together, and creates it on first
// use. Only for code under the lock.
func GlobalStore[T any](k *Kernel, build func() *T) *T {
	key := reflect.TypeFor[T]()
	if s, ok := k.stores[key]; ok {
		return s.(*T)
	}
	s := build()
	k.stores[key] = s
	return s
}

func store[T any](stores map[reflect.Type]any, a *Account, build func() *T) *T {
	k := a.kernel
	key := reflect.TypeFor[T]()
	if s, ok := stores[key]; ok {
		return s.(*T)
	}
	was := k.building
	k.building = true
	defer func() { k.building = was }()
	var s *T
	k.on(a.ID, func() { s = build() })
	stores[key] = s
	return s
}
