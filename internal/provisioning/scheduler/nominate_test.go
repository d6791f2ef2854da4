package scheduler_test

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// nominatedNode returns status.nominatedNodeName of a pod.
func nominatedNode(w *provisioningtest.World, pod *corev1.Pod) string {
	w.Helper()
	if err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
		w.Fatal(err)
	}
	return pod.Status.NominatedNodeName
}

// nominateAs writes status.nominatedNodeName as the scheduler does.
func nominateAs(w *provisioningtest.World, c client.Client, pod *corev1.Pod, node string) {
	w.Helper()
	text := "null"
	if node != "" {
		text = `"` + node + `"`
	}
	patch := client.RawPatch(types.StrategicMergePatchType, []byte(`{"status":{"nominatedNodeName":`+text+`}}`))
	if err := c.Status().Patch(w.Context(), pod.DeepCopy(), patch, client.FieldOwner("kube-scheduler")); err != nil {
		w.Fatal(err)
	}
}

// joinWith has Nodes register for all instances, with a kubelet that is not ready yet and with
// further taints.
func joinWith(w *provisioningtest.World, taints ...corev1.Taint) {
	w.Helper()
	w.Join()
	for _, member := range w.Members() {
		w.Update(&member, func() {
			member.Spec.Taints = append(slices.Clone(taints), corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule})
		})
		w.UpdateStatus(&member, func() { member.Status.Conditions[0].Status = corev1.ConditionFalse })
	}
}

// becomeReady has the kubelets of all Nodes become ready.
func becomeReady(w *provisioningtest.World) {
	w.Helper()
	for _, member := range w.Members() {
		w.Update(&member, func() { member.Spec.Taints = nil })
		w.UpdateStatus(&member, func() { member.Status.Conditions[0].Status = corev1.ConditionTrue })
	}
}

// coming returns a world with a pod whose instance runs and has not joined.
func coming(t *testing.T, options provisioningtest.Options) (*provisioningtest.World, *corev1.Pod) {
	t.Helper()
	w := provisioningtest.New(t, options)
	w.Provision("default", func(spec *provisioningv1.ProvisionerSpec) {
		spec.StartupTaints = []provisioningv1.Taint{{Key: "network", Effect: provisioningv1.TaintEffect(corev1.TaintEffectNoSchedule)}}
	})
	pod := w.Pod("one")
	w.Settle()
	w.Advance(5 * time.Second)
	if got := nominatedNode(w, pod); got != "" {
		t.Fatalf("Node %q is nominated before it has registered", got)
	}
	return w, pod
}

// dropTaint removes the startup taint that coming's Provisioner declares.
func dropTaint(w *provisioningtest.World) {
	w.Helper()
	for _, member := range w.Members() {
		w.Update(&member, func() {
			kept := member.Spec.Taints[:0]
			for _, taint := range member.Spec.Taints {
				if taint.Key != "network" {
					kept = append(kept, taint)
				}
			}
			member.Spec.Taints = kept
		})
	}
	w.Settle()
}

// TestNodesAreNominated holds that the scheduler is pointed to the Node of a pod once that has
// registered and has no startup taint, which is before its kubelet is ready.
func TestNodesAreNominated(t *testing.T) {
	t.Parallel()
	w, pod := coming(t, provisioningtest.Options{})
	joinWith(w)
	w.Settle()
	if got := nominatedNode(w, pod); got != "" {
		t.Errorf("Node %q is nominated while it has a startup taint", got)
	}
	dropTaint(w)
	want := nodeOf(promisedTo(w, pod))
	if got := nominatedNode(w, pod); got != want {
		t.Errorf("Node %q is nominated, want %q", got, want)
	}
	w.Advance(30 * time.Second)
	if got := len(w.Provisioned()); got != 1 || promisedTo(w, pod) == nil {
		t.Errorf("there are %d nodes for a pod that has one", got)
	}
}

