package awsmanagedmachinepool

import (
	"context"
	"errors"
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
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/reconciling"
)

const (
	// lookBusy is how often a node group is looked at that EKS is doing something with, and the
	// least time between two looks that only its Auto Scaling group gave reason for. There is no
	// call for many node groups.
	lookBusy = 15 * time.Second
	// lookRest is how often one is looked at otherwise, less up to lookSpread: another time for each pool.
	lookRest   = 100 * time.Minute
	lookSpread = 20 * time.Minute
	// lookAgain is when something in AWS that was just written and cannot be seen yet is looked for again.
	lookAgain = 5 * time.Second
)

// sighting is what EKS said of a pool's node groups when it was asked last. Nothing is decided from
// an old one but that there is nothing to do.
type sighting struct {
	// at is when, zero for never, and asked what for.
	at    time.Time
	asked []string
	// group is nil while there is none. adopting is true if CAPA made it, and it is this pool's and
	// not taken over yet. freeName is what a new one is called.
	group    *nodegroup.Nodegroup
	adopting bool
	freeName string
	// successor and predecessor are the names that a replacement leads to and away from, empty
	// while there is none. Retiring is the node group that is being replaced.
	successor, predecessor string
	retiring               *nodegroup.Nodegroup
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

// ownerTagMissingError reports that a node group that status names exists without the tag that
// marks it as the pool's.
type ownerTagMissingError struct {
	group *nodegroup.Nodegroup
	// wanted is the value of the tag that the pool's node group has.
	wanted string
}

// Error implements error.
func (e *ownerTagMissingError) Error() string {
	key, found := infrav1.TagManagedMachinePool, "has no tag "+infrav1.TagManagedMachinePool
	if e.owner() != "" { // whose it is may be another tenant's secret
		found = "has another owner's tag " + key
	}
	return fmt.Sprintf("node group %s, which this pool created, %s. Slipway neither changes it nor creates another, and its nodes keep running. "+
		"Set the tag %s of %s to %s", e.group.Name, found, key, e.group.ARN, e.wanted)
}

// WaitsForUser reports that only a user can put the tag back: status is no proof of ownership.
func (*ownerTagMissingError) WaitsForUser() bool { return true }

// owner returns the owner that the tag names instead, empty for none.
func (e *ownerTagMissingError) owner() string { return e.group.Tags[infrav1.TagManagedMachinePool] }

// observe sees the pool's node group, as it is known, or by asking EKS if that is old, if EKS is
// doing something with it, or if its Auto Scaling group moved.
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
		return outcome.Of(p.pool, infrav1.NodegroupReadyCondition, reasonFor(err, infrav1.NodegroupReconcileFailedReason), err)
	}
	return reconciling.ContinueAndComeBack(r.lookDue(p), "the node group is looked at")
}

// lookDue is how long what is known of the node group is good for.
func (r *Reconciler) lookDue(p *pass) time.Duration {
	if p.at.IsZero() || !slices.Equal(p.asked, common.NodegroupNames(p.pool, p.clusterName)) {
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

// look asks EKS about every name that a node group of the pool may have.
func (r *Reconciler) look(ctx context.Context, p *pass) error {
	seen := sighting{at: r.Clock.Now(), asked: common.NodegroupNames(p.pool, p.clusterName)}
	if err := r.choose(ctx, p, &seen); err != nil {
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

// choose picks the pool's node group, and the one that it replaces, out of those that have one of
// the pool's names, or the name for a new one. A node group is the pool's by its owner tag alone:
// the user of the namespace can write every name that is recorded.
func (r *Reconciler) choose(ctx context.Context, p *pass, seen *sighting) error {
	if wanted, leaving, replaced := common.ReplacedNodegroups(p.pool); replaced {
		seen.successor, seen.predecessor = wanted, leaving
		var taken *namesTakenError
		if err := r.chooseFrom(ctx, p, seen, []string{wanted}); !errors.As(err, &taken) {
			return err
		}
		// somebody wrote the record: a replacement begins with a name that nobody has
		seen.successor, seen.predecessor = "", ""
	}
	return r.chooseFrom(ctx, p, seen, append([]string{common.RecordedNodegroup(p.pool)},
		ownership.Names(common.NodegroupName(p.pool), p.clusterName, p.pool, 1, longestNodegroupName)...))
}

// chooseFrom is choose, where a new node group may have one of the creatable names.
func (r *Reconciler) chooseFrom(ctx context.Context, p *pass, seen *sighting, creatable []string) error {
	var adoptable *nodegroup.Nodegroup
	var untagged error
	for _, name := range seen.asked {
		if name == seen.predecessor && name != seen.successor {
			continue
		}
		group, err := r.lookAt(ctx, p, name)
		if err != nil {
			return err
		}
		switch {
		case group == nil:
			seen.offer(name, creatable)
		case group.OwnedBy(p.ownerTag()):
			seen.group, seen.freeName = group, ""
			return r.seeRetiring(ctx, p, seen)
		case seen.successor == "" && mayBeCAPAs(p, group):
			adoptable = group
		case recorded(p.pool.Status.Nodegroup, group):
			untagged = &ownerTagMissingError{group: group, wanted: p.ownerTag()}
		}
	}
	switch {
	case adoptable != nil:
		seen.group, seen.adopting, seen.freeName = adoptable, true, ""
		return r.mayAdopt(ctx, p, adoptable)
	case untagged != nil:
		return untagged
	case seen.freeName == "":
		return &namesTakenError{names: slices.DeleteFunc(creatable, func(name string) bool { return name == "" })}
	}
	return r.seeRetiring(ctx, p, seen)
}

// offer takes a name that no node group has for a new one, if it may have that name and none was
// offered before.
func (s *sighting) offer(name string, creatable []string) {
	if s.freeName == "" && slices.Contains(creatable, name) {
		s.freeName = name
	}
}

// seeRetiring sees the node group that is being replaced, if it is the pool's.
func (r *Reconciler) seeRetiring(ctx context.Context, p *pass, seen *sighting) error {
	if seen.predecessor == "" || seen.predecessor == seen.successor {
		return nil
	}
	group, err := r.lookAt(ctx, p, seen.predecessor)
	switch {
	case err != nil:
		return err
	case group == nil:
	case group.OwnedBy(p.ownerTag()):
		seen.retiring = group
	case recorded(p.pool.Status.Retiring, group):
		return &ownerTagMissingError{group: group, wanted: p.ownerTag()}
	}
	return nil
}

// recorded reports whether status names exactly this node group. An ARN has an identifier of its
// own for each node group, unlike a name.
func recorded(status *infrav1.NodegroupStatus, group *nodegroup.Nodegroup) bool {
	return status != nil && status.ARN != "" && status.ARN == group.ARN
}

// ensureFresh has what is about to be changed seen in this pass: somebody else may have changed it,
// or taken it over.
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
