package reconciling_test

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// TestRunDeletion holds that nothing is deleted for an object that only a cache still has.
func TestRunDeletion(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	now, broken := metav1.Now(), errors.New("broken")
	config := func(uid types.UID, deleted bool) *infrav1.AWSLaunchConfig {
		object := &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "pool", UID: uid, Finalizers: []string{"some/finalizer"}}}
		if deleted {
			object.DeletionTimestamp = &now
		}
		return object
	}
	for _, row := range []struct {
		reason string
		live   *infrav1.AWSLaunchConfig
		fails  error
		runs   bool
	}{
		{reason: "it is being deleted", live: config("one", true), runs: true},
		{reason: "it is gone"},
		{reason: "it was deleted and created again", live: config("another", false)},
		{reason: "it was deleted and created again, and that one is being deleted", live: config("another", true)},
		{reason: "nobody deleted it", live: config("one", false)},
		{reason: "the API server does not answer", live: config("one", true), fails: broken},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			builder := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
					if row.fails != nil {
						return row.fails
					}
					return c.Get(ctx, key, object, options...)
				},
			})
			if row.live != nil {
				builder = builder.WithObjects(row.live)
			}
			ran := false
			result, err := reconciling.RunDeletion(t.Context(), builder.Build(), config("one", true), &ran, []reconciling.Step[*bool]{{
				Name: "deleting", Run: func(_ context.Context, ran *bool) reconciling.Outcome {
					*ran = true
					return reconciling.Stop("done")
				},
			}})
			if !errors.Is(err, row.fails) || ran != row.runs {
				t.Errorf("it ran: %t, want %t; error %v", ran, row.runs, err)
			}
			if again := result.RequeueAfter > 0; again == (row.runs || row.fails != nil) {
				t.Errorf("it comes back: %v", result)
			}
		})
	}
}
