package workload

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// budget are the fields of a PodDisruptionBudget that plans read. The selector stays text until
// its length is known.
type budget struct {
	Metadata struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Spec struct {
		Selector json.RawMessage `json:"selector"`
	} `json:"spec"`
	Status struct {
		DisruptionsAllowed int32 `json:"disruptionsAllowed"`
		CurrentHealthy     int32 `json:"currentHealthy"`
		DesiredHealthy     int32 `json:"desiredHealthy"`
		ExpectedPods       int32 `json:"expectedPods"`
	} `json:"status"`
}

// object returns the PodDisruptionBudget with those fields.
func (b *budget) object() (*policyv1.PodDisruptionBudget, error) {
	meta, status := &b.Metadata, &b.Status
	if max(len(meta.Name), len(meta.Namespace)) > longestName || len(b.Spec.Selector) > longestSelector {
		return nil, &AnswerError{"a PodDisruptionBudget whose name, namespace, or selector is too long"}
	}
	made := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: meta.Name, Namespace: meta.Namespace},
		Status: policyv1.PodDisruptionBudgetStatus{
			DisruptionsAllowed: status.DisruptionsAllowed, CurrentHealthy: status.CurrentHealthy, DesiredHealthy: status.DesiredHealthy,
			ExpectedPods: status.ExpectedPods,
		},
	}
	if len(b.Spec.Selector) == 0 {
		return made, nil
	}
	return made, json.Unmarshal(b.Spec.Selector, &made.Spec.Selector)
}

// labeled returns the Pod with the fields that draining reads, and all its labels.
func (p *pod) labeled() (*corev1.Pod, error) {
	made, err := p.object()
	if err != nil {
		return nil, err
	}
	if len(p.Metadata.Labels) > longestLabels {
		return nil, &AnswerError{"a Pod whose labels are too long"}
	}
	if len(p.Metadata.Labels) > 0 {
		made.Labels = nil
		err = json.Unmarshal(p.Metadata.Labels, &made.Labels)
	}
	return made, err
}
