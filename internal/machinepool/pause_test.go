package machinepool

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// annotate sets an annotation of the pool, or removes it if the value is empty.
func (r *rollouts) annotate(key, value string) {
	r.Helper()
	pool := r.pool()
	if pool.Annotations == nil {
		pool.Annotations = map[string]string{}
	}
	pool.Annotations[key] = value
	if value == "" {
		delete(pool.Annotations, key)
	}
	if err := r.Update(r.Context(), pool); err != nil {
		r.Fatal(err)
	}
}

// versions returns what the instances of the group run.
func (r *rollouts) versions() map[string]int {
	r.Helper()
	counts := map[string]int{}
	for _, instance := range r.group().Instances {
		if instance.LifecycleState == asgtypes.LifecycleStateInService {
			counts[*instance.LaunchTemplate.Version]++
		}
	}
	return counts
}

// rests holds that further passes do not write the pool.
func (r *rollouts) rests() {
	r.Helper()
	before := r.pool().ResourceVersion
	for range 3 {
		r.reconcile(time.Minute)
	}
	if after := r.pool().ResourceVersion; after != before {
		r.Errorf("passes over a pool that waits wrote it: resource version %s became %s", before, after)
	}
}

// TestPausedRollout holds that a pause stops a roll-out half-way and keeps it there, and that it goes on
// without delay once it is resumed, also if the manager forgets everything meanwhile.
func TestPausedRollout(t *testing.T) {
	t.Parallel()
	for _, forgetful := range []bool{false, true} {
		r := newRollouts(t, nil)
		r.want("m5.large", "")
		r.settled(1)
		r.want("m6i.large", "")
		r.until("the refresh has brought an instance", func() bool { return ptr.Deref(r.pool().Status.UpToDateReplicas, 0) == 1 })
		r.forgetful = forgetful
		r.told("")

		r.annotate(infrav1.RolloutPausedAnnotation, "true")
		r.until("the refresh is cancelled", func() bool { return r.refreshStatus() == "Cancelled" })
		for range 40 {
			r.reconcile(time.Minute)
		}
		if versions := r.versions(); versions["1"] == 0 || versions["2"] == 0 {
			t.Errorf("after 40 minutes of a pause the instances run %v, want some of each version", versions)
		}
		r.rests()
		if condition := r.condition(infrav1.RolledOutCondition); condition.Reason != infrav1.RolloutPausedReason {
			t.Errorf("while paused, RolledOut is %s: %s", condition.Reason, condition.Message)
		}
		if events := strings.Join(r.told(""), "\n"); strings.Count(events, infrav1.InstanceRefreshPausedEvent) != 1 || strings.Contains(events, infrav1.InstanceRefreshStartedEvent) {
			t.Errorf("while paused, the events are:\n%s", events)
		}

		r.annotate(infrav1.RolloutPausedAnnotation, "")
		if took := r.settled(2); took > 10*time.Minute {
			t.Errorf("it took %s to finish a roll-out after its pause", took)
		}
	}
}

// TestPausedEdit holds that a paused pool replaces nothing for an edit, and does once it is resumed.
func TestPausedEdit(t *testing.T) {
	t.Parallel()
	r := newRollouts(t, nil)
	r.want("m5.large", "")
	r.settled(1)
	r.annotate(infrav1.RolloutPausedAnnotation, "true")
	r.want("m6i.large", "")
	for range 20 {
		r.reconcile(time.Minute)
	}
	r.rests()
	if !r.allRun(1) || r.condition(infrav1.RolledOutCondition).Reason != infrav1.RolloutPausedReason || r.refreshStatus() != "" {
		t.Errorf("a paused pool runs %v, and has a refresh that is %q; RolledOut is %+v", r.versions(), r.refreshStatus(), r.condition(infrav1.RolledOutCondition))
	}
	r.annotate(infrav1.RolloutPausedAnnotation, "")
	r.settled(2)
}

