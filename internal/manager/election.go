package manager

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/leaderelection"
	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/slipway-project/slipway/internal/steadyclock"
)

// newManager returns a controller manager that writes only while it leads. Leader election goes
// past that, and notes when the lease was renewed.
func newManager(options Options, settings ctrl.Options) (ctrl.Manager, error) {
	recorder, election := &laterRecorder{}, options.LeaderElection
	settings.LeaderElectionID, settings.LeaderElectionNamespace = election.ID, election.Namespace
	options.RESTConfig = followed(options)
	config := withWarnings(options.RESTConfig)
	if options.lease != nil {
		lock, err := leaderelection.NewResourceLock(options.RESTConfig, recorder, leaderelection.Options{
			LeaderElection: true, LeaderElectionID: election.ID, LeaderElectionNamespace: election.Namespace,
			RenewDeadline: election.RenewDeadline,
		})
		if err != nil {
			return nil, fmt.Errorf("preparing leader election: %w", err)
		}
		settings.LeaderElectionResourceLockInterface = options.lease.Watch(lock, options.Log)
		config = rest.CopyConfig(config)
		config.Wrap(options.lease.Guard)
	}
	manager, err := ctrl.NewManager(config, settings)
	if err != nil {
		return nil, fmt.Errorf("building the manager: %w", err)
	}
	if lock := settings.LeaderElectionResourceLockInterface; lock != nil {
		recorder.begin(manager.GetEventRecorderFor(lock.Identity())) //nolint:staticcheck // leader election knows no other recorder yet
	}
	return manager, nil
}

// followed returns the settings of clients, whose calls show the clock what time it is for the API server.
func followed(options Options) *rest.Config {
	steady, is := options.Clock.(*steadyclock.Clock)
	if !is {
		return options.RESTConfig
	}
	config := rest.CopyConfig(options.RESTConfig)
	config.Wrap(steady.FollowServer)
	return config
}

// onceLeading returns a Runnable that calls a function when the manager begins to lead. A manager stops
// leading only with its process.
func onceLeading(do func()) ctrlmanager.RunnableFunc {
	return func(context.Context) error {
		do()
		return nil
	}
}

// wrapWorkloads wraps the transports to workload clusters. Evictions are writes too.
func (o Options) wrapWorkloads() func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		if o.WrapWorkloads != nil {
			next = o.WrapWorkloads(next)
		}
		return o.lease.Guard(next)
	}
}

// laterRecorder records events once there is a manager to record them. The lock of leader election
// exists before that.
type laterRecorder struct {
	recorder atomic.Pointer[record.EventRecorder]
}

func (l *laterRecorder) begin(recorder record.EventRecorder) { l.recorder.Store(&recorder) }

// GetEventRecorderFor implements recorder.Provider.
func (l *laterRecorder) GetEventRecorderFor(string) record.EventRecorder { return l }

// GetEventRecorder implements recorder.Provider. Leader election does not ask for this kind.
func (*laterRecorder) GetEventRecorder(string) events.EventRecorder { return nil }

// Event implements record.EventRecorder.
func (l *laterRecorder) Event(object runtime.Object, kind, reason, message string) {
	if recorder := l.recorder.Load(); recorder != nil {
		(*recorder).Event(object, kind, reason, message)
	}
}

// Eventf implements record.EventRecorder.
func (l *laterRecorder) Eventf(object runtime.Object, kind, reason, format string, values ...any) {
	l.Event(object, kind, reason, fmt.Sprintf(format, values...))
}

// AnnotatedEventf implements record.EventRecorder.
func (l *laterRecorder) AnnotatedEventf(object runtime.Object, annotations map[string]string, kind, reason, format string, values ...any) {
	if recorder := l.recorder.Load(); recorder != nil {
		(*recorder).AnnotatedEventf(object, annotations, kind, reason, format, values...)
	}
}
