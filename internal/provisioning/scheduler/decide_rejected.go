package scheduler

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

const (
	// rejectedAfter is the time that pods wait without a place before their rejected offerings are written to
	// the status of Provisioners. Most pods have a place at once, and what passes is not written.
	rejectedAfter = 30 * time.Second
	// rejectedApart is the shortest time between two writes of rejected offerings to one Provisioner: the
	// numbers change with every pod.
	rejectedApart = time.Minute
	// mostRejected bounds the reasons of a Provisioner (API: maxItems).
	mostRejected = 16
)

// recordRejected plans to write to each Provisioner which offerings are rejected for pods without a place, and
// why. It removes what no longer holds.
func recordRejected(in Input, plan *Plan) {
	var rejected []packing.Rejected
	if lasting(in) {
		rejected = plan.Draft.Result.Rejected
	}
	written := map[string]time.Time{}
	for i := range in.Seen.Cluster.Provisioners {
		provisioner := &in.Seen.Cluster.Provisioners[i]
		if at, known := plan.Memory.Rejected[provisioner.Name]; known {
			written[provisioner.Name] = at
		}
		found := rejectedOf(rejected, provisioner.Name)
		if equality.Semantic.DeepEqual(found, provisioner.Status.RejectedOfferings) || !provisioner.DeletionTimestamp.IsZero() {
			continue
		}
		if len(found) > 0 && in.Now.Before(written[provisioner.Name].Add(rejectedApart)) {
			continue // there is a pass every minute while pods wait without a place
		}
		written[provisioner.Name] = in.Now
		plan.Do(recordOfferings{provisioner, found}, "%s", whyRecorded(found))
	}
	plan.Memory.Rejected = written
}

// lasting reports whether some pod without a place has waited for a while.
func lasting(in Input) bool {
	return slices.ContainsFunc(in.Draft.Result.Unplaced, func(one packing.Unplaced) bool {
		since, known := in.Memory.Pending[one.Pod.UID]
		return known && in.Now.Sub(since) >= rejectedAfter
	})
}

func whyRecorded(found []provisioningv1.RejectedOfferings) string {
	if len(found) == 0 {
		return "no pod waits without a place"
	}
	return "pods wait without a place"
}

// rejectedOf returns what the status of a Provisioner says about rejected offerings.
func rejectedOf(rejected []packing.Rejected, provisioner string) []provisioningv1.RejectedOfferings {
	var found []provisioningv1.RejectedOfferings
	for i := range rejected {
		one := &rejected[i]
		if one.Provisioner != provisioner || len(found) == mostRejected {
			continue
		}
		found = append(found, provisioningv1.RejectedOfferings{
			Reason: string(one.Reason), Offerings: int32(one.Offerings), //nolint:gosec // fewer than types times zones
			Example: fmt.Sprintf("%s, %s, in %s", one.Example.InstanceType, one.Example.CapacityType, one.Example.Zone),
			Pod:     one.Pod.Namespace + "/" + one.Pod.Name,
		})
	}
	return found
}
