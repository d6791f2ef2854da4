package managedmachinepool

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/nodegroup"
)

// TestBoundsHoldUnavailableNodes holds that the bounds that the spec leaves out are wide enough for
// the nodes that may be unavailable: EKS refuses a node group that is smaller.
func TestBoundsHoldUnavailableNodes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		// spec is updateConfig.maxUnavailable, and seen is what the node group has.
		spec, seen int32
		scaling    *infrav1.ManagedMachinePoolScaling
		settling   bool
		most       int32
	}{
		{reason: "as many as there are nodes", spec: 1, seen: 1, most: 1},
		{reason: "more than there are nodes", spec: 2, seen: 1, most: 2},
		{reason: "fewer than before, at once with the bounds", spec: 1, seen: 2, most: 1},
		{reason: "fewer than before, later than the bounds", spec: 1, seen: 2, settling: true, most: 2},
		{reason: "the spec has bounds", spec: 2, seen: 1, scaling: &infrav1.ManagedMachinePoolScaling{MaxSize: ptr.To[int32](5)}, most: 5},
	} {
		in := atRest(t)
		in.Seen.MachinePool.Spec.Replicas, in.Object.Spec.Scaling = ptr.To[int32](1), row.scaling
		in.Object.Spec.UpdateConfig = &infrav1.UpdateConfig{MaxUnavailable: &row.spec}
		in.Seen.Group.Settings.Update.MaxUnavailable = row.seen
		in.Object.Status.WantedConfig, in.Object.Status.WantedSince = desiredNodegroup(*in).Key(), ptr.To(metav1.NewTime(noon.Add(-time.Hour)))
		if row.settling {
			in.Object.Status.WantedSince = ptr.To(metav1.NewTime(noon))
		}
		want := nodegroup.Bounds{Min: ptr.To[int32](1), Max: &row.most}
		if diff := cmp.Diff(want, desiredNodegroup(*in).Bounds); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", row.reason, diff)
		}
	}
}
