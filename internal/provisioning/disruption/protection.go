package disruption

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/drain"
)

// Protections are the annotations that keep pods and nodes from voluntary disruptions.
var Protections = []string{provisioningv1.DoNotDisruptAnnotation, provisioningv1.DoNotEvictAnnotation}

// Protection returns the annotation that keeps an object from voluntary disruptions, or "" if none does.
func Protection(annotations map[string]string) string {
	for _, key := range Protections {
		if annotations[key] == "true" {
			return key
		}
	}
	return ""
}

// Keeper names what keeps a node from a voluntary disruption; the zero Keeper keeps nothing.
type Keeper struct {
	// Reason is the reason of the condition Replacing.
	Reason string
	// By describes what keeps the node.
	By string
	// until is what has to happen before the node may be disrupted.
	until string
}

// Keeps reports whether the node is kept.
func (k Keeper) Keeps() bool { return k.By != "" }

// Explain returns a message about a node that should be disrupted for a reason and is kept.
func (k Keeper) Explain(why string) string {
	return fmt.Sprintf("%s, but %s: the node stays until %s", why, k.By, k.until)
}

func annotated(by string) Keeper {
	return Keeper{provisioningv1.DoNotDisruptReason, by, "the annotation is removed or the pod has ended"}
}

// KeptBy returns what keeps a node from being disrupted. The node's own objects may be nil. An
// annotation on the Node or its ProvisionedNode keeps it from any voluntary disruption. A pod that
// would be evicted keeps the node from being replaced, by an annotation or because a
// PodDisruptionBudget allows no eviction of it, unless terminationGracePeriod bounds the drain:
// then the drain waits for the pod for that long. Budgets no longer count once the replacement has
// begun.
func KeptBy(spec *provisioningv1.ProvisionerSpec, node *provisioningv1.ProvisionedNode, member *corev1.Node, pods []corev1.Pod, budgets []policyv1.PodDisruptionBudget) Keeper {
	if key := Protection(node.Annotations); key != "" {
		return annotated(fmt.Sprintf("ProvisionedNode %s has the annotation %s", node.Name, key))
	}
	if member == nil {
		return Keeper{}
	}
	if key := Protection(member.Annotations); key != "" {
		return annotated(fmt.Sprintf("Node %s has the annotation %s", member.Name, key))
	}
	if spec.TerminationGracePeriod != nil {
		return Keeper{}
	}
	for i := range pods {
		if key := Protection(pods[i].Annotations); key != "" && drain.Leaves(&pods[i]) {
			return annotated(fmt.Sprintf("pod %s/%s has the annotation %s", pods[i].Namespace, pods[i].Name, key))
		}
	}
	if Replacing(node) {
		return Keeper{}
	}
	for i := range pods {
		if by := blockedBy(&pods[i], budgets); by != "" && drain.Leaves(&pods[i]) {
			return Keeper{provisioningv1.PodDisruptionBudgetReason, by, "the pod can be evicted"}
		}
	}
	return Keeper{}
}

// blockedBy returns why the API server would refuse to evict a pod now, "" if it would not
// (Kubernetes: registry/core/pod, eviction.go). The status of a budget counts only once its
// controller has seen the newest spec.
func blockedBy(pod *corev1.Pod, budgets []policyv1.PodDisruptionBudget) string {
	if pod.Status.Phase != corev1.PodRunning {
		return "" // budgets do not count for pods that are pending or have finished
	}
	var covering []*policyv1.PodDisruptionBudget
	for i := range budgets {
		if covers(&budgets[i], pod) {
			covering = append(covering, &budgets[i])
		}
	}
	switch {
	case len(covering) == 0:
		return ""
	case len(covering) > 1:
		return fmt.Sprintf("pod %s/%s matches several PodDisruptionBudgets, such as %s and %s, so Kubernetes "+
			"never evicts it. Change their selectors so that only one matches the pod", pod.Namespace, pod.Name, covering[0].Name, covering[1].Name)
	}
	budget := covering[0]
	if budget.Status.DisruptionsAllowed > 0 && budget.Status.ObservedGeneration >= budget.Generation || evictsUnready(budget) && !isReady(pod) {
		return ""
	}
	return fmt.Sprintf("PodDisruptionBudget %s/%s does not currently allow the eviction of pod %s", budget.Namespace, budget.Name, pod.Name)
}

// covers reports whether a budget is for a pod.
func covers(budget *policyv1.PodDisruptionBudget, pod *corev1.Pod) bool {
	if budget.Namespace != pod.Namespace {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	// the API server admits no selector that it cannot read
	return err == nil && selector.Matches(labels.Set(pod.Labels))
}

// evictsUnready reports whether a budget lets pods be evicted that are not ready (Kubernetes:
// PodDisruptionBudgetSpec.unhealthyPodEvictionPolicy).
func evictsUnready(budget *policyv1.PodDisruptionBudget) bool {
	if policy := budget.Spec.UnhealthyPodEvictionPolicy; policy != nil && *policy == policyv1.AlwaysAllow {
		return true
	}
	return budget.Status.DesiredHealthy > 0 && budget.Status.CurrentHealthy >= budget.Status.DesiredHealthy
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
}
