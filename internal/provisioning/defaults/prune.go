package defaults

import (
	"context"
	"fmt"
	"maps"
	"slices"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

// kept is the number of versions of a default launch template that stay although nothing is
// launched from them: users compare them.
const kept = 3

// Used are the versions of a launch template that nodes are launched from, or are about to be.
type Used func(ctx context.Context, id string) (map[int64]bool, error)

// PruneDue reports whether a default launch template had too many versions when Ensure observed it
// last. It calls nothing.
func (t *Templates) PruneDue(provisioner *provisioningv1.Provisioner, variant string) bool {
	known, is := t.lookup(provisioner.Name + "/" + variant)
	return is && known.pruneDue()
}

func (e ensured) pruneDue() bool {
	return e.seen.Template != nil && launchtemplate.PruneDue(e.seen.Versions, kept, e.Version)
}

// Prune deletes versions of a default launch template that are no longer used, once there are too
// many. It decides from the last observation of Ensure. It returns a message about what EC2 refused
// to delete, or "".
func (t *Templates) Prune(ctx context.Context, provisioner *provisioningv1.Provisioner, variant string, used Used) (string, error) {
	key := provisioner.Name + "/" + variant
	known, is := t.lookup(key)
	if !is || !known.pruneDue() {
		return "", nil
	}
	inUse, err := used(ctx, known.ID)
	if err != nil {
		return "", err
	}
	running, err := t.Templates.VersionsRunning(ctx, known.ID)
	if err != nil {
		return "", err
	}
	maps.Copy(inUse, running)
	plan := launchtemplate.PrunePlan(known.seen.Versions, kept, known.Version, inUse)
	if len(plan) == 0 {
		return "", nil
	}
	seen, refused, err := t.Templates.Prune(ctx, owner(provisioner, variant), known.seen, plan)
	if err != nil {
		return "", err
	}
	t.pruned(key, known, seen)
	for _, number := range slices.Sorted(maps.Keys(refused)) {
		return fmt.Sprintf("version %d of launch template %s: %s", number, known.Name, refused[number]), nil
	}
	return "", nil
}

// pruned remembers the remaining versions, unless the template was read again meanwhile.
func (t *Templates) pruned(key string, known ensured, left launchtemplate.Observation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now, is := t.known[key]; is && now.at.Equal(known.at) {
		now.seen = left
		t.known[key] = now
	}
}
