package awsmanagedmachinepool

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/clouds"
)

// TestUnseen holds that a pass that reads a pool from before our last write to it does nothing: the
// next pass that sees the write acts, and so does one when the write has not come for long.
func TestUnseen(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{infrav1.AddToScheme, clusterv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		reason  string
		version string
		waited  time.Duration
		acts    bool
	}{
		{reason: "the cache is behind", version: "9"},
		{reason: "the cache has the write", version: "10", acts: true},
		{reason: "the write does not come any more", version: "9", waited: time.Minute, acts: true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			clk := clocktesting.NewFakePassiveClock(time.Date(2026, time.November, 22, 10, 0, 0, 0, time.UTC))
			stored := &infrav1.AWSManagedMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "pool", ResourceVersion: row.version}}
			store := fake.NewClientBuilder().WithScheme(scheme).WithObjects(stored).WithStatusSubresource(stored).Build()
			r := &Reconciler{Client: store, Live: store, Clouds: &clouds.Registry{}, Clock: clk}
			before, written := stored.DeepCopy(), stored.DeepCopy()
			before.ResourceVersion, written.ResourceVersion = "8", "10"
			r.written.Note(written, before, clk)
			clk.SetTime(clk.Now().Add(row.waited))
			result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(stored)})
			if err != nil {
				t.Fatal(err)
			}
			after := &infrav1.AWSManagedMachinePool{}
			if err := store.Get(t.Context(), client.ObjectKeyFromObject(stored), after); err != nil {
				t.Fatal(err)
			}
			if acted := after.ResourceVersion != row.version; acted != row.acts {
				t.Errorf("it acted: %t; conditions are %+v", acted, after.Status.Conditions)
			}
			if diff := cmp.Diff(ctrl.Result{}, result); !row.acts && diff != "" {
				t.Errorf("the write's own event brings the next pass, and not (-want +got):\n%s", diff)
			}
		})
	}
}
