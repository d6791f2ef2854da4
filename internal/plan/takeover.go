package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/clouds"
	clusterfacts "github.com/slipway-project/slipway/internal/cluster"
	poolaccess "github.com/slipway-project/slipway/internal/pool"
)

// Takeover describes what Slipway does with a pool that Cluster API Provider AWS (CAPA) manages,
// once it reconciles the pool.
type Takeover struct {
	Pool
	// Creates is true if no group or node group is taken over, and Slipway creates one.
	Creates bool
	// Account and Region are where there is none to take over. They are empty unless Creates is true.
	Account, Region string
	// Busy describes what AWS is doing with the group for another user or program, empty if nothing.
	// Slipway takes the group over when that is complete.
	Busy string
	// Adopted is the pool's condition of that name afterwards, empty if it is missing.
	Adopted metav1.Condition
}

// PoolName names a pool of a kind.
type PoolName struct {
	Kind string
	client.ObjectKey
}

// Tried is the takeover of a pool, or the reason why it is not known.
type Tried struct {
	Takeover
	Err error
}

// Takeovers returns what Slipway does with pools that CAPA manages, in their order. It plans as if their
// clusters were not paused and the pools not released. Kinds without a definition have no objects, so
// Slipway need not be installed. The pools are planned from one reading of the cluster and of AWS, and
// each within a time limit.
func (p *Planner) Takeovers(ctx context.Context, limit time.Duration, pools ...PoolName) []Tried {
	reading := *p
	reading.Cluster = withoutDefinitions{p.Cluster}
	planner, tried := reading.once(), make([]Tried, len(pools))
	targets := make([]target, len(pools))
	for i, pool := range pools {
		targets[i] = target{kindNamed(pool.Kind), pool.ObjectKey}
	}
	planner.readMany(ctx, slices.DeleteFunc(slices.Clone(targets), func(target target) bool { return target.kind == nil }))
	var group errgroup.Group
	group.SetLimit(max(p.AtOnce, 1))
	for i, target := range targets {
		if target.kind == nil {
			tried[i].Err = fmt.Errorf("%.64q is no kind of pools", pools[i].Kind)
			continue
		}
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			tried[i].Takeover, tried[i].Err = planner.takeover(ctx, target)
			if tried[i].Err != nil {
				tried[i].Err = fmt.Errorf("planning the takeover of %s %s: %w", target.kind.name, target.name, tried[i].Err)
			}
			return nil
		})
	}
	_ = group.Wait()
	return tried
}

// takeover returns what Slipway does with one pool.
func (p *Planner) takeover(ctx context.Context, target target) (Takeover, error) {
	w, ctx := p.newWorld(ctx, p.Cluster)
	w.cluster.pool = target
	if err := w.handOver(ctx, target); err != nil {
		return Takeover{}, err
	}
	planned, after, err := w.planned(ctx, target)
	if err != nil {
		return Takeover{}, err
	}
	find := func(condition string) metav1.Condition {
		if found := meta.FindStatusCondition(after.conditions, condition); found != nil && found.ObservedGeneration > 0 {
			return *found
		}
		return metav1.Condition{}
	}
	// CAPA's conditions have no generation, and some have the types of Slipway's.
	planned.Problems = slices.DeleteFunc(planned.Problems, func(problem Problem) bool {
		return problem.Condition != "" && find(problem.Condition).Type == ""
	})
	creates := slices.ContainsFunc(planned.Steps, func(step Step) bool {
		return slices.Contains(step.Calls, "autoscaling:CreateAutoScalingGroup") || slices.Contains(step.Calls, createsNodegroup)
	})
	takeover := Takeover{Pool: planned, Creates: creates, Adopted: find(infrav1.AdoptedCondition)}
	takeover.Problems = slices.DeleteFunc(takeover.Problems, func(problem Problem) bool {
		deferred := problem.Reason == infrav1.AdoptionDeferredReason
		if deferred {
			takeover.Busy = problem.Message
		}
		return deferred
	})
	if creates {
		takeover.Account, takeover.Region, err = w.location(ctx, after.Object)
	}
	return takeover, err
}

// location returns the account and the region in which the controllers found no group of a pool.
func (w *world) location(ctx context.Context, pool client.Object) (account, region string, err error) {
	cloud, _, err := w.reach(ctx, pool)
	if err != nil {
		return "", "", err
	}
	account, err = cloud.AccountID(ctx)
	return account, cloud.Region, err
}

// reach returns the cloud of a pool, and the facts about its cluster.
func (w *world) reach(ctx context.Context, pool client.Object) (*clouds.Cloud, *clusterfacts.Facts, error) {
	clusterName := pool.GetLabels()[clusterv1.ClusterNameLabel]
	owner, err := poolaccess.GetCluster(ctx, w.cluster, pool.GetNamespace(), clusterName)
	if err != nil {
		return nil, nil, err
	}
	cloud, access, err := poolaccess.Registry{Registry: w.clouds, Reader: w.cluster}.Reach(ctx, pool, owner, clusterName)
	if err == nil && cloud == nil {
		err = cmp.Or(access.Err, error(&noCloudError{clusterName}))
	}
	return cloud, access.Facts, err
}

// noCloudError reports that the AWS of a cluster is not known.
type noCloudError struct{ cluster string }

// Error implements error.
func (e *noCloudError) Error() string {
	return fmt.Sprintf("Cluster %q has no infrastructure", e.cluster)
}

// handOver resumes the cluster of a pool, and removes the annotation that released the pool to CAPA.
func (w *world) handOver(ctx context.Context, target target) error {
	object, err := target.kind.read(ctx, w.cluster, target.name)
	if err != nil {
		return err
	}
	if annotations := object.GetAnnotations(); annotations[infrav1.ReleaseAnnotation] != "" {
		delete(annotations, infrav1.ReleaseAnnotation)
		object.SetAnnotations(annotations)
		if err := w.cluster.Update(ctx, object.Object); err != nil {
			return err
		}
	}
	owner, err := poolaccess.GetCluster(ctx, w.cluster, target.name.Namespace, object.GetLabels()[clusterv1.ClusterNameLabel])
	if err != nil || owner == nil || owner.Spec.Paused == nil {
		return err
	}
	owner.Spec.Paused = nil
	return w.cluster.Update(ctx, owner)
}

// withoutDefinitions reads from a cluster that may lack definitions of kinds.
type withoutDefinitions struct{ client.Reader }

// Get implements client.Reader.
func (r withoutDefinitions) Get(ctx context.Context, name client.ObjectKey, object client.Object, options ...client.GetOption) error {
	err := r.Reader.Get(ctx, name, object, options...)
	if meta.IsNoMatchError(err) {
		return apierrors.NewNotFound(infrav1.GroupVersion.WithResource("").GroupResource(), name.Name)
	}
	return err
}

// List implements client.Reader.
func (r withoutDefinitions) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := r.Reader.List(ctx, list, options...); err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
		return err
	}
	return nil
}
