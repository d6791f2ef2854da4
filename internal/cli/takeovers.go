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
	tried     map[string]*migration.Takeover
}

// addTo adds to each pool that awaits its takeover what Slipway would do with it.
func (t *takeovers) addTo(ctx context.Context, observed *migration.Observed) error {
	if t.skip {
		observed.AWSUnchecked = "--skip-aws is set"
		return nil
	}
	for i := range observed.Pools {
		pool := &observed.Pools[i]
		if !observed.AwaitsTakeover(*pool) {
			continue
		}
		if err := t.prepare(ctx); err != nil {
			return err
		}
		if t.unchecked != "" {
			observed.AWSUnchecked = t.unchecked
			return nil
		}
		key := pool.Kind + "/" + pool.Namespace + "/" + pool.Name
		if t.tried[key] == nil {
			t.tried[key] = t.try(ctx, pool)
		}
		pool.Takeover = t.tried[key]
	}
	return ctx.Err()
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
	t.tried = map[string]*migration.Takeover{}
	planner := t.settings
	planner.Cluster, planner.AWS, planner.Kinds, planner.Clock = reader, base, kinds, clock.RealClock{}
	t.planner = &planner
	return nil
}

// try returns what Slipway would do with a pool.
func (t *takeovers) try(ctx context.Context, pool *migration.Pool) *migration.Takeover {
	ctx, cancel := context.WithTimeout(ctx, takeoverTimeout)
	defer cancel()
	planned, err := t.planner.Takeover(ctx, pool.Kind, client.ObjectKey{Namespace: pool.Namespace, Name: pool.Name})
	if err != nil {
		return &migration.Takeover{Failed: err.Error()}
	}
	takeover := &migration.Takeover{Creates: planned.Creates, Account: planned.Account, Region: planned.Region, Replaced: len(planned.Replaced()), Adopted: planned.Adopted, Busy: planned.Busy}
	for _, problem := range planned.Problems {
		takeover.Problems = append(takeover.Problems, migration.Problem{Reason: problem.Reason, Message: problem.Message})
	}
	return takeover
}
