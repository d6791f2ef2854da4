package awsmanagedmachinepool

import (
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/nodegroup"
)

// TestDeletedAgain holds when a node group that EKS could not delete is deleted again: after a time
// by the manager's clock, wherever EKS's is.
func TestDeletedAgain(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.November, 22, 10, 0, 0, 0, time.UTC)
	for reason, skew := range map[string]time.Duration{"EKS's clock is behind": -time.Hour, "the same": 0, "EKS's clock is ahead": time.Hour} {
		clock := testingclock.NewFakePassiveClock(now)
		r := &Reconciler{Clock: clock}
		p := &pass{pool: &infrav1.AWSManagedMachinePool{}}
		failed := &nodegroup.Nodegroup{Status: nodegroup.StatusDeleteFailed, Modified: now.Add(skew)}
		if wait := r.untilDeletedAgain(p, nil, failed); wait != endAgain {
			t.Errorf("%s: when it is first seen the wait is %s", reason, wait)
		}
		clock.SetTime(now.Add(endAgain))
		if wait := r.untilDeletedAgain(p, nil, failed); wait != 0 {
			t.Errorf("%s: after %s the wait is %s", reason, endAgain, wait)
		}
		if r.untilDeletedAgain(p, &nodegroup.Nodegroup{Status: nodegroup.StatusDeleting}); r.untilDeletedAgain(p, failed) != endAgain {
			t.Errorf("%s: the wait does not begin anew after another attempt", reason)
		}
	}
}
