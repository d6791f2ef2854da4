package provisioning_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// nodeOf returns the name of the Node of an instance that a ProvisionedNode has.
func nodeOf(node *provisioningv1.ProvisionedNode) string { return "ip-" + node.Status.InstanceID }

// promisedTo returns the ProvisionedNode that a pod was found a place on.
func promisedTo(w *provisioningtest.World, pod *corev1.Pod) *provisioningv1.ProvisionedNode {
	w.Helper()
	name := w.Provisioning.Promises.Of(pod.UID)
	for _, node := range w.Provisioned() {
		if node.Name == name {
			return &node
		}
	}
	w.Fatalf("pod %s has no place", pod.Name)
	return nil
}

// A pod that only one node suits gets another at once when the scheduler gives its place to a pod that could be elsewhere.
func TestPlaceThatTheSchedulerGaveAway(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Template("only", profile)
	w.Provision("default", allowing(provisioningv1.AllowedLaunchTemplates{Names: []string{"only"}}))
	a := w.Pod("a", provisioningtest.Naming("only"))
	b := w.Pod("b")
	w.Launch()
	if len(w.Instances()) != 2 {
		t.Fatalf("%d instances run; events are %q", len(w.Instances()), w.Events())
	}
	w.Bind(b, nodeOf(promisedTo(w, a)))
	w.Settle()
	w.Advance(time.Second)
	if got := len(w.Instances()); got != 3 {
		t.Errorf("%d instances run a second after its place was taken; events are %q", got, w.Events())
	}
	if node := promisedTo(w, a); node.Spec.LaunchTemplate.Version != 1 || nodeOf(node) == b.Spec.NodeName {
		t.Errorf("the pod is to come to %+v", node.Spec)
	}
}

// Pods that keep away from each other share out the nodes that were launched for them in whatever order the scheduler takes them, and no further node is launched.
func TestPodsApartWhateverTheOrder(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default")
	apart := func(pod *corev1.Pod) {
		pod.Labels = map[string]string{"app": "apart"}
		pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("100m")
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels}},
		}}}
	}
	const number = 6
	var pods []*corev1.Pod
	for i := range number {
		pods = append(pods, w.Pod(fmt.Sprintf("pod-%d", i), apart))
		w.Settle()
		w.Advance(1200 * time.Millisecond)
	}
	w.Advance(3 * time.Second)
	w.Join()
	w.Settle()
	if got := len(w.Instances()); got != number {
		t.Fatalf("%d instances run", got)
	}
	// The scheduler takes the last pod first, and each goes where the next one should have.
	for i := number - 1; i > 0; i-- {
		w.Bind(pods[i], nodeOf(promisedTo(w, pods[i-1])))
		w.Settle()
		w.Advance(time.Second)
		taken := map[string]bool{}
		for _, pod := range pods {
			if pod.Spec.NodeName != "" {
				taken[pod.Spec.NodeName] = true
			}
		}
		for _, pod := range pods[:i] {
			node := nodeOf(promisedTo(w, pod))
			if taken[node] {
				t.Errorf("%s is to come to %s, which another pod has", pod.Name, node)
			}
			taken[node] = true
		}
	}
	if got := len(w.Instances()); got != number {
		t.Errorf("%d instances run for %d pods", got, number)
	}
}
