package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"k8s.io/utils/ptr"
)

const eventQueue = "slipway-events"

// TestTerminatedInstanceIsHeardOf terminates an instance outside Slipway while the clock stands
// still: no sweep runs, and it is noticed all the same.
func TestTerminatedInstanceIsHeardOf(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, options{events: true})
	w.havePool()
	instances := w.running()
	w.clock.SetRate(0)
	if _, err := w.ec2().TerminateInstances(w.Context(), &ec2.TerminateInstancesInput{InstanceIds: instances[:1]}); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the pool knows that an instance is leaving, at the same moment", func() error {
		pool, err := w.pool()
		if err != nil {
			return err
		}
		for _, instance := range pool.Status.Instances {
			if instance.InstanceID == instances[0] && instance.LifecycleState == "InService" || ptr.Deref(pool.Status.ReadyReplicas, 0) != 1 {
				return fmt.Errorf("instances are %+v", pool.Status.Instances)
			}
		}
		return nil
	})
	w.clock.SetRate(rate)
	w.Eventually("the list of provider ids is of those that run", func() error {
		pool, err := w.pool()
		if err != nil {
			return err
		}
		for _, id := range pool.Spec.ProviderIDList {
			if strings.HasSuffix(id, instances[0]) {
				return fmt.Errorf("the list is %q", pool.Spec.ProviderIDList)
			}
		}
		return w.settled(2)
	})
}

// TestIdleCostWithEvents holds that a pool at rest costs a sweep of groups every 15 minutes, one of
// templates every eight, and the polls of the queue.
func TestIdleCostWithEvents(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, options{events: true})
	w.havePool()
	w.pass(20 * time.Minute)
	counts := w.countsDuring(time.Hour)
	most := map[string]int{
		"DescribeAutoScalingGroups": 5, "DescribeLaunchTemplates": 8, "DescribeLaunchTemplateVersions": 8, "DescribeLifecycleHooks": 1, "ReceiveMessage": 181,
	}
	for action, count := range counts {
		if count > most[action] {
			t.Errorf("at rest, %s was called %d times in an hour, want at most %d; all: %v", action, count, most[action], counts)
		}
	}
	// The clock goes in steps, and a sweep that comes late puts off those after it: three may do for an hour.
	if !slices.Contains([]int{3, 4, 5}, counts["DescribeAutoScalingGroups"]) || counts["ReceiveMessage"] == 0 {
		t.Errorf("at rest, groups and the queue were looked at otherwise than they should be: %v", counts)
	}
}
