package nodelifecycle_test

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// withNode returns a world with one node, whose name is returned too, and a pod on it.
func withNode(t *testing.T, options provisioningtest.Options) (*provisioningtest.World, *corev1.Pod, string) {
	t.Helper()
	w := provisioningtest.New(t, options)
	w.Provision("default")
	pod := w.Pod("one")
	w.Launch()
	node := w.Members()[0].Name
	w.Bind(pod, node)
	w.Settle()
	return w, pod, node
}

// TestDeletedNode holds that deleting a Node drains it and terminates its instance, also when the
// controller was down, and its pods get another node at once.
func TestDeletedNode(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		w, pod, node := withNode(t, provisioningtest.Options{})
		first := w.Provisioned()[0]
		member := &corev1.Node{}
		member.Name = node
		w.Delete(member)
		if len(w.Members()) != 1 {
			t.Fatal("the Node is gone before its pods have left")
		}
		if restarts {
			w.Restart()
		}
		w.Settle()
		if warned := w.Told("Warning NodeDeleted default:", node); len(warned) != 1 {
			t.Errorf("restart %t: the events are %q", restarts, w.Events())
		}
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); client.IgnoreNotFound(err) != nil || err == nil {
			t.Errorf("restart %t: the pod was not evicted: %v", restarts, err)
		}
		w.Pod("its-successor")
		w.Advance(5 * time.Second)
		w.Advance(5 * time.Second)
		claims := w.Provisioned()
		if len(claims) != 1 || claims[0].Name == first.Name {
			t.Errorf("restart %t: the nodes are %+v", restarts, claims)
		}
		if len(w.Members()) != 0 {
			t.Errorf("restart %t: the Node is left: %+v", restarts, w.Members())
		}
		if running(w)[first.Status.InstanceID] || len(w.Instances()) != 1 {
			t.Errorf("restart %t: %d instances run", restarts, len(w.Instances()))
		}
	}
}

// TestPendingPodsOfADeletedNode holds that pods which were still to be bound to a Node when it was
// deleted get a place on another node in the same moment: while it starts, and when it is ready;
// when it is drained, and when it was deleted past its finalizer.
func TestPendingPodsOfADeletedNode(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason     string
		ready      bool
		finalizers bool
		restarts   bool
	}{
		{"ready", true, true, false},
		{"ready, and the controller restarts", true, true, true},
		{"starting", false, true, false},
		{"deleted past its finalizer", true, false, false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := provisioningtest.New(t, provisioningtest.Options{})
			w.Provision("default")
			pod := w.Pod("one")
			w.Settle()
			w.Advance(5 * time.Second)
			w.Join()
			member := w.Members()[0]
			if !row.ready {
				setReady(w, &member, corev1.ConditionFalse)
			}
			w.Settle()
			first := w.Provisioned()[0]
			if promised, is := w.Nodes.Promises.All()[pod.UID]; !is || promised != first.Name {
				t.Fatalf("the pod has a place on %q", promised)
			}
			if !row.finalizers {
				w.Update(&member, func() { member.Finalizers = nil })
			}
			w.Delete(&member)
			if row.restarts {
				w.Restart()
			}
			w.Settle() // no time passes
			promised := w.Nodes.Promises.All()[pod.UID]
			if promised == "" || promised == first.Name {
				t.Errorf("the pod has a place on %q; the nodes are %d, and the first was %s", promised, len(w.Provisioned()), first.Name)
			}
			w.Advance(5 * time.Second)
			if got := len(w.Instances()); got > 2 || !running(w)[w.Provisioned()[len(w.Provisioned())-1].Status.InstanceID] {
				t.Errorf("%d instances run", got)
			}
		})
	}
}

// TestNodeThatIsGone holds that a Node that was deleted past its finalizer takes no pods: the next
// pod gets a node of its own at once. The instance is terminated when the Node stays away, and kept
// when it comes back.
func TestNodeThatIsGone(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		back   bool
	}{{"it stays away", false}, {"it comes back", true}} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w, pod, node := withNode(t, provisioningtest.Options{})
			first := w.Provisioned()[0]
			member := w.Members()[0]
			w.Update(&member, func() { member.Finalizers = nil })
			w.Delete(&member)
			w.Delete(pod)
			w.Settle()
			gone := w.Provisioned()[0]
			condition := meta.FindStatusCondition(gone.Status.Conditions, provisioningv1.RegisteredCondition)
			if condition == nil || condition.Reason != provisioningv1.NodeGoneReason || gone.Status.AwaySince == nil {
				t.Errorf("the status is %+v", gone.Status)
			}
			w.Pod("its-successor")
			w.Advance(3 * time.Second)
			if got := len(w.Provisioned()); got != 2 {
				t.Errorf("the pod has %d nodes to go to, want a second one", got-1)
			}
			if row.back {
				w.Join()
			}
			w.Restart() // the time counts on
			w.Advance(14 * time.Minute)
			if !running(w)[first.Status.InstanceID] {
				t.Fatal("the instance was terminated before the Node could be back")
			}
			w.Advance(2 * time.Minute)
			if running(w)[first.Status.InstanceID] != row.back {
				t.Errorf("the instance runs: %t; events are %q", !row.back, w.Events())
			}
			named := slices.ContainsFunc(w.Provisioned(), func(one provisioningv1.ProvisionedNode) bool { return one.Name == first.Name })
			if named != row.back {
				t.Errorf("the ProvisionedNode of %s is there: %t", node, named)
			}
		})
	}
}

// TestNodeWithoutItsProvisionedNode holds that a Node that waits for a ProvisionedNode which is
// gone is let go by the collector.
func TestNodeWithoutItsProvisionedNode(t *testing.T) {
	t.Parallel()
	w, _, node := withNode(t, provisioningtest.Options{})
	claim := w.Provisioned()[0]
	w.Update(&claim, func() { claim.Finalizers = nil })
	w.Delete(&claim)
	member := &corev1.Node{}
	member.Name = node
	w.Delete(member)
	w.Settle()
	w.Collect()
	if len(w.Members()) != 0 || len(w.Instances()) != 0 {
		t.Errorf("%d Nodes and %d instances are left", len(w.Members()), len(w.Instances()))
	}
}

// TestNodeIsNotFreedForAStaleCache holds that the collector does not free a Node whose
// ProvisionedNode the cache does not show yet: its instance would run on.
func TestNodeIsNotFreedForAStaleCache(t *testing.T) {
	t.Parallel()
	w, _, node := withNode(t, provisioningtest.Options{})
	stale := interceptor.NewClient(w.Client, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, is := list.(*provisioningv1.ProvisionedNodeList); is {
				return nil
			}
			return c.List(ctx, list, options...)
		},
	})
	member := &corev1.Node{}
	member.Name = node
	w.Delete(member)
	w.Collector.Client = stale
	w.Collect()
	if members := w.Members(); len(members) != 1 || !slices.Contains(members[0].Finalizers, provisioningv1.NodeFinalizer) {
		t.Errorf("the Nodes left are %+v", members)
	}
}

// TestNodesGetTheFinalizer holds that the finalizer is added to Nodes that an earlier release
// registered, and other finalizers stay.
func TestNodesGetTheFinalizer(t *testing.T) {
	t.Parallel()
	w, _, _ := withNode(t, provisioningtest.Options{})
	member := w.Members()[0]
	w.Update(&member, func() { member.Finalizers = []string{"example.com/mine"} })
	w.Settle()
	if got := w.Members()[0].Finalizers; !slices.Equal(got, []string{"example.com/mine", provisioningv1.NodeFinalizer}) {
		t.Errorf("the finalizers are %q", got)
	}
}
