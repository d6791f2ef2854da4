package scheduler_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// TestRejectedOfferings holds that the status of a Provisioner says why no offering is launched for a pod that
// waits, and no longer once the pod is gone.
func TestRejectedOfferings(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default")
	rejected := func() map[string]provisioningv1.RejectedOfferings {
		t.Helper()
		provisioner := &provisioningv1.Provisioner{}
		if err := w.Client.Get(t.Context(), client.ObjectKey{Name: "default"}, provisioner); err != nil {
			t.Fatal(err)
		}
		byReason := map[string]provisioningv1.RejectedOfferings{}
		for _, one := range provisioner.Status.RejectedOfferings {
			byReason[one.Reason] = one
		}
		return byReason
	}
	pod := w.Pod("huge", func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("5000")}
		pod.Spec.NodeSelector = map[string]string{corev1.LabelArchStable: "amd64"}
	})
	w.Settle()
	if found := rejected(); len(found) != 0 {
		t.Errorf("a pod that has just come is recorded: %v", found)
	}
	for range 3 {
		w.Advance(time.Minute)
		w.Settle()
	}
	found := rejected()
	for _, reason := range []string{"TooSmall", "Architecture"} {
		if one := found[reason]; one.Offerings == 0 || one.Example == "" || one.Pod != "default/huge" {
			t.Errorf("the reason %s is %+v, in %v", reason, one, found)
		}
	}
	if err := w.Client.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	w.Settle()
	if found := rejected(); len(found) != 0 {
		t.Errorf("the pod is gone, and its rejected offerings are not: %v", found)
	}
}
