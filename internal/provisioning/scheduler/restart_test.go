package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// TestBudgetSurvivesRestarts holds that the bound on nodes launched in a minute holds however often
// the provisioner restarts.
func TestBudgetSurvivesRestarts(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{LaunchesPerMinute: 2})
	w.Provision("default")
	for i := range 6 {
		w.Pod(fmt.Sprint("pod-", i))
	}
	w.Settle()
	for seconds := range 6 {
		w.Restart()
		w.Advance(10 * time.Second)
		if got := len(w.Provisioned()); got != 2 && seconds < 5 {
			t.Fatalf("after %d seconds there are %d nodes", 10*(seconds+1), got)
		}
	}
	w.Advance(2 * time.Second)
	if got := len(w.Provisioned()); got != 4 {
		t.Errorf("after a minute there are %d nodes, want 4", got)
	}
	w.Advance(30 * time.Second)
	if got := len(w.Provisioned()); got != 4 {
		t.Errorf("after a minute and a half there are %d nodes, want 4", got)
	}
}

// TestLimitsHoldOnAStaleCache holds that limits hold when a provisioner begins with a cache that
// does not show what its predecessor launched last.
func TestLimitsHoldOnAStaleCache(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default", func(spec *provisioningv1.ProvisionerSpec) {
		spec.Limits = &provisioningv1.Limits{Nodes: ptr.To[int32](1)}
	})
	w.Pod("one")
	w.Settle()
	w.Pod("two")
	w.Restart()
	fresh := w.Provisioning.Client
	w.Provisioning.Client = interceptor.NewClient(w.Client, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, is := list.(*provisioningv1.ProvisionedNodeList); is {
				return nil
			}
			return c.List(ctx, list, options...)
		},
	})
	w.Settle()
	if got := len(w.Provisioned()); got != 1 {
		t.Errorf("there are %d nodes, and the limit is 1", got)
	}
	w.Provisioning.Client = fresh
	w.Advance(time.Minute)
	if told := w.Told("NoNodeLaunched two:", "limits of Provisioner default"); len(w.Provisioned()) != 1 || len(told) != 1 {
		t.Errorf("there are %d nodes; events are %q", len(w.Provisioned()), w.Events())
	}
}

// TestLimitsHoldAfterLostAnswer holds that limits hold when the answer to the creation of a node is
// lost, and the cache does not show the node yet.
func TestLimitsHoldAfterLostAnswer(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Faulty = true
	w.Provision("default", func(spec *provisioningv1.ProvisionerSpec) {
		spec.Limits = &provisioningv1.Limits{Nodes: ptr.To[int32](1)}
	})
	w.Pod("one")
	w.Provisioning.Client = interceptor.NewClient(w.Client, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, is := list.(*provisioningv1.ProvisionedNodeList); is {
				return nil
			}
			return c.List(ctx, list, options...)
		},
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			return errors.Join(c.Create(ctx, object, options...), errors.New("connection reset by peer"))
		},
	})
	w.Settle()
	if got := len(w.Provisioned()); got != 1 {
		t.Errorf("there are %d nodes, and the limit is 1", got)
	}
}
