package scheduler_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
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

// TestPodPrefersAnInvalidLabel holds that a preference for a value that no label can have does not become a
// label of a node: the API server would refuse the node, or its Node. Kubernetes does not validate the values
// of preferences (core/validation: ValidatePreferredSchedulingTerms).
func TestPodPrefersAnInvalidLabel(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"not a value", "-", "$(reboot)", strings.Repeat("v", 64), "\x1b[2J"} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			w := provisioningtest.New(t, provisioningtest.Options{})
			w.Provision("default", func(spec *provisioningv1.ProvisionerSpec) { spec.Labels = provisioningv1.Labels{"team": "none"} })
			w.Pod("one", func(pod *corev1.Pod) {
				pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
					Weight: 1, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "team", Operator: corev1.NodeSelectorOpIn, Values: []string{value}}}},
				}}}}
			})
			w.Launch()
			nodes := w.Provisioned()
			if len(nodes) != 1 || nodes[0].Spec.Labels["team"] != "none" || len(w.Instances()) != 1 {
				t.Errorf("%d instances, for %+v", len(w.Instances()), nodes)
			}
			for _, member := range w.Members() {
				if member.Labels["team"] != "none" {
					t.Errorf("the Node has the labels %q", member.Labels)
				}
			}
		})
	}
}
