package machinepool

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// TestRestartsChangeNothing runs scenarios twice: undisturbed, and with the controller restarted
// before each pass, so that nothing that it remembers is there in the next. Both end in the same
// state of AWS, with the same status, and with the same events.
func TestRestartsChangeNothing(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		change func(*infrav1.AWSMachinePool)
		run    func(r *rollouts)
	}{
		{"a pool is created", nil, func(r *rollouts) { r.want("m5.large", ""); r.settled(1) }},
		{"an edit is rolled out", nil, func(r *rollouts) {
			r.want("m5.large", "")
			r.settled(1)
			r.want("m6i.large", "")
			r.settled(2)
		}},
		{"an edit is taken back", nil, func(r *rollouts) {
			r.want("m5.large", "")
			r.settled(1)
			r.want("m6i.large", "")
			r.until("a refresh began", func() bool { return r.refreshStatus() != "" })
			r.want("m5.large", "")
			r.settled(1)
		}},
		{"an edit follows another while instances are replaced", nil, func(r *rollouts) {
			r.want("m5.large", "")
			r.settled(1)
			r.want("m6i.large", "")
			r.until("the refresh has brought an instance", func() bool { return ptr.Deref(r.pool().Status.UpToDateReplicas, 0) == 1 })
			r.want("c5.large", "")
			r.settled(3)
		}},
		{"roll-outs are left to the user", func(pool *infrav1.AWSMachinePool) {
			pool.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Disable: true}
		}, func(r *rollouts) {
			r.want("m5.large", "")
			r.settled(1)
			r.want("m6i.large", "")
			r.until("the pool leaves it to the user", func() bool { return r.condition(infrav1.RolledOutCondition).Reason == infrav1.RefreshDisabledReason })
		}},
		{"nothing happens for a while", nil, func(r *rollouts) {
			r.want("m5.large", "")
			r.until("the group is there", func() bool { return r.group().AutoScalingGroupName != nil })
			r.settled(1)
			for range 10 {
				r.reconcile(time.Minute)
			}
		}},
		{"the pool is deleted", nil, func(r *rollouts) {
			r.want("m5.large", "")
			r.settled(1)
			if err := r.Delete(r.Context(), r.pool()); err != nil {
				r.Fatal(err)
			}
			r.until("the pool is gone", func() bool {
				return client.IgnoreNotFound(r.Get(r.Context(), r.key, &infrav1.AWSMachinePool{})) == nil && r.Get(r.Context(), r.key, &infrav1.AWSMachinePool{}) != nil
			})
		}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			var outcomes [2]string
			for i := range outcomes {
				r := newRollouts(t, row.change)
				r.forgetful = i == 1
				row.run(r)
				outcomes[i] = r.outcome()
			}
			if difference := cmp.Diff(outcomes[0], outcomes[1]); difference != "" {
				t.Errorf("undisturbed (-) and restarted (+):\n%s", difference)
			}
		})
	}
}

// outcome describes what a scenario came to: the group, the status without times and ids, and the events.
func (r *rollouts) outcome() string {
	r.Helper()
	var lines []string
	group := r.group()
	lines = append(lines, fmt.Sprintf("group of %d to %d, wants %d", ptr.Deref(group.MinSize, 0), ptr.Deref(group.MaxSize, 0), ptr.Deref(group.DesiredCapacity, 0)))
	for _, instance := range group.Instances {
		lines = append(lines, fmt.Sprintf("instance %s of version %s", instance.LifecycleState, *instance.LaunchTemplate.Version))
	}
	pool := &infrav1.AWSMachinePool{}
	if err := r.Get(r.Context(), r.key, pool); err == nil {
		for _, condition := range pool.Status.Conditions {
			lines = append(lines, fmt.Sprintf("condition %s is %s because of %s", condition.Type, condition.Status, condition.Reason))
		}
		rollout := ptr.Deref(pool.Status.Rollout, infrav1.RolloutStatus{})
		lines = append(lines, fmt.Sprintf("%d replicas, %d up to date, roll-out because of %q, %s, %d attempts", pool.Status.Replicas,
			ptr.Deref(pool.Status.UpToDateReplicas, -1), rollout.Cause, rollout.Status, rollout.Attempts))
	}
	var reasons []string
	for _, note := range r.told("") {
		reasons = append(reasons, strings.Join(strings.Fields(note)[:2], " "))
	}
	slices.Sort(lines)
	return strings.Join(append(lines, reasons...), "\n")
}
