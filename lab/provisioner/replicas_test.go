package provisioner

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// setName is the set, and the label of the pods of a set.
const setName = "replicas"

// ofSet gives a pod to a set: it is created again when it is gone, and no two of the set run on one
// node.
func ofSet(set *appsv1.ReplicaSet) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Labels = map[string]string{"app": setName}
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": setName}},
		}}}}
	}
}

// keepReplicas does the work of the controller of ReplicaSets, which the laboratory does not run:
// there are so many pods of a set. It stops with the test.
func (w *world) keepReplicas(count int) {
	w.Helper()
	labels := map[string]string{"app": setName}
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: setName},
		Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none"}}},
		}},
	}
	if err := w.Client.Create(w.Context(), set); err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for next := 0; ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
			if len(w.set()) < count {
				pod := w.podOf(fmt.Sprintf("%s-%d", setName, next), ofSet(set))
				if err := w.Client.Create(context.WithoutCancel(ctx), pod); err != nil {
					w.Errorf("making a pod of the set: %v", err)
				}
				next++
			}
		}
	}()
	w.Cleanup(func() { cancel(); <-done })
}

// set are the pods of the set.
func (w *world) set() []corev1.Pod {
	var pods corev1.PodList
	if err := w.Client.List(context.WithoutCancel(w.Context()), &pods, client.InNamespace(w.Namespace), client.MatchingLabels{"app": setName}); err != nil {
		w.Errorf("listing pods: %v", err)
	}
	return pods.Items
}

// runningOn waits until all pods of the set run, and returns their nodes.
func (w *world) runningOn(count int) []string {
	w.Helper()
	var nodes []string
	w.Eventually(fmt.Sprintf("%d pods run", count), func() error {
		nodes = nil
		for _, pod := range w.set() {
			if pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil {
				nodes = append(nodes, pod.Spec.NodeName)
			}
		}
		if len(nodes) != count {
			return fmt.Errorf("pods run on %q", nodes)
		}
		return nil
	})
	slices.Sort(nodes)
	return nodes
}

// allowDisruptions sets the status of the set's budget as the absent disruption controller would,
// and creates it if it is not there.
func (w *world) allowDisruptions(allowed int32) {
	w.Helper()
	w.Eventually("the budget is told", func() error {
		budget := &policyv1.PodDisruptionBudget{}
		key := client.ObjectKey{Namespace: w.Namespace, Name: setName}
		if err := w.Client.Get(w.Context(), key, budget); err != nil {
			budget.Namespace, budget.Name = w.Namespace, setName
			budget.Spec = policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": setName}}}
			if err := w.Client.Create(w.Context(), budget); err != nil {
				return err
			}
		}
		budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: budget.Generation, DisruptionsAllowed: allowed, CurrentHealthy: 2, DesiredHealthy: 1, ExpectedPods: 2}
		return w.Client.Status().Update(w.Context(), budget)
	})
}
