package simulation

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slipway-project/slipway/internal/simulation/informers"
)

// stillManager is a manager to which controllers can be added, and which runs none of them. The
// event loop does what their workers would do.
type stillManager struct {
	manager.Manager // nil: a method that is not overridden below is not used

	client   client.Client
	live     client.Reader
	cached   *informers.Cache
	clock    clock.PassiveClock
	recorder events.EventRecorder

	controllers []*runner
}

// runner is a controller whose work queue the event loop serves.
type runner struct {
	reconcile.Reconciler
	name  string
	queue *queue
}

// warmable is a controller that can start its watches without its workers.
type warmable interface {
	reconcile.Reconciler
	Warmup(ctx context.Context) error
}

// Add implements manager.Manager for controllers.
func (m *stillManager) Add(added manager.Runnable) error {
	controller, is := added.(warmable)
	if !is {
		return fmt.Errorf("simulation: cannot run %T", added)
	}
	one := &runner{Reconciler: controller}
	build := func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		one.name, one.queue = name, newQueue(m.clock, limiter)
		return one.queue
	}
	// The controllers ask for a queue with goroutines and timers of its own. Its constructor is an
	// exported field of a type that is not exported.
	field := reflect.ValueOf(controller).Elem().FieldByName("NewQueue")
	if !field.IsValid() || field.Type() != reflect.TypeOf(build) {
		return errors.New("simulation: controllers of this version of controller-runtime have no NewQueue")
	}
	field.Set(reflect.ValueOf(build))
	m.controllers = append(m.controllers, one)
	return nil
}

// start starts the watches of all controllers, which fills their queues with what exists.
func (m *stillManager) start(ctx context.Context) error {
	for _, one := range m.controllers {
		if err := one.Reconciler.(warmable).Warmup(ctx); err != nil {
			return fmt.Errorf("starting watches: %w", err)
		}
	}
	return nil
}

// GetControllerOptions implements manager.Manager.
func (m *stillManager) GetControllerOptions() config.Controller {
	return config.Controller{EnableWarmup: ptr.To(true), SkipNameValidation: ptr.To(true)}
}

// GetClient implements cluster.Cluster.
func (m *stillManager) GetClient() client.Client { return m.client }

// GetAPIReader implements cluster.Cluster.
func (m *stillManager) GetAPIReader() client.Reader { return m.live }

// GetCache implements cluster.Cluster.
func (m *stillManager) GetCache() cache.Cache { return m.cached }

// GetFieldIndexer implements cluster.Cluster.
func (m *stillManager) GetFieldIndexer() client.FieldIndexer { return m.cached }

// GetScheme implements cluster.Cluster.
func (m *stillManager) GetScheme() *runtime.Scheme { return m.client.Scheme() }

// GetRESTMapper implements cluster.Cluster.
func (m *stillManager) GetRESTMapper() meta.RESTMapper { return m.client.RESTMapper() }

// GetEventRecorder implements recorder.Provider.
func (m *stillManager) GetEventRecorder(string) events.EventRecorder { return m.recorder }

// GetLogger implements manager.Manager.
func (m *stillManager) GetLogger() logr.Logger { return logr.Discard() }
