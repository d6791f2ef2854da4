package nodelifecycle_test

import (
	"testing"
	"time"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// TestShrunkLaunchIsNotRepeatedInFull holds that a launch which was shrunk, because its writer
// crashed, launches nothing more when another process finds a node without its instance.
func TestShrunkLaunchIsNotRepeatedInFull(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default")
	w.Pod("one")
	w.Launch()
	var last *provisioningv1.ProvisionedNode
	for _, name := range []string{"default-zzz-0", "default-zzz-1"} {
		last = w.Provisioned()[0].DeepCopy()
		last.ResourceVersion, last.UID, last.Name, last.Status = "", "", name, provisioningv1.ProvisionedNodeStatus{}
		last.Spec.Launch.Name, last.Spec.Launch.Nodes = "default-zzz", 3
		w.Create(last)
	}
	w.Advance(3 * time.Minute)
	if got := len(w.Instances()); got != 3 {
		t.Fatalf("there are %d instances, one and those of two nodes", got)
	}
	w.Restart()
	w.UpdateStatus(last, func() { last.Status = provisioningv1.ProvisionedNodeStatus{} })
	w.Advance(3 * time.Minute)
	if got := len(w.Instances()); got != 3 {
		t.Errorf("there are %d instances, though no node was added", got)
	}
	if id := w.Provisioned()[2].Status.InstanceID; id == "" {
		t.Error("the node does not have its instance again")
	}
}
