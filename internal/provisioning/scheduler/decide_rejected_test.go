package scheduler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

// TestRecordRejected holds when the status of a Provisioner says which offerings are rejected: not for what
// passes, not too often, and no longer than it holds.
func TestRecordRejected(t *testing.T) {
	t.Parallel()
	tooSmall := []provisioningv1.RejectedOfferings{{Reason: "TooSmall", Offerings: 7, Example: "m5.large, spot, in us-east-1a", Pod: "default/one"}}
	for _, row := range []struct {
		reason  string
		waits   time.Duration
		written time.Duration // ago
		status  []provisioningv1.RejectedOfferings
		placed  bool
		deleted bool
		found   []provisioningv1.RejectedOfferings
		writes  bool
	}{
		{reason: "a pod that waits briefly is not worth a write", waits: rejectedAfter - 1, written: time.Hour},
		{reason: "a pod waits for a while", waits: rejectedAfter, written: time.Hour, writes: true, found: tooSmall},
		{reason: "nothing has changed", waits: time.Hour, written: time.Hour, status: tooSmall},
		{reason: "the last write was a short time ago", waits: time.Hour, written: rejectedApart - 1, status: []provisioningv1.RejectedOfferings{{Reason: "Limits", Offerings: 1}}},
		{reason: "the reason has changed", waits: time.Hour, written: rejectedApart, status: []provisioningv1.RejectedOfferings{{Reason: "Limits", Offerings: 1}}, writes: true, found: tooSmall},
		{reason: "all pods have places", placed: true, written: time.Second, status: tooSmall, writes: true},
		{reason: "a Provisioner is being deleted", placed: true, written: time.Hour, status: tooSmall, deleted: true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			g := oneWaits()
			provisioner := g.provisioner()
			provisioner.Status.RejectedOfferings = row.status
			if row.deleted {
				provisioner.DeletionTimestamp = &metav1.Time{Time: noon}
			}
			pod := g.seen.Cluster.Pods[0]
			g.memory.Pending, g.memory.Rejected = pending{pod.UID: noon.Add(-row.waits)}, map[string]time.Time{"default": noon.Add(-row.written), "gone": noon}
			in := Input{Seen: &g.seen, Memory: g.memory, Now: noon}
			if !row.placed {
				in.Draft.Result = packing.Result{Unplaced: []packing.Unplaced{{Pod: pod}}, Rejected: []packing.Rejected{
					{Provisioner: "default", Reason: packing.RejectedBySize, Offerings: 7, Example: constraints.Offering{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: "spot"}, Pod: pod},
					{Provisioner: "other", Reason: packing.RejectedByZone, Offerings: 7, Pod: &corev1.Pod{}},
				}}
			}
			plan := in.plan()
			recordRejected(in, &plan)
			if _, kept := plan.Memory.Rejected["gone"]; kept {
				t.Error("a Provisioner that is gone is remembered")
			}
			if writes := len(plan.Actions) == 1; writes != row.writes {
				t.Fatalf("got %d actions, want a write: %v", len(plan.Actions), row.writes)
			}
			if !row.writes {
				return
			}
			if diff := cmp.Diff(row.found, plan.Actions[0].Action.(recordOfferings).Rejected); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if at := plan.Memory.Rejected["default"]; !at.Equal(noon) {
				t.Errorf("the write is remembered as of %v", at)
			}
		})
	}
}
