package machinepool

import (
	"strings"
	"testing"
	"time"

	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"k8s.io/utils/ptr"

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
