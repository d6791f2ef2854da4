package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// TestPodBeyondTheLimits holds that a pod with more terms than Slipway considers gets one event that names
// the limit, and no node; that another pod gets its node at once; and that a pod at
// the limit gets one.
func TestPodBeyondTheLimits(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default")
	terms := func(number int) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			required := &corev1.NodeSelector{}
			for i := range number {
				required.NodeSelectorTerms = append(required.NodeSelectorTerms, corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpNotIn, Values: []string{fmt.Sprint("none-", i)}},
				}})
			}
			pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}}
		}
	}
	absurd := w.Pod("absurd", terms(1000))
	w.Pod("ordinary")
	w.Launch()
	w.Advance(3 * time.Minute)
	if told := w.Told("Warning NoNodeLaunched absurd:"); len(told) != 1 || len(w.Told("Warning NoNodeLaunched absurd:", "has 1000 required node affinity terms, more than the limit of 64")) != 1 {
		t.Errorf("the pod is told %q", told)
	}
	if got := len(w.Instances()); got != 1 {
		t.Errorf("%d instances are launched for the other pod", got)
	}
	w.Delete(absurd)
	w.Pod("moderate", terms(64))
	w.Launch()
	if told := w.Told("moderate:", "more than the limit"); len(told) > 0 {
		t.Errorf("the pod within the limits is told %q", told)
	}
	if got := len(w.Instances()); got != 2 {
		t.Errorf("%d instances are launched, want another for the pod within the limits", got)
	}
}