// TestOlderSchedulersAreLeftAlone holds that nothing is written where schedulers take no account of it.
func TestOlderSchedulersAreLeftAlone(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		version string
		written bool
	}{{"v1.34.2", false}, {"v1.35.0", true}} {
		w, pod := coming(t, provisioningtest.Options{Kubernetes: row.version})
		joinWith(w)
		w.Settle()
		dropTaint(w)
		if got := nominatedNode(w, pod); (got != "") != row.written {
			t.Errorf("with Kubernetes %s Node %q is nominated", row.version, got)
		}
	}
}

// TestNominationsThatAreRemoved holds that a nomination which the scheduler removes is written
// again, ever more seldom.
func TestNominationsThatAreRemoved(t *testing.T) {
	t.Parallel()
	w, pod := coming(t, provisioningtest.Options{})
	joinWith(w)
	w.Settle()
	dropTaint(w)
	written := 0
	for range 60 {
		if nominatedNode(w, pod) != "" {
			written++
			nominateAs(w, w.Client, pod, "")
		}
		w.Settle()
		if written == 1 && nominatedNode(w, pod) != "" {
			t.Fatal("a nomination that was removed is written again at once")
		}
		w.Advance(5 * time.Second)
	}
	if written < 3 || written > 6 {
		t.Errorf("in five minutes the nomination was written %d times", written)
	}
}

// TestSchedulersNominationsStay holds that what the scheduler nominates is left alone, also where
// it does so between the read and the write, and that the pod has its place then.
func TestSchedulersNominationsStay(t *testing.T) {
	t.Parallel()
	w, pod := coming(t, provisioningtest.Options{})
	joinWith(w)
	w.Settle()
	raced := false
	plain := w.Client
	w.Provisioning.Client = interceptor.NewClient(plain, interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, resource string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			if _, is := object.(*corev1.Pod); is && !raced {
				raced = true
				nominateAs(w, plain, pod, "elsewhere")
			}
			return c.SubResource(resource).Patch(ctx, object, patch, options...)
		},
	})
	dropTaint(w)
	if got := nominatedNode(w, pod); !raced || got != "elsewhere" {
		t.Errorf("Node %q is nominated, raced: %v", got, raced)
	}
	w.Advance(5 * time.Minute)
	if got := nominatedNode(w, pod); got != "elsewhere" {
		t.Errorf("Node %q is nominated instead of the scheduler's", got)
	}
}

// TestNominationsFollowPlaces holds that a nomination goes with the place: it is removed when the
// node leaves, and another is written when the pod's next Node is there.
func TestNominationsFollowPlaces(t *testing.T) {
	t.Parallel()
	w, pod := coming(t, provisioningtest.Options{})
	joinWith(w)
	w.Settle()
	dropTaint(w)
	first := nominatedNode(w, pod)
	w.Delete(promisedTo(w, pod))
	w.Settle()
	if got := nominatedNode(w, pod); got != "" {
		t.Errorf("Node %q is nominated while it ends", got)
	}
	w.Advance(5 * time.Second)
	joinWith(w)
	w.Settle()
	dropTaint(w)
	if got := nominatedNode(w, pod); got == "" || got == first {
		t.Errorf("Node %q is nominated, after %q", got, first)
	}
}

// TestNominationsOutliveTheProcess holds that a provisioner which starts anew leaves pods the Nodes
// that they were nominated for, though it remembers no place.
func TestNominationsOutliveTheProcess(t *testing.T) {
	t.Parallel()
	w, pod := coming(t, provisioningtest.Options{})
	joinWith(w)
	w.Settle()
	dropTaint(w)
	before := nominatedNode(w, pod)
	version := pod.ResourceVersion
	w.Restart()
	w.Settle()
	if got := nominatedNode(w, pod); got != before || pod.ResourceVersion != version || nodeOf(promisedTo(w, pod)) != before {
		t.Errorf("Node %q is nominated, and was %q; the pod was written: %v", got, before, pod.ResourceVersion != version)
	}
	becomeReady(w)
	w.Settle()
	w.Bind(pod, before)
	w.Settle()
	if got := len(w.Provisioned()); got != 1 {
		t.Errorf("there are %d nodes", got)
	}
}
