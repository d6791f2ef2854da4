package clouds

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-project/slipway/internal/aws"
)

const (
	// mostPlaces bounds how many clouds the objects of one namespace use at a time. Users of the
	// namespace choose regions, and each cloud costs connections, caches, and sweeps. Clusters of
	// one namespace are in a few regions.
	mostPlaces = 20
	// unusedAfter is the time after which a cloud is removed that no object watches anything in and
	// that none has asked for since.
	unusedAfter = time.Hour
)

// TooManyError reports that a namespace uses too many AWS regions and identities at a time.
type TooManyError struct{ Namespace, Region string }

// Error implements error.
func (e *TooManyError) Error() string {
	return fmt.Sprintf("objects in namespace %q already use the maximum of %d combinations of AWS region and "+
		"identity, so region %s cannot be added. Delete some of the objects",
		e.Namespace, mostPlaces, e.Region)
}

// WaitsForUser reports that only a user can change it.
func (*TooManyError) WaitsForUser() bool { return true }

// admit notes that a namespace asks for a cloud, unless it uses too many others. It removes the
// clouds that nothing uses. The registry is locked.
func (r *Registry) admit(key place, namespace string) error {
	now := r.clock.Now()
	if _, asked := r.used[key][namespace]; !asked {
		if r.placesOf(namespace) >= mostPlaces || now.Sub(r.expired) >= unusedAfter {
			r.expire(now)
		}
		if r.placesOf(namespace) >= mostPlaces {
			return &TooManyError{Namespace: namespace, Region: key.region}
		}
	}
	if r.used[key] == nil {
		r.used[key] = map[string]time.Time{}
	}
	r.used[key][namespace] = now
	return nil
}

// placesOf returns how many clouds a namespace uses. The registry is locked.
func (r *Registry) placesOf(namespace string) int {
	count := 0
	for _, users := range r.used {
		if _, uses := users[namespace]; uses {
			count++
		}
	}
	return count
}

// expire forgets which namespaces used clouds that they no longer use, and removes the clouds that
// none uses. The registry is locked.
func (r *Registry) expire(now time.Time) {
	r.expired = now
	for key, users := range r.used {
		cloud := r.clouds[key]
		watching := map[string]bool{}
		if cloud != nil {
			for _, objects := range [][]types.NamespacedName{cloud.SeenTemplates.Watchers(), cloud.SeenGroups.Watchers(), cloud.SeenManagedGroups.Watchers()} {
				for _, object := range objects {
					watching[object.Namespace] = true
				}
			}
		}
		for namespace, last := range users {
			if !watching[namespace] && now.Sub(last) >= unusedAfter {
				delete(users, namespace)
			}
		}
		if len(users) > 0 {
			continue
		}
		delete(r.used, key)
		if cloud != nil {
			delete(r.clouds, key)
			r.sessions.Forget(cloud.clients)
			r.retire(cloud)
		}
	}
}

// OwnAccountID returns the account of the controller's own credentials. It is for comparing
// accounts, and asks for no namespace.
func (r *Registry) OwnAccountID(ctx context.Context, region string) (string, error) {
	clients, err := r.sessions.For(ctx, aws.Principal{}, region)
	if err != nil {
		return "", fmt.Errorf("preparing AWS clients: %w", err)
	}
	defer r.forgetUnused(clients)
	return clients.AccountID(ctx)
}

// forgetUnused drops clients that no cloud has.
func (r *Registry) forgetUnused(clients *aws.Clients) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cloud := r.clouds[place{identity: clients.Principal.Identity, region: clients.Region}]; cloud == nil || cloud.clients != clients {
		r.sessions.Forget(clients)
	}
}
