package awsmanagedmachinepool

import (
	"context"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/reconciling"
)

const (
	// lookBusy is how often a node group is looked at that EKS is doing something with, and the least time between two looks that only its Auto Scaling group
	// gave reason for. There is no call for many node groups.
	lookBusy = 15 * time.Second
	// lookRest is how often one is looked at otherwise, less up to lookSpread: another time for each pool.
	lookRest   = 100 * time.Minute
	lookSpread = 20 * time.Minute
	// lookAgain is when something in AWS that was just written and can not be seen yet is looked for again.
	lookAgain = 5 * time.Second
)

// sighting is what EKS said of a pool's node groups when it was asked last. Nothing is decided from an old one but that there is nothing to do.
type sighting struct {
	// at is when, zero for never, and asked what for.
	at    time.Time
	asked []string
	// group is nil while there is none. adopting is true if CAPA made it, and it is this pool's and not taken over yet. freeName is what a new one is called.
	group    *nodegroup.Nodegroup
	adopting bool
	freeName string
	// retiring is the node group that is being replaced.
	retiring *nodegroup.Nodegroup
	// moved is the Auto Scaling group as it was then.
	moved *autoscalinggroup.Group
}

// namesTakenError says that node groups of somebody else bear all the names that the pool's might.
type namesTakenError struct{ names []string }

// Error implements error.
func (e *namesTakenError) Error() string {
	return fmt.Sprintf("node groups named %q exist in the EKS cluster and are not owned by this pool", e.names)
}

// WaitsForUser says that only a person can free a name.
func (*namesTakenError) WaitsForUser() bool { return true }

// observe sees the pool's node group, as it is known, or by asking EKS if that is old, if EKS is doing something with it, or if its Auto Scaling group moved.
func (r *Reconciler) observe(ctx context.Context, p *pass) reconciling.Outcome {
	known, _ := r.sightings.Get(p.key())
	p.sighting = known
	if err := r.seeMembers(ctx, p); err != nil {
		return outcome.Of(p.pool, infrav1.NodegroupReadyCondition, infrav1.NodegroupReconcileFailedReason, err)
	}
	wait := r.lookDue(p)
	if wait > 0 {
		p.again = wait
		return reconciling.ContinueAndComeBack(wait, "the node group is looked at")
	}
	if err := r.look(ctx, p); err != nil {
		return outcome.Of(p.pool, infrav1.NodegroupReadyCondition, nameTakenOr(err, infrav1.NodegroupReconcileFailedReason), err)
	}
	return reconciling.ContinueAndComeBack(r.lookDue(p), "the node group is looked at")
}

// lookDue is how long what is known of the node group is good for.
func (r *Reconciler) lookDue(p *pass) time.Duration {
	if p.at.IsZero() || !slices.Equal(p.asked, r.names(p)) {
		return 0
	}
	every := lookRest - spread(p.key(), lookSpread)
	busy := p.group != nil && p.group.Busy() || p.retiring != nil
	if busy || !reflect.DeepEqual(p.members, p.moved) {
		every = lookBusy
	}
	return max(0, p.at.Add(every).Sub(r.Clock.Now()))
}

// spread is a time within an interval, another for each object.
func spread(object types.NamespacedName, within time.Duration) time.Duration {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(object.String())) // never fails
	return time.Duration(float64(within) * float64(hash.Sum32()) / (1 << 32))
}

// names are those that the pool's node groups bear or may bear.
func (r *Reconciler) names(p *pass) []string {
	if wanted, leaving, replaced := common.ReplacedNodegroups(p.pool); replaced {
		return []string{wanted, leaving}
	}
	return common.NodegroupNames(p.pool, p.clusterName)
}

// look asks EKS. A pool whose node group was never replaced has one node group; the first name that is the pool's is it.
func (r *Reconciler) look(ctx context.Context, p *pass) error {
	seen := sighting{at: r.Clock.Now(), asked: r.names(p)}
	if wanted, leaving, replaced := common.ReplacedNodegroups(p.pool); replaced {
		group, err := r.lookAt(ctx, p, wanted)
		if err != nil {
			return err
		}
		if seen.group = group; group == nil {
			seen.freeName = wanted
		} else if !group.OwnedBy(p.ownerTag()) {
			return &namesTakenError{names: []string{wanted}}
		}
		if leaving != "" {
			if seen.retiring, err = r.lookAt(ctx, p, leaving); err != nil {
				return err
			}
		}
	} else if err := r.choose(ctx, p, &seen); err != nil {
		return err
	}
	p.sighting, p.fresh = seen, true
	if err := r.seeMembers(ctx, p); err != nil {
		return err
	}
	r.keep(p)
	return nil
}

// keep remembers what the pass knows.
func (r *Reconciler) keep(p *pass) {
	p.moved = p.members
	r.sightings.Put(p.key(), p.sighting)
}

// lookAt is a node group of a name, nil if there is none.
func (r *Reconciler) lookAt(ctx context.Context, p *pass, name string) (*nodegroup.Nodegroup, error) {
	return p.cloud.Nodegroups.Describe(ctx, p.eksCluster, name)
}

// choose picks the pool's node group out of those that bear its names, or the name that a new one takes.
func (r *Reconciler) choose(ctx context.Context, p *pass, seen *sighting) error {
	for i, name := range seen.asked {
		group, err := r.lookAt(ctx, p, name)
		switch {
		case err != nil:
			return err
		case group == nil:
			if seen.freeName == "" {
				seen.freeName = name
			}
		case group.OwnedBy(p.ownerTag()):
			seen.group, seen.freeName = group, ""
			return nil
		case i == 0 && madeByCAPA(p, group):
			seen.group, seen.adopting, seen.freeName = group, true, ""
			return nil
		}
	}
	if seen.freeName == "" {
		return &namesTakenError{names: seen.asked}
	}
	return nil
}

// ensureFresh has what is about to be changed seen in this pass: somebody else may have changed it, or taken it over.
func (r *Reconciler) ensureFresh(ctx context.Context, p *pass) error {
	if p.fresh {
		return nil
	}
	return r.look(ctx, p)
}

// seeMembers sees the Auto Scaling groups of the node groups that are known, by the sweeps.
func (r *Reconciler) seeMembers(ctx context.Context, p *pass) error {
	var names []string
	for _, group := range []*nodegroup.Nodegroup{p.group, p.retiring} {
		if group != nil && group.AutoScalingGroup != "" {
			names = append(names, group.AutoScalingGroup)
		}
	}
	p.members, p.leaving = nil, nil
	if len(names) == 0 {
		p.cloud.SeenManagedGroups.Forget(p.key())
		return nil
	}
	found, err := p.cloud.SeenManagedGroups.Get(ctx, p.key(), names, false)
	if err != nil {
		return err
	}
	p.members, p.leaving = memberOf(found, p.group), memberOf(found, p.retiring)
	return nil
}

func memberOf(found map[string]autoscalinggroup.Group, group *nodegroup.Nodegroup) *autoscalinggroup.Group {
	if group == nil {
		return nil
	}
	members, exists := found[group.AutoScalingGroup]
	if !exists {
		return nil
	}
	return &members
}
