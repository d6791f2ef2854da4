package scheduler

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slipway-project/slipway/internal/metrics"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
)

// Startups measures how long pods that wait for a node take to be placed, bound, and running. It
// sees pods by their events, and only metrics are derived from it. It is safe for concurrent use.
type Startups struct {
	Progress *metrics.Progress
	Clock    clock.PassiveClock

	mu   sync.Mutex
	pods map[types.UID]*startup
}

// startup holds how far a pod is that was seen pending, and does not run yet.
type startup struct {
	since         time.Time
	placed, bound bool
}

// See records the state of a pod. A pod that runs or has finished is forgotten.
func (s *Startups) See(pod *corev1.Pod) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Clock.Now()
	known := s.pods[pod.UID]
	if known == nil {
		if clusterstate.Waits(pod) {
			if s.pods == nil {
				s.pods = map[types.UID]*startup{}
			}
			s.pods[pod.UID] = &startup{since: now}
		}
		return
	}
	if pod.Spec.NodeName != "" && !known.bound {
		known.bound = true
		s.Progress.PodReached(metrics.StageBound, now.Sub(known.since))
	}
	if pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil {
		return
	}
	if pod.Status.Phase == corev1.PodRunning {
		s.Progress.PodReached(metrics.StageRunning, now.Sub(known.since))
	}
	delete(s.pods, pod.UID)
}

// Place records that a place was found for pods.
func (s *Startups) Place(places map[types.UID]string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for uid := range places {
		if known := s.pods[uid]; known != nil && !known.placed {
			known.placed = true
			s.Progress.PodReached(metrics.StagePlaced, s.Clock.Now().Sub(known.since))
		}
	}
}

// Forget drops a pod that is gone.
func (s *Startups) Forget(pod types.UID) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pods, pod)
}

// Oldest returns since when the longest waiting pod was seen pending, both of the pods that are not
// bound and of the pods that do not run; zero if there is none.
func (s *Startups) Oldest() (unbound, unstarted time.Time) {
	if s == nil {
		return unbound, unstarted
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pod := range s.pods {
		if unstarted.IsZero() || pod.since.Before(unstarted) {
			unstarted = pod.since
		}
		if !pod.bound && (unbound.IsZero() || pod.since.Before(unbound)) {
			unbound = pod.since
		}
	}
	return unbound, unstarted
}

// events has the events of pods measured, and wakes nothing.
func (s *Startups) events() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	see := func(object client.Object) {
		if pod, is := object.(*corev1.Pod); is {
			s.See(pod)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, created event.CreateEvent, _ queue) { see(created.Object) },
		UpdateFunc: func(_ context.Context, update event.UpdateEvent, _ queue) { see(update.ObjectNew) },
		DeleteFunc: func(_ context.Context, deleted event.DeleteEvent, _ queue) { s.Forget(deleted.Object.GetUID()) },
	}
}
