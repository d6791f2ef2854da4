package nodelifecycle_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// TestNodesThatClaimAnInstance holds that a Node which says that it runs on the instance of another Node
// changes nothing for that one: a kubelet writes its provider ID itself. Deleting the Node that claims
// terminates no instance, and deleting the other drains its own pods.
func TestNodesThatClaimAnInstance(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a-forged", "zz-forged"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, pod, node := withNode(t, provisioningtest.Options{})
			first := w.Provisioned()[0]
			forged := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
			forged.Spec.ProviderID = w.Members()[0].Spec.ProviderID
			w.Advance(time.Minute)
			w.Create(forged)
			w.Advance(time.Minute)
			if got := w.Provisioned()[0].Status.NodeName; got != node {
				t.Errorf("the Node of the ProvisionedNode is %s", got)
			}
			for _, member := range w.Members() {
				if member.Name == name && len(member.Finalizers)+len(member.Labels) > 0 {
					t.Errorf("the Node that claims has finalizers %v and labels %v", member.Finalizers, member.Labels)
				}
			}
			w.Delete(forged)
			w.Advance(2 * time.Minute)
			if got := w.Provisioned(); len(got) != 1 || got[0].Name != first.Name || got[0].DeletionTimestamp != nil || !running(w)[first.Status.InstanceID] {
				t.Errorf("after the Node that claims was deleted, there are %+v", got)
			}
			forged.ResourceVersion, forged.UID = "", ""
			w.Create(forged)
			w.UpdateStatus(pod, func() {}) // an event of the pod
			w.Delete(&first)
			w.Advance(2 * time.Minute)
			if len(w.Pods()) != 0 || running(w)[first.Status.InstanceID] {
				t.Errorf("pods %d are left, and the instance runs: %t", len(w.Pods()), running(w)[first.Status.InstanceID])
			}
			for _, member := range w.Members() {
				if member.Name == name && member.Spec.Unschedulable {
					t.Error("the Node that claims was cordoned")
				}
			}
		})
	}
}
