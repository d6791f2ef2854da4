package nodelifecycle_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// TestLimitsLoweredBeforeALaunch holds that nodes which EC2 has not launched yet when a limit is lowered
// are not launched beyond it: neither nodes whose calls EC2 throttled, nor nodes whose answer was lost.
func TestLimitsLoweredBeforeALaunch(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		fault  awssim.Fault
		limits provisioningv1.Limits
		// want is the number of instances within the new limits. Nodes for which EC2 shows no instance
		// are kept for two minutes after their deletion, and only then is there room for others.
		want int
	}{
		"throttled":          {awssim.Fault{Code: "RequestLimitExceeded", Status: 503}, provisioningv1.Limits{Nodes: ptr.To[int32](1)}, 1},
		"the answer is lost": {awssim.Fault{Place: awssim.AfterEffect, Drop: true}, provisioningv1.Limits{CPU: ptr.To(resource.MustParse("4"))}, 2},
		"to nothing":         {awssim.Fault{Code: "InternalError", Status: 500}, provisioningv1.Limits{Memory: ptr.To(resource.MustParse("1Gi"))}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := provisioningtest.New(t, provisioningtest.Options{})
			w.Faulty = true
			row.fault.Service, row.fault.Action = "ec2", "CreateFleet"
			fault, err := w.Sim.AddFault(row.fault)
			if err != nil {
				t.Fatal(err)
			}
			provisioner := w.Provision("default", func(spec *provisioningv1.ProvisionerSpec) {
				spec.Limits = &provisioningv1.Limits{Nodes: ptr.To[int32](5)}
			})
			for i := range 5 {
				w.Pod(fmt.Sprint("pod-", i))
			}
			w.Settle()
			w.Update(provisioner, func() { provisioner.Spec.Limits, provisioner.Generation = &row.limits, 2 })
			w.Sim.RemoveFault(fault)
			for range 20 {
				w.Advance(10 * time.Second)
			}
			staying := slices.DeleteFunc(w.Provisioned(), func(node provisioningv1.ProvisionedNode) bool { return node.DeletionTimestamp != nil })
			if got := len(w.Instances()); got != row.want || len(staying) != row.want {
				t.Errorf("%d instances for %d nodes, want %d; told %q", got, len(staying), row.want, w.Events())
			}
		})
	}
}

// TestNodeThatStartsTooOld holds that a node which is older than its maximum age when it has started
// stays until the scheduler had time to bind its pods: they never ran, because each node was
// terminated in the moment in which it was ready.
func TestNodeThatStartsTooOld(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default", func(spec *provisioningv1.ProvisionerSpec) { spec.TTLSecondsUntilExpired = ptr.To[int64](60) })
	pod := w.Pod("one")
	w.Settle()
	w.Advance(90 * time.Second)
	w.Join()
	w.Settle()
	w.Advance(2 * time.Second)
	if got := w.Provisioned(); len(got) != 1 || got[0].DeletionTimestamp != nil {
		t.Fatalf("the node went before its pod could be bound: %q", w.Events())
	}
	w.Bind(pod, w.Members()[0].Name)
	w.Settle()
	if got := len(w.Provisioned()); got != 2 {
		t.Errorf("%d nodes, want the node of the pod and its replacement: %q", got, w.Events())
	}
}
