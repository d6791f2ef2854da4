package reconcile_test

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/report"
)

// buckets keeps a bucket for every AWSLaunchConfig.
type buckets struct{ existing map[string]bool }

type seen struct{ exists bool }
type createBucket struct{ name string }
type deleteBucket struct{ name string }

func (a createBucket) String() string { return "create bucket " + a.name }
func (a deleteBucket) String() string { return "delete bucket " + a.name }

// Observe looks whether the bucket exists.
func (b buckets) Observe(_ context.Context, p reconcile.Pass[*infrav1.AWSLaunchConfig, seen, struct{}], _ ...reconcile.Need) error {
	p.Seen.exists = b.existing[p.Object.Name]
	return nil
}

// Decide wants a bucket for as long as the object is there.
func (b buckets) Decide(in reconcile.Input[*infrav1.AWSLaunchConfig, seen]) (plan reconcile.Plan) {
	switch config := in.Object; {
	case config.DeletionTimestamp != nil && in.Seen.exists:
		plan.Do(deleteBucket{config.Name}, "%s is being deleted", config.Name)
	case config.DeletionTimestamp != nil:
		plan.Release = true
	case !in.Seen.exists:
		plan.Do(createBucket{config.Name}, "%s has no bucket", config.Name)
	default:
		reconciling.True(config, infrav1.ReadyCondition, infrav1.ReadyReason, "")
		plan.LookAgain(time.Hour)
	}
	return plan
}

// Act creates or deletes a bucket.
func (b buckets) Act(_ context.Context, p reconcile.Pass[*infrav1.AWSLaunchConfig, seen, struct{}], action reconcile.Action) ([]reconcile.Event, error) {
	_, p.Seen.exists = action.(createBucket)
	b.existing[p.Object.Name] = p.Seen.exists
	fmt.Println(action)
	return nil, nil
}

func Example() {
	scheme := runtime.NewScheme()
	_ = infrav1.AddToScheme(scheme)
	object := &infrav1.AWSLaunchConfig{}
	object.Namespace, object.Name = "default", "web"
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(object).WithStatusSubresource(object).Build()
	controller := &reconcile.Controller[*infrav1.AWSLaunchConfig, seen, struct{}]{
		Kind: buckets{existing: map[string]bool{}}, Client: api, Live: api, Clock: clock.RealClock{}, Empty: &infrav1.AWSLaunchConfig{},
		Finalizer: "example.com/bucket", Report: report.Reporter{Recorder: events.NewFakeRecorder(10)},
	}
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)}
	ctx := context.Background()
	_, _ = controller.Reconcile(ctx, request)
	_ = api.Delete(ctx, object)
	_, _ = controller.Reconcile(ctx, request)
	// Output:
	// create bucket web
	// delete bucket web
}
