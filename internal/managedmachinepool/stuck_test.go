package managedmachinepool

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// TestDeletedAgain holds when a node group that EKS could not delete is deleted again: after a time
// by the manager's clock, wherever EKS's is, whether or not the manager restarts meanwhile.
func TestDeletedAgain(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.November, 22, 10, 0, 0, 0, time.UTC)
	for reason, skew := range map[string]time.Duration{"EKS's clock is behind": -time.Hour, "the same": 0, "EKS's clock is ahead": time.Hour} {
		failed := &nodegroup.Nodegroup{Name: "pool", Status: nodegroup.StatusDeleteFailed, Modified: now.Add(skew)}
		in := input{Object: &infrav1.AWSManagedMachinePool{}, Seen: Observed{Nodegroups: Nodegroups{Retiring: failed}}, Now: now}
		wait := func() time.Duration {
			noteFailedDeletion(in)
			return untilDeletedAgain(in)
		}
		if got := wait(); got != endAgain {
			t.Errorf("%s: when it is first seen the wait is %s", reason, got)
		}
		in.Now = now.Add(endAgain)
		if got := wait(); got != 0 {
			t.Errorf("%s: after %s the wait is %s", reason, endAgain, got)
		}
		in.Done = []reconcile.Done{{Step: reconcile.Step{Action: deleteNodegroup{Group: "pool"}}}}
		if wait(); in.Object.Status.Deletion != nil {
			t.Errorf("%s: after another attempt status has %+v", reason, ptr.Deref(in.Object.Status.Deletion, infrav1.NodegroupDeletionStatus{}))
		}
		if in.Done = nil; wait() != endAgain {
			t.Errorf("%s: the wait does not begin anew after another attempt", reason)
		}
	}
}
