package nodelifecycle_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
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

// TestNodeThatClaimsFirst holds that the Node which has the private DNS name of an instance is the Node of
// that instance, although another Node claimed the instance before: a kubelet can write any provider ID, but
// no Node of another name. The other one is not held back when it is deleted.
func TestNodeThatClaimsFirst(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		// registered is true if the Node that claims is taken for the Node of the instance at first.
		registered bool
	}{{"both are there at once", false}, {"the other one is there alone for a while", true}} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := provisioningtest.New(t, provisioningtest.Options{})
			w.Provision("default")
			pod := w.Pod("one")
			w.Settle()
			w.Advance(5 * time.Second)
			instance := w.Instances()[0]
			claiming := func(name string) *corev1.Node {
				node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
					Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
					Allocatable: corev1.ResourceList{
						corev1.ResourceCPU: resource.MustParse("1930m"), corev1.ResourceMemory: resource.MustParse("7Gi"), corev1.ResourcePods: resource.MustParse("29"),
					},
				}}
				node.Spec.ProviderID = "aws:///" + *instance.Placement.AvailabilityZone + "/" + *instance.InstanceId
				return node
			}
			forged, genuine := claiming("a-forged"), claiming(*instance.PrivateDnsName)
			forged.CreationTimestamp = metav1.NewTime(w.Clock.Now().Add(-time.Hour))
			w.Create(forged)
			if row.registered {
				w.Settle()
			}
			w.Create(genuine)
			w.Settle()
			w.Bind(pod, genuine.Name)
			w.Advance(time.Minute)
			if got := w.Provisioned()[0].Status.NodeName; got != genuine.Name {
				t.Errorf("the Node of the ProvisionedNode is %s, want %s", got, genuine.Name)
			}
			for _, member := range w.Members() {
				if labeled := member.Labels[provisioningv1.LabelProvisionerName] != ""; member.Name == genuine.Name && (!labeled || len(member.Finalizers) == 0) {
					t.Errorf("the genuine Node has finalizers %v and labels %v", member.Finalizers, member.Labels)
				}
			}
			w.Delete(forged)
			w.Advance(2 * time.Minute)
			w.Collect()
			if got := w.Provisioned(); len(got) != 1 || got[0].DeletionTimestamp != nil || !running(w)[*instance.InstanceId] {
				t.Errorf("after the Node that claims was deleted, there are %+v", got)
			}
			if got := len(w.Members()); got != 1 {
				t.Errorf("after the Node that claims was deleted, there are %d Nodes", got)
			}
		})
	}
}