// TestPauseOfAnUnreadyPool holds that a pause cancels the refresh under way, whatever keeps the pool from
// deciding about roll-outs.
func TestPauseOfAnUnreadyPool(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		given  func(r *rollouts)
	}{
		{"the launch config is not ready", func(r *rollouts) {
			changeConfig(r, func(config *infrav1.AWSLaunchConfig) {
				config.Status.Conditions[0].Status, config.Status.Conditions[0].Reason = metav1.ConditionFalse, infrav1.ImageNotFoundReason
			})
		}},
		{"the launch config has not acted on its spec", func(r *rollouts) {
			changeConfig(r, func(config *infrav1.AWSLaunchConfig) { config.Status.Conditions = nil })
		}},
		{"the launch config is gone", func(r *rollouts) {
			if err := r.Delete(r.Context(), &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "config"}}); err != nil {
				r.Fatal(err)
			}
		}},
		{"the bootstrap data is not ready", func(r *rollouts) {
			machinePool := &clusterv1.MachinePool{}
			if err := r.Get(r.Context(), r.key, machinePool); err != nil {
				r.Fatal(err)
			}
			machinePool.Spec.Template.Spec.Bootstrap.DataSecretName = nil
			if err := r.Update(r.Context(), machinePool); err != nil {
				r.Fatal(err)
			}
		}},
		{"the spec was just edited again", func(r *rollouts) { r.want("c5.large", "") }},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRollouts(t, nil)
			r.rolls()
			row.given(r)
			r.annotate(infrav1.RolloutPausedAnnotation, "true")
			r.told("")
			r.reconcile(0)
			if status := r.newestRefresh(); status != asgtypes.InstanceRefreshStatusCancelling {
				t.Errorf("after a pass the refresh is %s, want it to be cancelled", status)
			}
			if condition := r.condition(infrav1.RolledOutCondition); condition.Reason != infrav1.RolloutPausedReason {
				t.Errorf("RolledOut is %s: %s", condition.Reason, condition.Message)
			}
			for range 5 {
				r.reconcile(time.Minute)
			}
			if events := r.told(infrav1.InstanceRefreshPausedEvent); len(events) != 1 {
				t.Errorf("the events of the pause are %q, want one", events)
			}
		})
	}
}

// TestPauseOfAForgottenRefresh holds that a pause cancels a refresh which a process started that exited
// before it could write the status.
func TestPauseOfAForgottenRefresh(t *testing.T) {
	t.Parallel()
	for _, unready := range []bool{false, true} {
		r := newRollouts(t, nil)
		r.want("m5.large", "")
		r.settled(1)
		r.annotate(infrav1.RolloutPausedAnnotation, "true")
		r.want("m6i.large", "")
		r.until("the pool shows the pause", func() bool { return r.condition(infrav1.RolledOutCondition).Reason == infrav1.RolloutPausedReason })
		before := r.pool().Status
		r.annotate(infrav1.RolloutPausedAnnotation, "")
		r.until("a refresh began", func() bool { return r.newestRefresh() != "" })

		pool := r.pool()
		pool.Status = before
		if err := r.Status().Update(t.Context(), pool); err != nil {
			t.Fatal(err)
		}
		r.restart(r.config)
		r.annotate(infrav1.RolloutPausedAnnotation, "true")
		if unready {
			changeConfig(r, func(config *infrav1.AWSLaunchConfig) { config.Status.Conditions = nil })
		}
		r.reconcile(0)
		if status := r.newestRefresh(); status != asgtypes.InstanceRefreshStatusCancelling {
			t.Errorf("with a launch config that is not ready (%t), after a pass the refresh is %s, want it to be cancelled", unready, status)
		}
	}
}

// rolls brings the pool to the middle of a roll-out.
func (r *rollouts) rolls() {
	r.Helper()
	r.want("m5.large", "")
	r.settled(1)
	r.want("m6i.large", "")
	r.until("the refresh has brought an instance", func() bool { return ptr.Deref(r.pool().Status.UpToDateReplicas, 0) == 1 })
}

// newestRefresh returns the status of the newest refresh of the group, "" if there was none.
func (r *rollouts) newestRefresh() asgtypes.InstanceRefreshStatus {
	r.Helper()
	out, err := r.asg.DescribeInstanceRefreshes(r.Context(), &autoscaling.DescribeInstanceRefreshesInput{AutoScalingGroupName: ptr.To("pool")})
	if err != nil {
		r.Fatal(err)
	}
	if len(out.InstanceRefreshes) == 0 {
		return ""
	}
	return out.InstanceRefreshes[0].Status
}

// changeConfig changes the status of the launch config.
func changeConfig(r *rollouts, change func(*infrav1.AWSLaunchConfig)) {
	r.Helper()
	config := &infrav1.AWSLaunchConfig{}
	if err := r.Get(r.Context(), client.ObjectKey{Namespace: "team", Name: "config"}, config); err != nil {
		r.Fatal(err)
	}
	change(config)
	if err := r.Status().Update(r.Context(), config); err != nil {
		r.Fatal(err)
	}
}
