package clouds

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/slipway-project/slipway/internal/aws"
)

// outageInterval is the interval at which it is checked whether an outage of AWS began or is over,
// which calls nothing.
const outageInterval = 15 * time.Second

// The services that objects of each kind need, by their names in IAM policies.
var (
	GroupServices    = []string{"autoscaling", "ec2", "sts"}
	ManagedServices  = []string{"autoscaling", "ec2", "eks", "iam", "sts"}
	TemplateServices = []string{"ec2", "s3", "ssm", "sts"}
)

// Outage returns the oldest outage among services, nil if there is none, and whether any of them
// has answered this process.
func (c *Cloud) Outage(services ...string) (outage *aws.Outage, answered bool) {
	return c.clients.Outage(services...)
}

// wake has objects reconciled.
func wake(queue *Queue, objects []types.NamespacedName) {
	for _, object := range objects {
		queue.Add(object)
	}
}

// outages holds the outages of a cloud that its objects were last woken for.
type outages struct{ groups, managed, templates time.Time }

func outagesOf(cloud *Cloud) outages {
	since := func(services []string) time.Time {
		if outage, _ := cloud.Outage(services...); outage != nil {
			return outage.Since
		}
		return time.Time{}
	}
	return outages{groups: since(GroupServices), managed: since(ManagedServices), templates: since(TemplateServices)}
}

// EveryOutageCheck calls check whenever it is time to compare which services of AWS answer with
// before, until the context is done.
func EveryOutageCheck(ctx context.Context, clk clock.WithTicker, check func()) {
	ticker := clk.NewTicker(outageInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			check()
		}
	}
}

// watchOutages wakes the objects of a cloud when an outage begins and when it is over, so that
// objects at rest show it too.
func (r *Registry) watchOutages(ctx context.Context) {
	woken := map[*Cloud]outages{}
	EveryOutageCheck(ctx, r.clock, func() {
		present := map[*Cloud]outages{}
		r.each(func(cloud *Cloud) {
			now, before := outagesOf(cloud), woken[cloud]
			present[cloud] = now
			if now.groups != before.groups {
				wake(&r.groups, cloud.SeenGroups.Watchers())
			}
			if now.managed != before.managed {
				wake(&r.managed, cloud.SeenManagedGroups.Watchers())
			}
			if now.templates != before.templates {
				wake(&r.templates, cloud.SeenTemplates.Watchers())
			}
		})
		woken = present
	})
}
