package managertest

import (
	"errors"
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/lab/product"
)

var errNotYet = errors.New("not yet")

func TestNamespaceLimitsTheManager(t *testing.T) {
	t.Parallel()
	inside, outside := newWorld(t), newWorld(t)
	inside.StartManager(product.Manager(product.Settings{}))
	// The pool outside comes first: a manager that watched it would have met it before the one
	// inside is done.
	outside.ApplyFile(example)
	inside.ApplyFile(example)
	inside.Eventually("the pool inside has its nodes", func() error { return inside.settled(poolName) })
	outside.untouched(poolName)
	if calls := outside.Cloud.AWS.Calls(); len(calls) > 0 {
		t.Errorf("AWS was called for the namespace outside: %v", calls)
	}
}

func TestWatchFilterLimitsTheManager(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.StartManager(product.Manager(product.Settings{Change: func(options *manager.Options) { options.WatchFilter = "mine" }}))
	const theirs = "theirs"
	label := func(pool *infrav1.AWSMachinePool) { pool.Labels[clusterv1.WatchLabel] = "mine" }
	w.applyAs(theirs)
	w.ApplyFile(example)
	for _, name := range []string{theirs, poolName} {
		w.Eventually("core Cluster API has labelled the pool", func() error {
			pool, err := w.pool(name)
			if err == nil && pool.Labels[clusterv1.ClusterNameLabel] == "" {
				err = errNotYet
			}
			return err
		})
	}
	w.edit(poolName, label)
	w.Eventually("the labelled pool has its nodes", func() error { return w.settled(poolName) })
	w.untouched(theirs)
	if groups := w.count("CreateAutoScalingGroup"); groups != 1 {
		t.Errorf("%d groups were made, want the labelled pool's alone", groups)
	}

	w.edit(theirs, label)
	w.Eventually("the pool has its nodes, now that it is labelled", func() error { return w.settled(theirs) })
}
