package cli

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/poolview"
)

// provisionedNode returns the ProvisionedNode with a name, or with the instance or the node of the name, nil if there is
// none.
func (s *source) provisionedNode(ctx context.Context, name string) (*provisioningv1.ProvisionedNode, error) {
	list := &provisioningv1.ProvisionedNodeList{}
	if err := s.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing ProvisionedNodes: %w", err)
	}
	for i := range list.Items {
		if node := &list.Items[i]; node.Name == name || node.Status.InstanceID == name || node.Status.NodeName == name {
			return node, nil
		}
	}
	return nil, nil
}

// unlessUnserved returns an error, nil if it reports a kind that this cluster does not have.
func unlessUnserved(err error) error {
	if meta.IsNoMatchError(err) {
		return nil
	}
	return err
}

// explainProvisioned explains a node that a Provisioner launched, by its Node if that has registered.
func (s *source) explainProvisioned(ctx context.Context, notes io.Writer, provisioned *provisioningv1.ProvisionedNode) (*poolview.Explanation, error) {
	if name := provisioned.Status.NodeName; name != "" {
		node := &corev1.Node{}
		err := s.Get(ctx, client.ObjectKey{Name: name}, node)
		if err == nil {
			return s.explainOwnNode(ctx, notes, node, provisioned)
		}
		if !apierrors.IsNotFound(err) {
			noted(notes, "The node is missing", err)
		}
	}
	explanation := &poolview.Explanation{
		Object: "ProvisionedNode " + provisioned.Name, Summary: provisionedSummary(provisioned), Facts: []poolview.Fact{provisionedFact(provisioned)},
		Problems: poolview.Problems("ProvisionedNode", provisioned.Name, provisioned.Status.Conditions),
	}
	events, err := eventsOf(ctx, s, "", map[string]bool{"ProvisionedNode/" + provisioned.Name: true})
	noted(notes, "The events are missing", err)
	explanation.Events = newest(events)
	return explanation, nil
}

// provisionedSummary describes a ProvisionedNode whose Node is not there.
func provisionedSummary(node *provisioningv1.ProvisionedNode) string {
	switch {
	case !node.DeletionTimestamp.IsZero():
		return "on its way out: its node is drained, and then the instance is terminated"
	case node.Status.NodeName != "":
		return "its Node " + node.Status.NodeName + " is not known to this cluster"
	case node.Status.InstanceID != "":
		return "its instance is starting, and has not joined the cluster yet"
	}
	return "its instance is not launched yet"
}

// provisionedFact describes a node that a Provisioner launched.
func provisionedFact(node *provisioningv1.ProvisionedNode) poolview.Fact {
	text := node.Name + " of Provisioner " + node.Spec.Provisioner
	for _, part := range []string{node.Status.InstanceID, node.Status.InstanceType, node.Status.Zone} {
		if part != "" {
			text += ", " + part
		}
	}
	return poolview.Fact{Name: "Launched", Value: text}
}

// traceOfProvisioned leads from a node that a Provisioner launched to the Provisioner.
func traceOfProvisioned(node *provisioningv1.ProvisionedNode) poolview.Trace {
	created := node.CreationTimestamp.UTC()
	if at := node.Status.LaunchTime; at != nil {
		created = at.UTC()
	}
	return poolview.Trace{
		Instance: poolview.Instance{
			ID: node.Status.InstanceID, Node: node.Status.NodeName, Version: fmt.Sprint(node.Spec.LaunchTemplate.Version), Zone: node.Status.Zone,
			Type: node.Status.InstanceType, Lifecycle: lifecycleOf(node), Wanted: !replaced(node),
		},
		Kind: "ProvisionedNode", ProvisionedNode: node.Name, Provisioner: node.Spec.Provisioner, Cluster: node.Spec.Cluster,
		LaunchTemplateID: node.Spec.LaunchTemplate.ID, Created: &created,
	}
}

// replaced reports whether a node is being replaced, or should be.
func replaced(node *provisioningv1.ProvisionedNode) bool {
	return meta.FindStatusCondition(node.Status.Conditions, provisioningv1.ReplacingCondition) != nil
}

// lifecycleOf returns how far a node is: the reason of the first condition that is not True yet.
func lifecycleOf(node *provisioningv1.ProvisionedNode) string {
	if !node.DeletionTimestamp.IsZero() {
		return "Terminating"
	}
	for _, kind := range []string{provisioningv1.LaunchedCondition, provisioningv1.RegisteredCondition, provisioningv1.NodeReadyCondition, provisioningv1.InitializedCondition} {
		condition := meta.FindStatusCondition(node.Status.Conditions, kind)
		switch {
		case condition == nil:
			return provisioningv1.LaunchingReason
		case condition.Status != metav1.ConditionTrue:
			return condition.Reason
		}
	}
	return provisioningv1.ReadyReason
}
