package machinepool

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/reconcile/reconciletest"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// TestDeletionIsNotDoubted holds that a pool whose group was seen being deleted keeps saying why its launch template
// is not, and does not say again that its group may not be visible yet.
func TestDeletionIsNotDoubted(t *testing.T) {
	t.Parallel()
	in := atRest(t)
	in.Object.DeletionTimestamp = ptr.To(metav1.NewTime(noon))
	in.Seen.Group, in.Seen.Leftovers.ConfigRead = nil, true
	reconciling.True(in.Object, infrav1.DeletingCondition, infrav1.ASGDeletionInProgressReason, "Auto Scaling group pool is being deleted")
	did(in, deleteTemplate{}, errRefused)
	for range 2 {
		decided := decideOn(t, *in)
		reconciletest.Shows(t, decided.object, "Deleting=False/LaunchTemplateDeleteFailed")
		in.Object.Status, in.Now = decided.object.Status, in.Now.Add(time.Minute)
	}
}
