package cli

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/config/crd"
	"github.com/slipway-project/slipway/internal/apitest"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/internal/migration"
	"github.com/slipway-project/slipway/internal/plan"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
)

const (
	// credentialsTimeout bounds the search for AWS credentials, and takeoverTimeout the trial of one takeover.
	credentialsTimeout = 20 * time.Second
	takeoverTimeout    = time.Minute
)

// takeovers tries with AWS whether Slipway can take pools over. Each pool is tried once in a process: a
// migration that is waiting observes the cluster every few seconds.
type takeovers struct {
	config *rest.Config
	skip   bool
	// settings are the manager's.
	settings plan.Planner
	// planner tries, once it is there. unchecked is why nothing can be tried.
	planner   *plan.Planner
	unchecked string
	tried     map[plan.PoolName]*migration.Takeover
}

// addTo adds to each pool that awaits its takeover what Slipway would do with it.
func (t *takeovers) addTo(ctx context.Context, observed *migration.Observed) error {
	if t.skip {
		observed.AWSUnchecked = "--skip-aws is set"
		return nil
	}
	var awaiting []*migration.Pool
	for i := range observed.Pools {
		if observed.AwaitsTakeover(observed.Pools[i]) {
			awaiting = append(awaiting, &observed.Pools[i])
		}
	}
	if len(awaiting) == 0 {
		return nil
	}
	if err := t.prepare(ctx); err != nil {
		return err
	}
	if t.unchecked != "" {
		observed.AWSUnchecked = t.unchecked
		return nil
	}
	t.try(ctx, awaiting)
	for _, pool := range awaiting {
		pool.Takeover = t.tried[nameOf(pool)]
	}
	return ctx.Err()
}

func nameOf(pool *migration.Pool) plan.PoolName {
	return plan.PoolName{Kind: pool.Kind, ObjectKey: client.ObjectKey{Namespace: pool.Namespace, Name: pool.Name}}
}

// prepare finds AWS credentials, and builds the planner. Slipway's definitions are this program's, because
// the cluster may still have CAPA's.
func (t *takeovers) prepare(ctx context.Context) error {
	if t.planner != nil || t.unchecked != "" {
		return nil
	}
	base, err := aws.LoadBase(ctx)
	if err == nil {
		searching, cancel := context.WithTimeout(ctx, credentialsTimeout)
		defer cancel()
		_, err = base.Credentials.Retrieve(searching)
	}
	if err != nil {
		t.unchecked = fmt.Sprintf("no AWS credentials were found: %v", err)
		return ctx.Err()
	}
	scheme, err := manager.NewScheme()
	if err != nil {
		return err
	}
	definitions, err := apitest.Load(crd.FS, "bases")
	if err != nil {
		return err
	}
	kinds := apiserver.NewKinds(scheme, definitions)
	reader, err := client.New(t.config, client.Options{Scheme: scheme, Mapper: kinds.RESTMapper()})
	if err != nil {
		return fmt.Errorf("creating a client of the management cluster: %w", err)
	}
	t.tried = map[plan.PoolName]*migration.Takeover{}
	planner := t.settings
	planner.Cluster, planner.AWS, planner.Kinds, planner.Clock = reader, base, kinds, clock.RealClock{}
	forMany(&planner)
	t.planner = &planner
	return nil
}

// try finds out what Slipway would do with the pools that were not tried before.
func (t *takeovers) try(ctx context.Context, pools []*migration.Pool) {
	var names []plan.PoolName
	for _, pool := range pools {
		if t.tried[nameOf(pool)] == nil {
			names = append(names, nameOf(pool))
		}
	}
	if len(names) == 0 {
		return
	}
	for i, tried := range t.planner.Takeovers(ctx, takeoverTimeout, names...) {
		t.tried[names[i]] = takeoverOf(tried)
	}
}

func takeoverOf(tried plan.Tried) *migration.Takeover {
	if tried.Err != nil {
		return &migration.Takeover{Failed: tried.Err.Error()}
	}
	takeover := &migration.Takeover{Creates: tried.Creates, Account: tried.Account, Region: tried.Region, Replaced: len(tried.Replaced()), Adopted: tried.Adopted, Busy: tried.Busy}
	for _, problem := range tried.Problems {
		takeover.Problems = append(takeover.Problems, migration.Problem{Reason: problem.Reason, Message: problem.Message})
	}
	return takeover
}
