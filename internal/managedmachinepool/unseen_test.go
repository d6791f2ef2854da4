package managedmachinepool

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/reconcile/reconciletest"
	"github.com/slipway-project/slipway/internal/report"
)

// TestUnseen holds that a pass that reads a pool from before our last write to it does nothing: the
// next pass that sees the write acts, and so does one when the write has not come for long.
func TestUnseen(t *testing.T) {
	t.Parallel()
	scheme := reconciletest.Scheme(t, infrav1.AddToScheme, clusterv1.AddToScheme)
	for _, row := range []struct {
		reason    string
		behind    bool
		waited    time.Duration
		conflicts bool
		waits     bool
	}{
		{reason: "the cache is behind", behind: true, waits: true},
		{reason: "the cache has the write"},
		{reason: "the write does not come any more", behind: true, waited: time.Minute, conflicts: true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			clk := clocktesting.NewFakePassiveClock(time.Date(2026, time.November, 22, 10, 0, 0, 0, time.UTC))
			stored := &infrav1.AWSManagedMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "pool", ResourceVersion: "9"}}
			key, behind := client.ObjectKeyFromObject(stored), false
			before := &infrav1.AWSManagedMachinePool{}
			store := fake.NewClientBuilder().WithScheme(scheme).WithObjects(stored).WithStatusSubresource(stored).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
					if pool, is := object.(*infrav1.AWSManagedMachinePool); is && behind {
						before.DeepCopyInto(pool)
						return nil
					}
					return c.Get(ctx, key, object, options...)
				},
			}).Build()
			c := New(&Kind{Client: store, Live: store, Clouds: &clouds.Registry{}, Clock: clk}, report.Reporter{Recorder: events.NewFakeRecorder(10)})
			if err := store.Get(t.Context(), key, before); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
				t.Fatal(err)
			}
			behind = row.behind
			clk.SetTime(clk.Now().Add(row.waited))
			result, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
			if apierrors.IsConflict(err) != row.conflicts || err != nil && !row.conflicts {
				t.Errorf("the error is %v", err)
			}
			if waits := result.RequeueAfter > 0; waits != row.waits {
				t.Errorf("the pass ended with %+v", result)
			}
		})
	}
}
