package reconcile_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/report"
)

// reported records events with the name of the object that each is reported on.
type reported struct{ events []string }

// Eventf implements events.EventRecorder.
func (r *reported) Eventf(regarding, _ runtime.Object, eventType, reason, _, _ string, values ...any) {
	r.events = append(r.events, eventType+" "+reason+" "+regarding.(client.Object).GetName()+": "+values[0].(string))
}

// claimed is a kind of objects that belong to the cluster and record no generation.
type claimed struct{}

func (claimed) Observe(context.Context, reconcile.Pass[*provisioningv1.ProvisionedNode, struct{}, struct{}], ...reconcile.Need) error {
	return nil
}

func (claimed) Decide(in reconcile.Input[*provisioningv1.ProvisionedNode, struct{}]) (plan reconcile.Plan) {
	reconciling.True(in.Object, provisioningv1.LaunchedCondition, provisioningv1.LaunchedCondition, "")
	owner := &provisioningv1.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}
	plan.Tell(reconcile.Event{Reason: "Launched", Note: "it runs", About: owner})
	plan.Tell(reconcile.Warningf("Watched", "it is watched"))
	return plan
}

func (claimed) Act(context.Context, reconcile.Pass[*provisioningv1.ProvisionedNode, struct{}, struct{}], reconcile.Action) ([]reconcile.Event, error) {
	return nil, nil
}

// TestEventsAboutAnotherObject holds that an event is reported on the object that it is about, and
// that an object without a namespace, whose status records no generation, has its status written.
func TestEventsAboutAnotherObject(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := provisioningv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	stored := &provisioningv1.ProvisionedNode{ObjectMeta: metav1.ObjectMeta{Name: "node", UID: "first"}}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(stored).WithStatusSubresource(stored).Build()
	recorder := &reported{}
	c := &reconcile.Controller[*provisioningv1.ProvisionedNode, struct{}, struct{}]{
		Kind: claimed{}, Client: api, Live: api, Empty: &provisioningv1.ProvisionedNode{}, Report: report.Reporter{Recorder: recorder},
		Clock: clocktesting.NewFakePassiveClock(time.Date(2026, time.November, 26, 10, 0, 0, 0, time.UTC)),
	}
	if _, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(stored)}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Normal Launched owner: it runs", "Warning Watched node: it is watched"}, recorder.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(stored), stored); err != nil || len(stored.Status.Conditions) != 1 {
		t.Errorf("error %v, conditions %+v", err, stored.Status.Conditions)
	}
}
