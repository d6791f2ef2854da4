package clouds

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/aws/events"
	"github.com/slipway-project/slipway/internal/aws/observe"
)

// ListenTo has every cloud listen to the queue of that name in its account and region, and be swept
// less often while that works. It must be called before Start; an empty name listens to nothing.
// The metrics may be nil.
func (r *Registry) ListenTo(queue string, metrics *events.Metrics) {
	r.eventQueue, r.eventMetrics = queue, metrics
}

func (r *Registry) listener(cloud *Cloud) *events.Listener {
	return &events.Listener{
		SQS: cloud.clients.SQS, Name: r.eventQueue, Identity: cloud.clients.Principal.Identity.String(), Region: cloud.Region, Clock: r.clock,
		Metrics: r.eventMetrics,
		Heard:   r.heard,
		Listening: func(url string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			cloud.queue = url
			cloud.SeenGroups.Listening(url != "")
			cloud.SeenManagedGroups.Listening(url != "")
		},
	}
}

// heard passes on what a queue said to every cloud that listens to it: identities of one account
// share its queue, and a message comes to one.
func (r *Registry) heard(ctx context.Context, url string, happened events.Happened) error {
	r.each(func(cloud *Cloud) {
		if cloud.queue != url {
			return
		}
		cloud.ended.add(happened.Ended)
		changed := func(group autoscalinggroup.Group) bool {
			return slices.ContainsFunc(group.Instances, func(instance autoscalinggroup.Instance) bool {
				_, changed := slices.BinarySearch(happened.Instances, instance.ID)
				return changed
			})
		}
		for _, seen := range []*observe.Sweep[autoscalinggroup.Group]{cloud.SeenGroups, cloud.SeenManagedGroups} {
			seen.Hear(ctx, append(seen.Find(changed), happened.Groups...))
		}
	})
	return nil
}

// rememberEnded is the time for which terminated instances are remembered. Auto Scaling finds out
// within minutes.
const rememberEnded = time.Hour

// ended holds instances that EC2 reported as terminated. Auto Scaling finds out by a health check
// some time later, and until then lists them as in service; nothing brings them back, so they count
// as leaving.
type ended struct {
	clock clock.PassiveClock

	mu sync.Mutex
	at map[string]time.Time
}

func (e *ended) add(instances []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.clock.Now()
	maps.DeleteFunc(e.at, func(_ string, at time.Time) bool { return now.Sub(at) > rememberEnded })
	for _, id := range instances {
		if _, known := e.at[id]; !known {
			e.at[id] = now
		}
	}
}

// mark marks the terminated instances of groups as leaving.
func (e *ended) mark(groups map[string]autoscalinggroup.Group, err error) (map[string]autoscalinggroup.Group, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.at) == 0 {
		return groups, err
	}
	for _, group := range groups {
		for i := range group.Instances {
			if _, over := e.at[group.Instances[i].ID]; over {
				group.Instances[i] = group.Instances[i].Ended()
			}
		}
	}
	return groups, err
}

func (e *ended) describing(
	describe func(context.Context, []string) (map[string]autoscalinggroup.Group, error),
) func(context.Context, []string) (map[string]autoscalinggroup.Group, error) {
	return func(ctx context.Context, names []string) (map[string]autoscalinggroup.Group, error) {
		return e.mark(describe(ctx, names))
	}
}

func (e *ended) listing(
	list func(context.Context) (map[string]autoscalinggroup.Group, error),
) func(context.Context) (map[string]autoscalinggroup.Group, error) {
	return func(ctx context.Context) (map[string]autoscalinggroup.Group, error) { return e.mark(list(ctx)) }
}
