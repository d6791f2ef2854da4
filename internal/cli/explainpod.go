package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/poolview"
	"github.com/slipway-project/slipway/internal/terminal"
)

// explainPod explains a pod of this cluster, and what Provisioners do for it while it waits for a node.
func (s *source) explainPod(ctx context.Context, notes io.Writer, name string) (*poolview.Explanation, error) {
	pod := &corev1.Pod{}
	err := s.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, pod)
	switch {
	case apierrors.IsNotFound(err):
		return nil, errOther
	case err != nil:
		return nil, fmt.Errorf("reading Pod %.253q: %w", name, err)
	}
	explanation := &poolview.Explanation{Object: "Pod " + pod.Namespace + "/" + pod.Name, Ready: podReady(pod)}
	explanation.Summary = podSummary(pod)
	events, err := eventsOf(ctx, s, pod.Namespace, map[string]bool{"Pod/" + pod.Name: true})
	noted(notes, "The events are missing", err)
	if pod.Spec.NodeName != "" {
		explanation.Facts = append(explanation.Facts, poolview.Fact{Name: "Node", Value: pod.Spec.NodeName})
	} else {
		noted(notes, "The Provisioners are missing", s.explainProvisioning(ctx, explanation))
		if why := whyNoNode(events); why != "" && !slices.ContainsFunc(explanation.Facts, func(fact poolview.Fact) bool { return fact.Name == "Slipway" }) {
			explanation.Facts = append(explanation.Facts, poolview.Fact{Name: "Slipway", Value: why})
		}
	}
	explanation.Events = newest(events)
	return explanation, nil
}

// whyNoNode returns why Provisioners launched no node for a pod, by the newest event about it; empty if they launched
// one since.
func whyNoNode(events []poolview.Event) string {
	for _, event := range slices.Backward(events) {
		switch event.Reason {
		case provisioningv1.NoNodeLaunchedEvent:
			return event.Message
		case provisioningv1.NodeLaunchedEvent:
			return ""
		}
	}
	return ""
}

// podReady reports whether a pod runs, or has finished.
func podReady(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodSucceeded {
		return true
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// podSummary describes a pod in one sentence.
func podSummary(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" {
		text := "scheduled, " + string(pod.Status.Phase)
		for _, container := range pod.Status.ContainerStatuses {
			if waiting := container.State.Waiting; waiting != nil {
				text += fmt.Sprintf("; container %s waits: %s", container.Name, waiting.Reason)
			}
		}
		return text
	}
	if len(pod.Spec.SchedulingGates) > 0 {
		return "not scheduled: it has the scheduling gate " + pod.Spec.SchedulingGates[0].Name
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return "waits for a node: " + condition.Message
		}
	}
	return "not seen by the scheduler yet"
}

// explainProvisioning adds the Provisioners of the cluster, their problems, and the nodes that are on their way.
func (s *source) explainProvisioning(ctx context.Context, explanation *poolview.Explanation) error {
	provisioners, nodes := &provisioningv1.ProvisionerList{}, &provisioningv1.ProvisionedNodeList{}
	err := s.List(ctx, provisioners)
	switch {
	case meta.IsNoMatchError(err):
		explanation.Facts = append(explanation.Facts, poolview.Fact{Name: "Slipway", Value: "this cluster has no Provisioners: only a pool, or another autoscaler, adds nodes"})
		return nil
	case err != nil:
		return fmt.Errorf("listing Provisioners: %w", err)
	}
	if err := s.List(ctx, nodes); err != nil {
		return fmt.Errorf("listing ProvisionedNodes: %w", err)
	}
	if len(provisioners.Items) == 0 {
		explanation.Facts = append(explanation.Facts, poolview.Fact{Name: "Slipway", Value: "there is no Provisioner: create one, or let a pool add nodes"})
	}
	for i := range provisioners.Items {
		provisioner := &provisioners.Items[i]
		explanation.Facts = append(explanation.Facts, poolview.Fact{
			Name: "Launcher", Value: fmt.Sprintf("Provisioner %s, %s%s", provisioner.Name, terminal.Counted(int(provisioner.Status.Nodes), "node"), onTheWay(nodes, provisioner.Name)),
		})
		explanation.Problems = append(explanation.Problems, poolview.Problems("Provisioner", provisioner.Name, provisioner.Status.Conditions)...)
		for _, failed := range provisioner.Status.FailedStarts {
			explanation.Facts = append(explanation.Facts, poolview.Fact{Name: "Failed", Value: poolview.FailedStart(failed)})
		}
	}
	return nil
}

// onTheWay names the nodes of a Provisioner that have not been initialized yet.
func onTheWay(nodes *provisioningv1.ProvisionedNodeList, provisioner string) string {
	var names []string
	for i := range nodes.Items {
		if node := &nodes.Items[i]; node.Spec.Provisioner == provisioner && node.Status.ReadyTime == nil && node.DeletionTimestamp.IsZero() {
			names = append(names, node.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", on their way: " + strings.Join(names, ", ")
}
